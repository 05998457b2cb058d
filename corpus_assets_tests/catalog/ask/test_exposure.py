"""Exposure by formula equals a replay of the loader."""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from catalog.ask.exposure import training_exposure
from catalog.db.registry import Registry
from catalog.db.rows import LineageRow, LockRow, RecipeRow, ShardRow, VersionRow
from catalog.errors import CatalogError, UnknownName
from catalog.formats.store import FileStore
from catalog.lineage.tables import Lineage
from corpus_assets_tests.catalog.corpus import Corpus
from corpus_assets_tests.catalog.keyed import write_keys
from corpus_assets_tests.shards.small_corpus import make_documents, make_store
from corpus_loader import Loader, Manifest

Sightings = dict[bytes, list[tuple[int, int, int]]]


def publish(home: Path, manifest: Manifest) -> Lineage:
    """Register a manifest's shards and their spans."""
    path = home / "store" / "versions" / "v1" / "manifest.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(manifest.dump())
    registry = Registry(f"sqlite:///{home / 'catalog.db'}")
    registry.upgrade()
    registry.put_recipe(RecipeRow("recipe-1", "demo", "name: demo\n"))
    registry.put_lock(LockRow("lock-1", "{}"))
    shards, lineage = [], []
    for group in manifest.groups:
        for ref in group.shards:
            shards.append(
                ShardRow(
                    group.id,
                    group.snapshot,
                    group.domain,
                    group.tier,
                    ref.name,
                    ref.bin.path,
                    ref.bin.sha256,
                    ref.idx.path,
                    ref.idx.sha256,
                    ref.spans.path,
                    ref.spans.sha256,
                    ref.header.path,
                    ref.header.sha256,
                    ref.samples,
                    ref.tokens,
                    ref.documents,
                )
            )
            rows = pq.read_metadata(home / "store" / ref.spans.path).num_rows
            lineage.append(
                LineageRow(
                    "spans",
                    group.snapshot,
                    ref.spans.path,
                    ref.spans.sha256,
                    rows,
                    shard=f"{group.id}/{ref.name}",
                )
            )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    row = VersionRow("v1", "lock-1", "recipe-1", "versions/v1/manifest.json", digest, 0, 0, 0)
    keys = write_keys(home / "store", lineage, 1)
    registry.publish_version(row, shards, lineage, keys=keys)
    return Lineage(registry, FileStore(home / "store"), "v1")


def replay(loader: Loader, steps: int) -> Sightings:
    """(step, position, tokens) of each sight of each document, by looking at every batch."""
    seen: Sightings = {}
    for step in range(steps):
        batch = loader.at(step)
        for row in range(len(batch.positions)):
            tokens: dict[bytes, int] = {}
            for span in loader.shard(int(batch.shards[row])).spans(int(batch.samples[row])):
                tokens[span.doc_id] = tokens.get(span.doc_id, 0) + span.length
            for doc_id, count in tokens.items():
                seen.setdefault(doc_id, []).append((step, int(batch.positions[row]), count))
    return seen


@pytest.mark.parametrize("case", range(6))
def test_a_document_is_seen_at_the_steps_at_which_a_replay_sees_it(
    case: int, tmp_path: Path
) -> None:
    chance = random.Random(case)
    groups = {
        f"S{number}/web/{tier}": make_documents(10 * case + number, chance.randint(3, 30), 150)
        for number, tier in enumerate(["high", "low", "mid"][: chance.randint(1, 3)])
    }
    names = list(groups)
    first = {name: chance.randint(1, 5) for name in names}
    second = {names[0]: sum(first.values())}
    counts = [(chance.randint(2, 9), first), (chance.randint(1, 4), second)]
    manifest = make_store(tmp_path / "store", groups, counts, n_shards=chance.randint(1, 4))
    batch = chance.randint(1, 7)
    seed = chance.choice([None, 0, 12345])
    loader = Loader(manifest, tmp_path / "store", seed, global_batch=batch)
    steps = chance.randint(1, len(loader))
    seen = replay(loader, steps)
    with publish(tmp_path, manifest) as lineage:
        for documents in groups.values():
            for doc_id in documents:
                answer = training_exposure(lineage, doc_id.hex(), seed, steps, batch)
                found = [(r.step, r.position, r.tokens) for r in answer.seen]
                assert found == seen.get(doc_id, [])
                assert answer.steps_seen == sorted({step for step, _, _ in found})
                assert answer.tokens_seen == sum(tokens for _, _, tokens in found)


def test_a_run_ends_with_the_last_full_step(tmp_path: Path) -> None:
    documents = make_documents(3, 12, 150)
    manifest = make_store(tmp_path / "store", {"S/web/high": documents}, [(5, {"S/web/high": 4})])
    loader = Loader(manifest, tmp_path / "store", global_batch=3)
    seen = replay(loader, len(loader))
    with publish(tmp_path, manifest) as lineage:
        for doc_id in documents:
            answer = training_exposure(lineage, doc_id.hex(), None, 10**6, 3)
            assert answer.steps == len(loader) == 6
            assert "ends after 6 steps" in answer.note
            assert len(answer.seen) == len(seen.get(doc_id, []))


def test_a_dropped_document_is_said_to_be_in_no_shard(corpus: Corpus, lineage: Lineage) -> None:
    dropped = next(doc for doc in corpus.docs if doc.reason == "too_few_words")
    answer = training_exposure(lineage, dropped.doc_id.hex(), None, 5, 2)
    assert answer.seen == []
    assert "in no shard of this version: dropped by selection: too_few_words" in answer.note


def test_an_id_that_was_never_heard_of_is_refused(lineage: Lineage) -> None:
    with pytest.raises(UnknownName, match="has no document"):
        training_exposure(lineage, "ab" * 16, None, 5, 2)
    with pytest.raises(CatalogError, match="not a document id"):
        training_exposure(lineage, "zz" * 16, None, 5, 2)


@pytest.fixture
def demo(demo_home: Path) -> Iterator[Lineage]:
    registry = Registry(f"sqlite:///{demo_home / 'catalog.db'}")
    with Lineage(registry, FileStore(demo_home / "store")) as tables:
        yield tables


def test_the_demo_corpus_is_seen_as_a_replay_sees_it(demo: Lineage, demo_home: Path) -> None:
    root = demo_home / "store"
    manifest = Manifest.load(root / demo.version.manifest_path)
    loader = Loader(manifest, root, 99, global_batch=16)
    seen = replay(loader, len(loader))
    kept = demo.query(f"SELECT DISTINCT doc_id FROM {demo.scan('spans')} ORDER BY doc_id LIMIT 40")
    for row in kept:
        answer = training_exposure(demo, row["doc_id"].hex(), 99, len(loader), 16)
        found = [(r.step, r.position, r.tokens) for r in answer.seen]
        assert found == seen.get(row["doc_id"], [])
