"""Takedowns carried out through the command line: killed, doubled, repeated.

Those that run beside another, or are killed, are processes of their own; the rest is not.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from catalog.cli.commands import main as catalog_main
from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.formats.urls import url_key
from catalog.takedown.certificates import verify_takedown
from corpus_assets.cli.main import main
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.demo_build import environment, version_files
from corpus_assets_tests.homes import copy_home

URL = "http://site-3.example.org/article"


def _catalog(home: Path, *arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(catalog_main, [*arguments, "--home", str(home)])
    assert done.exit_code == code, done.output
    return done.stdout


def _start(home: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "catalog", "takedown", "run"],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def built(small_build: Place, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the small corpus, and a takedown of one page filed and pending."""
    home = _copy(small_build.home, tmp_path_factory.mktemp("takedown"))
    _catalog(home, "takedown", "request", "--url", URL, "--reason", "asked")
    return home


@pytest.fixture(scope="module")
def afterwards(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home after an undisturbed run."""
    home = _copy(built, tmp_path_factory.mktemp("undisturbed"))
    _catalog(home, "takedown", "run")
    return home


@pytest.fixture(scope="module")
def undisturbed(afterwards: Path) -> dict[str, str]:
    """The files of the version that an undisturbed run publishes."""
    return version_files(afterwards, "small-1.td1")


def _copy(built: Path, folder: Path) -> Path:
    copy_home(built, folder / "home")
    return folder / "home"


def _texts(home: Path) -> list[dict[str, Any]]:
    paths = (home / "store" / "artifacts" / "documents").glob("*/documents.parquet")
    columns = ["url_key", "text"]
    return [row for path in paths for row in pq.read_table(path, columns=columns).to_pylist()]


def _requests(home: Path) -> list[Any]:
    return list(Registry(f"sqlite:///{home}/catalog.db").takedowns())


@pytest.mark.slow
def test_a_run_killed_at_several_moments_ends_like_an_undisturbed_one(
    built: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    home = _copy(built, tmp_path)
    killed = 0
    for moment_s in (2.5, 4.0, 6.0):
        process = _start(home)
        deadline = time.monotonic() + moment_s
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
    assert killed, "the run ended before it could be killed; shorten the moments"
    _catalog(home, "takedown", "run")
    assert version_files(home, "small-1.td1") == undisturbed
    assert [row.status for row in _requests(home)] == ["done"]
    assert len(Registry(f"sqlite:///{home}/catalog.db").certificates()) == 1


def test_of_two_runs_at_once_one_does_the_work(
    built: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    home = _copy(built, tmp_path)
    printed = [process.communicate()[0] for process in (_start(home), _start(home))]
    assert sum("removed 1 document" in text for text in printed) == 1, printed
    assert version_files(home, "small-1.td1") == undisturbed
    assert [row.attempts for row in _requests(home)] == [1]


def test_the_old_version_is_revoked_and_the_certificate_holds_no_text(
    built: Path, afterwards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = {row["text"] for row in _texts(built) if row["url_key"] == url_key(URL)}
    home = _copy(afterwards, tmp_path)
    states = {v.name: v.status for v in Registry(f"sqlite:///{home}/catalog.db").versions()}
    assert states == {"small-1": "revoked", "small-1.td1": "live"}
    certificate = json.loads((home / "store" / "certificates" / "00000001.json").read_bytes())
    # Another site had borrowed the page. The request names one address, so that copy stays, and
    # the search says so: it stands in the extracted text, in the final text and in the tokens.
    assert certificate["search"]["exact"] == 3
    assert certificate["versions"][0]["after"] == "small-1.td1"
    assert set(certificate["request"]) == {
        "id", "kind", "value", "given", "near_duplicates", "reason", "requester", "reference",
        "filed_at",
    }  # fmt: skip
    assert not (home / "store" / "versions" / "small-1").exists()
    (cluster,) = certificate["clusters"]
    assert cluster["kept_before"] == certificate["documents"][0]["doc_id"]
    assert len(cluster["promoted"]) == 1
    page = (home / "store" / "certificates" / "00000001.html").read_text()
    phrases = [" ".join(text.split()[i : i + 4]) for i in range(0, 60, 4)]
    assert not [p for p in phrases if p in page or p in json.dumps(certificate)]
    _catalog(home, "verify", "small-1.td1")
    proof = json.loads(_catalog(home, "takedown", "verify", "1", "--record", "--json"))
    assert proof["whole"]
    assert proof["copies_under_other_addresses"] == 1
    recorded = json.loads((home / "store" / proof["recorded"]).read_bytes())
    assert (recorded["search"], recorded["whole"]) == (proof["search"], True)
    data = (home / "store" / recorded["certificate"]["path"]).read_bytes()
    assert recorded["certificate"]["sha256"] == hashlib.sha256(data).hexdigest()
    searcher = EntryPoint("corpus_assets", "corpus_assets.takedown.residue:search_again", "x")
    monkeypatch.setattr("catalog.plugins.entry_points", lambda group: [searcher])
    place = (Registry(f"sqlite:///{home}/catalog.db"), FileStore(str(home / "store")))
    again = verify_takedown(*place, 1).search
    counts = ("texts", "tokens", "exact", "similar")
    assert [again[name] for name in counts] == [certificate["search"][name] for name in counts]
    assert 0 < certificate["search"]["texts_by_keys"] < again["texts"]
    assert (again["texts_by_keys"], again["files_derived"]) == (0, 0)
    monkeypatch.setattr("catalog.plugins.entry_points", lambda group: [])
    assert verify_takedown(*place, 1).search is None
    path = home / "store" / "certificates" / "00000001.json"
    path.write_bytes(path.read_bytes().replace(b"asked", b"liked"))
    altered = _catalog(home, "takedown", "verify", "1", code=1)
    assert "altered since it was written" in altered


def test_a_later_build_of_the_recipe_keeps_the_document_out(
    afterwards: Path, small_build: Place, tmp_path: Path
) -> None:
    home = _copy(afterwards, tmp_path)
    build = ["build", str(small_build.recipe), "--version", "small-2", "--workers", "1"]
    assert main([*build, "--home", str(home)]) == 0
    found = json.loads(_catalog(home, "find", "--url", URL, "--version", "small-2", "--json"))
    assert {match["outcome"] for match in found["matches"]} == {"dropped by documents: suppressed"}
