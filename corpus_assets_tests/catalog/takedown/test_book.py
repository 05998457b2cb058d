"""The order book between catalog and store, on SQLite and on PostgreSQL."""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from catalog.db.order_book import fold, kept
from catalog.db.registry import Registry
from catalog.db.rows import ActionRow, CertificateRow, NewTakedown
from catalog.errors import OrderBookError, StoreFileError, VersionExists
from catalog.formats.order_book import Entry, entry_bytes, entry_path, parse_entry, parse_file
from catalog.formats.store import FileStore
from catalog.takedown import book
from catalog.takedown.book import (
    book_problems,
    deliver_book,
    expect_book,
    recorded_in_book,
    restore_catalog,
)
from catalog.takedown.signing import Trust
from corpus_assets_tests.catalog.db.test_registry import ready, version


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "store")


def page(number: int, documents: int = 1, *more: tuple[str, str]) -> NewTakedown:
    key = f"com,example)/{number}"
    found = {"matched": documents, "listed": []}
    orders = (("url_key", key), *more)
    return NewTakedown(
        "url", key, False, "asked", "wer? ä", "c-1", key, None, documents, found, orders
    )


def sql(registry: Registry, *statements: str) -> None:
    with registry.database.write() as connection:
        for statement in statements:
            connection.execute(text(statement))


def a_history(registry: Registry, store: FileStore) -> None:
    """Requests in every state, a shared order, a revoked version, two certificates."""
    ready(registry)
    registry.publish_version(version("v1"), [], [])
    with recorded_in_book(registry, store):
        shared = ("host", "example.com")
        registry.file_takedowns([page(1, 1, shared), page(2, 1, shared), page(3), page(4)])
    with recorded_in_book(registry, store):
        registry.refresh_takedowns([(1, page(1, 2, ("doc_id", "ab" * 16)))])
        registry.withdraw_takedown(3)
        registry.claim_takedowns([1, 2], "run", 60)
        done = [ActionRow(number, "v1", "v1.td1", {"shards": {}}) for number in (1, 2)]
        registry.publish_version(version("v1.td1"), [], [], revokes=["v1"], actions=done)
        first, second = "a" * 64, "b" * 64
        registry.put_certificates([CertificateRow(1, "certificates/1.json", first)])
        registry.put_certificates([CertificateRow(2, "certificates/2.json", second, first)])
        registry.finish_takedowns([1, 2], "run")


def rows(registry: Registry) -> dict[str, object]:
    """All that the book promises to bring back."""
    numbers = [row.id for row in registry.takedowns()]
    return {
        "requests": [kept(row) for row in registry.takedowns()],
        "orders": sorted((row.kind, row.value) for row in registry.suppressions()),
        "held": {n: {o.value for o in registry.takedown_suppressions(n)} for n in numbers},
        "history": {n: registry.takedown_history(n) for n in numbers},
        "certificates": registry.certificates(),
    }


def another(registry: Registry, tmp_path: Path) -> Registry:
    """An empty catalog in the place of the one that was lost."""
    if registry.database.is_sqlite:
        fresh = Registry(f"sqlite:///{tmp_path / 'again.db'}")
    else:
        with registry.database.engine.begin() as connection:
            connection.exec_driver_sql("CREATE SCHEMA again_" + registry_schema(registry))
        name = "again_" + registry_schema(registry)
        url = registry.database.url.update_query_dict({"options": f"-csearch_path={name}"})
        fresh = Registry(url)
    fresh.upgrade()
    return fresh


def registry_schema(registry: Registry) -> str:
    return str(registry.database.url.query["options"]).rpartition("=")[2]


def test_a_new_home_has_an_empty_book_and_works(registry: Registry, store: FileStore) -> None:
    expect_book(registry, store)
    assert store.list("order_book") == []
    assert book_problems(registry, store, Trust()) == []


