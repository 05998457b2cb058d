"""Look-ups by key files give what scans give, row by row, and hold against damage."""

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest

from catalog.ask.documents import find_host, find_text, find_url, history, resolve_doc_id
from catalog.ask.tokens import exposure, trace
from catalog.errors import LineageBroken, UnknownName
from catalog.formats.key_files import TABLE_OF
from catalog.formats.store import Store
from catalog.lineage.tables import Lineage, LiveLineage
from catalog.verify.version import verify
from corpus_assets_tests.catalog.corpus import SNAPSHOTS, Corpus, Doc, Tables, build, pages
from corpus_assets_tests.catalog.keyed import publish_with_keys, write_keys
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
    for name in ("documents", "texts"):
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
    """Version v1 without keys, `keyed` with them, in runs of one file and in long ones."""
    made = build(tmp_path_factory.mktemp("keyed"), docs=documents(), tamper=with_record_keys)
    publish_with_keys(made, units_per_run=request.param)
    return made


@pytest.fixture
def both(corpus: Corpus) -> Iterator[tuple[Lineage, Lineage]]:
    with (
        Lineage(corpus.registry, corpus.store, "v1") as scanned,
        Lineage(corpus.registry, corpus.store, "keyed") as keyed,
    ):
        assert keyed.keys.covers(*TABLE_OF)
        assert not any(scanned.keys.covers(kind) for kind in TABLE_OF)
        yield scanned, keyed
        assert "connection" not in keyed.__dict__, "a look-up by keys asked DuckDB"


def same(answer: Any) -> Any:
    """An answer without the version's name."""
    return {key: value for key, value in answer.items() if key != "version"}


def test_histories_are_the_same(corpus: Corpus, both: tuple[Lineage, Lineage]) -> None:
    scanned, keyed = both
    for doc_id in {doc.doc_id for doc in corpus.docs}:
        assert same(history(keyed, doc_id)) == same(history(scanned, doc_id))
        assert resolve_doc_id(keyed, doc_id.hex()[:9]) == doc_id


def test_ids_that_nobody_has_are_unknown_both_ways(both: tuple[Lineage, Lineage]) -> None:
    for lineage in both:
        for written in ("0" * 32, "f" * 32, "abcdef01"):
            with pytest.raises(UnknownName):
                resolve_doc_id(lineage, written)


def test_an_id_that_shares_its_first_half_with_another_is_not_taken_for_it(
    corpus: Corpus, both: tuple[Lineage, Lineage]
) -> None:
    other = corpus.docs[0].doc_id[:8] + bytes(8)
    for lineage in both:
        assert history(lineage, other)["records"] == []
        with pytest.raises(UnknownName):
            resolve_doc_id(lineage, other.hex())


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages_are_the_same(corpus: Corpus, both: tuple[Lineage, Lineage], limit: int) -> None:
    scanned, keyed = both
    asked = {doc.url for doc in corpus.docs} | {
        RECORD_KEY,
        "HTTPS://www.SITE3.example:443/page/11?utm_medium=y#z",
        "port.example:8080/a",
        "http://nowhere.example/",
        "not a url at all",
    }
    for url in sorted(asked):
        assert same(find_url(keyed, url, limit)) == same(find_url(scanned, url, limit))
    assert find_url(keyed, RECORD_KEY, 10)["total"] == 2
    assert find_url(keyed, ADDRESSES[0], 10)["total"] == 4


@pytest.mark.parametrize("limit", [1, 5, 1000])
def test_domains_are_the_same(both: tuple[Lineage, Lineage], limit: int) -> None:
    scanned, keyed = both
    hosts = ("example", "site1.example", "sub.site1.example", "port.example", "10.1.2.3",
             "[2001:db8::7]", "site", "crawl", "2.3", "zz.example")  # fmt: skip
    for host in hosts:
        assert same(find_host(keyed, host, limit)) == same(find_host(scanned, host, limit)), host
    assert find_host(keyed, "port.example", 9)["total"] == 4
    assert find_host(keyed, "site1.example", 99)["total"] == 7


def test_a_source_is_not_a_domain(both: tuple[Lineage, Lineage]) -> None:
    assert [find_host(lineage, "crawl", 9)["total"] for lineage in both] == [0, 0]


def test_texts_are_the_same(corpus: Corpus, both: tuple[Lineage, Lineage]) -> None:
    scanned, keyed = both
    for doc in corpus.docs:
        if doc.text:
            text = f"{doc.text}\n"
            assert same(find_text(keyed, text, 10)) == same(find_text(scanned, text, 10))


def test_every_token_is_traced_alike(corpus: Corpus, both: tuple[Lineage, Lineage]) -> None:
    scanned, keyed = both
    for shard in corpus.registry.version_shards("keyed"):
        for sample in range(shard.samples):
            for token in (0, 11, 47):
                place = (shard.full_name, sample, token)
                assert same(trace(keyed, *place)) == same(trace(scanned, *place))


