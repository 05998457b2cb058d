"""What each threshold of a version's selection would keep at other values, counted when the version is
published: for pages on which it is moved, with no column read.

A threshold moves alone: counted are documents that fail no other rule. A rule has one for each of
its bounds: its own, and those of a language, a domain, a language in a domain. From at most about
two million documents, whole parts evenly spaced over the version; a pure function of the version,
and numbers only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.db import THRESHOLDS
from corpus_assets.core import files
from corpus_assets.core.identity import canonical_json
from corpus_assets.graph import Pipeline
from corpus_assets.select import CHARACTERS, Bounds, Columns, Mask, Numbers, Rule, column_of
from corpus_assets.versions.drift import sampled_parts
from corpus_assets.versions.funnel import read_columns

STEPS = 50
MOST_BOUNDS = 12  # of one rule: tables of bounds name hundreds of languages
MOST_DOCUMENTS = 2_000_000
OUTCOME = ["kept", "reason", "failed_rules"]

Counts = npt.NDArray[np.int64]
End = Literal["min", "max"]
ENDS: tuple[End, End] = ("min", "max")


@dataclass(frozen=True)
class Threshold:
    """One end of a rule's bounds, where the recipe has it: of its own, or of those of a language."""

    rule: Rule
    end: End
    now: float
    language: str | None = None

    def is_of(self, domain: str | None, language: str | None) -> bool:
        """Whether it is this end that such a document is held to."""
        own = self.rule.languages.get(language or "")
        has_own = own is not None and getattr(own, self.end) is not None
        return self.rule.holds_for(domain, language) and self.language == (
            language if has_own else None
        )


def thresholds(rule: Rule) -> Iterator[Threshold]:
    """Yield every threshold of a rule that could be moved."""
    levels: list[tuple[str | None, Bounds]] = [(None, rule), *rule.languages.items()]
    for language, bounds in levels:
        for end in ENDS:
            now = getattr(bounds, end)
            if now is not None:
                yield Threshold(rule, end, now, language)


@dataclass(frozen=True)
class Sample:
    """Documents with their signals; `failed` is the rule that each fails, null where it fails none
    or several."""

    columns: Columns
    chars: Counts
    kept: Mask
    failed: pa.Array
    total: int

    def decided_by(self, rule: str) -> Mask:
        """bool[n]: who is kept, or would be without this rule."""
        alone = pa.compute.fill_null(pa.compute.equal(self.failed, rule), False)
        decided: Mask = self.kept | alone.to_numpy(zero_copy_only=False)
        return decided

    def held_to(self, one: Threshold) -> Mask:
        """bool[n]: whom a threshold is about."""
        return np.broadcast_to(self.columns.spread(one.is_of, np.bool_), self.columns.n)


def count_thresholds(pipeline: Pipeline) -> bytes | None:
    """Return the counts of a version's thresholds, as they are stored with it; None where it has
    none that could be moved."""
    rules = pipeline.recipe.selection.rules
    moved = [rule for rule in rules if _can_move(rule)]
    if not moved:
        return None
    sample = _sample(pipeline, moved)
    kept = sample.kept
    return canonical_json(
        {
            "format": THRESHOLDS.format,
            "documents": sample.total,
            "looked_at": sample.columns.n,
            "kept": int(kept.sum()),
            "kept_chars": int(sample.chars[kept].sum()),
            "thresholds": [counted for rule in moved for counted in _most(sample, rule)],
            "other_rules": [rule.name for rule in rules if rule not in moved],
        }
    )


def _can_move(rule: Rule) -> bool:
    """Whether a rule compares with bounds, whatever else a document is."""
    return rule.where is None and next(thresholds(rule), None) is not None


def _most(sample: Sample, rule: Rule) -> list[dict[str, Any]]:
    """Count the thresholds of a rule: those that most documents are held to, in the recipe's
    order."""
    found = [(one, sample.held_to(one)) for one in thresholds(rule)]
    sizes = sorted((int(about.sum()) for _, about in found), reverse=True)
    least = max(1, sizes[MOST_BOUNDS - 1] if len(sizes) >= MOST_BOUNDS else 1)
    chosen = [(one, about) for one, about in found if about.sum() >= least][:MOST_BOUNDS]
    return [counted for one, about in chosen for counted in _counted(sample, one, about)]


