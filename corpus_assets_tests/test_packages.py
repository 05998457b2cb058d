"""Each distribution of `packages/` passes its tests where nothing is installed but what it names."""

import os
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from corpus_assets.graph.engine import travel
from corpus_assets_tests.distributions import OWN, PACKAGES, ROOT, SOURCES, needed, project

TESTS = "test"
"""The extra that a package's tests need."""


CASES = [
    (folder, extra)
    for folder in PACKAGES
    for extra, lines in project(folder)["optional-dependencies"].items()
    if extra == TESTS or not {*lines} <= {*project(folder)["optional-dependencies"][TESTS]}
]
"""Every package alone, with `test`, and with each other extra that brings more than that."""


WITH_KERNELS = ("pageblocks", "textkernels")
"""In an environment of its own a package compiles them again: there by `make test-all`."""


def wheel_of(folder: Path, target: Path) -> Path:
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target)]
    subprocess.run([sys.executable, "-m", "pip", *build, str(folder)], check=True)
    [found] = target.glob(f"{folder.name}-*.whl")
    return found


def lend(name: str, site: Path) -> None:
    """Let an environment have a distribution that is installed in this one."""
    found = distribution(name)
    for top in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
        if not (site / top).exists():
            (site / top).symlink_to(found.locate_file(top))  # type: ignore[arg-type]


def environment(folder: Path, wheels: list[Path], wanted: set[str]) -> Path:
    """A Python with some wheels, and with those distributions that are named."""
    venv.create(folder, symlinks=True)
    [site] = folder.glob("lib/python*/site-packages")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    for name in wanted:
        lend(name, site)
    return folder / "bin" / "python"


@pytest.mark.timeout(1800)  # kernels of an environment of its own are compiled
@pytest.mark.parametrize(
    ("folder", "extra"),
    [
        pytest.param(
            *case,
            id=f"{case[0].name}-{case[1]}",
            marks=() if case[0].name == "corpus_loader" and case[1] == TESTS else pytest.mark.slow,
        )
        for case in CASES
    ],
)
def test_a_package_passes_its_tests_with_what_it_names_alone(
    folder: Path, extra: str, tmp_path: Path
) -> None:
    told = project(folder)
    lines = {*told.get("dependencies", ())}
    for name in (extra, TESTS):
        lines |= {*told["optional-dependencies"][name]}
    wanted = {
        canonicalize_name(one.name)
        for _, one in needed(told["name"], map(Requirement, sorted(lines)))
        if one.marker is None or one.marker.evaluate()
    }
    for name in wanted - set(OWN):
        try:
            version(name)
        except PackageNotFoundError:
            pytest.skip(f"{name} is absent")
    ours = [folder, *(OWN[name] for name in wanted & set(OWN))]
    wheels = [wheel_of(each, tmp_path) for each in ours]
    python = environment(tmp_path / "alone", wheels, wanted - set(OWN))
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder / "tests"],
        cwd=tmp_path,
        env=variables | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", WITH_KERNELS)
def test_a_package_with_kernels_passes_its_tests_here(name: str) -> None:
    tests = ROOT / "packages" / name / "tests"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_has_the_products_number_and_its_licence() -> None:
    told = project(ROOT)
    assert {project(folder)["version"] for folder in PACKAGES} == {told["version"]}
    for folder in PACKAGES:
        assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
        own = project(folder)
        assert {name: own[name] for name in ("license", "requires-python")} == {
            name: told[name] for name in ("license", "requires-python")
        }


def test_the_product_needs_its_packages_at_its_own_number() -> None:
    told = project(ROOT)
    asked = {one.name: one for one in map(Requirement, told["dependencies"]) if one.name in OWN}
    assert set(asked) == set(OWN) - {told["name"]}
    assert {str(one.specifier) for one in asked.values()} == {f"=={told['version']}"}
    assert set(asked) <= {Requirement(line).name for line in requires("corpus-assets") or ()}


def test_the_digest_of_our_code_covers_every_package() -> None:
    assert {each.__name__ for each in travel.PACKAGES} == set(SOURCES)
