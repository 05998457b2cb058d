"""After a takedown, rows that are as they were are taken over and not computed again."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from corpus_assets.clean import stage as clean_stage
from corpus_assets.core.home import Home
from corpus_assets.decontam import stage as contamination_tasks
from corpus_assets.dedup import stage as dedup_stage
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import pin_snapshot, run_asset
from corpus_assets.session import Session, open_session, reopen_session
from corpus_assets.shards.tokens import Encoder
from corpus_assets.signals.stages import signals as signals_stage
from corpus_assets.versions import gates
from corpus_assets.versions.gc import collect_garbage
from corpus_assets.versions.publish import publish_version
from corpus_assets.versions.version import make_version
from corpus_assets_tests.promises.erasure.build import run_all
from corpus_assets_tests.registry_states import add_orders
from corpus_assets_tests.small_corpus import make_small_corpus


def _build(session: Session, version: str) -> None:
    pipeline, registry = session.pipeline, session.registry
    for snapshot in pipeline.recipe.snapshots if not session.replaces else ():
        pin_snapshot(pipeline, registry, snapshot)
    run_all(session)
    publish_version(pipeline, registry, make_version(pipeline, version), session.replaces)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL"):
        monkeypatch.delenv(name, raising=False)
    home = Home.resolve(str(tmp_path / "home"))
    recipe = make_small_corpus(tmp_path / "corpus")
    with open_session(str(recipe), home) as session:
        _build(session, "small-1")
    return home


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many documents each costly function was given."""
    rows: Counter[str] = Counter()

    def counted(module: Any, name: str) -> None:
        real: Callable[..., Any] = getattr(module, name)

        def wrapped(table: Any, *rest: Any) -> Any:
            rows[name] += table.num_rows
            return real(table, *rest)

        monkeypatch.setattr(module, name, wrapped)

    counted(signals_stage, "compute_signals")
    counted(dedup_stage, "compute_signatures")
    counted(contamination_tasks, "scan_contamination")
    counted(clean_stage, "clean_documents")
    real_encode, real_checks = Encoder.encode_batch, gates.tokenizer_checks

    def encode(self: Encoder, texts: list[str]) -> Any:
        rows["encode_batch"] += len(texts)
        return real_encode(self, texts)

    def audited(pipeline: Pipeline) -> Any:  # its probes are no documents
        before = rows["encode_batch"]
        found = real_checks(pipeline)
        rows["encode_batch"] = before
        return found

    monkeypatch.setattr(gates, "tokenizer_checks", audited)

    monkeypatch.setattr(Encoder, "encode_batch", encode)
    monkeypatch.setattr(Encoder, "_probe", lambda self: None)
    return rows


def _decisions(home: Home, version: str) -> list[dict[str, Any]]:
    registry = Registry(home.catalog_url)
    return [
        row
        for file in registry.lineage_files(version, "decisions")
        for row in pq.read_table(Path(home.store_url) / file.path).to_pylist()
    ]


def _take_out(home: Home, doc_id: bytes, before: str, after: str) -> None:
    registry = Registry(home.catalog_url)
    add_orders(registry, [SuppressionRow("doc_id", doc_id.hex())])
    with reopen_session(home, before) as session:
        _build(session, after)


def test_nothing_is_computed_when_a_document_without_copies_goes(
    home: Home, computed: Counter[str]
) -> None:
    held = {m["kept_doc_id"] for m in _members(home)} | {m["doc_id"] for m in _members(home)}
    alone = next(
        row["doc_id"]
        for row in _decisions(home, "small-1")
        if row["kept"] and row["doc_id"] not in held
    )
    _take_out(home, alone, "small-1", "small-1.td1")
    assert +computed == Counter()
    assert alone not in {row["doc_id"] for row in _decisions(home, "small-1.td1") if row["kept"]}


def test_only_the_promoted_document_is_cleaned_and_tokenized(
    home: Home, computed: Counter[str]
) -> None:
    sizes = Counter(m["kept_doc_id"] for m in _members(home))
    kept = {row["doc_id"] for row in _decisions(home, "small-1") if row["kept"]}
    leader = next(doc_id for doc_id, n in sizes.items() if n > 1 and doc_id in kept)
    _take_out(home, leader, "small-1", "small-1.td1")
    promoted = {row["doc_id"] for row in _decisions(home, "small-1.td1") if row["kept"]} - kept
    assert promoted
    assert (
        computed["compute_signals"]
        == computed["compute_signatures"]
        == computed["scan_contamination"]
        == 0
    )
    assert computed["clean_documents"] <= sizes[leader]
    assert computed["encode_batch"] == len(promoted)


def test_where_the_earlier_result_is_gone_everything_is_computed(
    home: Home, computed: Counter[str]
) -> None:
    gone = next(row["doc_id"] for row in _decisions(home, "small-1") if row["kept"])
    registry = Registry(home.catalog_url)
    add_orders(registry, [SuppressionRow("doc_id", gone.hex())])
    with reopen_session(home, "small-1") as session:
        pipeline = session.pipeline
        for snapshot in pipeline.recipe.snapshots:
            run_asset(pipeline, session.engine, registry, session.progress, "documents", snapshot)
    folder = Path(home.store_url) / "artifacts"
    for name in ("signals", "signatures", "contamination", "clean_text", "tokens"):
        for result in (folder / name).glob("*/result.json"):
            result.unlink()
    with reopen_session(home, "small-1") as session:
        _build(session, "small-1.td1")
    left = sum(row["stage"] != "documents" for row in _decisions(home, "small-1.td1"))
    assert computed["compute_signals"] == computed["scan_contamination"] == left


def test_a_second_takedown_after_a_collection_takes_rows_over_again(
    home: Home, computed: Counter[str]
) -> None:
    held = {m["kept_doc_id"] for m in _members(home)} | {m["doc_id"] for m in _members(home)}
    alone = [
        row["doc_id"]
        for row in _decisions(home, "small-1")
        if row["kept"] and row["doc_id"] not in held
    ]
    _take_out(home, alone[0], "small-1", "small-1.td1")
    with reopen_session(home, "small-1.td1") as session:
        collect_garbage(session.pipeline.store, session.registry)
    _take_out(home, alone[1], "small-1.td1", "small-1.td2")
    assert +computed == Counter()


def _members(home: Home) -> list[dict[str, Any]]:
    registry = Registry(home.catalog_url)
    return [
        row
        for file in registry.lineage_files("small-1", "cluster_members")
        for row in pq.read_table(Path(home.store_url) / file.path).to_pylist()
    ]
