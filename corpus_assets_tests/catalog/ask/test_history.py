"""Documents by id, address and text; where they are and why some are not."""

import dataclasses
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest

from catalog.ask.documents import document_history, find_host, find_text, find_url, resolve_doc_id
from catalog.errors import AmbiguousName, CatalogError, StoreFileError, UnknownName
from catalog.formats.lineage_tables import LINEAGE_TABLES
from catalog.formats.store import FileStore
from catalog.formats.token_order import text_places
from catalog.lineage.lookups import spans_of
from catalog.lineage.tables import Lineage
from corpus_assets_tests.catalog.corpus import SEQ_LEN, SNAPSHOTS, Corpus, build
from corpus_assets_tests.registry_states import revoke


def test_every_document_leads_to_its_tokens_and_back(corpus: Corpus, lineage: Lineage) -> None:
    shards = {shard.full_name: shard for shard in corpus.registry.version_shards("v1")}
    for doc in corpus.kept():
        tokens = []
        for span in document_history(lineage, doc.doc_id).shards:
            data = corpus.store.read(shards[span.shard].bin_path)
            start = 4 * (span.sample * SEQ_LEN + span.offset)
            piece = memoryview(data)[start : start + 4 * span.length].cast("i")
            tokens += list(piece)
        ids = np.array(tokens)
        spoken = ids[text_places(ids, lineage.token_bytes.markers, tokens[-1])]
        assert corpus.tokenizer.decode(spoken.tolist()) == (doc.final or doc.text)


def test_a_dropped_document_has_its_reason_and_no_place(corpus: Corpus, lineage: Lineage) -> None:
    for doc in corpus.docs:
        if doc.reason in ("too_few_words", "empty_page", "near_duplicate"):
            told = document_history(lineage, doc.doc_id)
            assert told.kept is False
            assert told.shards == []
            decision = told.records[0]["decision"]
            assert (decision["stage"], decision["reason"]) == (doc.stage, doc.reason)
            assert told.final_text is None


def test_a_capture_that_stands_twice_has_two_records_and_one_is_kept(
    corpus: Corpus, lineage: Lineage
) -> None:
    doc = next(doc for doc in corpus.docs if doc.reason == "same_capture")
    records = document_history(lineage, doc.doc_id).records
    assert [record["decision"]["kept"] for record in records] == [True, False]
    assert [record["part"] for record in records] == [0, 1]
    assert records[0]["file"] == "part-0.warc.gz"


def test_a_cluster_names_who_stands_for_it(corpus: Corpus, lineage: Lineage) -> None:
    removed = next(doc for doc in corpus.docs if doc.reason == "near_duplicate")
    keeper = next(d for d in corpus.kept() if d.cluster == removed.cluster)
    cluster = document_history(lineage, removed.doc_id).cluster
    assert cluster.kept_doc_id == keeper.doc_id.hex()
    assert cluster.size == len(cluster.members) == 3
    assert cluster.members[0].doc_id == keeper.doc_id.hex()
    alone = next(doc for doc in corpus.kept() if doc.cluster is None)
    assert document_history(lineage, alone.doc_id).cluster is None


def test_scores_and_edit_counts_are_told(corpus: Corpus, lineage: Lineage) -> None:
    doc = next(doc for doc in corpus.kept() if doc.edits)
    told = document_history(lineage, doc.doc_id)
    assert told.final_text["scrubbed"] == {"email": 2}
    assert told.final_text["boilerplate_lines"] == 1
    assert told.final_text["edits"] == 3
    assert told.final_text["edits_by_kind"] == {"boilerplate_line": 1, "email": 2}
    assert told.signals[0]["n_words"] == len((doc.text or "").split())
    assert told.signals[0]["snapshot"] == doc.snapshot


def test_the_beginning_of_an_id_is_enough_where_it_is_unique(
    corpus: Corpus, lineage: Lineage
) -> None:
    whole = corpus.docs[0].doc_id
    for digits in (32, 31, 12, 7):
        assert resolve_doc_id(lineage, whole.hex()[:digits].upper()) == whole
    with pytest.raises(UnknownName, match="has no document"):
        resolve_doc_id(lineage, "00000000")
    for wrong in ("", "abc", "xyz12345", "0" * 33):
        with pytest.raises(CatalogError):
            resolve_doc_id(lineage, wrong)


