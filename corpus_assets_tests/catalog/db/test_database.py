"""Writers beside each other, locked databases, absent drivers and wrong addresses."""

import multiprocessing
import os
import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from catalog.db import schema
from catalog.db.registry import Registry
from catalog.db.rows import ArtifactRow, MetricRow, SourceRow, SuppressionRow
from catalog.errors import (
    CatalogBusy,
    CatalogError,
    CatalogUnavailable,
    LeaseHeld,
    MissingDriver,
)
from corpus_assets_tests.registry_states import add_orders
from corpus_assets_tests.small_disk import read_only, small_disk

WRITERS = 4
ROUNDS = 10


def write_much(url: str, writer: int, start: object, results: object) -> None:
    """One of several processes that write the same and different rows at once."""
    registry = Registry(url)
    start.wait()  # type: ignore[attr-defined]
    wins = new = 0
    for number in range(ROUNDS):
        shared = ArtifactRow("shared", f"f{number}", f"c{number}", cpu_seconds=float(writer + 1))
        own = ArtifactRow(f"own-{writer}", f"f{number}", "c")
        new += registry.record_artifacts([shared, own])
        new += add_orders(registry, [SuppressionRow("host", f"h{number}")])
        registry.add_metrics([MetricRow("n", float(writer), f"s{number}")])
        try:
            registry.acquire_lease(f"lease-{number}", f"writer-{writer}", 600)
            wins += 1
        except LeaseHeld:
            pass
    results.put((wins, new))  # type: ignore[attr-defined]


def test_writers_in_several_processes_lose_nothing(registry: Registry, empty_url: str) -> None:
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    processes = [
        context.Process(target=write_much, args=(empty_url, writer, start, results))
        for writer in range(WRITERS)
    ]
    for process in processes:
        process.start()
    start.set()
    answers = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    assert sum(wins for wins, _ in answers) == ROUNDS, "each lease has one winner"
    assert sum(new for _, new in answers) == ROUNDS * (1 + WRITERS) + ROUNDS
    assert len(registry.artifacts("shared")) == ROUNDS
    assert len(registry.artifacts()) == ROUNDS * (1 + WRITERS)
    assert len(registry.suppressions()) == ROUNDS
    assert len(registry.metrics("n")) == ROUNDS


def test_upgrades_at_the_same_time_make_the_tables_once(empty_url: str) -> None:
    outcomes: list[object] = []

    def upgrade() -> None:
        try:
            outcomes.append(Registry(empty_url).upgrade()[1])
        except CatalogError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=upgrade) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [schema.newest()] * 3


def test_a_locked_catalog_is_reported_after_the_busy_timeout(
    registry: Registry, empty_url: str
) -> None:
    hurried = Registry(empty_url, busy_timeout_s=0.2)
    with registry.database.write(), pytest.raises(CatalogBusy) as caught:
        hurried.put_source(SourceRow("a", "warc", "web"))
    message = str(caught.value)
    assert "for 0.2 s" in message
    assert "nothing was changed" in message
    assert "look for a running `corpus`, `catalog` or Dagster process" in message
    hurried.put_source(SourceRow("a", "warc", "web"))


def test_readers_do_not_wait_for_a_writer(registry: Registry, empty_url: str) -> None:
    hurried = Registry(empty_url, busy_timeout_s=0.2)
    with registry.database.write():
        assert hurried.sources() == []


def test_a_sqlite_file_locked_by_another_program_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "catalog.db"
    Registry(f"sqlite:///{file}").upgrade()
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(CatalogBusy, match=r"fuser .*catalog\.db"):
        Registry(f"sqlite:///{file}", busy_timeout_s=0.1).put_source(SourceRow("a", "b", "c"))
    other.close()


def test_sqlite_runs_with_a_write_ahead_log_and_foreign_keys(tmp_path: Path) -> None:
    registry = Registry(f"sqlite:///{tmp_path / 'catalog.db'}")
    registry.upgrade()
    with registry.database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000


def test_a_missing_driver_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    with pytest.raises(MissingDriver, match=r"corpus-assets\[postgres\]") as caught:
        Registry("postgresql://ann:secret@db.example/corpus")
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_reported_without_the_password() -> None:
    pytest.importorskip("psycopg2")
    registry = Registry("postgresql+psycopg2://ann:secret@127.0.0.1:1/corpus")
    with pytest.raises(CatalogUnavailable, match="check the address") as caught:
        registry.versions()
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "catalog.db"
    file.write_bytes(b"this is not a database, but long enough to look at" * 10)
    with pytest.raises(CatalogUnavailable, match="not a database"):
        Registry(f"sqlite:///{file}").check_schema()


@pytest.mark.parametrize("url", ["", "nonsense", "mysql://h/d", "sqlite://", "sqlite:///:memory:"])
def test_an_address_of_no_catalog_says_what_to_write(url: str) -> None:
    with pytest.raises(CatalogError, match=r"sqlite:///path/to/catalog\.db"):
        Registry(url)


def test_a_write_that_fails_is_undone_whole(registry: Registry) -> None:
    def write_and_fail() -> None:
        with registry.database.write() as connection:
            connection.exec_driver_sql("INSERT INTO sources VALUES ('a', 'b', 'c', 'd', 'e')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    assert registry.sources() == []


def test_a_catalog_that_cannot_be_written_is_read_without_any_file_beside_it(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    url = f"sqlite:///{home}/catalog.db"
    Registry(url).upgrade()
    Registry(url).put_source(SourceRow("web", "warc", "web", ""))
    before = sorted(path.name for path in home.iterdir())
    with read_only(home):
        registry = Registry(url)
        registry.check_schema()
        assert [source.name for source in registry.sources()] == ["web"]
        with pytest.raises(CatalogUnavailable, match=r"cannot be written: .* read-only here"):
            registry.put_source(SourceRow("books", "text", "books", ""))
    assert sorted(path.name for path in home.iterdir()) == before


def test_a_full_disk_is_called_so_and_nothing_is_changed(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=512) as disk:
        registry = Registry(f"sqlite:///{disk}/catalog.db")
        registry.upgrade()
        rows = [ArtifactRow("signals", f"f{n}", "c" * 200) for n in range(20_000)]
        with pytest.raises(CatalogUnavailable, match=r"the disk of the catalog .* is full") as full:
            registry.record_artifacts(rows)
        assert "free some space and run the same command again" in str(full.value)
        assert registry.artifacts() == []


def test_the_catalog_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        registry = Registry(f"sqlite:///{tmp_path}/new/home/catalog.db")
        registry.upgrade()
        with registry.database.write() as connection:
            connection.exec_driver_sql("SELECT 1")
            files = {path.stat().st_mode & 0o777 for path in (tmp_path / "new/home").iterdir()}
    finally:
        os.umask(before)
    assert files == {0o600}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new/home").stat().st_mode & 0o777 == 0o700
