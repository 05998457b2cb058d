"""Kernels are compiled through the one place whose cache is never stale."""

import re
from pathlib import Path

import pytest

import corpus_assets
import pageblocks
import textkernels
from corpus_assets.build import kernels_line

PACKAGES = [Path(package.__file__).parent for package in (corpus_assets, pageblocks, textkernels)]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_kernel_is_compiled_through_the_one_place(package: Path) -> None:
    direct = re.compile(r"\bnjit\b|\bjit\b|cache=True")
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path.name != "compiled.py" and direct.search(path.read_text("utf-8"))
    ]
    assert found == []


def test_a_build_says_that_kernels_are_compiled_only_where_none_is_cached(tmp_path: Path) -> None:
    assert "once" in (kernels_line(tmp_path) or "")
    assert "NUMBA_CACHE_DIR" in (kernels_line(None) or "")
    (tmp_path / "kernels_1").mkdir()
    (tmp_path / "kernels_1" / "words.nbi").touch()
    assert kernels_line(tmp_path) is None
