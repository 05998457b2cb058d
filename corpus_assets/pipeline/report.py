"""A version's report: one HTML page that needs nothing else, with counts and no text.

The page is a pure function of the version, so two builds give the same file; and since it
holds no text of any document, a takedown has nothing to remove from it.
"""

from collections import Counter

import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.output import escape
from corpus_assets.pipeline.charts import STYLE, funnel_bars, horizontal_bars, table
from corpus_assets.pipeline.drift import Shape, shape_of
from corpus_assets.pipeline.funnel import funnel
from corpus_assets.pipeline.graph import Pipeline
from corpus_assets.pipeline.report_contamination import contamination_section
from corpus_assets.pipeline.report_signals import selection_section
from corpus_assets.pipeline.scrubbing import scrubbed_totals
from corpus_assets.shards.manifest import Manifest
from corpus_assets.shards.mixture import fitted
from corpus_assets.shards.mixture_table import mixture_table

QUALITY = "quality_score"


def render_report(pipeline: Pipeline, manifest: Manifest) -> str:
    sections = [
        _head(pipeline, manifest),
        _funnel(pipeline),
        _by_snapshot(pipeline),
        _language_gate(pipeline),
        _languages(pipeline),
        _beside(pipeline),
        selection_section(pipeline),
        _clusters(pipeline),
        contamination_section(pipeline),
        _scrub(pipeline),
        _tokens(manifest),
        _mixture(pipeline, manifest),
        _models(pipeline),
    ]
    title = escape(f"corpus {manifest.version}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(sections)}</body></html>\n"
    )


def _head(pipeline: Pipeline, manifest: Manifest) -> str:
    groups = manifest.groups
    numbers = {
        "documents": sum(g.documents for g in groups),
        "tokens": sum(g.tokens for g in groups),
        "samples": sum(g.samples for g in groups),
        "shards": sum(len(g.shards) for g in groups),
        "snapshots": len(pipeline.recipe.snapshots),
    }
    shown = "".join(f"<div><b>{value:,}</b>{name}</div>" for name, value in numbers.items())
    return (
        f"<h1>{escape(manifest.version)}</h1><p>Recipe {escape(manifest.recipe.name)} "
        f"<code>{manifest.recipe.digest[:16]}</code>, lock <code>{manifest.lock_digest[:16]}</code>, "
        f"seed {manifest.seed}, samples of {manifest.seq_len} tokens, "
        f"{manifest.utilisation:.2%} of them filled.</p>"
        f'<div class="big">{shown}</div>'
    )


def _funnel(pipeline: Pipeline) -> str:
    steps = funnel(pipeline)
    chart = funnel_bars([(step.stage, step.entered, step.left) for step in steps])
    reasons = [
        (step.stage, reason, count, count / step.entered)
        for step in steps
        for reason, count in step.reasons.most_common()
    ]
    return (
        "<h2>Funnel</h2><p>Every record that came in is in a shard or in one row below.</p>"
        + chart
        + table(("stage", "reason", "documents", "share of what came in"), reasons)
    )


def _by_snapshot(pipeline: Pipeline) -> str:
    rows = []
    for snapshot in pipeline.recipe.snapshots:
        steps = funnel(pipeline, [snapshot])
        entered, left = steps[0].entered, steps[-1].left
        rows.append((snapshot, left, f"{left:,} of {entered:,}"))
    return "<h2>Kept by snapshot</h2>" + horizontal_bars(rows)


def _language_gate(pipeline: Pipeline) -> str:
    """How often the gate before extraction was wrong, by the refused pages extracted to see."""
    if pipeline.recipe.documents.gates.language_gate is None:
        return ""
    rows = []
    for snapshot in pipeline.recipe.snapshots:
        totals: Counter[str] = Counter()
        for result in pipeline.results("documents", snapshot):
            totals.update(result.counts)
            totals.update(
                {name: n for name, n in result.notes.get("reasons", {}).items() if "gate_" in name}
            )
        refused = totals["gate_language"] + totals["gate_too_short"]
        sampled, wrong = totals["gate_sampled"], totals["gate_false_drops"]
        rows.append((snapshot, refused, sampled, wrong, _drop_rate(refused, sampled, wrong)))
    return (
        "<h2>Language gate</h2><p>Pages refused by their roughly stripped text; a sample of them "
        "was extracted all the same. A false drop gave text that the recipe wants.</p>"
        + table(("snapshot", "refused", "sampled", "false drops", "false-drop rate"), rows)
    )


def _drop_rate(refused: int, sampled: int, wrong: int) -> float | str:
    if sampled:
        return wrong / sampled
    return "not known: none was sampled, raise `sample_share`" if refused else "-"


