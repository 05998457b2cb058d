"""Every test process collects the same tests, so that any of them can be told which to run.

Names of tests hold their parameters. One that holds the clock (`gzip.compress`), the order of a set
or a folder is another name in another process, and pytest-xdist then runs nothing at all.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corpus_assets_tests.conftest import COLLECTED

ROOT = Path(__file__).parent.parent
LATER = """import time

now, now_ns, DAYS = time.time, time.time_ns, 400 * 86_400
time.time, time.time_ns = lambda: now() + DAYS, lambda: now_ns() + DAYS * 10**9
"""
QUICKLY = ("--assert=plain", "-p", "no:xdist", "-p", "no:hypothesispytest")


def collecting(folder: Path, hash_seed: str, *plugins: str, path: Path) -> subprocess.Popen[str]:
    environment = os.environ | {
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": str(path),
        "PYTHONDONTWRITEBYTECODE": "",
        "TZ": f"XYZ{hash_seed}",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *QUICKLY, *plugins],
        cwd=folder,
        env={name: value for name, value in environment.items() if "XDIST" not in name},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def names_in(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate()
    assert process.returncode == 0, output[-3000:]
    return [line for line in output.splitlines() if "::" in line]


def names_here(config: pytest.Config) -> list[str]:
    """What this process collected, where that is everything."""
    names = config.stash[COLLECTED]
    files = {name.partition("::")[0] for name in names}
    tests = Path(__file__).parent.rglob("test_*.py")
    if {path.relative_to(ROOT).as_posix() for path in tests} <= files:
        return names
    return names_in(collecting(ROOT, "1", path=ROOT))


@pytest.mark.slow  # pytest-xdist compares the collections of its workers in every run
def test_two_collections_name_the_same_tests_whatever_clock_hash_seed_and_folder(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    (tmp_path / "later.py").write_text(LATER)
    elsewhere = tmp_path / "elsewhere"
    left_out = shutil.ignore_patterns(".git", ".venv*", ".corpus", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, elsewhere, ignore=left_out)
    process = collecting(elsewhere, "2", "-p", "later", path=tmp_path)
    here, there = names_here(pytestconfig), names_in(process)
    assert len(here) > 7000
    differing = [pair for pair in zip(here, there, strict=False) if pair[0] != pair[1]]
    assert differing[:5] == [], "give these parameters ids"
    assert len(here) == len(there)
