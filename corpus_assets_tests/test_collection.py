"""Every test process collects the same tests, so that any of them can be told which to run.

Names of tests hold their parameters. One that holds the clock (`gzip.compress`), the order of a set
or a folder is another name in another process, and pytest-xdist then runs nothing at all.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_two_collections_name_the_same_tests_whatever_clock_hash_seed_and_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "later.py").write_text(LATER)
    elsewhere = tmp_path / "elsewhere"
    left_out = shutil.ignore_patterns(".git", ".venv*", ".corpus", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, elsewhere, ignore=left_out)
    names = []
    for process in (
        collecting(ROOT, "1", path=tmp_path),
        collecting(elsewhere, "2", "-p", "later", path=tmp_path),
    ):
        output, _ = process.communicate()
        assert process.returncode == 0, output[-3000:]
        names.append([line for line in output.splitlines() if "::" in line])
    here, there = names
    assert len(here) > 7000
    differing = [pair for pair in zip(here, there, strict=False) if pair[0] != pair[1]]
    assert differing[:5] == [], "give these parameters ids"
    assert len(here) == len(there)
