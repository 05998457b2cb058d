"""Commands that cannot go on, or are stopped: one line, never a trace, and nothing is lost."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from catalog.db.registry import Registry
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.demo_build import corpus_command, environment, run_corpus, version_files
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.small_disk import read_only
from corpus_loader import Loader

URL = "http://site-3.example.org/article"
BOTH = pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
STOPPED = "stopped; finished parts are kept, run the same command to continue"


@pytest.fixture(scope="module")
def built(small_build: Place, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the small corpus, made under an open umask, and a takedown that waits."""
    home = tmp_path_factory.mktemp("endings") / "home"
    copy_home(small_build.home, home)
    _catalog(home, "takedown", "request", "--url", URL, "--reason", "asked")
    return home


def _catalog(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "catalog", *arguments]
    return subprocess.run(command, env=environment(home), capture_output=True, text=True)


def _stop(home: Path, command: list[str], number: signal.Signals) -> tuple[int, str]:
    """Send a signal to a command while it stores results; its exit code and stderr."""
    results = home / "store" / "artifacts"
    before = len(list(results.glob("*/*/result.json")))
    with subprocess.Popen(
        command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while len(list(results.glob("*/*/result.json"))) <= before and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        _, told = process.communicate()
    return process.returncode, told


@BOTH
def test_a_stopped_build_says_so_on_one_line_and_goes_on_from_there(
    small_build: Place, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    home = tmp_path / "home"
    build = ["build", str(small_build.recipe), "--version", "small-1"]
    ended, told = _stop(home, corpus_command(*build, "--workers", "2"), number)
    assert ended == code, told
    assert told.splitlines()[-1] == f"corpus: {STOPPED}"
    assert "Traceback" not in told
    assert list((home / "store" / "artifacts").glob("*/*/result.json"))
    assert Registry(f"sqlite:///{home}/catalog.db").leases("") == []
    if number == signal.SIGINT:
        run_corpus(home, *build, "--workers", "2")
        assert version_files(home, "small-1") == small_build.files()


@BOTH
def test_a_stopped_takedown_says_so_on_one_line_and_its_request_waits(
    built: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    home = tmp_path / "home"
    copy_home(built, home)
    command = [sys.executable, "-m", "catalog", "takedown", "run"]
    ended, told = _stop(home, command, number)
    assert ended == code, told
    assert told.splitlines()[-1] == f"catalog: {STOPPED}"
    assert "Traceback" not in told
    (row,) = Registry(f"sqlite:///{home}/catalog.db").takedowns()
    assert row.status == "pending"


def test_all_that_a_build_makes_in_a_home_is_for_its_owner_alone(built: Path) -> None:
    open_to_others = [path for path in (built, *built.rglob("*")) if path.lstat().st_mode & 0o077]
    assert open_to_others == []


@pytest.mark.slow
def test_a_home_that_cannot_be_written_can_be_read(built: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    copy_home(built, home)
    with read_only(home):
        for arguments in (
            ("versions",),
            ("resolve", "small-1"),
            ("find", "--url", URL),
            ("takedown", "list"),
            ("verify", "small-1"),
            ("sql", "SELECT count(*) FROM records"),
        ):
            done = _catalog(home, *arguments)
            assert done.returncode == 0, done.stderr
        assert "small-1" in run_corpus(home, "status").stdout
        loader = Loader.open(
            home / "store" / "versions" / "small-1" / "manifest.json", global_batch=1
        )
        assert len(loader.at(0).tokens) == 1
        loader.close()
        refused = _catalog(home, "takedown", "request", "--url", URL + "/2", "--reason", "x")
    assert refused.returncode == 2
    assert "cannot be written" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_damaged_table_is_named_without_a_trace(built: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    copy_home(built, home)
    for path in (home / "store" / "artifacts" / "documents").glob("*/documents.parquet"):
        path.write_bytes(path.read_bytes()[:-20])
    for done in (
        _catalog(home, "takedown", "run"),
        subprocess.run(
            corpus_command("report", "x" * 300),
            env=environment(home),
            capture_output=True,
            text=True,
        ),
    ):
        assert done.returncode in (1, 2), done.stderr
        assert "Traceback" not in done.stderr
        said = [line for line in done.stderr.splitlines() if "error: " in line]
        assert done.stderr.splitlines()[-1:] == said, done.stderr