def _counted(sample: Sample, one: Threshold, about: Mask) -> list[dict[str, Any]]:
    """Count what passes at values of a threshold, all others as they are; none where no document
    has the signal."""
    rule, values = one.rule, sample.columns.numbers(one.rule.signal)
    decided = sample.decided_by(rule.name) & about & ~np.isnan(values)
    is_min = one.end == "min"
    end: End = "max" if is_min else "min"
    other = np.broadcast_to(
        sample.columns.spread(lambda _, of: _other_end(rule, end, of), values.dtype),
        sample.columns.n,
    )
    decided &= _passes(values, other, not is_min, rule.exclusive)
    if not decided.any():
        return []
    free = sample.kept & ~(about & ~np.isnan(values))
    now = values.dtype.type(one.now)
    order = np.argsort(values[decided], kind="stable")
    ordered, chars = values[decided][order], sample.chars[decided][order]
    at = np.linspace(0, ordered.size - 1, STEPS + 1).round().astype(np.int64)
    edges = np.unique(np.append(ordered[at], now))
    # A recipe whose `min` is above a `max` is refused, be it that of one language only.
    edges = edges[edges <= other[about].min() if is_min else edges >= other[about].max()]
    # How many pass at each edge: those at or behind it (min), at or before it (max).
    is_before = is_min == rule.exclusive
    cut = np.searchsorted(ordered, edges, side="right" if is_before else "left")
    below = np.concatenate([[0], np.cumsum(chars)])
    documents = ordered.size - cut if is_min else cut
    characters = below[-1] - below[cut] if is_min else below[cut]
    return [
        {
            "rule": rule.name,
            "signal": rule.signal,
            "end": one.end,
            "language": one.language,
            "exclusive": rule.exclusive,
            "domains": list(rule.domains or ()),
            "languages": list(rule.only_languages or ()),
            "now": int(np.searchsorted(edges, now)),
            "values": [float(str(edge)) for edge in edges],
            "documents": (documents + int(free.sum())).tolist(),
            "chars": (characters + int(sample.chars[free].sum())).tolist(),
        }
    ]


def _other_end(rule: Rule, end: End, language: str | None) -> float:
    """Return what a document is held to at an end; where that is nothing, what all pass."""
    bound: float | None = getattr(rule.bounds_for(language), end)
    if bound is not None:
        return bound
    return -np.inf if end == "min" else np.inf


def _passes(values: Numbers, bound: Any, is_min: bool, exclusive: bool) -> Mask:
    low, high = (bound, values) if is_min else (values, bound)
    passed: Mask = low < high if exclusive else low <= high
    return passed


def _sample(pipeline: Pipeline, rules: Sequence[Rule]) -> Sample:
    parts, total = sampled_parts(pipeline, MOST_DOCUMENTS)
    known = {*pipeline.recipe.signals.columns(), CHARACTERS}
    wanted = dict.fromkeys([CHARACTERS, "language", *(column_of(rule.signal) for rule in rules)])
    names = [name for name in wanted if name in known]
    tables, outcomes = [], []
    for domain, scored, chosen in parts:
        values = read_columns(pipeline, scored, files.SIGNALS, names)
        tables.append(values.append_column("domain", pa.repeat(pa.scalar(domain), values.num_rows)))
        outcomes.append(read_columns(pipeline, chosen, files.SELECTION, OUTCOME))
    table, outcome = pa.concat_tables(tables), pa.concat_tables(outcomes)
    columns = Columns(table)
    number = pa.compute.list_value_length(outcome["failed_rules"])
    alone = pa.compute.if_else(pa.compute.equal(number, 1), outcome["reason"], None)
    return Sample(
        columns,
        columns.numbers(CHARACTERS).astype(np.int64),
        outcome["kept"].to_numpy().astype(np.bool_),
        alone.combine_chunks(),
        total,
    )
