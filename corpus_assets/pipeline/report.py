"""A version's report: one HTML page that needs nothing else, with counts and no text.

The page is a pure function of the version, so two builds give the same file; and since it
holds no text of any document, a takedown has nothing to remove from it.
"""

import json
from collections import Counter
from html import escape

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.pipeline.charts import funnel_bars, histogram, horizontal_bars, table
from corpus_assets.pipeline.funnel import funnel
from corpus_assets.pipeline.graph import Pipeline
from corpus_assets.shards.manifest import Manifest
from corpus_assets.shards.mixture import mixture_table
from corpus_assets.store import read_output

BINS = 40
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1d2733;max-width:860px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem} h2{font-size:1.15rem;margin-top:2.2rem;border-bottom:1px solid #dde4ec}
h3{font-size:1rem;margin-bottom:.3rem} table{border-collapse:collapse;font-size:13.5px;margin:.6rem 0}
td,th{padding:.18rem .7rem;border-bottom:1px solid #e6ebf1;text-align:left} td.n{text-align:right;font-variant-numeric:tabular-nums}
code{font-size:12.5px;background:#f2f5f8;padding:.1rem .3rem} .big{display:flex;gap:2.2rem;margin:1rem 0}
.big div{font-size:12.5px;color:#5b6b7c} .big b{display:block;font-size:1.5rem;color:#1d2733} svg{max-width:100%;height:auto}
"""


def render_report(pipeline: Pipeline, manifest: Manifest) -> str:
    sections = [
        _head(pipeline, manifest),
        _funnel(pipeline),
        _by_snapshot(pipeline),
        _languages(pipeline),
        _quality(pipeline),
        _clusters(pipeline),
        _contamination(pipeline),
        _scrub(pipeline),
        _tokens(manifest),
        _mixture(manifest),
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
        f"seed {manifest.seed}, samples of {manifest.seq_len} tokens.</p>"
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


def _languages(pipeline: Pipeline) -> str:
    kept: Counter[str] = Counter()
    for snapshot in pipeline.recipe.snapshots:
        for result in pipeline.results("clean_text", snapshot):
            kept.update(result.notes["languages"])
    rows = [(name, count, f"{count:,}") for name, count in kept.most_common(20)]
    return "<h2>Languages of kept documents</h2>" + horizontal_bars(rows)


def _quality(pipeline: Pipeline) -> str:
    if "quality_score" not in pipeline.recipe.signals.columns():
        return ""
    counts = np.zeros(BINS, dtype=np.int64)
    for snapshot in pipeline.recipe.snapshots:
        for result in pipeline.results("signals", snapshot):
            path = pipeline.store.local(result.outputs["signals.parquet"].path)
            scores = pq.read_table(path, columns=["quality_score"])["quality_score"].to_numpy()
            counts += np.histogram(scores, BINS, (0.0, 1.0))[0]
    cutoffs = json.loads(read_output(pipeline.store, pipeline.cutoffs_file()))
    rows = [
        (name, language, value) for name, by in cutoffs.items() for language, value in by.items()
    ]
    marks = sorted({by["*"] for by in cutoffs.values() if "*" in by})
    return (
        "<h2>Quality scores of extracted documents</h2><p>Dashed: cutoffs over all languages.</p>"
        + histogram(counts.tolist(), 0.0, 1.0, [mark for mark in marks if 0 <= mark <= 1])
        + table(("cutoff", "language", "value"), rows)
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


def _contamination(pipeline: Pipeline) -> str:
    hits: Counter[str] = Counter()
    for snapshot in pipeline.recipe.snapshots:
        for result in pipeline.results("contamination", snapshot):
            hits.update(result.notes["hits_by_benchmark"])
    rows = [(name, count, f"{count:,}") for name, count in hits.most_common()]
    return (
        "<h2>Benchmark items found</h2><p>Pairs of document and item, near misses included; "
        "those above the drop share are in the funnel.</p>" + horizontal_bars(rows)
    )


def _scrub(pipeline: Pipeline) -> str:
    totals: Counter[str] = Counter()
    for snapshot in pipeline.recipe.snapshots:
        for result in pipeline.results("clean_text", snapshot):
            for name in ("emails", "ip_addresses", "boilerplate_lines"):
                totals[name] += result.counts.get(name, 0)
    rows = [(name.replace("_", " "), count, f"{count:,}") for name, count in sorted(totals.items())]
    return "<h2>Edits in kept documents</h2>" + horizontal_bars(rows)


def _tokens(manifest: Manifest) -> str:
    rows = [(g.id, g.tokens, f"{g.tokens:,} in {len(g.shards)} shards") for g in manifest.groups]
    return "<h2>Tokens by group</h2>" + horizontal_bars(rows)


def _mixture(manifest: Manifest) -> str:
    rows = [
        (row["group"], row["tokens"], row["drawn_tokens"], row["share"], row["epochs"])
        for row in mixture_table(manifest.groups, manifest.phases)
    ]
    phases = ", ".join(f"{phase.name} {phase.blocks} blocks" for phase in manifest.phases)
    return f"<h2>Mixture</h2><p>{escape(phases)} of {manifest.block_samples} samples.</p>" + table(
        ("group", "tokens", "tokens a run draws", "share of the run", "epochs"), rows
    )


def _models(pipeline: Pipeline) -> str:
    rows = [(name, out.bytes, out.sha256[:16]) for name, out in pipeline.calibrations().items()]
    return "<h2>Pinned calibrations</h2>" + table(("calibration", "bytes", "sha256"), sorted(rows))
