"""Across rooms only what a room exports is imported.

A package says in `__all__` which names others may import; what it does not name is its own affair.
A room exports what it makes: stages, settings, functions. Libraries export modules, since each of
those is a subject. The rule holds at every level: `corpus_assets.ingest.gates` is entered through
`ingest` and then through `gates`. Packages of kernels export nothing: they belong to their room.
"""

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from catalog.doors import exported
from corpus_assets_tests.distributions import ROOT

PACKAGES = (
    "corpus_assets",
    "catalog",
    "packages/pageblocks/src/pageblocks",
    "packages/textkernels/src/textkernels",
)

# Their modules are subjects of their own, which every room needs: words, hashing, store, schemas, formats,
# charts.
LIBRARIES = ("corpus_assets.core", "corpus_assets.text", "catalog.formats", "catalog.pages")
MOST_EXPORTS = 58
MOST_FUNCTIONS = 39


@functools.cache
def modules(root: Path = ROOT) -> dict[str, ast.Module]:
    """All modules by name; a package ends with `.__init__`."""
    return {
        ".".join(path.relative_to((root / package).parent).with_suffix("").parts): ast.parse(
            path.read_text()
        )
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
    }


@functools.cache
def doors(root: Path = ROOT) -> dict[str, list[str]]:
    """`__all__` of every package but those of kernels; a package without one has no door."""
    declared = {}
    for module, tree in modules(root).items():
        package = module.removesuffix(".__init__")
        # `corpus_assets` is the house: its rooms are open to each other, in their order.
        if package == module or package == "corpus_assets" or package.endswith(".kernels"):
            continue
        lists = [
            node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ]
        declared[package] = ast.literal_eval(lists[0]) if lists else []
    return declared


def imported(tree: ast.Module) -> Iterator[str]:
    """Dotted names that a module imports, to the last name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def promised() -> Iterator[tuple[str, str]]:
    """Who may want what: dotted names of entry points, and of documentation. A page that says which
    file to write speaks from inside that file's room."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for group in (project["scripts"], *project["entry-points"].values()):
        yield from (("the world", target.replace(":", ".")) for target in group.values())
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("[!a]*/*.md")):
        text = page.read_text()
        written = re.search(r"Write `([\w/]+)\.py`", text)
        writer = written[1].replace("/", ".") if written else "the world"
        yield from ((writer, name) for name in re.findall(r"corpus_assets(?:\.\w+)+", text))


def steps(importer: str, name: str, declared: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """The doors that `importer` goes through to reach `name`: (package, entry)."""
    parts = name.split(".")
    for depth in range(1, len(parts)):
        package = ".".join(parts[:depth])
        if package in declared and not f"{importer}.".startswith(f"{package}."):
            yield package, parts[depth]


def uses(root: Path = ROOT) -> Iterator[tuple[str, str, str]]:
    """(importer, package, entry) of everything that is imported from another package."""
    declared = doors(root)
    for importer, tree in modules(root).items():
        for name in imported(tree):
            yield from ((importer, *step) for step in steps(importer, name, declared))


def trespasses(root: Path = ROOT) -> list[str]:
    """Imports of what is no door of its package."""
    declared = doors(root)
    return sorted(
        f"{importer} imports {package}.{entry}"
        for importer, package, entry in uses(root)
        if entry not in declared[package]
    )


def test_only_doors_are_imported_across_rooms() -> None:
    assert trespasses() == []


def test_what_is_promised_to_the_world_is_a_door() -> None:
    shut = {
        f"{package}.{entry}"
        for importer, name in promised()
        for package, entry in steps(importer, name, doors())
        if entry not in doors()[package]
    }
    assert shut == set()


def test_every_door_is_used_from_outside() -> None:
    used = {(package, entry) for _, package, entry in uses()}
    used.update(step for who, name in promised() for step in steps(who, name, doors()))
    own = {
        package: entries
        for package, entries in doors().items()
        if package.partition(".")[0] in PACKAGES  # those of packages/ are for the world
    }
    unused = {f"{package}.{entry}" for package, entries in own.items() for entry in entries} - {
        f"{package}.{entry}" for package, entry in used
    }
    assert unused == set()


def rooms() -> list[str]:
    """The packages that export names: all but libraries, and the command that nothing imports."""
    return sorted(
        name
        for name in doors()
        if name.count(".") == 1
        and name.startswith(("corpus_assets.", "catalog."))
        and name not in (*LIBRARIES, "corpus_assets.cli")
    )


def test_rooms_export_names_and_no_modules() -> None:
    shown = {
        f"{room}.{name}"
        for room in rooms()
        for name in doors()[room]
        if {f"{room}.{name}", f"{room}.{name}.__init__"} & set(modules())
    }
    assert len(rooms()) > 15
    assert shown == set()


@pytest.mark.parametrize("room", rooms())
def test_a_room_exports_what_its_door_can_open_and_not_too_much(room: str) -> None:
    package = import_module(room)
    names = doors()[room]
    assert [name for name in names if not hasattr(package, name)] == []
    assert set(exported(modules()[f"{room}.__init__"])) <= set(names)
    assert len(names) <= MOST_EXPORTS
    assert len(functions(room)) <= MOST_FUNCTIONS


def functions(room: str) -> list[str]:
    """The functions among a room's exports; the others are stages, settings and answers."""
    return [
        name
        for name, module in exported(modules()[f"{room}.__init__"]).items()
        for node in modules().get(module, ast.Module([], [])).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]


def test_a_name_that_a_room_does_not_export_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match=r"'corpus_assets.dedup' has no attribute 'Packer'"):
        import_module("corpus_assets.dedup").Packer  # noqa: B018


def test_a_door_imports_no_module_before_it_is_asked() -> None:
    code = (
        "import sys, corpus_assets.dedup; "
        "print([name for name in sys.modules if name.startswith('corpus_assets.dedup.')]); "
        "from corpus_assets.dedup import ClusterSettings; print('numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["[]", "False"]


def test_kernels_are_no_door() -> None:
    assert [package for package, entries in doors().items() if "kernels" in entries] == []


def test_every_room_says_what_it_is_for() -> None:
    silent = [name for name in doors() if not ast.get_docstring(modules()[f"{name}.__init__"])]
    assert silent == []


@pytest.mark.parametrize(
    "line",
    [
        "from corpus_assets.shards.pack import Packer",
        "from corpus_assets.shards import pack",
        "import corpus_assets.shards.pack",
    ],
)
def test_an_import_of_what_is_no_door_is_found(line: str, tmp_path: Path) -> None:
    files = {
        "corpus_assets/__init__.py": "",
        "corpus_assets/shards/__init__.py": '__all__ = ["loader"]',
        "corpus_assets/shards/loader.py": "from corpus_assets.shards.pack import Packer",
        "corpus_assets/shards/pack.py": "class Packer: ...",
        "corpus_assets/clean/__init__.py": "",
        "corpus_assets/clean/stage.py": f"from corpus_assets.shards.loader import x\n{line}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert trespasses(tmp_path) == ["corpus_assets.clean.stage imports corpus_assets.shards.pack"]
