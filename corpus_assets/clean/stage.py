"""The stage of cleaning: final text of the survivors, and the decision on every record."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.clean import clean_text
from corpus_assets.clean.clean_text import (
    BENCHMARK_ITEM,
    FEW_SENTENCES,
    REPEATED_SPAN,
    SENTENCE,
    TOO_SHORT,
    Cuts,
    clean_documents,
    left_by_lines,
)
from corpus_assets.clean.cut_lines import CUT_LINES
from corpus_assets.clean.edits import Stretch
from corpus_assets.clean.encoding_repair import ftfy_release
from corpus_assets.clean.losses import host_losses
from corpus_assets.clean.pinned_lines import Boilerplate
from corpus_assets.clean.planner import CleanPlanner
from corpus_assets.clean.repeated_paragraphs import find_going_paragraphs
from corpus_assets.clean.repeated_spans import find_cuts
from corpus_assets.clean.rewriting import places_in_extracted
from corpus_assets.clean.sentence_stage import scored_cuts, sentence_inputs
from corpus_assets.clean.settings import CleanTextSettings
from corpus_assets.clean.span_stages import span_inputs
from corpus_assets.clean.upstream import (
    UPSTREAM_FILES,
    drops_before_cleaning,
    step_settings,
    text_steps,
    upstream_inputs,
    with_texts,
)
from corpus_assets.core import files, schemas
from corpus_assets.core.decisions import Drop, part_decisions
from corpus_assets.core.earlier import Earlier
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.schemas import LABELS
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.task import LOOKUP_ROWS, Task, TaskContext, count, part_label, values
from corpus_assets.decontam import PartVerdicts, part_verdicts, verdict_settings, write_hits
from corpus_assets.scrub import (
    LISTED,
    SCRUBBED,
    TOO_MUCH,
    count_scrubbed,
    drop_reason,
    hash_list_inputs,
    hash_list_pins,
    hash_lists,
    scrub_releases,
    task_recognizers,
)
from corpus_assets.shards import group_names
from corpus_assets.signals import TextStep
from corpus_loader.manifest import join_labels, split_labels

CUT_SENTENCES = "cut_sentences"  # the count of them in kept documents


class EarlierTexts(NamedTuple):
    """What cleaning made of a part before."""

    earlier: Earlier | None
    rows: list[int | None]  # of each document in the final texts, None where it has none
    dropped: dict[int, Drop]  # documents that cleaning itself dropped

    def final(self) -> pa.Table:
        """Return them without the labels of their groups, which may be others now."""
        if self.earlier is None:
            return schemas.FINAL_TEXT.empty_table()
        return self.earlier.output(files.FINAL, schemas.FINAL_TEXT.names)

    def lines(self) -> pa.Table:
        """Return what became of their repeated lines, row by row."""
        if self.earlier is None:
            return CUT_LINES.empty_table()
        return self.earlier.output(files.CUT_LINES)

    def are_all(self, order: list[int], labels: list[str] | None) -> bool:
        """Whether these rows, in this order, are all of the final texts as they stand."""
        if self.earlier is None or order != list(range(self.earlier.n_rows(files.FINAL))):
            return False
        if labels is None:
            return True
        were = self.earlier.output(files.FINAL, [LABELS.name])[LABELS.name].to_pylist()
        return bool(labels == were)


def plan_clean_text(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    shared = {"boilerplate": pipeline.calibration(files.BOILERPLATE, snapshot)}
    shared |= span_inputs(pipeline, snapshot)
    domain = pipeline.recipe.source_of(snapshot).domain
    settings = {"clean_text": pipeline.recipe.clean_text.identity(), "domain": domain}
    settings |= {LABELS.name: True} if pipeline.recipe.has_labels else {}
    settings |= step_settings(pipeline) | verdict_settings(pipeline)
    settings |= scrub_releases(pipeline, domain)
    lists, paths = hash_list_inputs(pipeline)
    if pipeline.recipe.clean_text.repair_encoding:
        settings |= {"ftfy": ftfy_release()}
    return LazySequence(
        lambda i, records, documents, upstream, sentences: CLEAN_TEXT.task(
            settings,
            {"records": records, "documents": documents} | shared | upstream | sentences,
            lists,
            paths,
            label=part_label(snapshot, i),
        ),
        pipeline.parts(files.RECORDS, snapshot),
        pipeline.parts(files.DOCUMENTS, snapshot),
        upstream_inputs(pipeline, snapshot),
        sentence_inputs(pipeline, snapshot),
    )


def run_clean_text(context: TaskContext) -> None:
    chosen, hits = context.table("selection"), part_verdicts(context)
    drops = drops_before_cleaning(context, chosen, hits)
    before = _known_final_rows(context, chosen)
    drops = before.dropped | drops
    left = [row for row in range(chosen.num_rows) if row not in drops]
    final = _write_final(context, before, chosen, left, drops, hits)
    records = context.table("records")
    decisions = part_decisions(records, context.task.settings["domain"], chosen, drops)
    context.write_table(files.DECISIONS, decisions, LOOKUP_ROWS)
    context.write_table(files.LOSSES, host_losses(records["host"], decisions, final))
    write_hits(context, hits, drops)
    _summarise_decisions(context, decisions)


def _write_final(
    context: TaskContext,
    before: EarlierTexts,
    chosen: pa.Table,
    left: list[int],
    drops: dict[int, Drop],
    hits: PartVerdicts,
) -> pa.Table:
    """Write the final text of the rows that are left; whom cleaning drops is added to `drops`.

    Where an earlier result has all of it, no extracted text is read.
    """
    todo = [row for row in left if before.rows[row] is None]
    known = [place for row in left if (place := before.rows[row]) is not None]
    labels = _labels(context, chosen, hits)
    same = None if labels is None else [labels[row] for row in left]
    if not todo and before.earlier is not None and before.are_all(known, same):
        for file in (files.FINAL, files.CUT_LINES):
            context.write_bytes(file, before.earlier.content(file), len(known))
        _repeat_summary(context, before.earlier)
        return before.final()
    final, lines = before.final(), before.lines()
    if todo or before.earlier is None:
        cleaned, cut_lines = _clean(context, chosen, todo, drops, hits)
        fresh = iter(range(final.num_rows, final.num_rows + cleaned.num_rows))
        final = pa.concat_tables([final, cleaned]) if final.num_rows else cleaned
        lines = pa.concat_tables([lines, cut_lines])
        known = [
            next(fresh) if (place := before.rows[row]) is None else place
            for row in left
            if row not in drops
        ]
    if before.earlier is not None:
        final = final.take(pa.array(known, pa.int64()))
        lines = lines.take(pa.array(known, pa.int64()))
    if labels is not None:
        kept = pa.array([labels[row] for row in left if row not in drops], LABELS.type)
        final = final.append_column(LABELS, kept)
    context.write_table(files.FINAL, final, LOOKUP_ROWS)
    context.write_table(files.CUT_LINES, lines.combine_chunks())
    _summarise_final(context, final)
    return final


def _clean(
    context: TaskContext,
    chosen: pa.Table,
    todo: list[int],
    drops: dict[int, Drop],
    hits: PartVerdicts,
) -> tuple[pa.Table, pa.Table]:
    """Return final text of rows that no earlier result has, and what became of their lines."""
    rows = pa.array(todo, pa.int64())
    table = context.table("documents").take(rows)
    settings = context.settings(CleanTextSettings, "clean_text")
    lines, steps = Boilerplate.of(context.table("boilerplate")), text_steps(context)
    repeated = _repeated(context, table, lines, settings, steps)
    cleaned, reasons, details, cut_lines = clean_documents(
        table,
        chosen["tier"].take(rows),
        chosen["language"].take(rows),
        lines,
        settings,
        steps,
        [
            {BENCHMARK_ITEM: hits.cuts.get(row, []), REPEATED_SPAN: spans, **scored}
            for row, spans, scored in zip(todo, repeated, _scored(context, rows), strict=True)
        ],
        hash_lists(context),
        task_recognizers(context),
    )
    for row, reason, detail in zip(todo, reasons, details, strict=True):
        if reason is not None:
            drops[row] = Drop("clean_text", reason, detail)
    return cleaned, cut_lines


def _labels(context: TaskContext, chosen: pa.Table, hits: PartVerdicts) -> list[str] | None:
    """Return the labels of each document's group: those that the selection saw, and those that
    the stages after it know of. None where the recipe divides groups by none."""
    if LABELS.name not in context.task.settings:
        return None
    has_own = LABELS.name in chosen.column_names
    found = (
        [own or "" for own in chosen[LABELS.name].to_pylist()] if has_own else [""] * len(chosen)
    )
    sizes = context.settings(CleanTextSettings, "clean_text").tiers_by_copies
    for row, size in copies_reached(context.table("members"), sizes).items():
        found[row] = join_labels(split_labels(found[row]) | {"copies": str(size)})
    for row in hits.held_back:
        found[row] = join_labels(split_labels(found[row]) | {"held_back": "true"})
    return found


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
    left = left_by_lines(table, lines, settings.boilerplate, settings.min_chars, steps)
    in_paragraphs = settings.repeated_spans.paragraph_share is not None
    found = (find_going_paragraphs if in_paragraphs else find_cuts)(
        with_texts(table, left), context.table("repeated_spans"), settings.repeated_spans
    )
    return [places_in_extracted(one.kept, cuts) for one, cuts in zip(left, found, strict=True)]


def _scored(context: TaskContext, rows: pa.Array) -> list[Cuts]:
    """Sentences that go by their scores, of each of some documents."""
    if not context.has("sentences"):
        return [{}] * len(rows)
    cuts = context.settings(CleanTextSettings, "clean_text").sentences
    return scored_cuts(context.table("sentences").take(rows), cuts)


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
    context.notes["outcomes"] = dict(sorted(by_stage.items())) | {"kept": kept}


def _summarise_final(context: TaskContext, final: pa.Table) -> None:
    chars: Counter[str] = Counter()
    lengths = pc.utf8_length(final["text"]).to_pylist()
    for group, n in zip(group_names(final), lengths, strict=True):
        chars[group] += n
    languages = Counter(values(final["language"]))
    context.notes["languages"] = dict(sorted(languages.items()))
    context.notes["chars_by_group"] = dict(sorted(chars.items()))
    context.counts["boilerplate_lines"] = pc.sum(final["boilerplate_lines"]).as_py() or 0
    if context.has("sentences"):
        kinds = final["edits"].combine_chunks().flatten().field("kind")
        context.counts[CUT_SENTENCES] = pc.sum(pc.starts_with(kinds, SENTENCE)).as_py() or 0
    count_scrubbed(context, final)


def _repeat_summary(context: TaskContext, earlier: Earlier) -> None:
    """Note again what `_summarise_final` noted of the same texts before."""
    for name in ("languages", "chars_by_group"):
        context.notes[name] = earlier.notes[name]
    for name, number in earlier.counts.items():
        if name in ("boilerplate_lines", CUT_SENTENCES) or name.startswith(SCRUBBED):
            context.counts[name] = number


def _known_final_rows(context: TaskContext, chosen: pa.Table) -> EarlierTexts:
    """Return the earlier final texts, and which of the part's documents they stand for.

    A row counts when the document's tier and language (from the selection) are as they were.
    """
    earlier = Earlier.of(context)
    if earlier is None:
        return EarlierTexts(None, [None] * chosen.num_rows, {})
    columns = ["stage", "kept", "reason", "detail", "tier", "language"]
    decisions = earlier.output(files.DECISIONS, columns)
    is_document = pc.fill_null(pc.not_equal(decisions["stage"], "documents"), True)
    decided = decisions.filter(is_document)
    kept = decided["kept"].to_numpy()
    final_row = pa.array(np.cumsum(kept) - 1, pa.int64(), mask=~kept)
    were = pa.array(earlier.rows_of_documents(context), pa.int64())
    same = were.is_valid()
    for name in ("tier", "language"):
        same = pc.and_(same, _is_equal(decided[name].take(were), chosen[name]))
    places = pa.array(np.arange(len(were)), pa.int64())
    cleaned = pc.fill_null(pc.equal(decided["stage"].take(were), "clean_text"), False)
    dropped = places.filter(pc.and_(same, cleaned))
    reasons = decided.select(["stage", "reason", "detail"]).take(were.take(dropped)).to_pylist()
    return EarlierTexts(
        earlier,
        final_row.take(pc.if_else(same, were, None)).to_pylist(),
        {row: Drop(**one) for row, one in zip(dropped.to_pylist(), reasons, strict=True)},
    )


def _is_equal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether values are equal; two that are missing are."""
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both, pc.fill_null(pc.equal(left, right), False))


