"""Drift: what selection keeps of a snapshot, against the snapshots of its source before it.

A crawl that changes under the same name shows here first: a broken extractor moves the mean
quality, a new set of hosts moves the languages. Reads three columns of each snapshot, about
0.2 s a million documents; of many parts, those of 256 that are evenly spaced. Bounds are the
recipe's `drift`; nothing of it is identity.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow.compute as pc

from corpus_assets.core import files
from corpus_assets.core.errors import MissingInput
from corpus_assets.core.lazy_sequence import spread
from corpus_assets.core.store import Result
from corpus_assets.graph import CheckOutcome, Pipeline
from corpus_assets.recipe import DriftBounds
from corpus_assets.select import SHARES, share_gaps
from corpus_assets.versions.funnel import read_columns

PREVIOUS = 3  # snapshots that one is compared with, taken together
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
    return own[max(0, place - PREVIOUS) : place]


def drift_checks(pipeline: Pipeline, snapshot: str) -> list[CheckOutcome]:
    """Run each of DRIFT_CHECKS; snapshots that are not selected yet do not count."""
    return [*_from_before(pipeline, snapshot), _shares(pipeline, snapshot)]


def _shares(pipeline: Pipeline, snapshot: str) -> CheckOutcome:
    """Compare the shares asked for with those that selection took of a snapshot."""
    notes = (result.notes.get(SHARES, {}) for result in pipeline.results("selection", snapshot))
    found = share_gaps(notes)
    if not found:
        return _not_compared(
            "shares", "the recipe asks for no share of this snapshot's documents", {}
        )
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
    signal = pipeline.recipe.drift.quality_signal
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
        return [_not_compared(name, why, numbers[name]) for name in numbers]
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
        why = f"no kept document has a {settings.quality_signal}"
        return [*outcomes, _not_compared("quality_drift", why, {})]
    change = now.quality - before.quality
    return [
        *outcomes,
        _judged(
            "quality_drift",
            settings.quality,
            abs(change),
            f"mean {settings.quality_signal} {now.quality:.3f}, {before.quality:.3f} in {against}",
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


def _not_compared(name: str, message: str, numbers: Mapping[str, float]) -> CheckOutcome:
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
