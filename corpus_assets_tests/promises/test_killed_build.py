"""P1: the same bytes, however often a build was killed."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from corpus_assets.cli.main import main
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.demo_build import corpus_command, environment, version_files

KILLS = ((0.0, 2), (0.3, 1), (0.7, 1))
"""Shares of all results that are stored when a build is killed, and how many workers it has."""

RESULTS = "artifacts/*/*/result.json"


def test_a_build_killed_at_several_points_ends_with_the_same_version(
    small_build: Place, tmp_path: Path
) -> None:
    home = tmp_path / "killed"
    build = ["build", str(small_build.recipe), "--version", VERSION, "--workers"]
    in_all = _results(small_build.home)
    for share, workers in KILLS:
        command = [*build, str(workers)]
        assert _build_and_kill(home, command, int(share * in_all)), "it ended before it was killed"
    assert main([*build, "1", "--home", str(home)]) == 0
    assert version_files(home, VERSION) == small_build.files()
    assert _every_result_has_its_files(home)


def _results(home: Path) -> int:
    return sum(1 for _ in (home / "store").glob(RESULTS))


def _build_and_kill(home: Path, build: list[str], results: int) -> bool:
    """Start a build in its own process group and SIGKILL the whole group once it has stored more
    than so many results; True if it was alive."""
    process = subprocess.Popen(
        corpus_command(*build),
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while _results(home) <= results and process.poll() is None:
        time.sleep(0.01)
    alive = process.poll() is None
    if alive:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return alive


def _every_result_has_its_files(home: Path) -> bool:
    """Leftover temporary files are harmless; a result that names an absent file is not."""
    for result in (home / "store").glob(RESULTS):
        outputs = json.loads(result.read_bytes())["outputs"].values()
        if not all((home / "store" / out["path"]).is_file() for out in outputs):
            return False
    return True