def test_entries_are_chained_and_in_the_store_before_the_command_answers(
    registry: Registry, store: FileStore
) -> None:
    a_history(registry, store)
    paths = store.list("order_book")
    assert paths == [entry_path(number) for number in range(1, len(paths) + 1)]
    entries = [parse_file(store.read(path))[0] for path in paths]
    assert len({entry.book for entry in entries}) == 1
    assert [entry.kind for entry in entries] == [
        "filed", "refreshed", "withdrawn", "revoked", "certified", "certified", "finished",
    ]  # fmt: skip
    assert all(row.is_stored for row in registry.order_book().rows)
    assert book_problems(registry, store, Trust()) == []
    expect_book(registry, store)


def test_claims_and_failed_attempts_are_no_entries(registry: Registry, store: FileStore) -> None:
    registry.file_takedowns([page(1)])
    registry.claim_takedowns([1], "run", 60)
    registry.fail_takedowns([1], "run", "the disk is full")
    registry.refresh_takedowns([(1, page(1))])
    registry.file_takedowns([page(1)])
    assert len(registry.order_book().rows) == 1
    expect_book(registry, store)


def test_a_lost_catalog_is_refused_and_restored_from_the_store(
    registry: Registry, store: FileStore, tmp_path: Path
) -> None:
    a_history(registry, store)
    before = rows(registry)
    fresh = another(registry, tmp_path)
    with pytest.raises(
        OrderBookError, match="7 entries, and the catalog knows 0.*takedown restore"
    ):
        expect_book(fresh, store)
    told = restore_catalog(fresh, store)
    assert told.requests == {"pending": 1, "done": 2, "withdrawn": 1}
    assert rows(fresh) == before
    expect_book(fresh, store)
    ((row, _),) = fresh.file_takedowns([page(9)])
    assert row.id == 5, "numbers go on"
    ready(fresh)
    with pytest.raises(VersionExists, match=r"replaced by v1\.td1"):
        fresh.publish_version(version("v1"), [], [])


def test_an_older_catalog_is_refused_and_brought_up_to_the_book(
    registry: Registry, store: FileStore
) -> None:
    a_history(registry, store)
    before = rows(registry)
    sql(
        registry,
        "DELETE FROM order_book WHERE number > 1",
        "DELETE FROM takedown_certificates",
        "DELETE FROM takedown_actions",
        "UPDATE takedown_requests SET status = 'pending', documents = 1",
        "UPDATE versions SET status = 'live', superseded_by = NULL",
    )
    with pytest.raises(OrderBookError, match="7 entries, and the catalog knows 1"):
        expect_book(registry, store)
    told = restore_catalog(registry, store)
    assert told.versions_revoked == ["v1"]
    assert rows(registry) == before
    assert registry.version("v1").status == "revoked"
    expect_book(registry, store)


EDITS = [
    ("DELETE FROM suppressions WHERE kind = 'url_key'", "suppression"),
    ("DELETE FROM suppression_holders WHERE request_id = 2", "suppressions of the book"),
    (
        "UPDATE suppressions SET value = 'com,b)/' WHERE value = 'com,example)/1'",
        "without an entry",
    ),
    ("UPDATE takedown_requests SET reason = 'forged' WHERE id = 1", r"1 was altered.*reason"),
    ("UPDATE takedown_requests SET status = 'done' WHERE id = 4", r"4 was altered.*status"),
    ("UPDATE takedown_requests SET documents = 0 WHERE id = 1", r"1 was altered.*documents"),
    ("UPDATE takedown_certificates SET sha256 = 'f'  WHERE request_id = 1", "certificates"),
    ("DELETE FROM takedown_certificates WHERE request_id = 2", "certificates"),
    ("UPDATE versions SET status = 'live' WHERE name = 'v1'", "v1 is live in the catalog"),
]


def test_rows_that_were_deleted_or_edited_are_refused_and_put_right(
    registry: Registry, store: FileStore
) -> None:
    a_history(registry, store)
    before = rows(registry)
    for edit, told in EDITS:
        sql(registry, edit)
        with pytest.raises(OrderBookError, match=told):
            expect_book(registry, store)
        assert book_problems(registry, store, Trust())
        restore_catalog(registry, store)
        assert rows(registry) == before, edit
        expect_book(registry, store)


