"""The cache of compiled kernels follows everything they are made from."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import textkernels
from textkernels import compiled
from textkernels.compiled import kernel

PACKAGE = Path(textkernels.__file__).parent
LITTLE = {
    "__init__.py": "",
    "kernels.toml": 'files = ["kernels/*.py"]\n',
    "kernels/__init__.py": "",
    "kernels/marks.py": "MARK = 46\n",
    "kernels/blank.py": """
import numpy as np
from little.kernels.marks import MARK
from textkernels.compiled import kernel
from textkernels.utf8 import is_space

@kernel
def is_blank(point):
    return is_space(point) or point == MARK
""",
}
"""A package with a kernel that calls one of `textkernels`, and knows a constant of its neighbour."""

ASK = "from little.kernels.blank import is_blank\nprint(is_blank(95), is_blank(46))\n"
FOLDER = """
import little
from textkernels.compiled import cache_folder
print(cache_folder('little'))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of `textkernels`, to be edited, and the package `little`."""
    folder = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "textkernels", ignore=ignored)
    for name, text in LITTLE.items():
        (folder / "little" / name).parent.mkdir(exist_ok=True)
        (folder / "little" / name).write_text(text)
    return folder


def _start(copy: Path, code: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    inherited = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    env = {**inherited, "PYTHONPATH": str(copy), **variables}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=copy, capture_output=True, text=True
    )


def _run(copy: Path, code: str, **variables: str) -> str:
    done = _start(copy, code, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _edit(path: Path, old: str, new: str) -> None:
    source = path.read_text("utf-8")
    assert re.search(old, source)
    path.write_text(re.sub(old, new, source), "utf-8")


def test_a_kernel_whose_callee_in_another_package_changed_is_compiled_anew(copy: Path) -> None:
    assert _run(copy, ASK) == "False True"
    _edit(
        copy / "textkernels" / "utf8.py",
        r"(def is_space\(.*\n(?:    \"\"\".*\n)?)",
        r"\1    if point == 95:\n        return True\n",
    )
    assert _run(copy, ASK) == "True True"


def test_a_kernel_whose_constant_in_another_module_changed_is_compiled_anew(copy: Path) -> None:
    assert _run(copy, ASK) == "False True"
    _edit(copy / "little" / "kernels" / "marks.py", "46", "95")
    assert _run(copy, ASK) == "True False"


def test_an_edit_of_a_package_leaves_the_caches_of_those_it_calls(copy: Path) -> None:
    folder = FOLDER.replace("little", "textkernels")
    before = _run(copy, folder), _run(copy, FOLDER)
    _edit(copy / "little" / "kernels" / "marks.py", "46", "95")
    after = _run(copy, folder), _run(copy, FOLDER)
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_what_tables_are_made_from_counts_by_its_version(copy: Path) -> None:
    before = _run(copy, FOLDER)
    (copy / "little" / "kernels.toml").write_text(
        'files = ["kernels/*.py"]\nlibraries = ["pytest"]'
    )
    assert _run(copy, FOLDER) != before


def test_a_warm_kernel_is_read_from_the_cache_and_not_compiled(copy: Path) -> None:
    _run(copy, ASK)
    hits = ASK + "print(sum(is_blank.stats.cache_hits.values()))"
    assert _run(copy, hits).split() == ["False", "True", "1"]


def test_of_processes_that_begin_together_one_compiles(copy: Path) -> None:
    code = ASK + "print(sum(is_blank.stats.cache_misses.values()))"
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    env["PYTHONPATH"] = str(copy)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=env, cwd=copy, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    told = [each.communicate()[0].split() for each in started]
    assert sorted(told) == [["False", "True", "0"]] * 3 + [["False", "True", "1"]]


def test_a_process_that_was_stopped_while_it_compiled_is_not_waited_for_forever(copy: Path) -> None:
    folder = Path(_run(copy, FOLDER))
    (folder / "little.kernels.blank.is_blank.turn").touch()
    held = (folder / "little.kernels.blank.is_blank.turn").open("wb")
    with held:
        fcntl.flock(held, fcntl.LOCK_EX)
        impatient = "from textkernels import compiled\ncompiled.MAX_WAIT_S = 0.1\n"
        assert _run(copy, impatient + ASK) == "False True"


def test_other_packages_keep_their_own_numba_cache(copy: Path) -> None:
    (copy / "other.py").write_text(
        "from numba import njit\n\n@njit(cache=True)\ndef one():\n    return 1\n"
    )
    _run(copy, ASK + "import other\nother.one()")
    assert list((copy / "__pycache__").glob("other.one*.nbc"))


def test_where_no_folder_can_be_written_kernels_compile_without_a_cache(copy: Path) -> None:
    blocked = copy / "a_file"
    blocked.touch()
    (copy / "little" / "__pycache__").touch()  # a folder of this name cannot be made
    places = {"XDG_CACHE_HOME": str(blocked), "PYTHONDONTWRITEBYTECODE": "1"}
    assert _run(copy, FOLDER, **places) == "None"
    assert _run(copy, ASK, **places) == "False True"


def test_a_package_that_cannot_be_written_caches_for_the_user(copy: Path, tmp_path: Path) -> None:
    (copy / "little" / "__pycache__").touch()
    user = tmp_path / "user"
    places = {"XDG_CACHE_HOME": str(user), "PYTHONDONTWRITEBYTECODE": "1"}
    assert Path(_run(copy, FOLDER, **places)).parent == user / "textkernels"


def test_few_folders_of_earlier_sources_are_kept(copy: Path, tmp_path: Path) -> None:
    others = {"another_package", "kernels-another-0"}
    for name in (*(f"kernels-little-{age}" for age in range(9)), *others):
        (tmp_path / "cache" / name).mkdir(parents=True)
        age = int(name[-1]) if name[-1].isdigit() else 0
        os.utime(tmp_path / "cache" / name, (1_000 - age, 1_000 - age))
    folder = Path(_run(copy, FOLDER, NUMBA_CACHE_DIR=str(tmp_path / "cache")))
    kept = {path.name for path in (tmp_path / "cache").iterdir()} - others
    assert kept == {folder.name, *(f"kernels-little-{age}" for age in range(3))}
    assert len(kept) == compiled.MAX_FOLDERS


def test_a_kernel_outside_of_the_files_that_are_declared_is_refused(copy: Path) -> None:
    shutil.move(copy / "little" / "kernels" / "blank.py", copy / "little" / "blank.py")
    done = _start(copy, "import little.blank")
    assert "kernels of little belong in kernels/*.py (kernels.toml)" in done.stderr


def test_a_package_that_declares_nothing_has_kernels_without_a_cache(copy: Path) -> None:
    (copy / "little" / "kernels.toml").unlink()
    assert _run(copy, ASK) == "False True"
    assert _run(copy, FOLDER) == "None"


@kernel
def doubled(value):  # type: ignore[no-untyped-def]
    """Twice as much."""
    return 2 * value


def test_a_kernel_is_known_by_its_function() -> None:
    assert (doubled.__name__, doubled.__doc__, doubled(21)) == ("doubled", "Twice as much.", 42)
