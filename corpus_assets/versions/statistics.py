"""Count what became of a version's records: the funnel, drift between snapshots, benchmark hits."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.db.published import FUNNEL_FORMAT
from corpus_assets.core import files
from corpus_assets.core.errors import MissingInput
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.store import Result
from corpus_assets.core.task import spread
from corpus_assets.decontam.verdicts import COMMON, CUT, DROP, HELD_BACK, KEEP, NEAR_MISS
from corpus_assets.graph.checks import CheckOutcome
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.recipe.recipe import DriftBounds
from corpus_assets.select.shares import SHARES, gaps

STAGES = ("documents", "selection", "clusters", "contamination", "clean_text")
"""The stages that can drop a document, in the order of the graph."""


@dataclass
class Step:
    """One stage of the funnel."""

    stage: str
    entered: int
    left: int
    reasons: Counter[str] = field(default_factory=Counter)


def funnel(pipeline: Pipeline, snapshots: Sequence[str] | None = None) -> list[Step]:
    """Count records in and out of each stage over the given snapshots (all by default)."""
    fates: Counter[str] = Counter()
    for snapshot in snapshots or pipeline.recipe.snapshots:
        for result in pipeline.results("clean_text", snapshot):
            fates.update(result.notes["fates"])
    alive = sum(fates.values())
    steps: list[Step] = []
    for stage in STAGES:
        prefix = f"{stage}/"
        reasons = Counter(
            {key.removeprefix(prefix): n for key, n in fates.items() if key.startswith(prefix)}
        )
        steps.append(Step(stage, alive, alive - sum(reasons.values()), reasons))
        alive = steps[-1].left
    return steps


def funnel_lines(steps: Sequence[Step]) -> list[str]:
    """Say in a few words what each stage dropped and why."""
    lines = [f"{steps[0].entered:,} ingested"]
    for step in steps:
        if step.reasons:
            named = [f"{reason} {n:,}" for reason, n in step.reasons.most_common(3)]
            more = ["..."] if len(step.reasons) > 3 else []
            dropped = step.entered - step.left
            lines.append(f"{step.stage} dropped {dropped:,} ({', '.join([*named, *more])})")
    return lines


def funnel_bytes(pipeline: Pipeline) -> bytes:
    """Return the funnel as it is stored with a version."""
    steps = funnel(pipeline)
    body = {
        "format": FUNNEL_FORMAT,
        "records": steps[0].entered,
        "dropped": {step.stage: dict(step.reasons) for step in steps},
    }
    return canonical_json(body)


def read_columns(pipeline: Pipeline, result: Result, name: str, names: list[str]) -> pa.Table:
    """Read some columns of a part's table."""
    return pq.read_table(pipeline.store.local(result.outputs[name].path), columns=names)


# Drift: what selection keeps of a snapshot, against the snapshots of its source before it.
#
# A crawl that changes under the same name shows here first: a broken extractor moves the mean
# quality, a new set of hosts moves the languages. Reads three columns of each snapshot, about
# 0.2 s a million documents; of many parts, those of 256 that are evenly spaced. Bounds are the recipe's `drift`; nothing of it is identity.

MEASURED_PARTS = 256

DRIFT_CHECKS: Mapping[str, str] = {
    "survival_drift": "The share that selection keeps is near that of the snapshots before.",
    "language_drift": "The languages of kept documents are mixed as in the snapshots before.",
    "quality_drift": "The mean quality of kept documents is near that of the snapshots before.",
    "shares": "Cutoffs and tiers take the shares of documents that the recipe asks for.",
}
"""Checks of the asset `selection`, and what each claims."""


@dataclass
class Shape:
    """Counts of what selection kept."""

    documents: int = 0
    kept: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    scored: int = 0
    score_sum: float = 0.0

    def add(self, other: "Shape") -> None:
        self.documents += other.documents
        self.kept += other.kept
        self.languages.update(other.languages)
        self.scored += other.scored
        self.score_sum += other.score_sum

    @property
    def survival(self) -> float:
        return self.kept / self.documents if self.documents else 1.0

    @property
    def quality(self) -> float | None:
        return self.score_sum / self.scored if self.scored else None

    def language_distance(self, other: "Shape") -> float:
        """Total variation: half the sum of the differences of all shares."""
        names = sorted(self.languages | other.languages)
        total, others = max(self.kept, 1), max(other.kept, 1)
        return 0.5 * sum(
            abs(self.languages[name] / total - other.languages[name] / others) for name in names
        )


