"""A release says under which licence and which number it is, and says so everywhere alike."""

import re
import runpy
import subprocess
import sys
import zipfile
from importlib.metadata import distribution, metadata, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from corpus_assets_tests.distributions import OWN, ROOT, project

PROJECT = project(ROOT)
HARD = {
    Requirement(line).name for folder in OWN.values() for line in project(folder)["dependencies"]
} - set(OWN)
LONGEST_NAME = 80  # of a licence; some packages have its whole text in that field


def stated_licence(package: str) -> str:
    """The licence in a package's metadata, in the words it has there."""
    told = metadata(package)
    field = (told.get("License") or "").strip()
    kinds = [kind for kind in told.get_all("Classifier") or [] if kind.startswith("License ::")]
    titles = [
        file.read_text().strip().partition("\n")[0]
        for file in distribution(package).files or []
        if "dist-info" in str(file) and file.name.startswith("LICENSE")
    ]
    return (
        told.get("License-Expression")
        or (field if len(field) <= LONGEST_NAME else "")
        or " and ".join(kind.rpartition(" :: ")[2] for kind in kinds)
        or " and ".join(titles)
    )


def test_every_hard_dependency_is_listed_with_the_licence_that_it_states() -> None:
    page = (ROOT / "docs/reference/third-party.md").read_text(encoding="utf-8")
    table = page.partition("## Dependencies")[2].partition("\n## ")[0]
    listed = dict(re.findall(r"^\| ([\w-]+) \| ([^|]+) \|", table, re.MULTILINE))
    listed.pop("package")
    assert listed == {name: stated_licence(name) for name in HARD}


def test_the_package_the_changelog_the_docs_and_the_images_have_one_version() -> None:
    released = PROJECT["version"]
    newest = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert re.fullmatch(rf"{re.escape(released)} \(\d{{4}}-\d\d-\d\d\)", newest[1])
    assert version("corpus-assets") == released, "install it again: pip install --editable ."
    assert runpy.run_path(str(ROOT / "docs" / "conf.py"))["release"] == released
    named = {
        tag
        for path in (ROOT / "deploy").rglob("*")
        if path.is_file()
        for tag in re.findall(r"corpus-assets:([\w.]+)", path.read_text(encoding="utf-8"))
    }
    values = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "dagster-values.yaml").read_text())
    [deployment] = values["dagster-user-deployments"]["deployments"]
    assert named | {str(deployment["image"]["tag"])} == {released}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", OWN)
def test_the_wheel_carries_licence_and_notice(name: str, tmp_path: Path) -> None:
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", *build, str(OWN[name])], check=True)
    [path] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        [told] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        folder = told.removesuffix("METADATA")
        for file in project(OWN[name])["license-files"]:
            assert wheel.read(f"{folder}licenses/{file}") == (ROOT / file).read_bytes()
        assert "\nLicense-Expression: Apache-2.0\n" in wheel.read(told).decode()