def test_a_request_row_that_was_deleted_whole_is_missed(
    registry: Registry, store: FileStore
) -> None:
    a_history(registry, store)
    tables = ("suppression_holders", "takedown_actions", "takedown_certificates")
    sql(
        registry,
        *(f"DELETE FROM {table} WHERE request_id = 2" for table in tables),
        "DELETE FROM suppressions WHERE request_id = 2",
        "DELETE FROM takedown_requests WHERE id = 2",
    )
    with pytest.raises(OrderBookError, match="takedown 2 is not in the catalog"):
        expect_book(registry, store)


def test_a_catalog_with_orders_and_no_book_at_all_is_refused(
    registry: Registry, store: FileStore
) -> None:
    a_history(registry, store)
    shutil.rmtree(store.root / "order_book")
    with pytest.raises(OrderBookError, match="ends with entry 0, and the catalog wrote 7"):
        expect_book(registry, store)
    sql(registry, "DELETE FROM order_book")
    with pytest.raises(OrderBookError, match="disagree with the order book"):
        expect_book(registry, store)
    with pytest.raises(OrderBookError, match="nothing to restore"):
        restore_catalog(registry, store)
    assert registry.suppressions(), "nothing is thrown away"


def test_certificates_without_any_book_are_not_a_new_home(
    registry: Registry, store: FileStore
) -> None:
    (store.root / "certificates").mkdir(parents=True)
    (store.root / "certificates" / "00000001.json").write_text("{}")
    with pytest.raises(OrderBookError, match="has certificates of takedowns and no order book"):
        expect_book(registry, store)


def _drop_last(store: FileStore) -> None:
    (store.root / store.list("order_book")[-1]).unlink()


def _drop_one(store: FileStore) -> None:
    (store.root / entry_path(3)).unlink()


def _drop_all(store: FileStore) -> None:
    shutil.rmtree(store.root / "order_book")


@pytest.mark.parametrize("lose", [_drop_last, _drop_one, _drop_all])
def test_a_store_that_lost_entries_is_refused_and_gets_them_again(
    registry: Registry, store: FileStore, lose: Callable[[FileStore], None]
) -> None:
    a_history(registry, store)
    before = {path: store.read(path) for path in store.list("order_book")}
    lose(store)
    with pytest.raises(OrderBookError, match="takedown restore"):
        expect_book(registry, store)
    assert book_problems(registry, store, Trust())
    restore_catalog(registry, store)
    assert {path: store.read(path) for path in store.list("order_book")} == before
    expect_book(registry, store)


def test_an_entry_that_was_edited_is_found(registry: Registry, store: FileStore) -> None:
    a_history(registry, store)
    first = store.root / entry_path(1)
    entry, signature = parse_file(first.read_bytes())
    forged = json.loads(json.dumps(entry.body).replace("asked", "forged"))
    edited = Entry(entry.book, 1, None, entry.at, entry.kind, forged)
    first.write_bytes(entry_bytes(edited, signature))
    assert any("differs from" in line for line in book_problems(registry, store, Trust()))
    last = store.root / store.list("order_book")[-1]
    last.write_bytes(last.read_bytes().replace(b"finished", b"filed"))
    with pytest.raises(OrderBookError, match="entry 7 .* differs from the catalog's"):
        expect_book(registry, store)
    last.write_bytes(b"{" + last.read_bytes()[1:-1] + b',"kind":"x"}')
    with pytest.raises(OrderBookError, match="is damaged .*duplicate"):
        expect_book(registry, store)


def test_the_store_of_another_corpus_is_refused(
    registry: Registry, store: FileStore, tmp_path: Path
) -> None:
    a_history(registry, store)
    other, elsewhere = another(registry, tmp_path), FileStore(tmp_path / "elsewhere")
    a_history(other, elsewhere)
    with pytest.raises(OrderBookError, match="belongs to another corpus"):
        expect_book(registry, elsewhere)
    with pytest.raises(OrderBookError, match="differs from the catalog's"):
        restore_catalog(registry, elsewhere)