def shape_of(pipeline: Pipeline, snapshot: str, signal: str) -> Shape:
    """Measure a selected snapshot, by some of its parts where there are many; MissingInput where
    selection is not complete."""
    shape = Shape()
    scores = pipeline.results("signals", snapshot)
    selected = pipeline.results("selection", snapshot)
    for part in spread(len(selected), MEASURED_PARTS):
        chosen = read_columns(pipeline, selected[part], files.SELECTION, ["kept", "language"])
        kept = chosen.filter(chosen["kept"])
        shape.documents += chosen.num_rows
        shape.kept += kept.num_rows
        for entry in pc.value_counts(kept["language"]).to_pylist():
            shape.languages[entry["values"] or "unknown"] += entry["counts"]
        if signal in pipeline.recipe.signals.columns():
            scored = read_columns(pipeline, scores[part], files.SIGNALS, [signal])
            column = scored[signal].filter(chosen["kept"])
            values = column.drop_null().to_numpy().astype(np.float64)
            values = values[~np.isnan(values)]
            shape.scored += values.size
            shape.score_sum += float(values.sum())
    return shape


def sampled_parts(pipeline: Pipeline, most: int) -> tuple[list[tuple[str, Result, Result]], int]:
    """Return domain, signals and selection of parts that are evenly spaced over the version and
    have about `most` documents, and how many documents all parts have."""
    rows = {name: pipeline.rows(files.SIGNALS, name) for name in pipeline.recipe.snapshots}
    total = sum(map(sum, rows.values()))
    every = max(1, -(-total // most))
    found: list[tuple[str, Result, Result]] = []
    before = 0
    for snapshot, counts in rows.items():
        domain = pipeline.recipe.source_of(snapshot).domain
        scored = pipeline.results("signals", snapshot)
        chosen = pipeline.results("selection", snapshot)
        for part in range(-before % every, len(counts), every):
            found.append((domain, scored[part], chosen[part]))
        before += len(counts)
    return found, total


def snapshots_before(pipeline: Pipeline, snapshot: str) -> Sequence[str]:
    """Return the last snapshots of the same source before one, in the order of the recipe."""
    own = list(pipeline.recipe.source_of(snapshot).snapshots)
    place = own.index(snapshot)
    return own[max(0, place - pipeline.recipe.drift.previous) : place]


def drift_checks(pipeline: Pipeline, snapshot: str) -> list[CheckOutcome]:
    """Run each of DRIFT_CHECKS; snapshots that are not selected yet do not count."""
    return [*_from_before(pipeline, snapshot), _shares(pipeline, snapshot)]


def _shares(pipeline: Pipeline, snapshot: str) -> CheckOutcome:
    """Compare the shares asked for with those that selection took of a snapshot."""
    notes = (result.notes.get(SHARES, {}) for result in pipeline.results("selection", snapshot))
    found = gaps(notes)
    if not found:
        return _said("shares", "the recipe asks for no share of this snapshot's documents", {})
    most = found[0]
    message = str(most)
    calibrated = pipeline.recipe.calibration_snapshots
    if most.gap and snapshot not in calibrated:
        message += (
            f"; cutoffs were resolved on {', '.join(calibrated)}: `--upgrade quality_cutoffs` "
            "recomputes them"
        )
    numbers = {"share_asked": most.asked, "share_dropped": most.dropped, "share_gap": most.gap}
    return _judged("shares", pipeline.recipe.drift.shares, most.gap, message, numbers)


def _from_before(pipeline: Pipeline, snapshot: str) -> list[CheckOutcome]:
    """Compare a snapshot with those of its source before it."""
    signal = pipeline.recipe.drift.quality.signal
    now, before = shape_of(pipeline, snapshot, signal), Shape()
    used: list[str] = []
    for name in snapshots_before(pipeline, snapshot):
        try:
            before.add(shape_of(pipeline, name, signal))
        except MissingInput:
            continue
        used.append(name)
    settings = pipeline.recipe.drift
    numbers: dict[str, dict[str, float]] = {
        "survival_drift": {"survival": now.survival},
        "language_drift": {"languages": float(len(now.languages))},
        "quality_drift": {} if now.quality is None else {"mean_quality": now.quality},
    }
    few = min(now.kept, before.kept) < settings.min_documents
    if not used or few:
        why = "no snapshot of its source before it" if not used else "too few documents to compare"
        return [_said(name, why, numbers[name]) for name in numbers]
    against = ", ".join(used)
    numbers["survival_drift"]["survival_before"] = before.survival
    survival = now.survival - before.survival
    outcomes = [
        _judged(
            "survival_drift",
            settings.survival,
            abs(survival),
            f"{now.survival:.1%} kept, {before.survival:.1%} in {against}",
            numbers["survival_drift"] | {"survival_change": survival},
        ),
        _judged(
            "language_drift",
            settings.languages,
            now.language_distance(before),
            f"distance {now.language_distance(before):.3f} from {against}: {_moved(now, before)}",
            numbers["language_drift"] | {"language_distance": now.language_distance(before)},
        ),
    ]
    if now.quality is None or before.quality is None:
        why = f"no kept document has a {settings.quality.signal}"
        return [*outcomes, _said("quality_drift", why, {})]
    change = now.quality - before.quality
    return [
        *outcomes,
        _judged(
            "quality_drift",
            settings.quality,
            abs(change),
            f"mean {settings.quality.signal} {now.quality:.3f}, {before.quality:.3f} in {against}",
            numbers["quality_drift"]
            | {"mean_quality_before": before.quality, "quality_change": change},
        ),
    ]


def _moved(now: Shape, before: Shape) -> str:
    """Name the languages whose share changed most."""
    shares = {
        name: (before.languages[name] / before.kept, now.languages[name] / now.kept)
        for name in now.languages | before.languages
    }
    most = sorted(shares, key=lambda name: (-abs(shares[name][1] - shares[name][0]), name))[:3]
    return ", ".join(f"{name} {shares[name][0]:.1%} -> {shares[name][1]:.1%}" for name in most)


def _judged(
    name: str, bounds: DriftBounds, distance: float, message: str, numbers: Mapping[str, float]
) -> CheckOutcome:
    is_error = bounds.error is not None and distance > bounds.error
    is_warning = bounds.warn is not None and distance > bounds.warn
    limit = bounds.error if is_error else bounds.warn
    if is_error or is_warning:
        message += f"; {'error' if is_error else 'warning'} above {limit:g}"
    rounded = {key: round(value, 4) for key, value in numbers.items()}
    return CheckOutcome(name, not (is_error or is_warning), message, not is_error, rounded)


def _said(name: str, message: str, numbers: Mapping[str, float]) -> CheckOutcome:
    rounded = {key: round(value, 4) for key, value in numbers.items()}
    return CheckOutcome(name, True, message, True, rounded)


def drift_lines(pipeline: Pipeline) -> list[str]:
    """Write one line for each drift check that did not pass, over all snapshots."""
    return [
        f"{'warning' if outcome.is_warning else 'ERROR'}: {snapshot}: {outcome.message}"
        for snapshot in pipeline.recipe.snapshots
        for outcome in drift_checks(pipeline, snapshot)
        if not outcome.passed
    ]


# Benchmark items found in documents, from the rows that a version keeps.

EXAMPLES = 5


@dataclass
class BenchmarkFound:
    """Hits of one benchmark over all documents."""

    name: str
    items: dict[str, set[str]] = field(default_factory=dict)  # verdict -> items
    documents: dict[str, set[bytes]] = field(default_factory=dict)  # verdict -> documents
    by_item: Counter[str] = field(default_factory=Counter)  # documents that hold it

    def add(self, item: str, doc_id: bytes, verdict: str) -> None:
        self.items.setdefault(verdict, set()).add(item)
        known = self.documents.setdefault(verdict, set())
        if verdict not in (NEAR_MISS, KEEP):
            self.by_item[item] += 1
        known.add(doc_id)

    @property
    def items_seen(self) -> int:
        """Count items that some document holds, common ones left out."""
        acted = (self.items.get(verdict, ()) for verdict in (DROP, CUT, HELD_BACK))
        return len(set().union(*acted))

    def n_items(self, verdict: str) -> int:
        return len(self.items.get(verdict, ()))

    def n_documents(self, *verdicts: str) -> int:
        return len(set().union(*(self.documents.get(verdict, ()) for verdict in verdicts)))

    def examples(self) -> list[tuple[str, int]]:
        """List the items that most documents hold, with how many; common ones are left out."""
        common = self.items.get(COMMON, set())
        rows = [(item, count) for item, count in self.by_item.items() if item not in common]
        return sorted(rows, key=lambda row: (-row[1], row[0]))[:EXAMPLES]

    def common(self) -> list[tuple[str, int]]:
        """List common items, with the number of documents that hold them."""
        rows = [(item, self.by_item[item]) for item in self.items.get(COMMON, ())]
        return sorted(rows, key=lambda row: (-row[1], row[0]))


def summarise(tables: Iterable[pa.Table]) -> dict[str, BenchmarkFound]:
    """Group hits by benchmark, sorted by name."""
    found: dict[str, BenchmarkFound] = {}
    for table in tables:
        columns = (
            table[name].to_pylist() for name in ("benchmark", "item_id", "doc_id", "verdict")
        )
        for benchmark, item, doc_id, verdict in zip(*columns, strict=True):
            one = found.setdefault(benchmark, BenchmarkFound(benchmark))
            one.add(item, doc_id, verdict)
    return dict(sorted(found.items()))
