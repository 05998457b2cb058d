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
from corpus_assets.pipeline.text_files import read_texts
from corpus_assets.sources.base import SourceFile, SourceSpec
from corpus_assets.sources.gates import Blocklist, Suppressions
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
from corpus_assets.task import TaskContext, read_table

CLUSTER_KEYS = ["url_key", "text_id", "fetched_at"]


def documents(context: TaskContext) -> None:
    settings = context.task.settings
    orders = Suppressions.from_rows((kind, value) for kind, value in settings["orders"])
    if "purge" in context.task.params:
        tables = {name: Output(**raw) for name, raw in context.param("purge").items()}
        records, extracted = purge_part(
            read_table(context.store, tables["records.parquet"]),
            read_table(context.store, tables["documents.parquet"]),
            orders,
        )
    else:
        records, extracted = _ingest(context, orders)
    context.write_table("records.parquet", records)
    context.write_table("documents.parquet", extracted, row_group_size=5_000)
    count(context, records.num_rows, extracted.num_rows, Counter(values(records["reason"])))


def _ingest(context: TaskContext, orders: Suppressions) -> tuple[pa.Table, pa.Table]:
    settings = context.task.settings
    return ingest_part(
        SourceSpec.model_validate(settings["source"]),
        settings["snapshot"],
        settings["part"],
        SourceFile(**context.param("file")),
        context.settings(IngestSettings, "ingest"),
        Blocklist.from_files([Path(path) for path in context.param("blocklists")]),
        orders,
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
    context.write_table("signals.parquet", computed)
    count(context, computed.num_rows, computed.num_rows)


def _compute_signals(context: TaskContext) -> pa.Table:
    models = {"lid": Path(context.task.params["lid"])} if "lid" in context.task.params else {}
    if context.has("quality"):
        models["quality"] = context.path("quality")
    table = context.table("documents", ["doc_id", "text"])
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
        context.write_table(f"members-{part:05d}.parquet", rows)
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
