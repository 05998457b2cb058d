"""Render a version's report: one HTML page that needs nothing else, with counts and no text.

The page is a pure function of the version, so two builds give the same file: when it was built and
what that took is in the catalog, and added by `corpus report`. It names hosts of kept documents and holds no text
of any, so that the page of a version after a takedown has nothing of what was removed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from catalog.ask import BY_BENCHMARK, BY_ITEM, BenchmarkFound, benchmarks_found
from catalog.db import LineageRow
from catalog.figures import counted, wilson
from catalog.formats.store import FileStore
from catalog.pages import Percent, Section, render
from corpus_assets.clean import CUT_SENTENCES
from corpus_assets.core import files
from corpus_assets.core.store import read_output
from corpus_assets.decontam import items_by_benchmark
from corpus_assets.graph import Pipeline
from corpus_assets.scrub import scrubbed_totals
from corpus_assets.shards import mixture_rows, plan_mixture, shares_met
from corpus_assets.signals import IMPORTED, Imported
from corpus_assets.versions.drift import Shape, shape_of
from corpus_assets.versions.funnel import funnel_steps
from corpus_assets.versions.outcomes import (
    MOST_GROUPS,
    Outcomes,
    Share,
    count_outcomes,
    label_columns,
    shares,
)
from corpus_assets.versions.panel import Panel, own_panels, panel_section, queries_of, shipped
from corpus_assets.versions.report_tables import ReportTables, some_parts
from corpus_assets.versions.rule_charts import rules_and_signals
from corpus_assets.versions.yield_table import yield_panel, yield_values
from corpus_loader import Manifest

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


def render_report(pipeline: Pipeline, manifest: Manifest, lineage: Sequence[LineageRow]) -> str:
    """`lineage` lists the files that the version's tables are made of."""
    store, name = FileStore(pipeline.store.url), manifest.version
    with ReportTables(store, lineage, name) as whole, some_parts(store, lineage, name) as some:
        sections = _sections(pipeline, manifest, whole, some)
    return render(TEMPLATES / "report.html", **_head(pipeline, manifest), sections=sections)


def _sections(
    pipeline: Pipeline, manifest: Manifest, whole: ReportTables, some: ReportTables
) -> list[Section]:
    """Return the sections of the report, and behind them the panels that the recipe names.

    What stages count while they see it is summed here; the query beside such a number says what it
    is. Everything else is counted by its query.
    """
    rules, signals = rules_and_signals(pipeline)
    licences, preferences = shipped("licences"), shipped("preferences")
    by_group, yields = _dimensions(pipeline), yield_panel(some)
    benchmarks = (
        Panel("benchmarks", "Items by benchmark", "", BY_BENCHMARK),
        Panel("benchmark_items", "Documents by item", "", BY_ITEM),
    )
    return [
        section("Funnel", "funnel.html", _funnel(pipeline), whole, shipped("funnel")),
        section("Kept by snapshot", "snapshots.html", _by_snapshot(pipeline),
                whole, shipped("snapshots")),
        section("Yield by page type and language", "yields.html", yield_values(pipeline, yields, some), some, yields),
        _declared(some),
        section("Language gate", "language_gate.html", _language_gate(pipeline), whole),
        section("Kept and dropped", "outcomes.html", _kept_beside_dropped(by_group, some),
                some, *(panel for panel, _ in by_group)),
        section("Tokens by language", "languages.html", _languages(pipeline),
                whole, shipped("tokens_by_language")),
        section("Lengths of kept documents", "lengths.html", _lengths(pipeline),
                whole, shipped("lengths")),
        panel_section(shipped("hosts"), some),
        section("Licences and opt-outs", "licences.html",
                {"parts": [_by_source(pipeline, some, panel) for panel in (licences, preferences)]},
                some, licences, preferences),
        section("Duplicates", "duplicates.html", _duplicates(whole),
                whole, shipped("duplicates"), shipped("copies")),
        section("Snapshots side by side", "drift.html", _beside(pipeline), whole),
        section("Imported signals", "imported.html", _imported(pipeline), whole),
        section("Selection rules", "rules.html", rules, whole),
        section("Signals and their thresholds", "signals.html", signals, whole),
        section("Benchmarks", "benchmarks.html", _contamination(pipeline, whole),
                whole, *(benchmarks if pipeline.recipe.suites else ())),
        section("Edits in kept documents", "bars.html", _scrub(pipeline), whole, shipped("edits")),
        section("Tokens by group", "bars.html", _tokens(manifest), whole),
        section("Mixture", "mixture.html", _mixture(pipeline, manifest), whole),
        section("Pinned calibrations", "calibrations.html", _models(pipeline), whole),
        *(panel_section(panel, some) for panel in own_panels(pipeline)),
    ]  # fmt: skip


