"""P1: the same bytes, however often a build was killed."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from corpus_assets_tests.demo_build import (
    VERSION,
    build_demo,
    corpus_command,
    environment,
    version_files,
)


def test_a_build_killed_at_several_points_ends_with_the_same_version(
    demo_home: Path, tmp_path: Path
) -> None:
    home = tmp_path / "killed"
    moments = random.Random(7)
    kills = 0
    for attempt in range(3):
        # Later attempts live longer, so that kills fall into early and late stages alike.
        kills += _build_and_kill(home, after_s=moments.uniform(3, 5) + 3 * attempt)
    assert kills >= 2, "the build ended before it could be killed; shorten the moments"
    build_demo(home, workers=2)
    assert version_files(home) == version_files(demo_home)
    assert _every_result_has_its_files(home)


def _build_and_kill(home: Path, after_s: float) -> bool:
    """Start a build in its own process group and SIGKILL the whole group; True if it was alive."""
    process = subprocess.Popen(
        corpus_command("build", "demo", "--version", VERSION, "--workers", "2"),
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + after_s
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    alive = process.poll() is None
    if alive:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return alive


def _every_result_has_its_files(home: Path) -> bool:
    """Leftover temporary files are harmless; a result that names an absent file is not."""
    for result in (home / "store" / "artifacts").rglob("result.json"):
        outputs = json.loads(result.read_bytes())["outputs"].values()
        if not all((home / "store" / out["path"]).is_file() for out in outputs):
            return False
    return True
