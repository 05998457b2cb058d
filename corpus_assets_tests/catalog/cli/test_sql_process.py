"""A query of `catalog sql`, or of a page, takes no more memory and time than it may, and stops when
it is told to."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from catalog.errors import CatalogError, QueryRefused
from catalog.lineage.limits import QueryLimits
from catalog.lineage.tables import Lineage
from corpus_assets_tests.catalog.corpus import Corpus

ENDLESS = "SELECT count(*) FROM range(100000) a, range(100000) b, range(100000) c"
DEAF = "SELECT levenshtein(repeat('a', 2000000), repeat('b', 2000000))"  # to interrupts


def start(corpus: Corpus, folder: Path, *arguments: str, **limits: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "catalog", *arguments, "--home", str(corpus.store.root.parent)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | limits | {"TMPDIR": str(folder)},
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('a', 2000000000)",
        "SELECT sum(length(repeat('a', 100000000 + i))) FROM range(100) t(i)",
        "SELECT range(100000000)",
    ],
)
def test_a_query_that_needs_too_much_memory_is_stopped(
    corpus: Corpus, tmp_path: Path, sql: str
) -> None:
    asked = start(corpus, tmp_path, "sql", sql, CORPUS_SQL_MEMORY_GIB="0.25")
    out, told = asked.communicate(timeout=300)
    assert (asked.returncode, out) == (2, "")
    assert told.startswith("catalog: error: the query was stopped: it needs more than 0.25 GiB")
    assert "set CORPUS_SQL_MEMORY_GIB" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sql", [ENDLESS, DEAF])
def test_a_query_that_takes_too_long_is_stopped(corpus: Corpus, tmp_path: Path, sql: str) -> None:
    asked = start(corpus, tmp_path, "sql", sql, CORPUS_SQL_TIME_S="2")
    out, told = asked.communicate(timeout=300)
    assert (asked.returncode, out) == (2, "")
    assert told == (
        "catalog: error: the query was stopped after 2 s; simplify it, or set "
        "CORPUS_SQL_TIME_S to a larger number\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_query_stops_when_it_is_told_to(
    corpus: Corpus, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    asked = start(corpus, tmp_path, "sql", DEAF)
    while not (children := _children(asked.pid)):
        assert asked.poll() is None
        time.sleep(0.05)
    asked.send_signal(sent)
    _, told = asked.communicate(timeout=300)
    assert asked.returncode == code
    assert told.strip() == "catalog: the query was stopped"
    assert list(tmp_path.iterdir()) == []
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def _children(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


def test_queries_of_pages_have_limits_too(corpus: Corpus) -> None:
    with Lineage(corpus.registry, corpus.store, "v1", QueryLimits(time_s=0.1)) as lineage:
        with pytest.raises(QueryRefused, match=r"stopped after 0.1 s.*CORPUS_SQL_TIME_S"):
            lineage.query(ENDLESS)
        assert lineage.query("SELECT 1 AS n") == [{"n": 1}]
    with (
        Lineage(corpus.registry, corpus.store, "v1", QueryLimits(memory_gib=0.03)) as lineage,
        pytest.raises(QueryRefused, match=r"0.03 GiB.*CORPUS_SQL_MEMORY_GIB"),
    ):
        lineage.query("SELECT list(i) FROM range(100000000) t(i)")


@pytest.mark.parametrize("written", ["much", "0", "-1", "nan"])
def test_a_limit_that_is_no_number_is_said(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORPUS_SQL_TIME_S", written)
    with pytest.raises(CatalogError, match="CORPUS_SQL_TIME_S is a number above 0"):
        QueryLimits.of_environment()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_pages_that_are_stopped_say_so(
    corpus: Corpus, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    serving = start(corpus, tmp_path, "serve", "--port", "0")
    assert serving.stdout is not None
    (address,) = re.findall(r"http://\S+", serving.stdout.readline())
    with urllib.request.urlopen(address) as answer:
        assert answer.status == 200
    serving.send_signal(sent)
    _, told = serving.communicate(timeout=300)
    assert serving.returncode == code
    assert told.strip() == "catalog: stopped; the pages are no longer served"
