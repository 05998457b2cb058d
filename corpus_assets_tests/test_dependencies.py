"""What the packages import is what they say that they need, so that a plain `pip install` works."""

import ast
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from corpus_assets_tests.distributions import OWN, ROOT, SOURCES, needed, project
from corpus_assets_tests.small_corpus import make_small_corpus

CORE = [Requirement(line) for line in project(ROOT)["dependencies"]]


def stated(told: dict[str, Any]) -> Iterator[Requirement]:
    """What a distribution says that it needs, with its extras but those for building and tests."""
    yield from map(Requirement, told.get("dependencies", ()))
    for name, lines in told["optional-dependencies"].items():
        if name not in ("build", "dev", "test"):
            yield from map(Requirement, lines)


def imported(*folders: Path) -> dict[str, Path]:
    """Modules of others that some packages import anywhere, each with a file that does."""
    found: dict[str, Path] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], path.relative_to(ROOT))
    known = {folder.name for folder in folders} | sys.stdlib_module_names
    return {name: path for name, path in found.items() if name not in known}


@pytest.mark.parametrize("name", OWN)
def test_every_module_that_is_imported_is_of_a_package_that_is_named(name: str) -> None:
    folder = OWN[name]
    named = {canonicalize_name(one.name) for one in stated(project(folder))}
    named |= {one.replace("-", "_") for one in named & set(OWN)}
    sources = [path for path in SOURCES.values() if path.parent in (folder, folder / "src")]
    owners = packages_distributions()
    unnamed = {
        module: str(path)
        for module, path in imported(*sources).items()
        if not named & {module, *map(canonicalize_name, owners.get(module, [module]))}
    }
    assert unnamed == {}, "name them in pyproject.toml"


def test_what_an_extra_of_another_spelling_brings_is_named() -> None:
    """`lxml[html_clean]` where lxml spells it `html-clean`: pip before 23.3 says that there is no
    such extra, and installs without what it brings."""
    named = {canonicalize_name(one.name) for one in CORE}
    lost = []
    for who, one in needed("corpus-assets", CORE):
        try:
            found = distribution(one.name)
        except PackageNotFoundError:
            continue
        spelled = found.metadata.get_all("Provides-Extra") or []
        for extra in set(one.extras) - set(spelled):
            for each in map(Requirement, found.requires or []):
                is_of_it = (
                    each.marker is not None
                    and not each.marker.evaluate({"extra": ""})
                    and each.marker.evaluate({"extra": canonicalize_name(extra)})
                )
                if is_of_it and canonicalize_name(each.name) not in named:
                    lost.append(f"{who} asks for {one}, which brings {each.name}")
    assert lost == [], "name them in pyproject.toml"


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_wheel_with_its_extras_builds_a_corpus_from_another_folder(tmp_path: Path) -> None:
    """Installed by the pip that comes with this Python, from the index that pip is set up for;
    versions are those of the lock."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*pip, *build, *map(str, OWN.values())], check=True)
    [wheel] = tmp_path.glob("corpus_assets-*.whl")
    venv.create(tmp_path / "environment", with_pip=True)
    programs = tmp_path / "environment" / "bin"
    lines = (ROOT / "deploy" / "requirements.lock").read_text().splitlines()
    pins = [line.partition(" \\")[0] for line in lines if "==" in line]
    (tmp_path / "pins.txt").write_text("\n".join(pins))
    asked = [f"{wheel}[s3,postgres]", "--constraint", str(tmp_path / "pins.txt")]
    asked += ["--find-links", str(tmp_path)]  # the wheels beside it
    subprocess.run([programs / "pip", "install", "--quiet", *asked], check=True)
    subprocess.run([programs / "python", "-c", "import obstore, psycopg2"], check=True)
    elsewhere = tmp_path / "elsewhere"
    recipe = make_small_corpus(elsewhere)  # with pages, which are extracted
    for arguments in (
        ("corpus", "models", "fetch"),
        ("corpus", "build", recipe.name, "--version", "small-1", "--workers", "1"),
        ("catalog", "verify", "small-1"),
        ("corpus", "plan", "demo"),
    ):
        subprocess.run([programs / arguments[0], *arguments[1:]], cwd=elsewhere, check=True)
    assert (elsewhere / ".corpus" / "models" / "lid.176.ftz").is_file()