def _languages(pipeline: Pipeline) -> str:
    kept: Counter[str] = Counter()
    for snapshot in pipeline.recipe.snapshots:
        for result in pipeline.results("clean_text", snapshot):
            kept.update(result.notes["languages"])
    rows = [(name, count, f"{count:,}") for name, count in kept.most_common(20)]
    return "<h2>Languages of kept documents</h2>" + horizontal_bars(rows)


def _beside(pipeline: Pipeline) -> str:
    """Each snapshot beside the one before it of its source, as the drift checks see them."""
    rows: list[tuple[object, ...]] = []
    for source in pipeline.recipe.sources:
        before: Shape | None = None
        for snapshot in source.snapshots:
            shape = shape_of(pipeline, snapshot, QUALITY)
            moved = "" if before is None else round(shape.language_distance(before), 4)
            quality = "" if shape.quality is None else round(shape.quality, 4)
            languages = ", ".join(
                f"{name} {count / max(shape.kept, 1):.0%}"
                for name, count in sorted(shape.languages.items(), key=lambda x: (-x[1], x[0]))[:4]
            )
            rows.append(
                (snapshot, shape.documents, round(shape.survival, 4), quality, moved, languages)
            )
            before = shape
    heads = ("snapshot", "documents", "selection keeps", "mean quality", "languages moved", "most")
    return (
        "<h2>Snapshots beside each other</h2><p>What selection keeps. <i>Languages moved</i>: total "
        "variation distance from the snapshot of the same source before it.</p>"
        + table(heads, rows)
    )


def _clusters(pipeline: Pipeline) -> str:
    """How many documents each kept one stands for, copies in later snapshots included."""
    copies: Counter[bytes] = Counter()
    for snapshot in pipeline.recipe.snapshots:
        for result in pipeline.results("clusters", snapshot):
            for output in result.outputs.values():
                members = pq.read_table(
                    pipeline.store.local(output.path), columns=["kept", "kept_doc_id"]
                )
                gone = members.filter(pc.invert(members["kept"]))
                copies.update(gone["kept_doc_id"].to_pylist())
    sizes = Counter(copies.values())
    rows = [(f"{size} dropped", sizes[size], f"{sizes[size]:,} kept") for size in sorted(sizes)]
    return (
        "<h2>Duplicates</h2><p>Kept documents by the number of copies that gave way to them.</p>"
        + horizontal_bars(rows[:30])
    )


def _scrub(pipeline: Pipeline) -> str:
    totals: Counter[str] = Counter()
    for snapshot in pipeline.recipe.snapshots:
        for result in pipeline.results("clean_text", snapshot):
            totals.update(scrubbed_totals(result.counts))
            totals["boilerplate_lines"] += result.counts.get("boilerplate_lines", 0)
    rows = [(name.replace("_", " "), count, f"{count:,}") for name, count in sorted(totals.items())]
    return "<h2>Edits in kept documents</h2>" + horizontal_bars(rows)


def _tokens(manifest: Manifest) -> str:
    rows = [(g.id, g.tokens, f"{g.tokens:,} in {len(g.shards)} shards") for g in manifest.groups]
    return "<h2>Tokens by group</h2>" + horizontal_bars(rows)


def _mixture(pipeline: Pipeline, manifest: Manifest) -> str:
    rows = [
        (row["group"], row["tokens"], row["drawn_tokens"], row["share"], row["epochs"])
        for row in mixture_table(manifest.groups, manifest.phases)
    ]
    phases = ", ".join(f"{phase.name} {phase.blocks} blocks" for phase in manifest.phases)
    there = {group.domain for group in manifest.groups if group.samples}
    gone = [name for name in sorted(pipeline.recipe.mixture.domains) if name not in there]
    _, gave_way = fitted(manifest.groups, pipeline.recipe.mixture, manifest.seq_len)
    notes = [f"Nothing of domain {name} is there: its share went to the others." for name in gone]
    notes += [gave_way] if gave_way is not None else []
    return (
        f"<h2>Mixture</h2><p>{escape(phases)} of {manifest.block_samples} samples.</p>"
        + "".join(f"<p>{escape(note)}</p>" for note in notes)
        + table(("group", "tokens", "tokens a run draws", "share of the run", "epochs"), rows)
    )


def _models(pipeline: Pipeline) -> str:
    rows = [(name, out.bytes, out.sha256[:16]) for name, out in pipeline.calibrations().items()]
    return "<h2>Pinned calibrations</h2>" + table(("calibration", "bytes", "sha256"), sorted(rows))
