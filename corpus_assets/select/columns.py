"""Signals of many documents as arrays, and the questions that rules ask of them.

Documents of one domain and language share their bounds, so bounds are looked up once for each
such *cell* and spread over the rows: no Python runs per document. A rule over a million rows
takes a few milliseconds.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.column_types import column_types
from corpus_assets.core.errors import RecipeError
from corpus_assets.select.rules import (
    ANY,
    CHARACTERS,
    SINGLE_TIER,
    By,
    Condition,
    Cut,
    End,
    Rule,
    SelectionSettings,
    Weigh,
    cutoff_for,
    cutoff_key,
    is_label_type,
    leaf_columns,
    tier_cutoff,
    upper_cutoff,
)
from corpus_assets.text.ties import flat_line, tie_keys

ResolvedCutoffs = Mapping[str, Mapping[str, Cut]]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.int64]

Cell = tuple[str | None, str | None]  # domain and language

SOURCE_TIER = "source_tier"
TIE_KEY = "tie_key"


@dataclass(frozen=True)
class Share:
    """A share of documents that a recipe asks to cut off by a signal."""

    key: str  # in the recipe, for messages
    name: str  # among the resolved cutoffs
    signal: str
    share: float
    drops: End  # the end that lies beyond the cut
    by: By | None
    min_documents: int
    weigh: Weigh


@dataclass(frozen=True)
class Ranked:
    """The documents that a share is of, in arrays of their own."""

    among: Mask  # of all rows
    values: Numbers
    ties: Numbers
    weights: Numbers


Counts = tuple[int, float, float]  # documents, their weight, the weight beyond a cut


def with_source(table: pa.Table, domain: str, tier: str | None) -> pa.Table:
    """Add what documents have from their source: the domain, and the tier where it says one."""
    for name, value in (("domain", domain), (SOURCE_TIER, tier)):
        column = pa.repeat(pa.scalar(value, pa.string()), table.num_rows)
        table = table.append_column(name, column)
    return table


def with_tie_keys(table: pa.Table, seed: int) -> pa.Table:
    """Add what decides between documents of equal score; `table` has their ids."""
    return table.append_column(TIE_KEY, pa.array(tie_keys(table["doc_id"], seed)))


def as_judged(table: pa.Table, domain: str, tier: str | None, seed: int) -> pa.Table:
    """Add to signals and ids all else that rules, cutoffs and tiers look at."""
    return with_source(with_tie_keys(table, seed), domain, tier)


class Columns:
    """`table` has signals and `domain`, and maybe the tiers of sources (`with_source`) and tie keys
    (`with_tie_keys`); arrays are made when first asked for, and kept."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.n: int = table.num_rows
        self._numbers: dict[str, Numbers] = {}
        self._labels: dict[str, tuple[Codes, list[str | None]]] = {}

    @cached_property
    def language(self) -> pa.Array:
        """Null for all where it was not computed."""
        if "language" not in self._table.schema.names:
            return pa.nulls(self.n, pa.string())
        return self.column("language").cast(pa.string())

    def signals(self) -> dict[str, bool]:
        """Every signal, members of structs in their place, and whether it is a number."""
        others = ("doc_id", "domain", SOURCE_TIER, TIE_KEY)
        known = leaf_columns(column_types(self._table.schema))
        return {name: not is_label_type(kind) for name, kind in known.items() if name not in others}

    def column(self, name: str) -> pa.Array:
        """Return a column, or a member of one that is a struct (`a.b`)."""
        known = leaf_columns(column_types(self._table.schema))
        if name not in known:
            raise RecipeError(
                f"selection: no signal is named {name!r}; computed are {', '.join(known)}"
            )
        top, *members = name.split(".")
        column = self._table.column(top).combine_chunks()
        return pc.struct_field(column, members) if members else column

    def numbers(self, name: str) -> Numbers:
        """float32 for float32 columns, else float64; null becomes NaN."""
        if name not in self._numbers:
            column = self.column(name)
            wide = column.cast(pa.float32() if column.type == pa.float32() else pa.float64())
            if wide.null_count:
                wide = pc.fill_null(wide, float("nan"))
            self._numbers[name] = wide.to_numpy(zero_copy_only=False)
        return self._numbers[name]

    def labels(self, name: str) -> tuple[Codes, list[str | None]]:
        """Return the number of each row's label, and the labels; null is the last of them."""
        if name not in self._labels:
            column = self.language if name == "language" else self.column(name).cast(pa.string())
            encoded = column.dictionary_encode()
            known: list[str | None] = encoded.dictionary.to_pylist()
            codes = pc.fill_null(encoded.indices, len(known)).to_numpy(zero_copy_only=False)
            self._labels[name] = (codes.astype(np.int64), [*known, None])
        return self._labels[name]

    @cached_property
    def _cells(self) -> tuple[Codes, list[Cell]]:
        """The number of each row's cell, and the cells that occur."""
        domains, known_domains = self.labels("domain")
        languages, known = self.labels("language")
        flat = domains * len(known) + languages
        present = np.flatnonzero(np.bincount(flat, minlength=1))
        place = np.zeros(len(known_domains) * len(known), dtype=np.int64)
        place[present] = np.arange(present.size)
        cells = [(known_domains[c // len(known)], known[c % len(known)]) for c in present.tolist()]
        return place[flat], cells

    def spread(
        self, value: Callable[[str | None, str | None], float | bool], dtype: npt.DTypeLike
    ) -> npt.NDArray[Any]:
        """Return what holds for each row; one value alone where it is the same for all."""
        codes, cells = self._cells
        values = np.array([value(*cell) for cell in cells], dtype=dtype)
        if values.size and (values == values[0]).all():
            return values[:1]
        return values[codes]

    def in_domains(self, domains: tuple[str, ...] | None) -> Mask:
        return np.broadcast_to(
            self.spread(lambda domain, _: domains is None or domain in domains, np.bool_), self.n
        )

    def fails(self, rule: Rule, settings: SelectionSettings, cutoffs: ResolvedCutoffs) -> Mask:
        """bool[n]: who does not meet a rule that is about them."""
        applies = self.spread(rule.holds_for, np.bool_)
        if not applies.any():
            return np.zeros(self.n, dtype=np.bool_)
        failed: Mask = ~self._passes(rule, cutoffs)
        if rule.where is not None:
            failed &= self.meets(rule.where, settings, cutoffs)
        return failed if applies.size == 1 else failed & applies

    def concerns(self, rule: Rule, settings: SelectionSettings, cutoffs: ResolvedCutoffs) -> Mask:
        """bool[n]: whom a rule is about."""
        about = np.broadcast_to(self.spread(rule.holds_for, np.bool_), self.n)
        return about if rule.where is None else about & self.meets(rule.where, settings, cutoffs)

    def meets(
        self, where: Condition, settings: SelectionSettings, cutoffs: ResolvedCutoffs
    ) -> Mask:
        """bool[n]: who meets the condition of a rule."""
        if where.tier is None:
            return self._passes(where, cutoffs)
        tier, names = self.tiers(settings, cutoffs)
        return np.array([name in where.tier for name in names], np.bool_)[tier]

    def _passes(self, rule: Rule | Condition, cutoffs: ResolvedCutoffs) -> Mask:
        if rule.allowed is not None:
            codes, known = self.labels(rule.signal)
            return np.array([_is_named(label, rule.allowed) for label in known], np.bool_)[codes]
        values = self.numbers(rule.signal)
        if rule.cutoff is not None:
            by_group, is_upper = rule_cutoff(rule.cutoff, cutoffs)
            return self._reaches(values, by_group, "highest" if is_upper else "lowest")
        below: Callable[[Any, Any], Mask] = np.less if rule.exclusive else np.less_equal
        # Bounds are compared in the column's own precision: 0.65 must equal a stored 0.65.
        low = self.spread(lambda _, of: _or(rule.bounds_for(of).min, -np.inf), values.dtype)
        high = self.spread(lambda _, of: _or(rule.bounds_for(of).max, np.inf), values.dtype)
        if np.isneginf(low).all():
            return below(values, high)
        if np.isposinf(high).all():
            return below(low, values)
        return below(low, values) & below(values, high)

    def _reaches(self, values: Numbers, by_group: Mapping[str, Cut], drops: End) -> Mask:
        """bool[n]: who is on the good side of a cutoff that drops one end."""
        value = self.spread(lambda *cell: cutoff_for(by_group, *cell).value, values.dtype)
        tie = self.spread(lambda *cell: cutoff_for(by_group, *cell).tie, np.float32)
        if not tie.any():
            return values >= value if drops == "lowest" else values <= value
        better: Mask = values > value if drops == "lowest" else values < value
        better |= (values == value) & (self.numbers(TIE_KEY) >= tie)
        return better

    def tiers(
        self, settings: SelectionSettings, cutoffs: ResolvedCutoffs
    ) -> tuple[npt.NDArray[np.int16], tuple[str, ...]]:
        """The number of each row's tier, kept or not, and the names of the tiers: that of its
        source where it has one, else by grade."""
        tier, names = self._grades(settings, cutoffs)
        if SOURCE_TIER in self._table.schema.names:
            codes, known = self.labels(SOURCE_TIER)
            for code, name in enumerate(known):
                if name is not None:
                    names = names if name in names else (*names, name)
                    tier[codes == code] = names.index(name)
        return tier, names

    @cached_property
    def is_graded(self) -> Mask:
        """Whose tier is not that of its source."""
        if SOURCE_TIER not in self._table.schema.names:
            return np.ones(self.n, dtype=np.bool_)
        codes, known = self.labels(SOURCE_TIER)
        graded: Mask = codes == known.index(None)
        return graded

    def _grades(
        self, settings: SelectionSettings, cutoffs: ResolvedCutoffs
    ) -> tuple[npt.NDArray[np.int16], tuple[str, ...]]:
        tiers = settings.tiers
        if tiers is None:
            return np.zeros(self.n, dtype=np.int16), (SINGLE_TIER,)
        values = self.numbers(tiers.signal)
        tier = np.full(self.n, len(tiers.names) - 1, dtype=np.int16)
        for k in range(len(tiers.names) - 2, -1, -1):
            by_group = resolved(tier_cutoff(tiers.names[k]), cutoffs)
            tier[self._reaches(values, by_group, other_end(tiers.best))] = k
        names = tiers.all_names
        tier[~self.in_domains(tiers.domains) | np.isnan(values)] = names.index(tiers.default)
        return tier, names

    def quantiles(self, asked: Share, among: Mask) -> dict[str, Cut]:
        """Return the cutoff that has the share asked for beyond it: of all, and of each language or
        domain with enough documents."""
        chosen = self._ranked(asked, among)
        if not chosen.values.size:
            raise RecipeError(
                f"{asked.key}: no document has a value of {asked.signal!r} to resolve the cutoff "
                "from; check its domains, or resolve it on a snapshot that has some"
            )
        every = np.arange(chosen.values.size)
        groups = [(ANY, every), *self._groups(asked.by, chosen.among)]
        return {
            name: _at_share(chosen, rows, asked, "" if name == ANY else f" in {name}")
            for name, rows in groups
            if name == ANY or rows.size >= asked.min_documents
        }

    def shares(self, asked: Share, among: Mask, cuts: Mapping[str, Cut]) -> dict[str, Counts]:
        """Return for each resolved cut the documents it is a share of, their weight, and the weight
        beyond it."""
        chosen = self._ranked(asked, among)
        out = {}
        for name, rows in [
            (ANY, np.arange(chosen.values.size)),
            *self._groups(asked.by, chosen.among),
        ]:
            if name not in cuts:
                continue
            value, tie = (np.float32(part) if i else part for i, part in enumerate(cuts[name]))
            values, weights = chosen.values[rows], chosen.weights[rows]
            bound = values.dtype.type(value)
            beyond = values < bound if asked.drops == "lowest" else values > bound
            beyond |= (values == bound) & (chosen.ties[rows] < tie)
            out[name] = (rows.size, float(weights.sum()), float(weights[beyond].sum()))
        return out

    def _ranked(self, asked: Share, among: Mask) -> "Ranked":
        values = self.numbers(asked.signal)
        among = among & ~np.isnan(values)
        weights = np.ones(int(among.sum()))
        if asked.weigh == "characters":
            weights = self.numbers(CHARACTERS)[among].astype(np.float64)
        return Ranked(among, values[among], self.numbers(TIE_KEY)[among], weights)

    def _groups(self, by: By | None, among: Mask) -> Iterable[tuple[str, Codes]]:
        """Rows of each language, domain or both, counted among the rows asked for."""
        codes, cells = self._cells
        kinds: list[Callable[[str | None, str | None], str | None]] = []
        if by == "language":
            kinds = [lambda _, language: language]
        if by in ("domain", "domain_language"):
            kinds = [lambda domain, _: domain and cutoff_key(domain, None)]
        if by == "domain_language":
            kinds.append(lambda domain, lang: cutoff_key(domain, lang) if domain and lang else None)
        here = codes[among]
        for kind in kinds:
            names = [kind(*cell) for cell in cells]
            known = sorted({name for name in names if name is not None})
            number = {name: k for k, name in enumerate(known)}
            of_row = np.array([number.get(n, -1) if n else -1 for n in names], np.int64)[here]
            order = np.argsort(of_row, kind="stable")
            ends = np.searchsorted(of_row[order], np.arange(len(known) + 1))
            for k, name in enumerate(known):
                yield name, order[ends[k] : ends[k + 1]]


def resolved(name: str, cutoffs: ResolvedCutoffs) -> Mapping[str, Cut]:
    """Return a cutoff's values from the lock."""
    values = cutoffs.get(name)
    if values is None or ANY not in values:
        raise RecipeError(
            f'selection: cutoff {name!r} has no resolved value for "{ANY}" in the '
            f"lock: resolve the recipe's cutoffs again"
        )
    return values


def rule_cutoff(name: str, cutoffs: ResolvedCutoffs) -> tuple[Mapping[str, Cut], bool]:
    """Return the values of a rule's cutoff, and whether they are the largest that pass."""
    is_upper = upper_cutoff(name) in cutoffs
    return resolved(upper_cutoff(name) if is_upper else name, cutoffs), is_upper


def failures(columns: Columns, settings: SelectionSettings, cutoffs: ResolvedCutoffs) -> Mask:
    """bool[rules, n]: which document fails which rule."""
    failed = np.zeros((len(settings.rules), columns.n), dtype=np.bool_)
    for k, rule in enumerate(settings.rules):
        failed[k] = columns.fails(rule, settings, cutoffs)
    return failed


def first_failures(failed: Mask) -> npt.NDArray[np.int16]:
    """int16[n]: the first rule that each document fails, -1 where it fails none."""
    first = np.full(failed.shape[1], -1, dtype=np.int16)
    for k in range(failed.shape[0] - 1, -1, -1):
        first[failed[k]] = k
    return first


def _is_named(label: str | None, names: Collection[str]) -> bool:
    """Whether a label is one of `names`, or begins with one that ends with an asterisk."""
    if label is None or label in names:
        return label in names
    return any(name.endswith("*") and label.startswith(name[:-1]) for name in names)


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def _at_share(chosen: Ranked, rows: Codes, asked: Share, of: str) -> Cut:
    """Return the cut that has at most the share asked for of the weight beyond it, and as much of it
    as goes; shortest decimals. Weights are whole numbers, so their sums are exact."""
    values, ties, weights = chosen.values[rows], chosen.ties[rows], chosen.weights[rows]
    order = np.lexsort((ties, values if asked.drops == "lowest" else -values))
    before = np.cumsum(weights[order]) - weights[order]
    # The product is rounded first: 0.29 * 100 is 28.999999999999996.
    wanted = round(asked.share * float(weights.sum()), 6)
    rank = max(int(np.searchsorted(before, wanted, side="right")) - 1, 0)
    value = values[order[rank]]
    is_split = rank > 0 and values[order[rank - 1]] == value
    flat = flat_line(values, value) if is_split else None
    if flat is not None:
        raise RecipeError(
            f"{asked.key}: {asked.signal} is flat or saturated{of}: the cutoff for "
            f"{asked.share:.1%} falls where {flat}; which of them to drop would be random: "
            "train or choose a model that separates them, or ask for a share that the score can "
            "resolve"
        )
    return Cut(float(str(value)), float(str(ties[order[rank]])) if is_split else 0.0)


def other_end(end: End) -> End:
    return "lowest" if end == "highest" else "highest"
