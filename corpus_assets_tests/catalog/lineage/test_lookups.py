"""Look-ups by key files give what scans give, row by row, without a scan, and notice damage."""

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest

from catalog.ask.documents import document_history, find_host, find_url, resolve_doc_id
from catalog.ask.exposure import training_exposure
from catalog.ask.tokens import trace_token
from catalog.errors import LineageBroken, UnknownName
from catalog.formats.ids import text_id
from catalog.formats.key_files import DOCUMENT_IDS, TABLE_OF
from catalog.formats.store import FileStore
from catalog.formats.urls import host_key, url_key
from catalog.lineage import lookups
from catalog.lineage.tables import Lineage, LiveLineage
from catalog.verify.version import Problem, verify
from corpus_assets_tests.catalog.corpus import SNAPSHOTS, Corpus, Doc, Tables, build, pages
from corpus_assets_tests.catalog.lineage import scans
from corpus_assets_tests.registry_states import revoke

ADDRESSES = (
    "http://port.example:8080/a",
    "http://deep.sub.site1.example/",
    "http://site1-two.example/",
    "http://site12.example/",
    "http://10.1.2.3/x",
    "http://[2001:db8::7]:99/",
)
RECORD_KEY = "crawl:chapter (one)/two"


def documents() -> list[Doc]:
    docs = [doc for name in SNAPSHOTS for doc in pages(name)]
    for number, url in enumerate(ADDRESSES):
        docs.append(Doc(SNAPSHOTS[number % 2], number % 2, 50_000 + number, url, f"text {url}"))
    # one capture four times, in both parts
    for part, offset in ((0, 61_000), (1, 62_000), (1, 63_000)):
        copy = Doc(SNAPSHOTS[0], part, offset, ADDRESSES[0], f"text {ADDRESSES[0]}", kept=False)
        copy.stage, copy.reason, copy.cluster = "clusters", "same_capture", "captures"
        docs.append(copy)
    next(doc for doc in docs if doc.url == ADDRESSES[0]).cluster = "captures"
    return docs


def with_record_keys(tables: Tables) -> Tables:
    """The pages of long.example become records of a source without addresses."""
    changed = dict(tables)
    for name in ("records", "documents"):
        if name in tables:
            rows = tables[name].to_pylist()
            for row in rows:
                if row["url_key"] == "example,long)/":
                    row |= {"url_key": RECORD_KEY, "host": None}
                    row |= {"url": None} if "url" in row else {}
            changed[name] = pa.Table.from_pylist(rows, tables[name].schema)
    return changed


@pytest.fixture(scope="module", params=[1, 64])
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """With keys in runs of one file, and in long ones."""
    return build(
        tmp_path_factory.mktemp("keyed"),
        docs=documents(),
        tamper=with_record_keys,
        units_per_run=request.param,
    )


@pytest.fixture
def both(corpus: Corpus) -> Iterator[tuple[Lineage, Lineage]]:
    """The version twice: for scans, and for look-ups that must do without any."""
    with (
        Lineage(corpus.registry, corpus.store, "v1") as scanned,
        Lineage(corpus.registry, corpus.store, "v1") as keyed,
    ):
        yield scanned, keyed
        assert "connection" not in keyed.__dict__, "a look-up by keys asked DuckDB"


def test_documents_with_their_clusters_and_spans_are_the_same(
    corpus: Corpus, both: tuple[Lineage, Lineage]
) -> None:
    scanned, keyed = both
    ids = {doc.doc_id for doc in corpus.docs}
    for doc_id in ids:
        assert lookups.records_of(keyed, doc_id) == scans.records_of(scanned, doc_id)
        assert lookups.cluster_rows(keyed, doc_id) == scans.cluster_rows(scanned, doc_id)
        for limit in (1, 9):
            found = lookups.members_of(keyed, doc_id, limit)
            assert found == scans.members_of(scanned, doc_id, limit)
        assert resolve_doc_id(keyed, doc_id.hex()[:9]) == doc_id
    for snapshot in (None, *SNAPSHOTS):
        assert lookups.spans_of(keyed, ids, snapshot) == scans.spans_of(scanned, ids, snapshot)
    some = sorted(ids)[::3]
    assert lookups.records_by_id(keyed, some, 7) == scans.records_by_id(scanned, some, 7)