def test_an_ambiguous_beginning_lists_the_choices(
    corpus: Corpus, lineage: Lineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catalog.ask.documents.MIN_PREFIX", 1)
    first = [doc.doc_id.hex()[0] for doc in {d.doc_id: d for d in corpus.docs}.values()]
    shared = next(digit for digit in first if first.count(digit) > 1)
    with pytest.raises(AmbiguousName, match="give more digits"):
        resolve_doc_id(lineage, shared)


@pytest.mark.parametrize(
    "spelling",
    ["http://site3.example/page/11", "HTTPS://www.SITE3.example:443/page/11?utm_medium=y#z"],
)
def test_a_page_is_found_under_any_spelling(lineage: Lineage, spelling: str) -> None:
    found = find_url(lineage, spelling, 10)
    assert found.total == 2
    assert not found.truncated
    assert [match.snapshot for match in found.matches] == list(SNAPSHOTS)
    assert all(match.kept and match.shards and match.samples for match in found.matches)


def test_what_was_never_seen_is_not_found(lineage: Lineage) -> None:
    assert find_url(lineage, "http://elsewhere.example/", 10).matches == []
    assert find_url(lineage, "not a url at all", 10).matches == []
    assert find_host(lineage, "site", 10).total == 0
    with pytest.raises(CatalogError, match="not a host name"):
        find_host(lineage, "a b", 10)


def test_a_host_brings_its_pages_and_those_of_its_subdomains(
    corpus: Corpus, lineage: Lineage
) -> None:
    assert find_host(lineage, "example", 100).total == len(corpus.docs)
    found = find_host(lineage, "WWW.site1.example", 100)
    assert {match.url_key.split(")")[0] for match in found.matches} == {"example,site1"}
    assert found.total == sum("site1" in doc.url for doc in corpus.docs)


def test_a_long_answer_is_cut_and_says_so(corpus: Corpus, lineage: Lineage) -> None:
    found = find_host(lineage, "example", 3)
    assert len(found.matches) == 3
    assert found.truncated
    assert found.total == len(corpus.docs)


def test_a_whole_text_is_found_exactly_even_when_it_was_dropped(
    corpus: Corpus, lineage: Lineage
) -> None:
    dropped = next(doc for doc in corpus.docs if doc.reason == "too_few_words")
    for text in (dropped.text or "", f"{dropped.text}\n"):
        found = find_text(lineage, text, 10)
        assert found.match == "exact"
        assert [match.doc_id for match in found.matches] == [dropped.doc_id.hex()]
        assert "too_few_words" in found.matches[0].outcome


def test_a_passage_is_searched_in_the_final_texts_and_that_is_said(
    corpus: Corpus, lineage: Lineage
) -> None:
    found = find_text(lineage, "Write to <email> or <email> now.", 1)
    assert found.match == "contains"
    assert found.truncated
    assert len(found.matches) == 1
    assert find_text(lineage, "no document says this", 5).matches == []
    with pytest.raises(CatalogError, match="at least 8 characters"):
        find_text(lineage, "short", 5)


def test_an_id_is_compared_inside_the_parquet_reader(lineage: Lineage, corpus: Corpus) -> None:
    doc = corpus.kept()[0]
    scan = lineage.scan("records")
    plan = lineage.query(f"EXPLAIN SELECT url FROM {scan} WHERE doc_id = ?", [doc.doc_id])
    reader = str(plan).partition("READ_PARQUET")[2]
    assert "Filters" in reader
    assert "doc_id" in reader.partition("Filters")[2]


def test_a_version_without_lineage_answers_with_nothing(corpus: Corpus) -> None:
    row = corpus.registry.version("v1")
    values = {name: getattr(row, name) for name in row.__dataclass_fields__}
    corpus.registry.publish_version(
        type(row)(**values | {"name": "bare", "created_at": ""}), [], []
    )
    with Lineage(corpus.registry, corpus.store, "bare") as bare:
        bare.create_views()
        for table in LINEAGE_TABLES:
            assert bare.query(f"SELECT * FROM {table}") == []
        assert spans_of(bare, [b"x" * 16]) == {b"x" * 16: []}
        with pytest.raises(UnknownName):
            resolve_doc_id(bare, "abcdef")
    revoke(corpus.registry, "bare")


def test_a_file_shared_by_two_parts_counts_for_each_of_them(tmp_path: Path) -> None:
    own = build(tmp_path)
    files = own.registry.lineage_files("v1")
    signals = [row for row in files if row.table_name == "signals"]
    shared = [dataclasses.replace(signals[0], part=part) for part in (0, 1)]
    row = dataclasses.replace(own.registry.version("v1"), name="shared", created_at="")
    own.registry.publish_version(row, [], shared)
    with Lineage(own.registry, own.store, "shared") as tables:
        counts = tables.query(
            f"SELECT part, count(*) AS n FROM {tables.scan('signals')} GROUP BY ALL ORDER BY ALL"
        )
        assert counts == [{"part": part, "n": signals[0].rows} for part in (0, 1)]
        only = tables.query(f"SELECT DISTINCT part FROM {tables.scan('signals', parts=[1])}")
        assert only == [{"part": 1}]
        assert tables.query(f"FROM {tables.scan('signals', parts=[])}") == []


@pytest.fixture
def remote(corpus: Corpus) -> Iterator[Lineage]:
    memory = fsspec.filesystem("memory")
    bucket = f"/bucket-{uuid.uuid4().hex}"
    memory.put(str(corpus.home / "store"), bucket, recursive=True)
    with Lineage(corpus.registry, FileStore(f"memory:/{bucket}"), "v1") as tables:
        yield tables
    memory.rm(bucket, recursive=True)


def test_a_remote_store_gives_the_same_answers(
    corpus: Corpus, lineage: Lineage, remote: Lineage
) -> None:
    for doc in corpus.docs[:6]:
        assert document_history(remote, doc.doc_id) == document_history(lineage, doc.doc_id)


def test_a_missing_lineage_file_points_to_verify(tmp_path_factory: pytest.TempPathFactory) -> None:
    own = build(tmp_path_factory.mktemp("missing"))
    path = own.registry.lineage_files("v1", "records")[0].path
    (own.home / "store" / path).unlink()
    with (
        Lineage(own.registry, own.store, "v1") as tables,
        pytest.raises(StoreFileError, match="catalog verify v1"),
    ):
        document_history(tables, own.docs[0].doc_id)
