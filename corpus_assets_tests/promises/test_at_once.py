"""Two takedown runs and a build at once, as processes of their own on one home."""

import contextlib
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.core.store import open_store
from corpus_assets.versions.gc import collect_garbage
from corpus_assets_tests.demo_build import corpus_command, environment, version_files
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.small_corpus import make_small_corpus

URL = "http://site-5.example.org/article"
OTHER = "http://site-8.example.org/article"


def _catalog(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "catalog", *arguments]


def _start(home: Path, *command: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        list(command),
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _run(home: Path, *command: str) -> str:
    done = _start(home, *command)
    printed = done.communicate()[0]
    assert done.returncode == 0, printed
    return printed


def _build(recipe: Path, version: str) -> list[str]:
    return corpus_command("build", str(recipe), "--version", version, "--workers", "1")


def _file(home: Path, url: str) -> None:
    store = FileStore(str(home / "store"))
    request_takedown(_registry(home), store, url_target(url), "asked", near_duplicates=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A recipe, and a home with its first version."""
    folder = tmp_path_factory.mktemp("at-once")
    recipe = make_small_corpus(folder / "corpus")
    _run(folder / "home", *_build(recipe, "small-1"))
    return recipe, folder / "home"


def _registry(home: Path) -> Registry:
    return Registry(f"sqlite:///{home}/catalog.db")


def _copy(home: Path, folder: Path) -> Path:
    copy_home(home, folder / "home")
    return folder / "home"


def _texts(home: Path) -> set[str]:
    """Every text in any Parquet file of the store."""
    found: set[str] = set()
    for path in (home / "store" / "artifacts").rglob("*.parquet"):
        if "text" in pq.read_schema(path).names:
            found.update(pq.read_table(path, columns=["text"])["text"].to_pylist())
    return found


def _pause(process: "subprocess.Popen[str]", home: Path) -> None:
    """Stop a process at a moment when it holds no lock on the catalog."""
    while True:
        process.send_signal(signal.SIGSTOP)
        with contextlib.closing(sqlite3.connect(home / "catalog.db", timeout=0.2)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                process.send_signal(signal.SIGCONT)
                time.sleep(0.05)
            else:
                return


@pytest.mark.slow
def test_two_takedown_runs_and_a_build_at_once_end_as_one_after_the_other(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    recipe, first = built
    apart = _copy(first, tmp_path / "apart")
    for url in (URL, OTHER):
        _file(apart, url)
    _run(apart, *_catalog("takedown", "run"))
    other = ["--set", "seed=8"]  # other shards and another lock: little of it is there already
    _run(apart, *_build(recipe, "small-2"), *other)

    home = _copy(first, tmp_path / "at-once")
    before = len(list((home / "store" / "artifacts").glob("*/*/result.json")))
    build = _start(home, *_build(recipe, "small-2"), *other)
    deadline = time.monotonic() + 120
    while build.poll() is None and time.monotonic() < deadline:
        if len(list((home / "store" / "artifacts").glob("*/*/result.json"))) > before:
            break
        time.sleep(0.05)
    assert build.poll() is None, build.communicate()[0]
    _pause(build, home)
    for url in (URL, OTHER):  # the build has read what these name
        _file(home, url)
    runs = [_start(home, *_catalog("takedown", "run")) for _ in range(2)]
    build.send_signal(signal.SIGCONT)
    printed = [process.communicate()[0] for process in (*runs, build)]
    assert [process.returncode for process in (*runs, build)] == [0, 0, 0], printed

    assert sum("removed" in text for text in printed) == 1, printed
    assert "rebuilding without their documents" in printed[2]
    registry = _registry(home)
    rows = registry.takedowns()
    assert [(row.status, row.attempts, row.error) for row in rows] == [("done", 1, None)] * 2
    assert {v.name: v.status for v in registry.versions()} == {
        "small-1": "revoked",
        "small-1.td1": "live",
        "small-2": "live",
    }
    for version in ("small-1.td1", "small-2"):
        assert version_files(home, version) == version_files(apart, version)
    chain = registry.certificates()
    assert [row.request_id for row in chain] == [1, 2]
    for place in (home, apart):
        collect_garbage(open_store(str(place / "store")), _registry(place))
    assert _texts(home) == _texts(apart)
    assert registry.leases("") == []
