"""Render a version's report: one HTML page that needs nothing else, with counts and no text.

The page is a pure function of the version, so two builds give the same file: when it was built and
what that took is in the catalog, and added by `corpus report`. It names hosts of kept documents and holds no text
of any, so that the page of a version after a takedown has nothing of what was removed.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from catalog.figures import counted, wilson
from catalog.formats.manifest import Manifest
from catalog.pages import Percent, Section, render
from corpus_assets.clean.stage import CUT_SENTENCES
from corpus_assets.core import files
from corpus_assets.core.store import read_output
from corpus_assets.core.task import read_table
from corpus_assets.decontam.eval_index import items_by_benchmark
from corpus_assets.decontam.verdicts import COMMON, NEAR_MISS
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.scrub.texts import scrubbed_totals
from corpus_assets.shards.mixture import fitted
from corpus_assets.shards.mixture_table import mixture_table
from corpus_assets.signals.imported import Imported
from corpus_assets.signals.stages.signals import IMPORTED
from corpus_assets.versions.benchmarks_found import BenchmarkFound, summarise
from corpus_assets.versions.drift import Shape, shape_of
from corpus_assets.versions.fates import (
    MOST_GROUPS,
    Counted,
    Fates,
    Share,
    count_fates,
    duplicates,
    shares,
)
from corpus_assets.versions.funnel import funnel
from corpus_assets.versions.rule_charts import rules_and_signals

QUALITY = "quality_score"
SHOWN = 25  # groups of a dimension
MOST_SIZES = 30  # of clusters
TEMPLATES = Path(__file__).with_name("templates")

OUTCOMES = {
    "kept": "blue",
    "documents": "grey",
    "selection": "orange",
    "clusters": "yellow",
    "contamination": "red",
    "clean_text": "purple",
}
"""What becomes of a record, with its colour: kept, or dropped by a stage."""

Values = Mapping[str, Any]


def render_report(pipeline: Pipeline, manifest: Manifest) -> str:
    counted = count_fates(pipeline)
    rules, signals = rules_and_signals(pipeline)
    sections = [
        section("Funnel", "funnel.html", _funnel(pipeline)),
        section("Kept by snapshot", "snapshots.html", _by_snapshot(pipeline)),
        section("Language gate", "language_gate.html", _language_gate(pipeline)),
        section("Kept beside dropped", "outcomes.html", _kept_beside_dropped(counted)),
        section("Tokens by language", "languages.html", _languages(pipeline)),
        section("Lengths of kept documents", "lengths.html", _lengths(pipeline)),
        section("Hosts", "hosts.html", _hosts(counted)),
        section("Licences and opt-outs", "licences.html", _licences(counted)),
        section("Duplicates", "duplicates.html", _duplicates(pipeline)),
        section("Snapshots beside each other", "drift.html", _beside(pipeline)),
        section("Imported signals", "imported.html", _imported(pipeline)),
        section("Selection rules", "rules.html", rules),
        section("Signals and their thresholds", "signals.html", signals),
        section("Benchmarks", "benchmarks.html", _contamination(pipeline)),
        section("Edits in kept documents", "bars.html", _scrub(pipeline)),
        section("Tokens by group", "bars.html", _tokens(manifest)),
        section("Mixture", "mixture.html", _mixture(pipeline, manifest)),
        section("Pinned calibrations", "calibrations.html", _models(pipeline)),
    ]
    return render(TEMPLATES / "report.html", **_head(pipeline, manifest), sections=sections)


def section(title: str, template: str, values: Values | None) -> Section:
    """Render a section; one that has no values is left out."""
    return Section(title, Markup() if values is None else render(TEMPLATES / template, **values))


def _head(pipeline: Pipeline, manifest: Manifest) -> Values:
    groups = manifest.groups
    return {
        "manifest": manifest,
        "caveats": pipeline.recipe.caveats(),
        "numbers": {
            "documents": sum(g.documents for g in groups),
            "tokens": sum(g.tokens for g in groups),
            "samples": sum(g.samples for g in groups),
            "shards": sum(len(g.shards) for g in groups),
            "snapshots": len(pipeline.recipe.snapshots),
        },
    }


def _funnel(pipeline: Pipeline) -> Values:
    steps = funnel(pipeline)
    reasons = [
        (step.stage, reason, count, Percent(count / step.entered))
        for step in steps
        for reason, count in step.reasons.most_common()
    ]
    return {
        "steps": [(step.stage, step.entered, step.left) for step in steps],
        "reasons": reasons,
    }


def _by_snapshot(pipeline: Pipeline) -> Values:
    rows = []
    for snapshot in pipeline.recipe.snapshots:
        steps = funnel(pipeline, [snapshot])
        rows.append((snapshot, steps[0].entered, steps[-1].left))
    return {"snapshots": rows}


# Groups: what became of them beside the others.


@dataclass(frozen=True)
class Outcome:
    """A group of records: how many, how many of them are kept, and what became of the rest."""

    name: str
    total: int
    kept: int
    interval: tuple[float, float]
    pieces: list[tuple[float, str]]  # shares of the whole, with their colours
    counts: str  # the same in words
    remark: str = ""


def _outcome(one: Share) -> Outcome:
    counts = {"kept": one.kept, **one.dropped}
    shown = {name: counts[name] for name in OUTCOMES if counts.get(name)}
    return Outcome(
        one.group,
        one.records,
        one.kept,
        wilson(one.kept, one.records),
        [(n / one.records, OUTCOMES[name]) for name, n in shown.items()],
        ", ".join(f"{_words(name)} {n:,}" for name, n in shown.items()),
        "" if one.most is None else f"most: {one.most[0]} {one.most[1]:,}",
    )


def _words(outcome: str) -> str:
    return outcome if outcome == "kept" else f"dropped by {outcome}"


def _outcomes(fates: Fates, others: str) -> Values:
    whole, groups = shares(fates, SHOWN, others)
    return {
        "rows": [_outcome(one) for one in [whole, *groups]],
        "legend": {_words(name): colour for name, colour in OUTCOMES.items()},
        "overall": whole.share,
    }


def _kept_beside_dropped(counted: Counted) -> Values:
    """Show every group that a filter could favour, those first that lie farthest from the rest."""
    labels = [name for name in counted.by if name.startswith("label ")]
    parts = []
    for dimension, title, others in (
        ("language", "By language, of documents", "other languages"),
        ("source", "By source, of records", "other sources"),
        *((name, f"By {name.removeprefix('label ')}, of documents", "others") for name in labels),
        ("length", "By length, of documents, in characters as extracted", "other lengths"),
    ):
        is_crowded, fates = dimension in counted.crowded, counted.by.get(dimension)
        parts.append(
            {
                "title": title,
                "is_crowded": is_crowded,
                "outcomes": _outcomes(fates, others) if fates and not is_crowded else None,
            }
        )
    return {"parts": parts, "most_groups": MOST_GROUPS}


def _languages(pipeline: Pipeline) -> Values:
    documents, tokens = Counter[str](), Counter[str]()
    for result in pipeline.all_results("clean_text"):
        for name, n in result.notes["languages"].items():
            documents[name or "unknown"] += n
    for result in pipeline.all_results("tokens"):
        tokens.update(result.notes["tokens_by_language"])
    total = sum(tokens.values()) or 1
    order = sorted(tokens, key=lambda name: (-tokens[name], name))
    bars = [
        (name, tokens[name], f"{tokens[name]:,} ({tokens[name] / total:.1%})") for name in order
    ]
    rows = [
        (name, documents[name], Percent(documents[name] / max(sum(documents.values()), 1)),
         tokens[name], Percent(tokens[name] / total), tokens[name] / max(documents[name], 1))
        for name in order
    ]  # fmt: skip
    return {"bars": bars[:SHOWN], "rows": rows}


def _lengths(pipeline: Pipeline) -> Values:
    powers: Counter[int] = Counter()
    for result in pipeline.all_results("tokens"):
        powers.update({int(power): n for power, n in result.notes["lengths"].items()})
    total = sum(powers.values()) or 1
    between = range(min(powers, default=0), max(powers, default=-1) + 1)
    rows = [
        (f"{1 << p:,} to {(2 << p) - 1:,}", powers[p], f"{powers[p]:,} ({powers[p] / total:.1%})")
        for p in between
    ]
    return {"rows": rows}


def _hosts(counted: Counted) -> Values:
    rows = [
        (host.name, host.records, host.kept, Percent(host.kept / host.records), host.chars)
        for host in counted.hosts
    ]
    bars = [(host.name, host.records, host.kept) for host in counted.hosts]
    return {"rows": rows, "bars": bars, "n_hosts": counted.n_hosts}


def _licences(counted: Counted) -> Values:
    parts = []
    for kind, title, about in (
        ("licence", "Licences, of records", "As pages and sources state them."),
        (
            "preference",
            "Opt-outs, of records",
            "What pages and sites say about training, where the recipe listens.",
        ),
    ):
        rows: list[tuple[object, ...]] = []
        whole: Fates = {}
        for dimension, fates in counted.by.items():
            if not dimension.startswith(f"{kind} of "):
                continue
            for group, fated in fates.items():
                whole.setdefault(group, Counter()).update(fated)
            source = dimension.removeprefix(f"{kind} of ")
            if dimension in counted.crowded:
                rows.append((source, f"more than {MOST_GROUPS:,} values", "", "", "", ""))
            _, groups = shares(fates, SHOWN, "others")
            for one in sorted(groups, key=lambda one: (-one.records, one.group)):
                most = "" if one.most is None else f"{one.most[0]} {one.most[1]:,}"
                rows.append((source, one.group, one.records, one.kept, Percent(one.share), most))
        outcomes = _outcomes(whole, "others") if whole else None
        parts.append(
            {"kind": kind, "title": title, "about": about, "outcomes": outcomes, "rows": rows}
        )
    return {"parts": parts}


def _duplicates(pipeline: Pipeline) -> Values:
    """Show duplicates by kind, by where the kept copy is, and kept documents by their copies."""
    gone, every = duplicates(pipeline)
    pairs = Counter(
        zip(*(gone[name].to_pylist() for name in ("kind", "snapshot", "kept_in")), strict=True)
    )
    by_kind: dict[str, list[int]] = {}
    across: Counter[tuple[str, str]] = Counter()
    for (kind, here, there), n in pairs.items():
        by_kind.setdefault(kind, [0, 0])[here != there] += n
        if here != there:
            across[here, there] += n
    kinds = [(kind, same + other, same, other) for kind, (same, other) in sorted(by_kind.items())]
    most = sorted(across.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    sizes = Counter(Counter(gone["kept_doc_id"].to_pylist()).values())
    rows = [(f"{size} dropped", sizes[size], f"{sizes[size]:,} kept") for size in sorted(sizes)]
    return {
        "every": every,
        "kinds": kinds,
        "across": [(*pair, n) for pair, n in most],
        "sizes": rows[:MOST_SIZES],
    }


# Everything else.


def _language_gate(pipeline: Pipeline) -> Values | None:
    """Report how often the gate before extraction was wrong, by a sample of refused pages."""
    if pipeline.recipe.documents.gates.language_gate is None:
        return None
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
    return {"rows": rows}


def _drop_rate(refused: int, sampled: int, wrong: int) -> float | str:
    if sampled:
        return Percent(wrong / sampled)
    return "not known: none was sampled, raise `sample_share`" if refused else "-"


def _beside(pipeline: Pipeline) -> Values:
    """Compare each snapshot with the one before it of its source, as the drift checks do."""
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
                (snapshot, shape.documents, Percent(shape.survival), quality, moved, languages)
            )
            before = shape
    return {"rows": rows}


def _imported(pipeline: Pipeline) -> Values | None:
    """Say how many documents annotations of others speak of."""
    families = [f for f in pipeline.recipe.signals.families if isinstance(f, Imported)]
    if not families:
        return None
    annotated, documents = Counter[str](), 0
    for result in pipeline.all_results("signals"):
        annotated.update(result.notes.get(IMPORTED, {}))
        documents += result.counts["documents_in"]
    rows = [
        (f.name, f.key, ", ".join(f.columns()), annotated[f.name],
         Percent(annotated[f.name] / documents) if documents else "")
        for f in families
    ]  # fmt: skip
    return {"documents": documents, "rows": rows}


def _scrub(pipeline: Pipeline) -> Values:
    totals: Counter[str] = Counter()
    for result in pipeline.all_results("clean_text"):
        totals.update(scrubbed_totals(result.counts))
        totals["boilerplate_lines"] += result.counts.get("boilerplate_lines", 0)
        if CUT_SENTENCES in result.counts:
            totals[CUT_SENTENCES] += result.counts[CUT_SENTENCES]
    rows = [(name.replace("_", " "), count, f"{count:,}") for name, count in sorted(totals.items())]
    return {"rows": rows}


def _tokens(manifest: Manifest) -> Values:
    rows = [
        (g.id, g.tokens, f"{g.tokens:,} in {counted(len(g.shards), 'shard')}")
        for g in manifest.groups
    ]
    return {"rows": rows}


def _mixture(pipeline: Pipeline, manifest: Manifest) -> Values:
    groups = pipeline.recipe.mixed_groups(manifest.groups)
    rows = [
        (row["group"], row["tokens"], row["drawn_tokens"], Percent(row["share"]), row["epochs"])
        for row in mixture_table(groups, manifest.phases)
    ]
    phases = ", ".join(f"{phase.name} {phase.blocks} blocks" for phase in manifest.phases)
    there = {group.domain for group in manifest.groups if group.samples}
    gone = sorted({source.domain for source in pipeline.recipe.sources} - there)
    _, gave_way = fitted(groups, pipeline.recipe.mixture, manifest.seq_len)
    notes = [f"Nothing of domain {name} is there: its share went to the others." for name in gone]
    notes += [gave_way] if gave_way is not None else []
    return {
        "phases": phases,
        "block_samples": manifest.block_samples,
        "notes": notes,
        "rows": rows,
    }


def _models(pipeline: Pipeline) -> Values:
    rows = [(name, out.bytes, out.sha256[:16]) for name, out in pipeline.calibrations().items()]
    return {"rows": sorted(rows)}


# Benchmarks.

COMMON_SHOWN = 20


def _contamination(pipeline: Pipeline) -> Values:
    if not pipeline.recipe.suites:
        return {"suites": None}
    known = items_by_benchmark(read_output(pipeline.store, pipeline.calibration(files.EVAL_INDEX)))
    columns = ["benchmark", "item_id", "doc_id", "verdict"]
    found = summarise(
        read_table(pipeline.store, result.outputs[files.BENCHMARK_HITS], columns)
        for result in pipeline.all_results("clean_text")
    )
    totals: dict[str, Counter[str]] = {}
    fates = ("removed", "cut", "held_back", "excluded")
    totals |= {name: Counter() for name in fates}
    for result in pipeline.all_results("clean_text"):
        for name in fates:
            totals[name].update(result.notes.get(f"{name}_by_benchmark", {}))
    bars = [
        (name, one.items_seen, f"{one.items_seen:,} of {known[name][0]:,} items")
        for name, one in found.items()
        if one.items_seen
    ]
    return {
        "drop_share": pipeline.recipe.contamination.drop_share,
        "bars": sorted(bars, key=lambda row: -row[1]),
        "benchmarks": _by_benchmark(known, found, totals),
        "excluded": sorted(totals["excluded"].items()),
        "common": _common(found),
        "suites": [(pin.name, pin.bytes, pin.sha256) for pin in pipeline.inputs()["eval_suites"]],
    }


def _by_benchmark(
    known: dict[str, tuple[int, int]],
    found: dict[str, BenchmarkFound],
    totals: dict[str, Counter[str]],
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for name, (items, short) in sorted(known.items()):
        one = found.get(name, BenchmarkFound(name))
        examples = ", ".join(f"{item} ({count})" for item, count in one.examples())
        rows.append(
            (name, items, short, one.items_seen, totals["removed"][name], totals["cut"][name],
             totals["held_back"][name], one.n_items(NEAR_MISS), one.n_documents(NEAR_MISS),
             one.n_items(COMMON), examples)
        )  # fmt: skip
    return rows


def _common(found: dict[str, BenchmarkFound]) -> list[tuple[str, str, int]]:
    rows = [(name, *row) for name, one in found.items() for row in one.common()]
    rows.sort(key=lambda row: (-row[2], row[0], row[1]))
    return rows[:COMMON_SHOWN]