def section(
    title: str, template: str, values: Values | None, tables: ReportTables, *panels: Panel
) -> Section:
    """Render a section with its queries; one that has no values is left out."""
    if values is None:
        return Section(title, Markup())
    body = render(TEMPLATES / template, **values)
    return Section(title, body + queries_of(tables, *panels) if panels else body)


def _declared(tables: ReportTables) -> Section:
    """Return what texts have of what their pages declare; nothing where that is not noted."""
    panel = shipped("declared_recall")
    if not tables.has_column("documents", "declared_recall"):
        return Section(panel.title, Markup())
    return panel_section(panel, tables)


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
    steps = funnel_steps(pipeline)
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
        steps = funnel_steps(pipeline, [snapshot])
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


def _outcomes(outcomes: Outcomes, others: str) -> Values:
    whole, groups = shares(outcomes, SHOWN, others)
    return {
        "rows": [_outcome(one) for one in [whole, *groups]],
        "legend": {_words(name): colour for name, colour in OUTCOMES.items()},
        "overall": whole.share,
    }


def _dimensions(pipeline: Pipeline) -> list[tuple[Panel, str]]:
    """Return the queries for groups that a filter could favour, and what their small groups are
    called."""
    by_label = shipped("outcomes_by_label")
    labels = label_columns(pipeline.recipe.signals)
    return [
        (shipped("outcomes_by_language"), "other languages"),
        (shipped("outcomes_by_source"), "other sources"),
        *((by_label.of(LABEL=label), "others") for label in labels),
        (shipped("outcomes_by_length"), "other lengths"),
    ]


