"""The cache of compiled kernels follows everything they are made from."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import corpus_assets
from corpus_assets.build import kernels_line
from corpus_assets.text import compiled

PACKAGE = Path(corpus_assets.__file__).parent
KERNELS = PACKAGE / "text"
IS_BLANK = """
import numpy as np
from corpus_assets.text.pieces import stripped
data = np.frombuffer(b"_", dtype=np.uint8)
print(stripped(data, np.array([0, 1], dtype=np.int64))[0] == 0)
"""
FOLDER = "from corpus_assets.text.compiled import cache_folder; print(cache_folder())"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout of its own, with the package of kernels only."""
    package = tmp_path / "checkout" / "corpus_assets"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(KERNELS, package / "text", ignore=ignored)
    shutil.copy(PACKAGE / "__init__.py", package / "__init__.py")
    return package


def _run(copy: Path, code: str, **variables: str) -> str:
    inherited = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    env = {**inherited, "PYTHONPATH": str(copy.parent), **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=copy.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_kernel_whose_callee_in_another_module_changed_is_compiled_anew(copy: Path) -> None:
    assert _run(copy, IS_BLANK) == "False"
    module = copy / "text" / "codepoints.py"
    source = module.read_text("utf-8")
    changed = re.sub(
        r"(def is_space\(.*\n(?:    \"\"\".*\n)?)",
        r"\1    if point == 95:\n        return True\n",
        source,
    )
    assert changed != source
    module.write_text(changed, "utf-8")
    assert _run(copy, IS_BLANK) == "True"


def test_a_warm_kernel_is_read_from_the_cache_and_not_compiled(copy: Path) -> None:
    _run(copy, IS_BLANK)
    hits = IS_BLANK + "print(sum(stripped.stats.cache_hits.values()))"
    assert _run(copy, hits).split() == ["False", "1"]


def test_other_packages_keep_their_own_numba_cache(copy: Path, tmp_path: Path) -> None:
    other = tmp_path / "checkout" / "other.py"
    other.write_text("from numba import njit\n\n@njit(cache=True)\ndef one():\n    return 1\n")
    _run(copy, "from corpus_assets.text.pieces import stripped\nimport other\nother.one()")
    assert list((tmp_path / "checkout" / "__pycache__").glob("other.one*.nbc"))


def test_where_no_folder_can_be_written_kernels_compile_without_a_cache(copy: Path) -> None:
    blocked = copy.parent / "a_file"
    blocked.touch()
    (copy / "text" / "__pycache__").touch()  # a folder of this name cannot be made
    places = {"XDG_CACHE_HOME": str(blocked), "PYTHONDONTWRITEBYTECODE": "1"}
    assert _run(copy, FOLDER, **places) == "None"
    assert _run(copy, IS_BLANK, **places) == "False"


def test_a_package_that_cannot_be_written_caches_for_the_user(copy: Path, tmp_path: Path) -> None:
    (copy / "text" / "__pycache__").touch()
    user = tmp_path / "user"
    places = {"XDG_CACHE_HOME": str(user), "PYTHONDONTWRITEBYTECODE": "1"}
    assert Path(_run(copy, FOLDER, **places)).parent == user / "corpus-assets"


def test_few_folders_of_earlier_sources_are_kept(copy: Path, tmp_path: Path) -> None:
    for age in range(9):
        old = tmp_path / "cache" / f"kernels-{age}"
        old.mkdir(parents=True)
        os.utime(old, (1_000 - age, 1_000 - age))
    other = tmp_path / "cache" / "another_package"
    other.mkdir()
    folder = Path(_run(copy, FOLDER, NUMBA_CACHE_DIR=str(tmp_path / "cache")))
    kept = {path.name for path in (tmp_path / "cache").iterdir()}
    assert kept == {folder.name, "kernels-0", "kernels-1", "kernels-2", "another_package"}
    assert len(kept) - 1 == compiled.MAX_FOLDERS


def test_every_kernel_is_compiled_through_the_one_place() -> None:
    direct = re.compile(r"\bnjit\b|\bjit\b|cache=True")
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.name != "compiled.py" and direct.search(path.read_text("utf-8"))
    ]
    assert found == []


def test_a_build_says_that_kernels_are_compiled_only_where_none_is_cached(tmp_path: Path) -> None:
    assert "once" in (kernels_line(tmp_path) or "")
    assert "NUMBA_CACHE_DIR" in (kernels_line(None) or "")
    (tmp_path / "kernels_1").mkdir()
    (tmp_path / "kernels_1" / "words.nbi").touch()
    assert kernels_line(tmp_path) is None
