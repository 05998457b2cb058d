"""The report's sections about selection: what each rule removes, and the signals with their
thresholds.

Histograms are drawn from at most about two million documents, whole parts evenly spaced over the
version, so that a report of a large corpus takes seconds; counts of rules are of all documents.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.pages import Mark
from corpus_assets.core import files
from corpus_assets.core.store import read_output
from corpus_assets.graph import Pipeline
from corpus_assets.select import (
    RULES,
    Columns,
    Cutoffs,
    Mask,
    Numbers,
    Requirement,
    Rule,
    column_of,
    parse_cutoffs,
    requirement_of,
    rule_cutoff,
)
from corpus_assets.versions.drift import sampled_parts
from corpus_assets.versions.funnel import read_columns

BINS = 40
MOST_DOCUMENTS = 2_000_000
MOST_CUTOFFS = 60  # listed; the lock has all
MOST_LANGUAGES = 6  # whose own thresholds are drawn


Values = Mapping[str, Any]


@dataclass
class RuleCounts:
    """Documents that each rule fails, is the first to fail, alone fails."""

    documents: int = 0
    fails: Counter[str] = field(default_factory=Counter)
    first: Counter[str] = field(default_factory=Counter)
    only: Counter[str] = field(default_factory=Counter)


def rules_and_signals(pipeline: Pipeline) -> tuple[Values | None, Values | None]:
    """Return what two sections show: the rules, and the signals they read."""
    rules = pipeline.recipe.selection.rules
    if not rules:
        return None, None
    resolved = read_output(pipeline.store, pipeline.calibration(files.CUTOFFS))
    cutoffs = parse_cutoffs(json.loads(resolved))
    return _rules(pipeline, cutoffs), _histograms(pipeline, cutoffs)


def _rules(pipeline: Pipeline, cutoffs: Cutoffs) -> Values:
    counts = RuleCounts()
    for result in pipeline.all_results("selection"):
        found = result.notes[RULES]
        counts.documents += result.counts["documents_in"]
        counts.fails.update(found["fails"])
        counts.only.update(found["alone"])
        counts.first.update(result.notes.get("reasons", {}))
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
    resolved = [
        (name, key, cut.value) for name, by in cutoffs.items() for key, cut in sorted(by.items())
    ]
    return {"documents": counts.documents, "rules": rows, "cutoffs": resolved[:MOST_CUTOFFS]}


def _asked(rule: Rule, cutoffs: Cutoffs) -> str:
    """Describe what a rule asks for by default, and that languages may differ."""
    domain = rule.domains[0] if rule.domains else None
    language = rule.only_languages[0] if rule.only_languages else None
    words = str(requirement_of(rule, cutoffs, domain, language))
    special = len(rule.languages)
    if rule.cutoff is not None:
        special = len(rule_cutoff(rule.cutoff, cutoffs)[0]) - 1
    where = f" in {', '.join(rule.domains)}" if rule.domains else ""
    of = f" for {', '.join(rule.only_languages)}" if rule.only_languages else ""
    return words + where + of + (f"; {special} exceptions" if special > 0 else "")


def _histograms(pipeline: Pipeline, cutoffs: Cutoffs) -> Values | None:
    numeric = [rule for rule in pipeline.recipe.selection.rules if rule.allowed is None]
    signals = list(dict.fromkeys(rule.signal for rule in numeric))
    if not signals:
        return None
    columns, kept, total = _sampled(pipeline, signals)
    charts = []
    for signal in signals:
        rules = [rule for rule in numeric if rule.signal == signal]
        for domains, asked in _settings_alike(columns, rules, cutoffs).items():
            chart = _chart(columns, kept, signal, domains, asked)
            if chart is not None:
                names = dict.fromkeys(one.rule for one in asked)
                line = f"{', '.join(domains)}: {', '.join(names)}"
                charts.append({"signal": signal, "line": line, **chart})
    return {"histograms": charts, "looked_at": columns.n, "documents": total}


def _sampled(pipeline: Pipeline, signals: list[str]) -> tuple[Columns, Mask, int]:
    """Signals and outcomes of the version, or of parts that are evenly spaced over it."""
    parts, total = sampled_parts(pipeline, MOST_DOCUMENTS)
    known = pipeline.recipe.signals.columns()
    wanted = dict.fromkeys([*map(column_of, signals), "language"])
    names = [name for name in wanted if name in known]
    tables, kept = [], []
    for domain, scored, chosen in parts:
        values = read_columns(pipeline, scored, files.SIGNALS, names)
        tables.append(values.append_column("domain", pa.repeat(pa.scalar(domain), values.num_rows)))
        kept.append(read_columns(pipeline, chosen, files.SELECTION, ["kept"])["kept"].to_numpy())
    return Columns(pa.concat_tables(tables)), np.concatenate(kept).astype(np.bool_), total


@dataclass(frozen=True)
class Asked:
    """What a rule asks for in a domain: of one language, or of all that have no own bounds."""

    rule: str
    language: str | None
    wanted: Requirement


def _settings_alike(
    columns: Columns, rules: list[Rule], cutoffs: Cutoffs
) -> dict[tuple[str, ...], tuple[Asked, ...]]:
    """Domains that the rules treat alike, with what they ask for: one chart each."""
    _, known_domains = columns.labels("domain")
    present = {name for name in columns.labels("language")[1] if name}
    alike: dict[tuple[Asked, ...], list[str]] = {}
    for domain in known_domains:
        asked: list[Asked] = []
        for rule in rules:
            common = requirement_of(rule, cutoffs, domain, None)
            if common is not None:
                asked.append(Asked(rule.name, None, common))
            own = {*(rule.only_languages or ()), *rule.languages, *_languages_of(rule, cutoffs)}
            for language in sorted(own & present):
                found = requirement_of(rule, cutoffs, domain, language)
                if found is not None and found != common:
                    # A rule for some languages only has no bounds but theirs.
                    asked.append(Asked(rule.name, language if common else None, found))
        if asked and domain is not None:
            alike.setdefault(tuple(dict.fromkeys(asked)), []).append(domain)
    return {tuple(domains): asked for asked, domains in alike.items()}


def _languages_of(rule: Rule, cutoffs: Cutoffs) -> set[str]:
    keys = rule_cutoff(rule.cutoff, cutoffs)[0] if rule.cutoff else {}
    return {key.rpartition("/")[2] for key in keys} - {"*"}


def _chart(
    columns: Columns, kept: Mask, signal: str, domains: tuple[str, ...], asked: tuple[Asked, ...]
) -> Values | None:
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
    return {
        "kept": counts[0].tolist(),
        "dropped": counts[1].tolist(),
        "marks": marks,
        "ends": (_number(axis.low), _number(axis.high) + (" (log)" if axis.is_log else "")),
    }


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
