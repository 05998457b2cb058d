"""What each task does: read inputs, call the stage's pure functions, write outputs.

`FUNCTIONS` is the table engines look tasks up in.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.documents import HITS
from corpus_assets.errors import CorruptArtifact
from corpus_assets.pipeline.text_files import read_texts
from corpus_assets.recipe import TokenizerSample
from corpus_assets.shards.format import build_shard
from corpus_assets.shards.pack import PackSettings
from corpus_assets.shards.tokens import Encoder, TokenBatch
from corpus_assets.sources.base import SourceFile, SourceSpec
from corpus_assets.sources.gates import Blocklist, Suppressions
from corpus_assets.stages import boilerplate, shards
from corpus_assets.stages.boilerplate import BoilerplateSettings
from corpus_assets.stages.clean_text import TOO_SHORT, CleanTextSettings, clean_documents
from corpus_assets.stages.clusters import REASONS, ClusterSettings, find_clusters
from corpus_assets.stages.contamination import REASON as CONTAMINATED
from corpus_assets.stages.contamination import ScanSettings, VerdictSettings, scan, verdicts
from corpus_assets.stages.decisions import Drop, part_decisions
from corpus_assets.stages.documents import IngestSettings, ingest_part
from corpus_assets.stages.eval_index import (
    EvalIndexSettings,
    build_eval_index,
    load_eval_index,
    read_items,
)
from corpus_assets.stages.quality_model import QualityModelSettings, train_quality_model
from corpus_assets.stages.selection import resolve_cutoffs, select
from corpus_assets.stages.selection_rules import SelectionSettings
from corpus_assets.stages.signals import SignalSettings, compute_signals
from corpus_assets.stages.signatures import SignatureSettings, compute_signatures
from corpus_assets.stages.tokenizer import TokenizerSettings, audit, load_pinned, train_tokenizer
from corpus_assets.step import keyed_hash
from corpus_assets.task import TaskContext


def documents(context: TaskContext) -> None:
    settings = context.task.settings
    records, extracted = ingest_part(
        SourceSpec.model_validate(settings["source"]),
        settings["snapshot"],
        settings["part"],
        SourceFile(**context.param("file")),
        context.settings(IngestSettings, "ingest"),
        Blocklist.from_files([Path(path) for path in context.param("blocklists")]),
        Suppressions.from_identity(settings["suppressions"]),
    )
    context.write_table("records.parquet", records)
    context.write_table("documents.parquet", extracted, row_group_size=5_000)
    _count(context, records.num_rows, extracted.num_rows, Counter(_values(records["reason"])))


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
    table = context.table("documents")
    models = {"lid": Path(context.task.params["lid"])} if "lid" in context.task.params else {}
    if context.has("quality"):
        models["quality"] = context.path("quality")
    computed = compute_signals(table, context.settings(SignalSettings, "signals"), models)
    context.write_table("signals.parquet", computed)
    _count(context, table.num_rows, computed.num_rows)


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
    _count(context, chosen.num_rows, kept, Counter(_values(chosen["reason"])))


def signatures(context: TaskContext) -> None:
    table = context.table("documents")
    computed = compute_signatures(table, context.settings(SignatureSettings))
    for name in ("url_key", "text_id", "fetched_at"):
        computed = computed.append_column(name, table[name])
    context.write_table("signatures.parquet", computed)
    _count(context, table.num_rows, computed.num_rows)


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
    _count(
        context,
        here,
        here - dropped.num_rows,
        Counter(REASONS[k] for k in _values(dropped["kind"])),
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
    table = context.table("documents")
    index = load_eval_index(context.path("eval_index"))
    hits = scan(table, index, context.settings(ScanSettings))
    context.write_table("hits.parquet", hits)
    _count(context, table.num_rows, table.num_rows)
    context.counts["hits"] = hits.num_rows
    context.notes["hits_by_benchmark"] = dict(sorted(Counter(_values(hits["benchmark"])).items()))


def line_counts(context: TaskContext) -> None:
    settings = context.settings(BoilerplateSettings)
    context.write_table(
        "line_counts.parquet", boilerplate.count_lines(context.table("documents"), settings)
    )


def boilerplate_lines(context: TaskContext) -> None:
    tables = (context.table(name) for name in context.names(""))
    merged = boilerplate.merge_counts(tables, context.settings(BoilerplateSettings))
    context.write_table("boilerplate.parquet", merged)
    context.counts["lines"] = merged.num_rows


def clean_text(context: TaskContext) -> None:
    table, chosen = context.table("documents"), context.table("selection")
    drops = _drops_before_cleaning(context, chosen)
    rows = pa.array([i for i in range(table.num_rows) if i not in drops], pa.int64())
    lines = boilerplate.boilerplate_keys(context.table("boilerplate"))
    final, survived = clean_documents(
        table.take(rows),
        chosen["tier"].take(rows),
        chosen["language"].take(rows),
        frozenset(lines.tolist()),
        context.settings(CleanTextSettings, "clean_text"),
    )
    for row, alive in zip(rows.to_pylist(), survived, strict=True):
        if not alive:
            drops[row] = Drop("clean_text", TOO_SHORT)
    decisions = part_decisions(
        context.table("records"), context.task.settings["domain"], chosen, drops
    )
    context.write_table("final.parquet", final, row_group_size=5_000)
    context.write_table("decisions.parquet", decisions)
    _summarise_final(context, decisions, final)


def _drops_before_cleaning(context: TaskContext, chosen: pa.Table) -> dict[int, Drop]:
    """Rows that an earlier stage dropped; the first stage of the graph wins."""
    drops: dict[int, Drop] = {}
    hits = context.table("hits") if context.has("hits") else HITS.empty_table()
    worst = verdicts(hits, context.settings(VerdictSettings, "verdict"))
    for hit in worst.to_pylist():
        detail = f"{hit['benchmark']}/{hit['item_id']}"
        drops[hit["row"]] = Drop("contamination", CONTAMINATED, detail)
    for member in context.table("members").to_pylist():
        if not member["kept"]:
            detail = f"{member['kind']} of {member['kept_doc_id'].hex()}"
            drops[member["row"]] = Drop("clusters", REASONS[member["kind"]], detail)
    for row, reason in enumerate(chosen["reason"].to_pylist()):
        if reason is not None:
            drops[row] = Drop("selection", reason)
    return drops


def _summarise_final(context: TaskContext, decisions: pa.Table, final: pa.Table) -> None:
    dropped = decisions.filter(pc.invert(decisions["kept"]))
    pairs = zip(_values(dropped["stage"]), _values(dropped["reason"]), strict=True)
    by_stage = Counter(f"{stage}/{reason}" for stage, reason in pairs)
    entered = decisions.num_rows - sum(
        n for key, n in by_stage.items() if not key.startswith(("clean_text/", "contamination/"))
    )
    own = {k.partition("/")[2]: n for k, n in by_stage.items() if k.startswith("clean_text/")}
    contaminated = sum(n for k, n in by_stage.items() if k.startswith("contamination/"))
    _count(context, entered - contaminated, final.num_rows, Counter(own))
    context.counts["contaminated"] = contaminated
    context.counts["records"] = decisions.num_rows
    context.notes["fates"] = dict(sorted(by_stage.items())) | {"kept": final.num_rows}
    chars: Counter[str] = Counter()
    lengths = pc.utf8_length(final["text"]).to_pylist()
    for domain, tier, n in zip(
        _values(final["domain"]), _values(final["tier"]), lengths, strict=True
    ):
        chars[shards.group_name(domain, tier)] += n
    languages = Counter(_values(final["language"]))
    context.notes["languages"] = dict(sorted(languages.items()))
    context.notes["chars_by_group"] = dict(sorted(chars.items()))
    for name in ("emails", "ip_addresses", "boilerplate_lines"):
        context.counts[name] = pc.sum(final[name]).as_py() or 0


def tokenizer_sample(context: TaskContext) -> None:
    settings = context.settings(TokenizerSample, "sample")
    table, scores = context.table("documents", ["doc_id", "text"]), context.table("signals")
    share = settings.shares.get(context.task.settings["domain"], 1.0)
    key = f"corpus-assets/tokenizer-sample/{context.task.settings['seed']}".encode()
    limit = int(share * 2**64)
    mask = [keyed_hash(key, doc_id) < limit for doc_id in table["doc_id"].to_pylist()]
    if settings.languages is not None and "language" in scores.column_names:
        known = scores["language"].to_pylist()
        mask = [ok and lang in settings.languages for ok, lang in zip(mask, known, strict=True)]
    picked = table.filter(pa.array(mask, pa.bool_()))
    context.write_table("sample.parquet", picked)
    _count(context, table.num_rows, picked.num_rows)


def tokenizer(context: TaskContext) -> None:
    settings = context.task.settings
    if "train" not in settings:
        data = load_pinned(Path(context.param("pinned")), settings["sha256"])
        context.write_bytes("tokenizer.json", data)
        return
    texts: list[str] = []
    room = settings["max_chars"]
    for name in context.names(""):
        for text in context.table(name)["text"].to_pylist():
            if room <= 0:
                break
            texts.append(text[:room])
            room -= len(text)
    data = train_tokenizer(texts, context.settings(TokenizerSettings, "train"))
    context.write_bytes("tokenizer.json", data)
    context.counts["documents_in"] = len(texts)
    context.notes["audit"] = audit(data, texts[:200])


def shard_counts(context: TaskContext) -> None:
    settings = context.task.settings
    counts = shards.shard_counts(settings["chars"], settings["tokens_per_shard"])
    context.write_bytes("shard_counts.json", json.dumps(counts, sort_keys=True, indent=1).encode())


def tokens(context: TaskContext) -> None:
    encoder = _encoder(context)
    final = context.table("final", ["doc_id", "domain", "tier", "text"])
    data, slices = shards.route_tokens(
        final, encoder, context.json("shard_counts"), context.task.settings["seed"]
    )
    context.write_bytes("tokens.parquet", data, final.num_rows)
    listed = {name: asdict(piece) for name, piece in slices.items()}
    context.write_bytes("slices.json", json.dumps(listed, sort_keys=True).encode())
    _count(context, final.num_rows, final.num_rows)
    context.counts["tokens"] = sum(piece.tokens for piece in slices.values())


def shard(context: TaskContext) -> None:
    settings = context.task.settings
    doc_ids, batch = shards.join_slices(
        _checked_slice(context, name) for name in sorted(context.param("slices"))
    )
    built = build_shard(
        f"{settings['snapshot']}/{settings['group']}",
        settings["number"],
        doc_ids,
        batch,
        seed=settings["seed"],
        settings=context.settings(PackSettings, "pack"),
        tokenizer=_encoder(context).info,
    )
    for name, data in built.files.items():
        rows = pq.read_metadata(pa.BufferReader(data)).num_rows if ".spans." in name else 0
        context.write_bytes(name, data, rows)
    _count(context, len(doc_ids), len(doc_ids))
    for name in ("samples", "tokens", "documents"):
        context.counts[name] = getattr(built.header, name)


def _checked_slice(context: TaskContext, name: str) -> tuple[list[bytes], TokenBatch]:
    """One part's documents for a shard. Its own hash is checked, not that of the whole file:
    a part's tokens are read by many shards, each of them only its row group."""
    piece = context.param("slices")[name]
    try:
        file = pq.ParquetFile(context.store.local(piece["path"]))
        doc_ids, batch = shards.read_slice(file, piece["row_group"])
        found = shards.slice_hash(doc_ids, (batch[i] for i in range(len(batch))))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptArtifact(
            f"{piece['path']} is not readable; delete its folder in the store and build again"
        ) from error
    if found != context.task.extra_inputs[name]:
        raise CorruptArtifact(
            f"{piece['path']} does not match its recorded hash; delete its folder in the store "
            "and build again"
        )
    return doc_ids, batch


def _encoder(context: TaskContext) -> Encoder:
    special = context.task.settings["special"]
    return Encoder(context.content("tokenizer"), eod_token=special["eod"], pad_token=special["pad"])


def _count(
    context: TaskContext, entered: int, left: int, reasons: Counter[str] | None = None
) -> None:
    context.counts["documents_in"] = entered
    context.counts["documents_out"] = left
    if reasons:
        context.notes["reasons"] = dict(sorted(reasons.items()))


def _values(column: pa.ChunkedArray) -> list[str]:
    """The values of a column that are not null."""
    return [value for value in column.to_pylist() if value is not None]


FUNCTIONS: Mapping[str, Callable[[TaskContext], None]] = {
    "documents": documents,
    "quality_model": quality_model,
    "eval_index": eval_index,
    "signals": signals,
    "quality_cutoffs": quality_cutoffs,
    "selection": selection,
    "signatures": signatures,
    "clusters": clusters,
    "contamination": contamination,
    "line_counts": line_counts,
    "boilerplate": boilerplate_lines,
    "clean_text": clean_text,
    "tokenizer_sample": tokenizer_sample,
    "tokenizer": tokenizer,
    "shard_counts": shard_counts,
    "tokens": tokens,
    "shards": shard,
}
