"""What each threshold of a version's selection would keep at other values, counted when the version is
published: for pages on which it is moved, with no column read.

A threshold moves alone: counted are documents that fail no other rule. From at most about two
million documents, whole parts evenly spaced over the version; a pure function of the version, and
numbers only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.formats.manifest import THRESHOLDS_FORMAT
from corpus_assets.core import files
from corpus_assets.core.identity import canonical_json
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.select.columns import Columns, Mask, Numbers
from corpus_assets.select.rules import CHARACTERS, Rule, column_of
from corpus_assets.versions.statistics import read_columns, sampled_parts

STEPS = 50
MOST_DOCUMENTS = 2_000_000
FATE = ["kept", "reason", "failed_rules"]

Counts = npt.NDArray[np.int64]


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
            "format": THRESHOLDS_FORMAT,
            "documents": sample.total,
            "looked_at": sample.columns.n,
            "kept": int(kept.sum()),
            "kept_chars": int(sample.chars[kept].sum()),
            "thresholds": [
                counted
                for rule in moved
                for end in ("min", "max")
                if getattr(rule, end) is not None
                for counted in _counted(sample, rule, end)
            ],
            "other_rules": [rule.name for rule in rules if rule not in moved],
        }
    )


def _can_move(rule: Rule) -> bool:
    """Whether a rule has one value for all documents that it is about."""
    has_bounds = rule.min is not None or rule.max is not None
    return has_bounds and not (rule.languages or rule.domain_bounds or rule.where)


def _counted(sample: Sample, rule: Rule, end: str) -> list[dict[str, Any]]:
    """Count what passes at values of one end, the other end as it is; none where no document has
    the signal."""
    values = sample.columns.numbers(rule.signal)
    about = np.broadcast_to(sample.columns.spread(rule.holds_for, np.bool_), sample.columns.n)
    decided = sample.decided_by(rule.name) & about & ~np.isnan(values)
    other = rule.max if end == "min" else rule.min
    if other is not None:
        decided &= _passes(values, values.dtype.type(other), end == "max", rule.exclusive)
    if not decided.any():
        return []
    free = sample.kept & ~(about & ~np.isnan(values))
    now = values.dtype.type(getattr(rule, end))
    order = np.argsort(values[decided], kind="stable")
    ordered, chars = values[decided][order], sample.chars[decided][order]
    at = np.linspace(0, ordered.size - 1, STEPS + 1).round().astype(np.int64)
    edges = np.unique(np.append(ordered[at], now))
    # How many pass at each edge: those at or behind it (min), at or before it (max).
    is_before = (end == "max") != rule.exclusive
    cut = np.searchsorted(ordered, edges, side="right" if is_before else "left")
    below = np.concatenate([[0], np.cumsum(chars)])
    documents = cut if end == "max" else ordered.size - cut
    characters = below[cut] if end == "max" else below[-1] - below[cut]
    return [
        {
            "rule": rule.name,
            "signal": rule.signal,
            "end": end,
            "exclusive": rule.exclusive,
            "domains": list(rule.domains or ()),
            "languages": list(rule.only_languages or ()),
            "now": int(np.searchsorted(edges, now)),
            "values": [float(str(edge)) for edge in edges],
            "documents": (documents + int(free.sum())).tolist(),
            "chars": (characters + int(sample.chars[free].sum())).tolist(),
        }
    ]


def _passes(values: Numbers, bound: Any, is_min: bool, exclusive: bool) -> Mask:
    low, high = (bound, values) if is_min else (values, bound)
    passed: Mask = low < high if exclusive else low <= high
    return passed


def _sample(pipeline: Pipeline, rules: Sequence[Rule]) -> Sample:
    parts, total = sampled_parts(pipeline, MOST_DOCUMENTS)
    known = {*pipeline.recipe.signals.columns(), CHARACTERS}
    wanted = dict.fromkeys([CHARACTERS, "language", *(column_of(rule.signal) for rule in rules)])
    names = [name for name in wanted if name in known]
    tables, fates = [], []
    for domain, scored, chosen in parts:
        values = read_columns(pipeline, scored, files.SIGNALS, names)
        tables.append(values.append_column("domain", pa.repeat(pa.scalar(domain), values.num_rows)))
        fates.append(read_columns(pipeline, chosen, files.SELECTION, FATE))
    table, fate = pa.concat_tables(tables), pa.concat_tables(fates)
    columns = Columns(table)
    number = pa.compute.list_value_length(fate["failed_rules"])
    alone = pa.compute.if_else(pa.compute.equal(number, 1), fate["reason"], None)
    return Sample(
        columns,
        columns.numbers(CHARACTERS).astype(np.int64),
        fate["kept"].to_numpy().astype(np.bool_),
        alone.combine_chunks(),
        total,
    )