def test_large_clusters_are_scanned_with_the_same_answer(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lineage(corpus.registry, corpus.store, "v1") as lineage:
        ids = {doc.doc_id for doc in corpus.docs if doc.cluster}
        few = [(lookups.cluster_rows(lineage, i), lookups.members_of(lineage, i, 2)) for i in ids]
        monkeypatch.setattr(lookups, "LONG", 0)
        many = [(lookups.cluster_rows(lineage, i), lookups.members_of(lineage, i, 2)) for i in ids]
    assert few == many


def test_ids_that_nobody_has_are_unknown(both: tuple[Lineage, Lineage]) -> None:
    for written in ("0" * 32, "f" * 32, "abcdef01"):
        with pytest.raises(UnknownName):
            resolve_doc_id(both[1], written)


def test_an_id_that_shares_its_first_half_with_another_is_not_taken_for_it(
    corpus: Corpus, both: tuple[Lineage, Lineage]
) -> None:
    other = corpus.docs[0].doc_id[:8] + bytes(8)
    assert document_history(both[1], other).records == []
    with pytest.raises(UnknownName):
        resolve_doc_id(both[1], other.hex())


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages_are_the_same(corpus: Corpus, both: tuple[Lineage, Lineage], limit: int) -> None:
    scanned, keyed = both
    asked = {doc.url for doc in corpus.docs} | {
        "HTTPS://www.SITE3.example:443/page/11?utm_medium=y#z",
        "port.example:8080/a",
        "http://nowhere.example/",
    }
    for keys in ([RECORD_KEY], ["not a url at all"], *([url_key(url)] for url in sorted(asked))):
        found = lookups.records_by_url(keyed, keys, limit)
        assert found == scans.records_by_url(scanned, keys, limit)
    assert find_url(keyed, RECORD_KEY, 10).total == 2
    assert find_url(keyed, ADDRESSES[0], 10).total == 4


@pytest.mark.parametrize("limit", [1, 5, 1000])
def test_domains_are_the_same(both: tuple[Lineage, Lineage], limit: int) -> None:
    scanned, keyed = both
    hosts = ("example", "site1.example", "sub.site1.example", "port.example", "10.1.2.3",
             "[2001:db8::7]", "site", "crawl", "zz.example")  # fmt: skip
    for host in hosts:
        key = host_key(host)
        found = lookups.records_by_host(keyed, key, limit)
        assert found == scans.records_by_host(scanned, key, limit), host
    assert find_host(keyed, "port.example", 9).total == 4
    assert find_host(keyed, "site1.example", 99).total == 7


def test_a_source_is_not_a_domain(both: tuple[Lineage, Lineage]) -> None:
    assert find_host(both[1], "crawl", 9).total == 0


def test_texts_are_the_same(corpus: Corpus, both: tuple[Lineage, Lineage]) -> None:
    scanned, keyed = both
    for doc in corpus.docs:
        if doc.text:
            ids = [text_id(doc.text), bytes(16)]
            found = lookups.doc_ids_of_text(keyed, ids)
            assert found == scans.doc_ids_of_text(scanned, ids)
            assert doc.doc_id in found


def test_tokens_and_exposure_ask_for_no_scan(corpus: Corpus, both: tuple[Lineage, Lineage]) -> None:
    for shard in corpus.registry.version_shards("v1"):
        for sample in range(shard.samples):
            assert trace_token(both[1], shard.full_name, sample, 11)
    for doc in corpus.docs[:8]:
        assert training_exposure(both[1], doc.doc_id.hex(), 5, 9, 3)


def test_beginnings_of_ids_are_found_over_all_live_versions(
    corpus: Corpus, both: tuple[Lineage, Lineage]
) -> None:
    digits = corpus.docs[0].doc_id.hex()[:4]
    low, high = (bytes.fromhex(digits.ljust(32, end)) for end in "0f")
    with LiveLineage(corpus.registry, corpus.store) as live:
        assert live.doc_ids_from(digits, 6) == scans.doc_ids_between(both[0], low, high, 6)


def test_a_remote_store_gives_the_same_answers(corpus: Corpus, tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    bucket = f"/keys{tmp_path}"
    memory.put(str(corpus.home / "store"), bucket, recursive=True)
    with (
        Lineage(corpus.registry, FileStore(f"memory:/{bucket}"), "v1") as remote,
        Lineage(corpus.registry, corpus.store, "v1") as local,
    ):
        for doc in corpus.docs[:8]:
            assert document_history(remote, doc.doc_id) == document_history(local, doc.doc_id)
            assert find_url(remote, doc.url, 9) == find_url(local, doc.url, 9)
        assert find_host(remote, "example", 9) == find_host(local, "example", 9)
    memory.rm(bucket, recursive=True)


def test_a_small_key_file_of_a_remote_store_takes_one_request(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = fsspec.filesystem("memory")
    bucket = f"/ranges{tmp_path}"
    memory.put(str(corpus.home / "store"), bucket, recursive=True)
    asked: list[str] = []
    read_range = FileStore.read_range

    def noted(store: FileStore, path: str, offset: int, length: int) -> bytes:
        asked.append(path)
        return read_range(store, path, offset, length)

    monkeypatch.setattr(FileStore, "read_range", noted)
    with Lineage(corpus.registry, FileStore(f"memory:/{bucket}"), "v1") as remote:
        for doc in corpus.docs[:8]:
            assert lookups.records_of(remote, doc.doc_id)
    files = corpus.registry.key_files("v1")
    assert sorted(asked) == sorted(row.path for row in files if row.kind == DOCUMENT_IDS)
    memory.rm(bucket, recursive=True)


def test_a_version_whose_keys_miss_a_file_is_broken_and_verify_says_so(corpus: Corpus) -> None:
    name = f"partly-{len(corpus.registry.versions())}"
    row = dataclasses.replace(corpus.registry.version("v1"), name=name, created_at="")
    files = corpus.registry.lineage_files("v1")
    keys = [
        key for key in corpus.registry.key_files("v1")
        if not (key.kind == "url_keys" and key.snapshot == SNAPSHOTS[1])
    ]  # fmt: skip
    corpus.registry.publish_version(row, [], files, keys=keys)
    with Lineage(corpus.registry, corpus.store, name) as lineage:
        assert find_host(lineage, "port.example", 9).total == 4
        with pytest.raises(LineageBroken, match="no key file of kind url_keys .*`catalog verify`"):
            find_url(lineage, "http://site3.example/page/11", 9)
    found = verify(corpus.registry, corpus.store, name).problems
    assert [p.subject for p in found if p.check == "keys"] == ["url_keys"]
    revoke(corpus.registry, name)


@pytest.fixture
def own(tmp_path: Path) -> Corpus:
    return build(tmp_path / "own", docs=documents(), tamper=with_record_keys, units_per_run=2)


def problems(corpus: Corpus) -> list[Problem]:
    return verify(corpus.registry, corpus.store, "v1").problems


def test_verify_passes_whole_keys(own: Corpus) -> None:
    assert [p for p in problems(own) if p.check in ("keys", "files")] == []


@pytest.mark.parametrize("kind", list(TABLE_OF))
def test_verify_finds_keys_that_do_not_fit_their_tables(own: Corpus, kind: str) -> None:
    """A key file whose own hash is right, and whose places are those of other rows."""
    registry = own.registry
    keys = registry.key_files("v1")
    victim = next(key for key in keys if key.kind == kind)
    path = own.home / "store" / victim.path
    data = bytearray(path.read_bytes())
    place = len(data) - 64  # the last array is the places
    data[place : place + 4] = bytes([data[place] ^ 1, *data[place + 1 : place + 4]])
    path.write_bytes(data)
    found = problems(own)
    assert victim.path in {p.subject for p in found if p.check == "files"}
    row = dataclasses.replace(registry.version("v1"), name="again", created_at="")
    moved = dataclasses.replace(victim, sha256=hashlib.sha256(data).hexdigest())
    files, shards = registry.lineage_files("v1"), registry.version_shards("v1")
    registry.publish_version(row, shards, files, keys=[moved if k is victim else k for k in keys])
    again = verify(registry, own.store, "again").problems
    assert [p.subject for p in again if p.check == "keys"] == [victim.path]


def test_keys_of_another_version_are_noticed(own: Corpus) -> None:
    registry = own.registry
    files = [
        dataclasses.replace(row, rows=row.rows + 1) if row.table_name == "records" else row
        for row in registry.lineage_files("v1")
    ]
    row = dataclasses.replace(registry.version("v1"), name="mixed", created_at="")
    registry.publish_version(row, [], files, keys=registry.key_files("v1"))
    with (
        Lineage(registry, own.store, "mixed") as lineage,
        pytest.raises(LineageBroken, match="catalog verify"),
    ):
        find_url(lineage, "http://site3.example/page/11", 9)
