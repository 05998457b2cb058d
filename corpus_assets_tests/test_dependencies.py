"""What the packages import is what they say that they need, so that a plain `pip install` works."""

import ast
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from corpus_assets_tests.small_corpus import make_small_corpus

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE = [Requirement(line) for line in PROJECT["dependencies"]]
EXTRAS = [
    Requirement(line)
    for name, lines in PROJECT["optional-dependencies"].items()
    if name not in ("dev", "build")
    for line in lines
]


def imported() -> dict[str, Path]:
    """Modules of others that the packages import anywhere, each with a file that does."""
    found: dict[str, Path] = {}
    for package in ("corpus_assets", "catalog"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    names = [node.module]
                for name in names:
                    found.setdefault(name.partition(".")[0], path.relative_to(ROOT))
    ours = {"corpus_assets", "catalog"} | sys.stdlib_module_names
    return {name: path for name, path in found.items() if name not in ours}


def test_every_module_that_is_imported_is_of_a_package_that_is_named() -> None:
    named = {canonicalize_name(one.name) for one in (*CORE, *EXTRAS)}
    owners = packages_distributions()
    unnamed = {
        module: str(path)
        for module, path in imported().items()
        if not named & set(map(canonicalize_name, owners.get(module, [module])))
    }
    assert unnamed == {}, "name them in pyproject.toml"


def needed(wanted: list[Requirement]) -> Iterator[tuple[str, Requirement]]:
    """Each requirement of these packages and of all that they need, with who has it."""
    waiting, seen = [("corpus-assets", one) for one in wanted], set()
    while waiting:
        who, one = waiting.pop()
        yield who, one
        key = (canonicalize_name(one.name), frozenset(one.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            lines = distribution(one.name).requires or []
        except PackageNotFoundError:  # of another platform
            continue
        for each in map(Requirement, lines):
            asked = ("", *map(canonicalize_name, one.extras))
            if each.marker is None or any(each.marker.evaluate({"extra": e}) for e in asked):
                waiting.append((one.name, each))


def test_what_an_extra_of_another_spelling_brings_is_named() -> None:
    """`lxml[html_clean]` where lxml spells it `html-clean`: pip before 23.3 says that there is no
    such extra, and installs without what it brings."""
    named = {canonicalize_name(one.name) for one in CORE}
    lost = []
    for who, one in needed(CORE):
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
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run([*pip, *build], check=True)
    [wheel] = tmp_path.glob("*.whl")
    venv.create(tmp_path / "environment", with_pip=True)
    programs = tmp_path / "environment" / "bin"
    lines = (ROOT / "deploy" / "requirements.lock").read_text().splitlines()
    pins = [line.partition(" \\")[0] for line in lines if "==" in line]
    (tmp_path / "pins.txt").write_text("\n".join(pins))
    asked = [f"{wheel}[s3,postgres]", "--constraint", str(tmp_path / "pins.txt")]
    subprocess.run([programs / "pip", "install", "--quiet", *asked], check=True)
    subprocess.run([programs / "python", "-c", "import obstore, psycopg2"], check=True)
    elsewhere = tmp_path / "elsewhere"
    recipe = make_small_corpus(elsewhere)  # with pages, which are extracted
    for arguments in (
        ("models", "fetch"),
        ("build", recipe.name, "--version", "small-1", "--workers", "1"),
        ("verify", "small-1"),
        ("plan", "demo"),
    ):
        subprocess.run([programs / "corpus", *arguments], cwd=elsewhere, check=True)
    assert (elsewhere / ".corpus" / "models" / "lid.176.ftz").is_file()
