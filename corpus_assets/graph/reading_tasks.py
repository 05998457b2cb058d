"""Tasks that read documents and judge them: from source files to hits and clusters.

Each reads its inputs, calls the pure functions of its stage and writes the outputs.
"""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.store import Output
from corpus_assets.core.task import LOOKUP_ROWS, TaskContext, count, read_table, values
from corpus_assets.dedup.candidate_keys import tie_tables
from corpus_assets.dedup.clusters import REASONS, ClusterSettings
from corpus_assets.dedup.parts import CLUSTER_KEYS, kept_signatures, stored_parts, with_columns
from corpus_assets.dedup.signatures import SignatureSettings, compute_signatures, sketch_bytes
from corpus_assets.dedup.window import cluster_window
from corpus_assets.graph.kept_rows import aligned_rows
from corpus_assets.ingest.documents import SUPPRESSED, IngestSettings, ingest_part
from corpus_assets.ingest.gates.gates import Blocklist, Suppressions
from corpus_assets.ingest.gates.language_gate import sample_counts
from corpus_assets.ingest.list_tasks import url_lists
from corpus_assets.ingest.parts import spelled_orders
from corpus_assets.ingest.purge import purge_part
from corpus_assets.ingest.source import SourceFile, SourceSpec
from corpus_assets.ingest.source_reading import forget_source, open_records
from corpus_assets.select.rules import SelectionSettings
from corpus_assets.select.selection import resolve_cutoffs, select
from corpus_assets.signals.stages.signal_models import model_files
from corpus_assets.signals.stages.signals import SignalSettings, compute_signals


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
    else:
        records, extracted = _ingest(context, orders)
    if purging or SUPPRESSED in set(values(records["reason"])):
        forget_source(context)
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


def signals(context: TaskContext) -> None:
    computed = aligned_rows(context, "signals.parquet")
    if computed is None:
        computed = _compute_signals(context)
    context.write_table("signals.parquet", computed, LOOKUP_ROWS)
    count(context, computed.num_rows, computed.num_rows)


def _compute_signals(context: TaskContext) -> pa.Table:
    table = context.table("documents", ["doc_id", "domain", "text"])
    return compute_signals(table, context.settings(SignalSettings, "signals"), model_files(context))


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
    signed = kept_signatures(context)
    if signed is None:
        table = context.table("documents", ["doc_id", *CLUSTER_KEYS, "text"])
        signed = compute_signatures(table, context.settings(SignatureSettings))
        keys = [(name, table[name]) for name in CLUSTER_KEYS]
        signed = replace(signed, table=with_columns(signed.table, keys))
    context.write_table("signatures.parquet", signed.table)
    context.write_bytes("ties.bin", tie_tables(signed.table, signed.band_keys))
    context.write_bytes("sketches.npy", sketch_bytes(signed.sketches), signed.table.num_rows)
    count(context, signed.table.num_rows, signed.table.num_rows)


def clusters(context: TaskContext) -> None:
    dropped: Counter[str] = Counter()
    with cluster_window(
        stored_parts(context),
        context.task.settings["window"],
        context.settings(ClusterSettings, "clusters"),
        context.settings(SignatureSettings, "signatures"),
    ) as found:
        for part, rows in found.parts():
            context.write_table(f"members-{part:05d}.parquet", rows, LOOKUP_ROWS)
            lost = rows.filter(pc.invert(rows["kept"]))
            dropped.update(REASONS[kind] for kind in values(lost["kind"]))
    count(context, found.n_documents, found.n_documents - dropped.total(), dropped)
    context.notes["clusters"] = found.n_clusters
