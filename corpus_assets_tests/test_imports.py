"""No module imports itself by way of others, not for types either: what a module needs can be read
before it."""

import tomllib
from pathlib import Path

import grimp
import pytest

from corpus_assets_tests.distributions import SOURCES


def circles(package: str) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan 1972), each sorted."""
    graph = grimp.build_graph(package, cache_dir=None)
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            if imported not in number:
                visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in stack:
                low[module] = min(low[module], number[imported])
        if low[module] == number[module]:
            place = stack.index(module)
            if len(stack) - place > 1:
                found.append(sorted(stack[place:]))
            del stack[place:]

    for module in sorted(graph.modules):
        if module not in number:
            visit(module)
    return found


@pytest.mark.parametrize("package", SOURCES)
def test_no_package_has_an_import_circle(package: str) -> None:
    assert circles(package) == []


def test_a_circle_that_only_types_make_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "__init__.py": "",
        "stage.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from looped.pipeline import Pipeline\n",
        "pipeline.py": "import looped.stages\n",
        "stages.py": "from looped.stage import Stage\n",
        "alone.py": "import looped.stages\n",
    }
    (tmp_path / "looped").mkdir()
    for name, text in files.items():
        (tmp_path / "looped" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert circles("looped") == [["looped.pipeline", "looped.stage", "looped.stages"]]


def test_contracts_cover_every_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert set(project["tool"]["importlinter"]["root_packages"]) == set(SOURCES)


def test_contracts_between_layers_count_imports_for_types() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert not project["tool"]["importlinter"].get("exclude_type_checking_imports", False)