def test_exposure_is_the_same(corpus: Corpus, both: tuple[Lineage, Lineage]) -> None:
    scanned, keyed = both
    for doc in corpus.docs[:8]:
        seen = [same(exposure(one, doc.doc_id.hex(), 5, 9, 3)) for one in (keyed, scanned)]
        assert seen[0] == seen[1]


def test_beginnings_of_ids_are_found_over_all_live_versions(corpus: Corpus) -> None:
    digits = corpus.docs[0].doc_id.hex()[:4]
    with LiveLineage(corpus.registry, corpus.store) as live:
        scanned = live.doc_ids_from(digits, 6)
        assert scanned
        live.files = {"keyed": live.files["keyed"]}
        live.__dict__.pop("keys", None)
        assert live.doc_ids_from(digits, 6) == scanned


def test_a_remote_store_gives_the_same_answers(corpus: Corpus, tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    bucket = f"/keys{tmp_path}"
    memory.put(str(corpus.home / "store"), bucket, recursive=True)
    with (
        Lineage(corpus.registry, Store(f"memory:/{bucket}"), "keyed") as remote,
        Lineage(corpus.registry, corpus.store, "keyed") as local,
    ):
        for doc in corpus.docs[:8]:
            assert history(remote, doc.doc_id) == history(local, doc.doc_id)
            assert find_url(remote, doc.url, 9) == find_url(local, doc.url, 9)
        assert find_host(remote, "example", 9) == find_host(local, "example", 9)
    memory.rm(bucket, recursive=True)


def test_a_version_whose_keys_miss_a_file_is_scanned(corpus: Corpus) -> None:
    name = f"partly-{len(corpus.registry.versions())}"
    keys = write_keys(corpus, "v1", 1)
    row = dataclasses.replace(corpus.registry.version("v1"), name=name, created_at="")
    files = corpus.registry.lineage_files("v1")
    kept = [key for key in keys if not (key.kind == "url_keys" and key.snapshot == SNAPSHOTS[1])]
    corpus.registry.publish_version(row, [], files, keys=kept)
    with Lineage(corpus.registry, corpus.store, name) as lineage:
        assert lineage.keys.covers("hosts", "document_ids")
        assert not lineage.keys.covers("url_keys")
        assert find_url(lineage, "http://site3.example/page/11", 9)["total"] == 2
    revoke(corpus.registry, name)


@pytest.fixture
def own(tmp_path: Path) -> Corpus:
    made = build(tmp_path / "own", docs=documents(), tamper=with_record_keys)
    publish_with_keys(made, units_per_run=2)
    return made


def problems(corpus: Corpus) -> list[dict[str, str]]:
    return list(verify(corpus.registry, corpus.store, "keyed")["problems"])


def test_verify_passes_whole_keys(own: Corpus) -> None:
    assert [p for p in problems(own) if p["check"] in ("keys", "files")] == []


@pytest.mark.parametrize("kind", list(TABLE_OF))
def test_verify_finds_keys_that_do_not_fit_their_tables(own: Corpus, kind: str) -> None:
    """A key file whose own hash is right, and whose places are those of other rows."""
    registry = own.registry
    keys = registry.key_files("keyed")
    victim = next(key for key in keys if key.kind == kind)
    path = own.home / "store" / victim.path
    data = bytearray(path.read_bytes())
    place = len(data) - 64  # the last array is the places
    data[place : place + 4] = bytes([data[place] ^ 1, *data[place + 1 : place + 4]])
    path.write_bytes(data)
    found = problems(own)
    assert victim.path in {p["subject"] for p in found if p["check"] == "files"}
    row = dataclasses.replace(registry.version("v1"), name="again", created_at="")
    moved = dataclasses.replace(victim, sha256=hashlib.sha256(data).hexdigest())
    files, shards = registry.lineage_files("v1"), registry.version_shards("v1")
    registry.publish_version(row, shards, files, keys=[moved if k is victim else k for k in keys])
    again = verify(registry, own.store, "again")["problems"]
    assert [p["subject"] for p in again if p["check"] == "keys"] == [victim.path]


def test_keys_of_another_version_are_noticed(own: Corpus) -> None:
    registry = own.registry
    files = [
        dataclasses.replace(row, rows=row.rows + 1) if row.table_name == "documents" else row
        for row in registry.lineage_files("v1")
    ]
    row = dataclasses.replace(registry.version("v1"), name="mixed", created_at="")
    registry.publish_version(row, [], files, keys=registry.key_files("keyed"))
    with (
        Lineage(registry, own.store, "mixed") as lineage,
        pytest.raises(LineageBroken, match="catalog verify"),
    ):
        find_url(lineage, "http://site3.example/page/11", 9)
