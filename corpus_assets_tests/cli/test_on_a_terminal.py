"""What long commands show on a terminal, and through a pipe, while they are at work."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from corpus_assets_tests.tiny_corpus import HOST, make_tiny_corpus

WAITING = """
import sys, time
from pathlib import Path
import corpus_assets.build as build

seen, publish = Path(sys.argv[1]), build.publish_version

def publish_once_seen(*arguments):
    for _ in range(1200):
        if seen.exists():
            return publish(*arguments)
        time.sleep(0.1)
    raise SystemExit("nobody saw a thing of this build while it ran")

build.publish_version = publish_once_seen
from {module} import main
sys.exit(main(sys.argv[2:]))
"""
"""A command that publishes nothing until the test has seen what it waits for."""
BAR = re.compile("(signals|clean_text|documents) pages-1[^\n]*[━╸]")


def watched(
    module: str, arguments: list[str], seen: Path, sign: re.Pattern[str], on_tty: bool
) -> str:
    """Run a command, and let it go on once its standard error shows the sign; return all of it."""
    ours, theirs = pty.openpty() if on_tty else os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING.replace("{module}", module), str(seen), *arguments],
        stdin=theirs if on_tty else subprocess.DEVNULL,
        stdout=theirs if on_tty else subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    shown = ""
    while data := _read(ours):
        shown += data
        if sign.search(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)):
            seen.touch()
    os.close(ours)
    assert process.wait() == 0, shown[-3000:]
    assert seen.exists(), shown[-3000:]
    return shown


def _read(descriptor: int) -> str:
    try:
        return os.read(descriptor, 1 << 16).decode(errors="replace")
    except OSError:  # the other side of the terminal is closed
        return ""


@pytest.fixture(scope="module")
def tiny_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    recipe = str(make_tiny_corpus(folder))
    arguments = ["build", recipe, "--home", str(folder / "home"), "--workers", "1"]
    shown = watched("corpus_assets.cli.main", arguments, folder / "seen", BAR, on_tty=True)
    assert re.search("planning .*tiny.yaml", shown.splitlines()[0] + shown.splitlines()[1])
    return folder / "home"


def test_a_build_on_a_terminal_draws_its_bars_while_it_runs(tiny_home: Path) -> None:
    assert list(tiny_home.glob("store/versions/*/manifest.json"))


def test_a_build_through_a_pipe_writes_its_lines_while_it_runs(
    tiny_home: Path, tmp_path: Path
) -> None:
    recipe = str(make_tiny_corpus(tmp_path))
    arguments = ["build", recipe, "--home", str(tiny_home), "--set", "seed=8", "--workers", "1"]
    line = re.compile("^shards pages-1: ", re.M)
    shown = watched("corpus_assets.cli.main", arguments, tmp_path / "seen", line, on_tty=False)
    assert shown.startswith("planning ")


@pytest.mark.slow
def test_a_takedown_on_a_terminal_draws_its_bars_while_it_runs(
    tiny_home: Path, tmp_path: Path
) -> None:
    home = ["--home", str(tiny_home)]
    request = ["takedown", "request", "--url", f"https://{HOST}/page-3", "--reason", "asked", *home]
    assert CliRunner().invoke(catalog, request).exit_code == 0
    arguments = ["takedown", "run", *home]
    watched("catalog.cli.commands", arguments, tmp_path / "seen", BAR, on_tty=True)
