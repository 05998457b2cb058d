"""Tasks that write what is left: final text, decisions, tokens and shards."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.clean.boilerplate import Boilerplate
from corpus_assets.clean.clean_text import (
    BENCHMARK_ITEM,
    REPEATED_SPAN,
    CleanTextSettings,
    clean_documents,
    left_by_lines,
)
from corpus_assets.clean.decisions import Drop, part_decisions, tiers_by_copies
from corpus_assets.clean.edits import Left, Stretch, places_in_extracted
from corpus_assets.clean.losses import LOSSES_FILE, host_losses
from corpus_assets.clean.repeated_spans import find_cuts
from corpus_assets.clean.scrubbing import SCRUBBED, count_scrubbed, hash_lists, recognizers
from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.task import LOOKUP_ROWS, TaskContext, count, values
from corpus_assets.decontam.tasks import Judged, judged, write_hits
from corpus_assets.dedup.clusters import REASONS
from corpus_assets.graph.kept_rows import (
    FINAL,
    Earlier,
    EarlierTexts,
    joined,
    kept_final_rows,
    known_tokens,
)
from corpus_assets.shards import route as shards
from corpus_assets.shards.format import build_shard
from corpus_assets.shards.pack import PackSettings
from corpus_assets.shards.tokens import Encoder, TokenBatch, encoder_of
from corpus_assets.signals import TextStep
from corpus_assets.signals.stages.signals import SignalSettings


def clean_text(context: TaskContext) -> None:
    chosen, hits = _chosen(context), judged(context)
    drops = drops_before_cleaning(context, chosen, hits)
    before = kept_final_rows(context, chosen)
    drops = before.dropped | drops
    left = [row for row in range(chosen.num_rows) if row not in drops]
    final = _write_final(context, before, chosen, left, drops, hits)
    records = context.table("records")
    decisions = part_decisions(records, context.task.settings["domain"], chosen, drops)
    context.write_table("decisions.parquet", decisions, LOOKUP_ROWS)
    context.write_table(LOSSES_FILE, host_losses(records["host"], decisions, final))
    write_hits(context, hits, drops)
    _summarise_decisions(context, decisions)


def _write_final(
    context: TaskContext,
    before: EarlierTexts,
    chosen: pa.Table,
    left: list[int],
    drops: dict[int, Drop],
    hits: Judged,
) -> pa.Table:
    """Write the final text of the rows that are left; whom cleaning drops is added to `drops`.

    Where an earlier result has all of it, no extracted text is read.
    """
    todo = [row for row in left if before.rows[row] is None]
    known = [place for row in left if (place := before.rows[row]) is not None]
    if not todo and before.earlier is not None and before.are_all(known):
        context.write_bytes(FINAL, before.earlier.content(FINAL), len(known))
        _repeat_summary(context, before.earlier)
        return before.final()
    final = before.final()
    if todo or before.earlier is None:
        cleaned = _clean(context, chosen, todo, drops, hits)
        fresh = iter(range(final.num_rows, final.num_rows + cleaned.num_rows))
        final = pa.concat_tables([final, cleaned]) if final.num_rows else cleaned
        known = [
            next(fresh) if (place := before.rows[row]) is None else place
            for row in left
            if row not in drops
        ]
    if before.earlier is not None:
        final = final.take(pa.array(known, pa.int64()))
    context.write_table(FINAL, final, LOOKUP_ROWS)
    _summarise_final(context, final)
    return final


def _clean(
    context: TaskContext, chosen: pa.Table, todo: list[int], drops: dict[int, Drop], hits: Judged
) -> pa.Table:
    """Final text of rows that no earlier result has."""
    rows = pa.array(todo, pa.int64())
    table = context.table("documents").take(rows)
    settings = context.settings(CleanTextSettings, "clean_text")
    lines, steps = Boilerplate.of(context.table("boilerplate")), text_steps(context)
    repeated = _repeated(context, table, lines, settings, steps)
    cleaned, reasons, details = clean_documents(
        table,
        chosen["tier"].take(rows),
        chosen["language"].take(rows),
        lines,
        settings,
        steps,
        [
            {BENCHMARK_ITEM: hits.cuts.get(row, []), REPEATED_SPAN: spans}
            for row, spans in zip(todo, repeated, strict=True)
        ],
        hash_lists(context),
        recognizers(context),
    )
    for row, reason, detail in zip(todo, reasons, details, strict=True):
        if reason is not None:
            drops[row] = Drop("clean_text", reason, detail)
    return cleaned


def text_steps(context: TaskContext) -> tuple[TextStep, ...]:
    """The families of the task that rewrite text."""
    has_steps = "steps" in context.task.settings
    return context.settings(SignalSettings, "steps").text_steps() if has_steps else ()


def _chosen(context: TaskContext) -> pa.Table:
    """The selection, its tiers by copies where the recipe asks for it."""
    chosen = context.table("selection")
    sizes = context.settings(CleanTextSettings, "clean_text").tiers_by_copies
    if not sizes:
        return chosen
    tiers = tiers_by_copies(chosen["tier"], context.table("members"), sizes)
    return chosen.set_column(chosen.schema.get_field_index("tier"), "tier", tiers)


def _repeated(
    context: TaskContext,
    table: pa.Table,
    lines: Boilerplate,
    settings: CleanTextSettings,
    steps: Sequence[TextStep],
) -> list[list[Stretch]]:
    """Stretches of each document that stand elsewhere too, where the recipe compares them: in what
    the cutting of lines leaves, so that no step keeps a passage for which another cuts it."""
    if settings.repeated_spans is None or not context.has("repeated_spans"):
        return [[] for _ in range(table.num_rows)]
    left = left_by_lines(table, lines, settings.boilerplate, steps)
    found = find_cuts(
        with_texts(table, left), context.table("repeated_spans"), settings.repeated_spans
    )
    return [places_in_extracted(one.kept, cuts) for one, cuts in zip(left, found, strict=True)]


def with_texts(table: pa.Table, left: Sequence[Left]) -> pa.Table:
    """Ids of documents with what is left of their texts."""
    texts = pa.array([one.text for one in left], pa.large_string())
    return pa.table({"doc_id": table["doc_id"], "text": texts})


def drops_before_cleaning(
    context: TaskContext, chosen: pa.Table, hits: Judged | None = None
) -> dict[int, Drop]:
    """Rows that an earlier stage dropped; the first stage of the graph wins."""
    drops = dict((hits or judged(context)).drops)
    for member in context.table("members").to_pylist():
        if not member["kept"]:
            detail = f"{member['kind']} of {member['kept_doc_id'].hex()}"
            drops[member["row"]] = Drop("clusters", REASONS[member["kind"]], detail)
    for row, reason in enumerate(chosen["reason"].to_pylist()):
        if reason is not None:
            drops[row] = Drop("selection", reason)
    return drops


def _summarise_decisions(context: TaskContext, decisions: pa.Table) -> None:
    dropped = decisions.filter(pc.invert(decisions["kept"]))
    pairs = zip(values(dropped["stage"]), values(dropped["reason"]), strict=True)
    by_stage = Counter(f"{stage}/{reason}" for stage, reason in pairs)
    kept = decisions.num_rows - dropped.num_rows
    entered = decisions.num_rows - sum(
        n for key, n in by_stage.items() if not key.startswith(("clean_text/", "contamination/"))
    )
    own = {k.partition("/")[2]: n for k, n in by_stage.items() if k.startswith("clean_text/")}
    contaminated = sum(n for k, n in by_stage.items() if k.startswith("contamination/"))
    count(context, entered - contaminated, kept, Counter(own))
    context.counts["contaminated"] = contaminated
    context.counts["records"] = decisions.num_rows
    context.notes["fates"] = dict(sorted(by_stage.items())) | {"kept": kept}


def _summarise_final(context: TaskContext, final: pa.Table) -> None:
    chars: Counter[str] = Counter()
    lengths = pc.utf8_length(final["text"]).to_pylist()
    for domain, tier, n in zip(
        values(final["domain"]), values(final["tier"]), lengths, strict=True
    ):
        chars[shards.group_name(domain, tier)] += n
    languages = Counter(values(final["language"]))
    context.notes["languages"] = dict(sorted(languages.items()))
    context.notes["chars_by_group"] = dict(sorted(chars.items()))
    context.counts["boilerplate_lines"] = pc.sum(final["boilerplate_lines"]).as_py() or 0
    count_scrubbed(context, final)


def _repeat_summary(context: TaskContext, earlier: Earlier) -> None:
    """What `_summarise_final` said of the same texts before."""
    for name in ("languages", "chars_by_group"):
        context.notes[name] = earlier.notes[name]
    for name, number in earlier.counts.items():
        if name == "boilerplate_lines" or name.startswith(SCRUBBED):
            context.counts[name] = number


def shard_counts(context: TaskContext) -> None:
    settings = context.task.settings
    counts = shards.shard_counts(settings["chars"], settings["tokens_per_shard"])
    context.write_bytes("shard_counts.json", json.dumps(counts, sort_keys=True, indent=1).encode())


def tokens(context: TaskContext) -> None:
    final = context.table("final", ["doc_id", "domain", "tier", "text"])
    known = known_tokens(context, final)
    new = pa.array([row for row in range(final.num_rows) if row not in known], pa.int64())
    computed = _encoder(context).encode_batch(final["text"].take(new).to_pylist())
    batch = joined(known, computed, final.num_rows) if known else computed
    data, slices = shards.route_tokens(
        final, batch, context.json("shard_counts"), context.task.settings["seed"]
    )
    context.write_bytes("tokens.parquet", data, final.num_rows)
    listed = {name: asdict(piece) for name, piece in slices.items()}
    context.write_bytes("slices.json", json.dumps(listed, sort_keys=True).encode())
    count(context, final.num_rows, final.num_rows)
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
    count(context, len(doc_ids), len(doc_ids))
    for name in ("samples", "tokens", "documents"):
        context.counts[name] = getattr(built.header, name)


def _encoder(context: TaskContext) -> Encoder:
    special = context.task.settings["special"]
    return encoder_of(context.content("tokenizer"), special["eod"], special["pad"])


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
