"""Tasks that read documents and judge them: from source files to hits and clusters.

Each reads its inputs, calls the pure functions of its stage and writes the outputs.
"""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.pipeline.counting import count, values
from corpus_assets.pipeline.kept_rows import aligned_rows, kept_hits
from corpus_assets.pipeline.list_tasks import url_lists
from corpus_assets.pipeline.parts import spelled_orders
from corpus_assets.pipeline.source_reading import forget_source, open_records
from corpus_assets.pipeline.text_files import read_texts
from corpus_assets.sources.base import SourceFile, SourceSpec
from corpus_assets.sources.gates import Blocklist, Suppressions
from corpus_assets.sources.language_gate import sample_counts
from corpus_assets.stages.clusters import REASONS, ClusterSettings, find_clusters
from corpus_assets.stages.contamination import ScanSettings, scan
from corpus_assets.stages.documents import IngestSettings, ingest_part
from corpus_assets.stages.eval_index import (
    EvalIndexSettings,
    build_eval_index,
    load_eval_index,
    read_items,
)
from corpus_assets.stages.purge import purge_part
from corpus_assets.stages.quality_model import QualityModelSettings, train_quality_model
from corpus_assets.stages.selection import resolve_cutoffs, select
from corpus_assets.stages.selection_rules import SelectionSettings
from corpus_assets.stages.signals import SignalSettings, compute_signals
from corpus_assets.stages.signatures import SignatureSettings, compute_signatures
from corpus_assets.store import Output
from corpus_assets.task import LOOKUP_ROWS, TaskContext, read_table

CLUSTER_KEYS = ["url_key", "text_id", "fetched_at"]


def documents(context: TaskContext) -> None:
    settings = context.task.settings
    purging = "purge" in context.task.params  # of what was read under the listed orders already
    orders = Suppressions.from_rows(
        spelled_orders(
            context.store,
            ((kind, value) for kind, value in settings["orders"]),
            with_lists=not purging,
        )
    )
    if purging:
        tables = {name: Output(**raw) for name, raw in context.param("purge").items()}
        records, extracted = purge_part(
            read_table(context.store, tables["records.parquet"]),
            read_table(context.store, tables["documents.parquet"]),
            orders,
        )
        forget_source(context)
    else:
        records, extracted = _ingest(context, orders)
    context.write_table("records.parquet", records, LOOKUP_ROWS)
    context.write_table("documents.parquet", extracted, LOOKUP_ROWS)
    count(context, records.num_rows, extracted.num_rows, Counter(values(records["reason"])))
    if settings["ingest"]["gates"]["language_gate"] is not None:
        gated = pc.starts_with(records["reason"].fill_null(""), "gate_")
        context.counts |= sample_counts(records.filter(gated)["detail"].to_pylist())


def _ingest(context: TaskContext, orders: Suppressions) -> tuple[pa.Table, pa.Table]:
    settings = context.task.settings
    spec = SourceSpec.model_validate(settings["source"])
    file = SourceFile(**context.param("file"))
    ingest = context.settings(IngestSettings, "ingest")
    with open_records(context, spec, file, ingest.gates) as records:
        return ingest_part(
            spec,
            settings["snapshot"],
            settings["part"],
            file,
            ingest,
            Blocklist.from_files([Path(path) for path in context.param("blocklists")]),
            orders,
            records=records,
            lists=url_lists(context),
            lid=Path(context.param("lid")) if "lid" in context.task.params else None,
            on_cost=context.spend,
        )


def quality_model(context: TaskContext) -> None:
    settings = context.settings(QualityModelSettings, "train")
    positives = read_texts(context.param("positives"))
    negatives = read_texts(context.param("negatives"))
    model = train_quality_model(positives, negatives, settings)
    context.write_bytes("quality.bin", model.model)
    context.counts["documents_in"] = len(positives) + len(negatives)
    context.notes["metrics"] = model.metrics


def eval_index(context: TaskContext) -> None:
    items = read_items([Path(path) for path in context.param("suites")])
    context.write_bytes(
        "eval_index.bin", build_eval_index(items, context.settings(EvalIndexSettings))
    )
    context.counts["items"] = len(items)
    context.notes["items_by_benchmark"] = dict(sorted(Counter(i.benchmark for i in items).items()))


def signals(context: TaskContext) -> None:
    computed = aligned_rows(context, "signals.parquet")
    if computed is None:
        computed = _compute_signals(context)
    context.write_table("signals.parquet", computed, LOOKUP_ROWS)
    count(context, computed.num_rows, computed.num_rows)


