"""Render a version's report: one HTML page that needs nothing else, with counts and no text.

The page is a pure function of the version, so two builds give the same file; and since it
holds no text of any document, a takedown has nothing to remove from it.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.cli.terminal import escape
from catalog.formats.manifest import Manifest
from corpus_assets.clean.stage import CUT_SENTENCES
from corpus_assets.core import files
from corpus_assets.core.store import Result, read_output
from corpus_assets.core.task import read_table
from corpus_assets.decontam.eval_index import items_by_benchmark
from corpus_assets.decontam.verdicts import COMMON, NEAR_MISS
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.scrub.texts import scrubbed_totals
from corpus_assets.select.columns import Columns, Mask, Numbers, rule_cutoff
from corpus_assets.select.requirement import Requirement, requirement
from corpus_assets.select.rules import Rule, column_of
from corpus_assets.shards.mixture import fitted
from corpus_assets.shards.mixture_table import mixture_table
from corpus_assets.signals.imported import Imported
from corpus_assets.signals.stages.signals import IMPORTED
from corpus_assets.versions.pages import (
    ORANGE,
    Mark,
    funnel_bars,
    horizontal_bars,
    mirrored_histogram,
    page,
    small_multiples,
    table,
)
from corpus_assets.versions.statistics import BenchmarkFound, Shape, funnel, shape_of, summarise

QUALITY = "quality_score"


def render_report(pipeline: Pipeline, manifest: Manifest) -> str:
    sections = [
        _head(pipeline, manifest),
        _funnel(pipeline),
        _by_snapshot(pipeline),
        _language_gate(pipeline),
        _languages(pipeline),
        _beside(pipeline),
        imported_section(pipeline),
        selection_section(pipeline),
        _clusters(pipeline),
        contamination_section(pipeline),
        _scrub(pipeline),
        _tokens(manifest),
        _mixture(pipeline, manifest),
        _models(pipeline),
    ]
    return page(f"corpus {manifest.version}", "".join(sections))


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
        + "".join(f"<p><b>{escape(line)}</b></p>" for line in pipeline.recipe.caveats())
        + f'<div class="big">{shown}</div>'
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
    """Report how often the gate before extraction was wrong, by a sample of refused pages."""
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
    for result in pipeline.all_results("clean_text"):
        kept.update(result.notes["languages"])
    rows = [(name, count, f"{count:,}") for name, count in kept.most_common(20)]
    return "<h2>Languages of kept documents</h2>" + horizontal_bars(rows)


def _beside(pipeline: Pipeline) -> str:
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
    """Chart kept documents by how many duplicates they have, later snapshots included."""
    listed = [
        (result, name) for result in pipeline.all_results("clusters") for name in result.outputs
    ]
    total = sum(result.outputs[name].rows for result, name in listed)
    every = 2 ** max(0, (total // MOST_DOCUMENTS).bit_length())  # ids are hashes: a fair share
    copies: Counter[bytes] = Counter()
    for result, name in listed:
        members = _read(pipeline, result, name, ["kept", "kept_doc_id"])
        gone = members.filter(pc.invert(members["kept"]))["kept_doc_id"].to_pylist()
        copies.update(one for one in gone if int.from_bytes(one[:4], "big") % every == 0)
    sizes = Counter(copies.values())
    rows = [(f"{size} dropped", sizes[size], f"{sizes[size]:,} kept") for size in sorted(sizes)]
    some = f" Counted is one kept document of {every}, by its id." if every > 1 else ""
    return (
        "<h2>Duplicates</h2><p>Kept documents by the number of copies that gave way to them."
        f"{some}</p>" + horizontal_bars(rows[:30])
    )


def _scrub(pipeline: Pipeline) -> str:
    totals: Counter[str] = Counter()
    for result in pipeline.all_results("clean_text"):
        totals.update(scrubbed_totals(result.counts))
        totals["boilerplate_lines"] += result.counts.get("boilerplate_lines", 0)
        if CUT_SENTENCES in result.counts:
            totals[CUT_SENTENCES] += result.counts[CUT_SENTENCES]
    rows = [(name.replace("_", " "), count, f"{count:,}") for name, count in sorted(totals.items())]
    return "<h2>Edits in kept documents</h2>" + horizontal_bars(rows)


def _tokens(manifest: Manifest) -> str:
    rows = [(g.id, g.tokens, f"{g.tokens:,} in {len(g.shards)} shards") for g in manifest.groups]
    return "<h2>Tokens by group</h2>" + horizontal_bars(rows)


def _mixture(pipeline: Pipeline, manifest: Manifest) -> str:
    groups = pipeline.recipe.mixed_groups(manifest.groups)
    rows = [
        (row["group"], row["tokens"], row["drawn_tokens"], row["share"], row["epochs"])
        for row in mixture_table(groups, manifest.phases)
    ]
    phases = ", ".join(f"{phase.name} {phase.blocks} blocks" for phase in manifest.phases)
    there = {group.domain for group in manifest.groups if group.samples}
    gone = sorted({source.domain for source in pipeline.recipe.sources} - there)
    _, gave_way = fitted(groups, pipeline.recipe.mixture, manifest.seq_len)
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


# Benchmarks: what was found of each, by which files, and what it did.

COMMON_SHOWN = 20


def contamination_section(pipeline: Pipeline) -> str:
    if not pipeline.recipe.suites:
        return "<h2>Benchmarks</h2><p>The recipe names no evaluation suite.</p>"
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
    settings = pipeline.recipe.contamination
    head = (
        "<h2>Benchmarks</h2><p>An item counts as seen where a document holds "
        f"{settings.drop_share:.0%} of its n-grams, whatever else became of the document. "
        "<i>Removed</i> and <i>cut</i> are documents that would have been kept, <i>held back</i> "
        "those that are kept and left to the phases. Near misses are "
        "shorter quotations, edited copies and, where the recipe looks for them, paraphrases that "
        "were left as they are; they are listed by "
        "<code>corpus contamination --near-misses</code>.</p>"
    )
    bars = [
        (name, one.items_seen, f"{one.items_seen:,} of {known[name][0]:,} items")
        for name, one in found.items()
        if one.items_seen
    ]
    return (
        head
        + (horizontal_bars(sorted(bars, key=lambda row: -row[1]), ORANGE) if bars else "")
        + _by_benchmark(known, found, totals)
        + _excluded(totals["excluded"])
        + _common(found)
        + _files(pipeline)
    )


def _by_benchmark(
    known: dict[str, tuple[int, int]],
    found: dict[str, BenchmarkFound],
    totals: dict[str, Counter[str]],
) -> str:
    rows: list[tuple[object, ...]] = []
    for name, (items, short) in sorted(known.items()):
        one = found.get(name, BenchmarkFound(name))
        examples = ", ".join(f"{item} ({count})" for item, count in one.examples())
        rows.append(
            (name, items, short, one.items_seen, totals["removed"][name], totals["cut"][name],
             totals["held_back"][name], one.n_items(NEAR_MISS), one.n_documents(NEAR_MISS),
             one.n_items(COMMON), examples)
        )  # fmt: skip
    heads = ("benchmark", "items", "too short", "seen", "removed", "cut", "held back",
             "near misses", "in documents", "common", "most seen items (documents)")  # fmt: skip
    return table(heads, rows)


def _excluded(places: Counter[str]) -> str:
    if not places:
        return ""
    rows = [(place, count) for place, count in sorted(places.items())]
    return "<h3>Places known to hold a benchmark</h3>" + table(("place", "removed"), rows)


def _common(found: dict[str, BenchmarkFound]) -> str:
    rows = [(name, *row) for name, one in found.items() for row in one.common()]
    if not rows:
        return ""
    rows.sort(key=lambda row: (-row[2], row[0], row[1]))
    return (
        "<h3>Common items</h3><p>So many texts hold them that they are phrases and no leak; their "
        "documents were kept. Look at them: a leak that spread looks the same.</p>"
        + table(("benchmark", "item", "documents"), rows[:COMMON_SHOWN])
    )


def _files(pipeline: Pipeline) -> str:
    rows = [(pin.name, pin.bytes, pin.sha256) for pin in pipeline.inputs()["eval_suites"]]
    return "<h3>Suites</h3>" + table(("file", "bytes", "sha256"), rows)


# Selection: what each rule removes, and the signals with their thresholds.
#
# Histograms are drawn from at most about two million documents, whole parts evenly spaced over the
# version, so that a report of a large corpus takes seconds; counts of rules are of all documents.
# Both are pure functions of the version and hold no text.

BINS = 40
MOST_DOCUMENTS = 2_000_000
MOST_CUTOFFS = 60  # listed; the lock has all
MOST_LANGUAGES = 6  # whose own thresholds are drawn


@dataclass
class RuleCounts:
    """Documents that each rule fails, is the first to fail, alone fails."""

    documents: int = 0
    fails: Counter[str] = field(default_factory=Counter)
    first: Counter[str] = field(default_factory=Counter)
    only: Counter[str] = field(default_factory=Counter)


def imported_section(pipeline: Pipeline) -> str:
    """Say how many documents annotations of others speak of."""
    families = [f for f in pipeline.recipe.signals.families if isinstance(f, Imported)]
    if not families:
        return ""
    counted, documents = Counter[str](), 0
    for result in pipeline.all_results("signals"):
        counted.update(result.notes.get(IMPORTED, {}))
        documents += result.counts["documents_in"]
    rows = [
        (f.name, f.key, ", ".join(f.columns()), counted[f.name],
         f"{counted[f.name] / documents:.1%}" if documents else "")
        for f in families
    ]  # fmt: skip
    heads = ("import", "joined by", "columns", "documents with a row", "share")
    return f"<h2>Imported signals</h2><p>Of {documents:,} documents.</p>" + table(heads, rows)


def selection_section(pipeline: Pipeline) -> str:
    """Build two sections: the rules, and the signals they read."""
    rules = pipeline.recipe.selection.rules
    if not rules:
        return ""
    cutoffs = json.loads(read_output(pipeline.store, pipeline.calibration(files.CUTOFFS)))
    return _rules(pipeline, cutoffs) + _histograms(pipeline, cutoffs)


def _rules(pipeline: Pipeline, cutoffs: dict[str, dict[str, float]]) -> str:
    counts = RuleCounts()
    for result in pipeline.all_results("selection"):
        _count(counts, _read(pipeline, result, files.SELECTION, ["reason", "failed_rules"]))
    rows = [
        (
            rule.name,
            rule.signal,
            _asked(rule, cutoffs),
            counts.fails[rule.name],
            counts.first[rule.name],
            counts.only[rule.name],
        )
        for rule in pipeline.recipe.selection.rules
    ]
    heads = ("rule", "signal", "asks for", "fails", "first to fail", "alone fails")
    resolved = [
        (name, key, value) for name, by in cutoffs.items() for key, value in sorted(by.items())
    ]
    more = table(("cutoff", "of", "value"), resolved[:MOST_CUTOFFS]) if resolved else ""
    return (
        f"<h2>Selection rules</h2><p>Of {counts.documents:,} documents: how many each rule fails, "
        "how many it is the first to fail (their reason), and how many it alone fails, which "
        "would stay without it.</p>" + table(heads, rows) + more
    )


def _count(counts: RuleCounts, chosen: pa.Table) -> None:
    failed = chosen["failed_rules"].combine_chunks()
    counts.documents += chosen.num_rows
    alone = pc.equal(pc.list_value_length(failed), 1)
    for into, names in (
        (counts.fails, pc.list_flatten(failed)),
        (counts.first, chosen["reason"].drop_null()),
        (counts.only, chosen["reason"].filter(alone)),
    ):
        for entry in pc.value_counts(names).to_pylist():
            into[entry["values"]] += entry["counts"]


def _asked(rule: Rule, cutoffs: dict[str, dict[str, float]]) -> str:
    """Describe what a rule asks for by default, and that languages may differ."""
    domain = rule.domains[0] if rule.domains else None
    language = rule.only_languages[0] if rule.only_languages else None
    words = str(requirement(rule, cutoffs, domain, language))
    special = len(rule.languages) + len(rule.domain_bounds)
    if rule.cutoff is not None:
        special = len(rule_cutoff(rule.cutoff, cutoffs)[0]) - 1
    where = f" in {', '.join(rule.domains)}" if rule.domains else ""
    of = f" for {', '.join(rule.only_languages)}" if rule.only_languages else ""
    return words + where + of + (f"; {special} exceptions" if special > 0 else "")


def _histograms(pipeline: Pipeline, cutoffs: dict[str, dict[str, float]]) -> str:
    numeric = [rule for rule in pipeline.recipe.selection.rules if rule.allowed is None]
    signals = list(dict.fromkeys(rule.signal for rule in numeric))
    if not signals:
        return ""
    columns, kept, total = _sampled(pipeline, signals)
    charts = []
    for signal in signals:
        rules = [rule for rule in numeric if rule.signal == signal]
        for domains, asked in _settings_alike(columns, rules, cutoffs).items():
            chart = _chart(columns, kept, signal, domains, asked)
            if chart is not None:
                names = dict.fromkeys(one.rule for one in asked)
                charts.append((signal, f"{', '.join(domains)}: {', '.join(names)}", chart))
    some = f" Drawn from {columns.n:,} of {total:,} documents." if columns.n < total else ""
    return (
        "<h2>Signals and their thresholds</h2><p>Documents by the value of each signal that a "
        'rule looks at, <span class="kept">kept</span> by all rules upward and '
        '<span class="gone">dropped</span> by some rule downward, on a logarithmic scale. '
        "Dashed: thresholds; pale ones hold for one language. Values beyond the ends are "
        f"counted in the outermost bars.{escape(some)}</p>" + small_multiples(charts)
    )


def _sampled(pipeline: Pipeline, signals: list[str]) -> tuple[Columns, Mask, int]:
    """Signals and fates of the version, or of parts that are evenly spaced over it."""
    parts: list[tuple[str, Result, Result]] = []
    for snapshot in pipeline.recipe.snapshots:
        domain = pipeline.recipe.source_of(snapshot).domain
        pairs = zip(
            pipeline.results("signals", snapshot),
            pipeline.results("selection", snapshot),
            strict=True,
        )
        parts += [(domain, *pair) for pair in pairs]
    total = sum(result.outputs[files.SIGNALS].rows for _, result, _ in parts)
    take_every = max(1, -(-total // MOST_DOCUMENTS))
    known = pipeline.recipe.signals.columns()
    wanted = dict.fromkeys([*map(column_of, signals), "language"])
    names = [name for name in wanted if name in known]
    tables, fates = [], []
    for domain, scored, chosen in parts[::take_every]:
        values = _read(pipeline, scored, files.SIGNALS, names)
        tables.append(values.append_column("domain", pa.repeat(pa.scalar(domain), values.num_rows)))
        fates.append(_read(pipeline, chosen, files.SELECTION, ["kept"])["kept"].to_numpy())
    return Columns(pa.concat_tables(tables)), np.concatenate(fates).astype(np.bool_), total


@dataclass(frozen=True)
class Asked:
    """What a rule asks for in a domain: of one language, or of all that have no own bounds."""

    rule: str
    language: str | None
    wanted: Requirement


def _settings_alike(
    columns: Columns, rules: list[Rule], cutoffs: dict[str, dict[str, float]]
) -> dict[tuple[str, ...], tuple[Asked, ...]]:
    """Domains that the rules treat alike, with what they ask for: one chart each."""
    _, known_domains = columns.labels("domain")
    present = {name for name in columns.labels("language")[1] if name}
    alike: dict[tuple[Asked, ...], list[str]] = {}
    for domain in known_domains:
        asked: list[Asked] = []
        for rule in rules:
            common = requirement(rule, cutoffs, domain, None)
            if common is not None:
                asked.append(Asked(rule.name, None, common))
            own = {*(rule.only_languages or ()), *rule.languages, *_languages_of(rule, cutoffs)}
            for language in sorted(own & present):
                found = requirement(rule, cutoffs, domain, language)
                if found is not None and found != common:
                    # A rule for some languages only has no bounds but theirs.
                    asked.append(Asked(rule.name, language if common else None, found))
        if asked and domain is not None:
            alike.setdefault(tuple(dict.fromkeys(asked)), []).append(domain)
    return {tuple(domains): asked for asked, domains in alike.items()}


def _languages_of(rule: Rule, cutoffs: dict[str, dict[str, float]]) -> set[str]:
    entries = {lang for bounds in rule.domain_bounds.values() for lang in bounds.languages}
    keys = rule_cutoff(rule.cutoff, cutoffs)[0] if rule.cutoff else {}
    return entries | {key.rpartition("/")[2] for key in keys} - {"*"}


def _chart(
    columns: Columns, kept: Mask, signal: str, domains: tuple[str, ...], asked: tuple[Asked, ...]
) -> str | None:
    here = columns.in_domains(domains) & ~np.isnan(columns.numbers(signal))
    values = columns.numbers(signal)[here].astype(np.float64)
    if not values.size:
        return None
    special = [one for one in asked if one.language is not None][:MOST_LANGUAGES]
    bounds = [
        (end, one.language is None)
        for one in [*(one for one in asked if one.language is None), *special]
        for end in (one.wanted.min, one.wanted.max)
        if end is not None
    ]
    axis = _Axis(values, [end for end, _ in bounds])
    bins = axis.bins(values)
    counts = [np.bincount(bins[mask], minlength=BINS) for mask in (kept[here], ~kept[here])]
    marks = [Mark(axis.place(end), _number(end), strong) for end, strong in bounds]
    return mirrored_histogram(
        counts[0].tolist(),
        counts[1].tolist(),
        marks,
        (_number(axis.low), _number(axis.high) + (" (log)" if axis.is_log else "")),
    )


class _Axis:
    """From the 1st to the 99th percentile, wide enough for all thresholds; logarithmic where
    values spread over a factor of hundreds."""

    def __init__(self, values: Numbers, bounds: list[float]) -> None:
        low, middle, high = np.percentile(values, [1, 50, 99])
        self.low, self.high = float(min([low, *bounds])), float(max([high, *bounds]))
        self.is_log = bool(values.min() >= 0 and self.high > 50 * max(middle, 1.0))
        self._scale: Callable[[npt.ArrayLike], npt.NDArray[np.float64]] = (
            (lambda v: np.log1p(v)) if self.is_log else (lambda v: np.asarray(v, np.float64))
        )
        if not self.is_log:
            room = 0.08 * (self.high - self.low)
            is_share = values.min() >= 0 and values.max() <= 1
            self.low = max(0.0, self.low - room) if values.min() >= 0 else self.low - room
            self.high = min(1.0, self.high + room) if is_share else self.high + room
        if self.high <= self.low:
            self.high = self.low + 1.0

    def place(self, value: float) -> float:
        """Return the place of a value on the axis, 0 to 1."""
        low, high = self._scale(self.low), self._scale(self.high)
        return float((self._scale(value) - low) / (high - low))

    def bins(self, values: Numbers) -> npt.NDArray[np.int64]:
        low, high = self._scale(self.low), self._scale(self.high)
        place = (self._scale(np.clip(values, self.low, self.high)) - low) / (high - low)
        return np.minimum((place * BINS).astype(np.int64), BINS - 1)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _read(pipeline: Pipeline, result: Result, name: str, columns: list[str]) -> pa.Table:
    return pq.read_table(pipeline.store.local(result.outputs[name].path), columns=columns)
