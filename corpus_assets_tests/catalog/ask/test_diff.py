"""What changed between two versions, and nothing that did not."""

import dataclasses
from pathlib import Path

import pytest

from catalog.ask.versions import DocumentChanges, diff_versions, resolve_version
from catalog.db.rows import ActionRow, NewTakedown
from catalog.errors import UnknownName, VersionDeleted
from catalog.formats.canonical import ChangedKey, changed_keys
from catalog.lineage.tables import Lineage, require_present
from catalog.verify.version import verify
from corpus_assets_tests.catalog.corpus import SNAPSHOTS, build, pages
from corpus_assets_tests.registry_states import supersede


def test_keys_are_named_by_their_path() -> None:
    before = {"a": {"b": 1, "c": [1, 2]}, "gone": None, "rules": [{"max": 1}, {"max": 2}]}
    after = {"a": {"b": 2, "c": [1, 2]}, "new": {}, "rules": [{"max": 1}, {"max": 3}]}
    assert changed_keys(before, after) == [
        ChangedKey("a.b", 1, 2),
        ChangedKey("gone", None, None),
        ChangedKey("new", None, {}),
        ChangedKey("rules[1].max", 2, 3),
    ]
    assert changed_keys(after, after) == []


def test_things_with_names_are_told_apart_by_them() -> None:
    long, short = {"name": "long", "max": 9}, {"name": "short", "min": 2}
    assert changed_keys({"rules": [long, short]}, {"rules": [long, short | {"min": 3}]}) == [
        ChangedKey("rules.short.min", 2, 3)
    ]
    assert changed_keys({"rules": [long, short]}, {"rules": [short, long]}) == [
        ChangedKey("rules.*", ["long", "short"], ["short", "long"])
    ]
    assert changed_keys({"rules": [long, long]}, {"rules": [long, short]})[0].key == "rules.*"


def test_a_dropped_document_a_new_one_and_a_new_setting_are_told(tmp_path: Path) -> None:
    first = [doc for name in SNAPSHOTS for doc in pages(name)]
    corpus = build(tmp_path, docs=first)
    second = [dataclasses.replace(doc) for doc in first]
    removed = next(
        doc for doc in second if doc.snapshot == SNAPSHOTS[0] and doc.url[-13:] and doc.kept
    )
    removed.kept, removed.stage, removed.reason = False, "contamination", "benchmark_text"
    revived = next(doc for doc in second if doc.reason == "too_few_words")
    revived.kept, revived.stage, revived.reason = True, None, None
    vanished = next(
        doc for doc in second if doc.snapshot == SNAPSHOTS[0] and doc.tier == "low" and doc.kept
    )
    second.remove(vanished)
    build(
        tmp_path,
        "v2",
        second,
        recipe="name: test\nselection:\n  n_words: {min: 1}\n",
        lock={"seed": 7, "cutoffs": {"web": 0.5, "code": 0.1}},
        tokenizer=corpus.tokenizer,
    )
    answer = diff_versions(corpus.registry, corpus.store, "v1", "v2")
    assert answer.recipe == [ChangedKey("selection.n_words.min", 3, 1)]
    assert answer.lock == [ChangedKey("cutoffs.code", None, 0.1)]
    documents = answer.documents
    assert documents.removed_reasons == {"contamination: benchmark_text": 1, "not ingested": 1}
    assert set(documents.removed_examples) == {removed.doc_id.hex(), vanished.doc_id.hex()}
    assert documents.added_reasons == {"selection: too_few_words": 1}
    assert documents.added_examples == [revived.doc_id.hex()]
    shards = answer.shards
    assert shards.shared == 3, "the other snapshot's shards are the same bytes"
    assert all(name.startswith(SNAPSHOTS[0]) for name in shards.changed)
    assert shards.added == shards.removed == []
    by_group = {row.group: row.change for row in answer.tokens}
    assert by_group[f"{SNAPSHOTS[1]}/web/high"] == 0
    assert sum(by_group.values()) == sum(
        corpus.registry.version(name).tokens * sign for name, sign in (("v2", 1), ("v1", -1))
    )


def test_a_new_snapshot_adds_documents_that_were_not_ingested_before(tmp_path: Path) -> None:
    first, both = pages(SNAPSHOTS[0]), [d for name in SNAPSHOTS for d in pages(name)]
    corpus = build(tmp_path, docs=first)
    build(tmp_path, "v2", both, tokenizer=corpus.tokenizer)
    answer = diff_versions(corpus.registry, corpus.store, "v1", "v2")
    assert answer.documents.added_reasons == {
        "not ingested": sum(doc.kept for doc in both) - sum(doc.kept for doc in first)
    }
    assert answer.documents.removed == 0
    assert len(answer.shards.added) == 3
    assert answer.recipe == answer.lock == []
    back = diff_versions(corpus.registry, corpus.store, "v2", "v1")
    assert back.documents.removed == answer.documents.added
    with pytest.raises(UnknownName):
        diff_versions(corpus.registry, corpus.store, "v1", "v3")


def test_a_version_that_a_takedown_deleted_is_told_and_compared_as_far_as_known(
    tmp_path: Path,
) -> None:
    first = [doc for name in SNAPSHOTS for doc in pages(name)]
    corpus = build(tmp_path, docs=first)
    later = build(tmp_path, "v1.td1", first[1:], tokenizer=corpus.tokenizer)
    registry, store = corpus.registry, corpus.store
    ((request, _),) = registry.file_takedowns([NewTakedown("doc_id", "0" * 32, False, "asked")])
    registry.claim_takedowns([request.id], "me", 60)
    done = ActionRow(request.id, "v1", "v1.td1", {})
    registry.finish_takedowns([request.id], "me", [done])
    supersede(registry, "v1", "v1.td1")
    require_present(registry, store, registry.version("v1"))  # revoked, and still there
    assert later.registry.version("v1").status == "revoked"
    for file in (tmp_path / "store" / "versions" / "v1").iterdir():
        file.unlink()
    said = f"version v1 was deleted after takedown {request.id}, replaced by v1.td1"
    for ask in (
        lambda: verify(registry, store, "v1"),
        lambda: resolve_version(registry, store, "v1"),
        lambda: Lineage(registry, store, "v1"),
    ):
        with pytest.raises(VersionDeleted, match=said):
            ask()
    answer = diff_versions(registry, store, "v1", "v1.td1")
    assert answer.deleted == [said]
    counts = {name: registry.version(name).documents for name in ("v1", "v1.td1")}
    assert answer.documents == DocumentChanges(counts["v1"], counts["v1.td1"])
    assert answer.shards.shared > 0
    assert sum(row.change for row in answer.tokens) == (
        registry.version("v1.td1").tokens - registry.version("v1").tokens
    )