def _compute_signals(context: TaskContext) -> pa.Table:
    models = {"lid": Path(context.task.params["lid"])} if "lid" in context.task.params else {}
    if context.has("quality"):
        models["quality"] = context.path("quality")
    models |= {name: Path(path) for name, path in context.task.params.get("files", {}).items()}
    table = context.table("documents", ["doc_id", "domain", "text"])
    return compute_signals(table, context.settings(SignalSettings, "signals"), models)


def quality_cutoffs(context: TaskContext) -> None:
    tables = []
    for name in context.names(""):
        table = context.table(name)
        domain = pa.repeat(pa.scalar(name.split("/")[0]), table.num_rows)
        tables.append(table.append_column("domain", domain))
    cutoffs = resolve_cutoffs(tables, context.settings(SelectionSettings))
    context.write_bytes("cutoffs.json", json.dumps(cutoffs, sort_keys=True, indent=1).encode())
    context.notes["cutoffs"] = cutoffs


def selection(context: TaskContext) -> None:
    computed = context.table("signals")
    domain = pa.repeat(pa.scalar(context.task.settings["domain"]), computed.num_rows)
    keys = pa.table({"doc_id": computed["doc_id"], "domain": domain})
    settings = context.settings(SelectionSettings, "selection")
    chosen = select(keys, computed, settings, context.json("cutoffs"))
    context.write_table("selection.parquet", chosen)
    kept = pc.sum(chosen["kept"]).as_py() or 0
    count(context, chosen.num_rows, kept, Counter(values(chosen["reason"])))


def signatures(context: TaskContext) -> None:
    computed = aligned_rows(context, "signatures.parquet")
    if computed is None:
        table = context.table("documents", ["doc_id", *CLUSTER_KEYS, "text"])
        computed = compute_signatures(table, context.settings(SignatureSettings))
        for name in CLUSTER_KEYS:
            computed = computed.append_column(name, table[name])
    context.write_table("signatures.parquet", computed)
    count(context, computed.num_rows, computed.num_rows)


def clusters(context: TaskContext) -> None:
    settings = context.task.settings
    window: list[str] = settings["window"]
    tables = []
    for rank, snapshot in enumerate(window):
        for name in context.names(f"{snapshot}/"):
            if name.endswith("/signatures"):
                prefix = name.removesuffix("/signatures")
                tables.append(_cluster_rows(context, prefix, snapshot, rank))
    found = find_clusters(
        pa.concat_tables(tables),
        context.settings(ClusterSettings, "clusters"),
        context.settings(SignatureSettings, "signatures"),
    )
    own = found.filter(pc.equal(found["snapshot"], window[-1]))
    for part in range(settings["parts"]):
        rows = own.filter(pc.equal(own["part"], part)).sort_by("row")
        context.write_table(f"members-{part:05d}.parquet", rows, LOOKUP_ROWS)
    here = sum(t.num_rows for t in tables if t.num_rows and t["snapshot"][0].as_py() == window[-1])
    dropped = own.filter(pc.invert(own["kept"]))
    count(
        context,
        here,
        here - dropped.num_rows,
        Counter(REASONS[k] for k in values(dropped["kind"])),
    )
    context.notes["clusters"] = pc.count_distinct(own["cluster_id"]).as_py()


def _cluster_rows(context: TaskContext, prefix: str, snapshot: str, rank: int) -> pa.Table:
    """The selected rows of a part with all that clustering looks at."""
    table = context.table(f"{prefix}/signatures")
    scores = context.table(f"{prefix}/signals")
    n = table.num_rows
    quality = (
        scores["quality_score"].cast(pa.float32())
        if "quality_score" in scores.column_names
        else pa.nulls(n, pa.float32())
    )
    columns = {
        "snapshot": pa.repeat(pa.scalar(snapshot), n),
        "snapshot_rank": pa.repeat(pa.scalar(rank, pa.int32()), n),
        "part": pa.repeat(pa.scalar(int(prefix.rpartition("/")[2]), pa.int32()), n),
        "row": pa.array(range(n), pa.int32()),
        "n_chars": scores["n_chars"].cast(pa.int64()),
        "quality": quality,
    }
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table.filter(context.table(f"{prefix}/selection", ["kept"])["kept"])


def contamination(context: TaskContext) -> None:
    hits = kept_hits(context)
    if hits is None:
        index = load_eval_index(context.path("eval_index"))
        hits = scan(
            context.table("documents", ["doc_id", "text"]), index, context.settings(ScanSettings)
        )
    context.write_table("hits.parquet", hits)
    rows = context.task.inputs["documents"].rows
    count(context, rows, rows)
    context.counts["hits"] = hits.num_rows
    context.notes["hits_by_benchmark"] = dict(sorted(Counter(values(hits["benchmark"])).items()))