def test_a_kill_between_commit_and_store_leaves_what_the_next_command_writes(
    registry: Registry, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(book, "deliver_book", die)
        with pytest.raises(KeyboardInterrupt), recorded_in_book(registry, store):
            registry.file_takedowns([page(1)])
    assert store.list("order_book") == []
    with monkeypatch.context() as patch:
        patch.setattr(Registry, "mark_stored", die)  # later: written, and not noted
        with pytest.raises(KeyboardInterrupt):
            expect_book(registry, store)
    assert store.list("order_book") == [entry_path(1)]
    expect_book(registry, store)
    assert registry.entries_to_store() == []
    assert book_problems(registry, store, Trust()) == []


def test_a_store_that_cannot_be_written_is_told_and_made_up_for(
    registry: Registry, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bool:
        raise StoreFileError("permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "create", refuse)
        with (
            pytest.raises(OrderBookError, match="the catalog has the change.*permission denied"),
            recorded_in_book(registry, store),
        ):
            registry.file_takedowns([page(1)])
    assert [row.id for row in registry.takedowns()] == [1]
    expect_book(registry, store)
    assert store.list("order_book") == [entry_path(1)]


def test_writers_at_once_get_consecutive_numbers(registry: Registry, store: FileStore) -> None:
    failures: list[Exception] = []

    def file(first: int) -> None:
        try:
            own = Registry(registry.database.url)
            for number in range(first, first + 5):
                with recorded_in_book(own, store):
                    own.file_takedowns([page(number)])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=file, args=(100 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    deliver_book(registry, store)
    assert len(store.list("order_book")) == 20
    assert book_problems(registry, store, Trust()) == []
    assert len(registry.suppressions()) == 20


def test_an_order_stays_while_one_request_holds_it(registry: Registry, store: FileStore) -> None:
    shared = ("host", "example.com")
    registry.file_takedowns([page(1, 1, shared), page(2, 1, shared)])
    registry.withdraw_takedown(1)
    entries = [parse_entry(row.entry) for row in registry.order_book().rows]
    held = fold(entries).holds
    assert set(held[2]) == {("url_key", "com,example)/2"), shared}
    assert 1 not in held
    registry.file_takedowns([page(1)])
    expect_book(registry, store)


def test_a_request_that_changes_hands_is_told_once_for_all_its_requests(
    registry: Registry,
) -> None:
    """A run's actions repeat long details for each request: the book says them once."""
    registry.file_takedowns([page(n) for n in range(50)])
    detail = {"shards": {f"s{n}": ["a" * 64, "b" * 64] for n in range(50)}}
    numbers = [row.id for row in registry.takedowns()]
    registry.claim_takedowns(numbers, "run", 60)
    registry.finish_takedowns(
        numbers, "run", [ActionRow(n, "v1", "v1.td1", detail) for n in numbers]
    )
    entry = registry.order_book().rows[-1].entry
    assert len(entry) < 2 * len(json.dumps(detail)) + 100 * len(numbers)
    assert len(fold([parse_entry(entry)]).actions) == 50


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"a":1,"a":2}', b"[" * 100_000, b'{"book":NaN}', b"\xff"],
)
def test_what_is_no_entry_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_file(data)


def test_an_entry_has_one_form(registry: Registry) -> None:
    registry.file_takedowns([page(1)])
    entry = parse_entry(registry.order_book().rows[0].entry)
    data = entry_bytes(entry, None)
    assert parse_file(data) == (entry, None)
    for other in (
        data + b"\n",
        data.replace(b":", b": ", 1),
        data.replace("ä".encode(), b"\\u00e4"),
    ):
        assert other != data
        with pytest.raises(ValueError, match="canonical form"):
            parse_file(other)