def _kept_beside_dropped(dimensions: Sequence[tuple[Panel, str]], tables: ReportTables) -> Values:
    """Show the groups of each dimension, those first that lie farthest from the rest."""
    parts = []
    for panel, others in dimensions:
        found = count_outcomes(tables, panel).get("", {})
        parts.append(
            {
                "title": panel.title,
                "is_crowded": found is None,
                "outcomes": _outcomes(found, others) if found else None,
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


def _by_source(pipeline: Pipeline, tables: ReportTables, panel: Panel) -> Values:
    """Show groups over all sources as a chart, and those of each source as a table."""
    rows: list[tuple[object, ...]] = []
    whole: Outcomes = {}
    found = count_outcomes(tables, panel)
    for source in (each.name for each in pipeline.recipe.sources):
        outcomes = found.get(source, {})
        if outcomes is None:
            rows.append((source, f"more than {MOST_GROUPS:,} values", "", "", "", ""))
            continue
        for name, counts in outcomes.items():
            whole.setdefault(name, Counter()).update(counts)
        _, groups = shares(outcomes, SHOWN, "others")
        for one in sorted(groups, key=lambda one: (-one.records, one.group)):
            most = "" if one.most is None else f"{one.most[0]} {one.most[1]:,}"
            rows.append((source, one.group, one.records, one.kept, Percent(one.share), most))
    return {
        "kind": panel.name.removesuffix("s"),
        "title": panel.title,
        "about": panel.about,
        "outcomes": _outcomes(whole, "others") if whole else None,
        "rows": rows,
    }


def _duplicates(tables: ReportTables) -> Values:
    """Show duplicates by kind, by where the kept copy is, and kept documents by their copies."""
    by_kind: dict[str, list[int]] = {}
    across: Counter[tuple[str, str]] = Counter()
    for row in tables.ask(shipped("duplicates").sql):
        here, there, n = row["snapshot"], row["kept_in"], row["documents"]
        by_kind.setdefault(row["kind"], [0, 0])[here != there] += n
        if here != there:
            across[here, there] += n
    kinds = [(kind, same + other, same, other) for kind, (same, other) in sorted(by_kind.items())]
    most = sorted(across.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    copies = [(row["dropped"], row["kept"]) for row in tables.ask(shipped("copies").sql)]
    return {
        "every": tables.every,
        "kinds": kinds,
        "across": [(*pair, n) for pair, n in most],
        "sizes": [(f"{n} dropped", kept, f"{kept:,} kept") for n, kept in copies[:MOST_SIZES]],
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
        (row.group, row.tokens, row.drawn_tokens, Percent(row.share), row.epochs)
        for row in mixture_rows(groups, manifest.phases)
    ]
    phases = ", ".join(f"{phase.name} {phase.blocks} blocks" for phase in manifest.phases)
    there = {group.domain for group in manifest.groups if group.samples}
    gone = sorted({source.domain for source in pipeline.recipe.sources} - there)
    mixture = pipeline.recipe.mixture
    _, gave_way = plan_mixture(groups, mixture, manifest.seq_len)
    shares = shares_met(groups, mixture, manifest.seq_len, manifest.phases)
    notes = [f"Nothing of domain {name} is left: its share goes to the others." for name in gone]
    notes += [gave_way] if gave_way is not None else []
    notes += [share.line() for share in shares if share.problem is not None]
    return {
        "phases": phases,
        "block_samples": manifest.block_samples,
        "notes": notes,
        "rows": rows,
        "shares": [
            (share.key, Percent(share.asked), Percent(share.got), share.missing_tokens)
            for share in shares
        ],
    }


def _models(pipeline: Pipeline) -> Values:
    rows = [(name, out.bytes, out.sha256[:16]) for name, out in pipeline.calibrations().items()]
    return {"rows": sorted(rows)}


# Benchmarks.

COMMON_SHOWN = 20


def _contamination(pipeline: Pipeline, tables: ReportTables) -> Values:
    if not pipeline.recipe.suites:
        return {"suites": None}
    known = items_by_benchmark(read_output(pipeline.store, pipeline.calibration(files.EVAL_INDEX)))
    found = benchmarks_found(tables)
    totals: dict[str, Counter[str]] = {
        name: Counter() for name in ("removed", "cut", "held_back", "excluded")
    }
    for result in pipeline.all_results("clean_text"):
        for name, total in totals.items():
            total.update(result.notes.get(f"{name}_by_benchmark", {}))
    bars = [
        (name, one.seen, f"{one.seen:,} of {known[name][0]:,} items")
        for name, one in found.items()
        if one.seen
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
    known: Mapping[str, tuple[int, int]],
    found: Mapping[str, BenchmarkFound],
    totals: Mapping[str, Counter[str]],
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for name, (items, short) in sorted(known.items()):
        one = found.get(name, BenchmarkFound())
        examples = ", ".join(f"{item} ({count})" for item, count in one.examples)
        rows.append(
            (name, items, short, one.seen, totals["removed"][name], totals["cut"][name],
             totals["held_back"][name], one.near_miss_items, one.near_miss_documents,
             one.common_items, examples)
        )  # fmt: skip
    return rows


def _common(found: Mapping[str, BenchmarkFound]) -> list[tuple[str, str, int]]:
    rows = [(name, *row) for name, one in found.items() for row in one.common]
    rows.sort(key=lambda row: (-row[2], row[0], row[1]))
    return rows[:COMMON_SHOWN]