def copies_reached(members: pa.Table, sizes: Sequence[int]) -> dict[int, int]:
    """Return the largest of `sizes` that the cluster of each kept document reaches, by row.

    FineWeb2 (Penedo et al. 2025, arXiv:2506.20920) repeats a document by how many copies its
    cluster had, where that goes with quality. Here the copies choose the group of shards, and what
    such a group is worth is a weight of the mixture: changing it recomputes nothing.

    `members` are the part's rows of CLUSTER_MEMBERS; `sizes` ascend.
    """
    columns = (members[name].to_pylist() for name in ("row", "kept", "cluster_size"))
    return {
        row: reached[-1]
        for row, kept, found in zip(*columns, strict=True)
        if kept and (reached := [size for size in sizes if size <= found])
    }


CLEAN_TEXT = Stage(
    "clean_text",
    clean_text.VERSION,
    Scope.PART,
    plan_clean_text,
    run_clean_text,
    about="Final text of kept documents, with every edit recorded, and the outcome of every record.",
    reads=(
        files.RECORDS,
        files.BOILERPLATE,
        files.REPEATED_SPANS,
        files.SENTENCE_SCORES,
        *UPSTREAM_FILES,
    ),
    writes=(files.FINAL, files.DECISIONS, files.BENCHMARK_HITS, files.LOSSES, files.CUT_LINES),
    drops=(TOO_SHORT, FEW_SENTENCES, LISTED, TOO_MUCH, drop_reason("*")),
    by_row=frozenset({"documents", "records", "selection", "members", "hits", "sentences"}),
    inputs=hash_list_pins,
)
