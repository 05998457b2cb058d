"""Selection stage: thresholds over signals in, keep or drop with a reason out.

Rules are data (`selection_rules.py`). A rule fails where its signal is outside the bounds, not
in the list, below its cutoff, or missing. The first failing rule, in recipe order, is the
reason; all failing rules are recorded. Nothing here reads text: a changed threshold costs
seconds.

Cutoffs are the one thing that looks at many documents. `resolve_cutoffs` does so once, and the
values are pinned in the lock; `select` then depends on a document's own row and the lock.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.documents import SELECTION
from corpus_assets.errors import CorruptArtifact, RecipeError
from corpus_assets.stages.selection_rules import (
    ANY_LANGUAGE,
    Bounds,
    Rule,
    SelectionSettings,
    tier_cutoff,
)

__all__ = ["VERSION", "Cutoffs", "SelectionSettings", "resolve_cutoffs", "select"]

VERSION = 1

Cutoffs = dict[str, dict[str, float]]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.floating[Any]]


def select(
    documents: pa.Table,
    signals: pa.Table,
    settings: SelectionSettings,
    cutoffs: Mapping[str, Mapping[str, float]],
) -> pa.Table:
    """One SELECTION row a document; `documents` needs doc_id and domain, row i beside row i."""
    if not documents.column("doc_id").equals(signals.column("doc_id")):
        raise CorruptArtifact(
            "documents and signals do not list the same documents in the same order: "
            "remove the part's signals and compute them again"
        )
    columns = _Columns(signals.append_column("domain", documents.column("domain")))
    failed = _failures(columns, settings, cutoffs)
    kept = ~failed.any(axis=1)
    names = pa.array([rule.name for rule in settings.rules], pa.string())
    rows, which = np.nonzero(failed)
    offsets = np.zeros(len(failed) + 1, dtype=np.int32)
    np.cumsum(np.bincount(rows, minlength=len(failed)), out=offsets[1:])
    first = which[offsets[:-1][~kept]]
    reason = np.zeros(len(failed), dtype=np.int64)
    reason[~kept] = first
    return pa.Table.from_arrays(
        [
            documents.column("doc_id"),
            pa.array(kept),
            names.take(pa.array(reason, mask=kept)),
            pa.ListArray.from_arrays(pa.array(offsets), names.take(pa.array(which))),
            columns.language,
            pc.if_else(pa.array(kept), _tiers(columns, settings, cutoffs), None),
        ],
        schema=SELECTION,
    )


def resolve_cutoffs(signals: pa.Table | Iterable[pa.Table], settings: SelectionSettings) -> Cutoffs:
    """Turn shares into values: `{cutoff: {language: value, "*": value}}`, keys sorted.

    `signals` carries a `domain` column beside the signals. A cutoff is the value of the
    document at rank floor(share * n) from the bottom, among the documents of its domains that
    have the signal; strictly smaller values fail, so ties at the cutoff are kept and never
    more than the share is dropped. Languages with fewer than `min_documents` use "*", the
    value over all of them. Tier cutoffs are resolved the same way among the documents that
    the rules keep. Values are the shortest decimals that stand for the stored numbers.
    """
    tables = [signals] if isinstance(signals, pa.Table) else list(signals)
    used = [*settings.signals(), "domain"]
    tables = [t.select([c for c in dict.fromkeys(used) if c in t.schema.names]) for t in tables]
    if not tables:
        raise RecipeError("selection: there are no signals to resolve cutoffs from")
    columns = _Columns(pa.concat_tables(tables))
    out: Cutoffs = {}
    for name, cutoff in settings.cutoffs.items():
        among = columns.in_domains(settings.domains_of_cutoff(name))
        out[name] = columns.quantiles(
            f"selection.cutoffs.{name}",
            cutoff.signal,
            cutoff.drop_share,
            among,
            cutoff.by is not None,
            cutoff.min_documents,
        )
    tiers = settings.tiers
    if tiers is not None:
        among = columns.in_domains(tiers.domains) & ~_failures(columns, settings, out).any(axis=1)
        below = 1.0
        for name, share in zip(tiers.names[:-1], tiers.shares[:-1], strict=True):
            below -= share
            out[tier_cutoff(name)] = columns.quantiles(
                "selection.tiers",
                tiers.signal,
                max(round(below, 9), 0.0),
                among,
                tiers.by is not None,
                tiers.min_documents,
            )
    return {name: dict(sorted(values.items())) for name, values in sorted(out.items())}


class _Columns:
    """Signals of some documents as numpy arrays, and the questions rules ask of them."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.n = table.num_rows
        has_language = "language" in table.schema.names
        self.language: pa.Array = (
            _combined(table.column("language")).cast(pa.string())
            if has_language
            else pa.nulls(self.n, pa.string())
        )

    def column(self, name: str) -> pa.Array:
        if name not in self._table.schema.names:
            raise RecipeError(
                f"selection: no signal is named {name!r}; computed are "
                f"{', '.join(self._table.schema.names)}"
            )
        return _combined(self._table.column(name))

    def numbers(self, name: str) -> Numbers:
        """float32 for float32 columns, else float64; null becomes NaN."""
        column = self.column(name)
        dtype = np.float32 if column.type == pa.float32() else np.float64
        wide = column.cast(pa.float32() if dtype is np.float32 else pa.float64())
        values: Numbers = pc.fill_null(wide, float("nan")).to_numpy(zero_copy_only=False)
        return values

    def is_in(self, column: pa.Array, values: Iterable[str]) -> Mask:
        """False where null."""
        found = pc.is_in(column, value_set=pa.array(list(values), pa.string()))
        mask: Mask = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
        return mask

    def in_domains(self, domains: tuple[str, ...] | None) -> Mask:
        if domains is None:
            return np.ones(self.n, dtype=np.bool_)
        return self.is_in(self.column("domain"), domains)

    def by_language(self, values: Mapping[str, float], dtype: np.dtype[Any]) -> Numbers:
        """Each document's value: its language's, or "*"."""
        out = np.full(self.n, values[ANY_LANGUAGE], dtype=dtype)
        for language, value in values.items():
            if language != ANY_LANGUAGE:
                out[self.is_in(self.language, [language])] = value
        return out

    def quantiles(
        self,
        key: str,
        signal: str,
        share: float,
        among: Mask,
        each_language: bool,
        min_documents: int,
    ) -> dict[str, float]:
        values = self.numbers(signal)
        among = among & ~np.isnan(values)
        if not among.any():
            raise RecipeError(
                f"{key}: no document has a value of {signal!r} to resolve the cutoff from; "
                f"check its domains, or resolve it on a snapshot that has some"
            )
        out = {ANY_LANGUAGE: _at_rank(values[among], share)}
        if each_language:
            codes = self.language.dictionary_encode()
            indices = pc.fill_null(codes.indices, -1).to_numpy(zero_copy_only=False)
            for index, language in enumerate(codes.dictionary.to_pylist()):
                group = values[among & (indices == index)]
                if group.size >= min_documents:
                    out[language] = _at_rank(group, share)
        return out


def _combined(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _at_rank(values: Numbers, share: float) -> float:
    """The value with `floor(share * n)` values at or before it; a shortest decimal."""
    # The product is rounded first: 0.29 * 100 is 28.999999999999996.
    rank = min(int(np.floor(round(share * values.size, 6))), values.size - 1)
    return float(str(np.partition(values, rank)[rank]))


def _failures(
    columns: _Columns, settings: SelectionSettings, cutoffs: Mapping[str, Mapping[str, float]]
) -> Mask:
    """bool[n, rules]: which document fails which rule."""
    failed = np.zeros((columns.n, len(settings.rules)), dtype=np.bool_)
    for k, rule in enumerate(settings.rules):
        applies = columns.in_domains(rule.domains)
        if rule.only_languages is not None:
            applies &= columns.is_in(columns.language, rule.only_languages)
        failed[:, k] = applies & ~_passes(columns, rule, cutoffs)
    return failed


def _passes(columns: _Columns, rule: Rule, cutoffs: Mapping[str, Mapping[str, float]]) -> Mask:
    if rule.allowed is not None:
        return columns.is_in(columns.column(rule.signal).cast(pa.string()), rule.allowed)
    values = columns.numbers(rule.signal)
    if rule.cutoff is not None:
        least = columns.by_language(_resolved(rule.cutoff, cutoffs), values.dtype)
        return values >= least
    bounds = {ANY_LANGUAGE: Bounds(min=rule.min, max=rule.max), **rule.bounds_by_language()}
    low = {name: -np.inf if b.min is None else b.min for name, b in bounds.items()}
    high = {name: np.inf if b.max is None else b.max for name, b in bounds.items()}
    # Bounds are compared in the column's own precision: 0.65 must equal a stored 0.65.
    return (values >= columns.by_language(low, values.dtype)) & (
        values <= columns.by_language(high, values.dtype)
    )


def _tiers(
    columns: _Columns, settings: SelectionSettings, cutoffs: Mapping[str, Mapping[str, float]]
) -> pa.Array:
    tiers = settings.tiers
    if tiers is None:
        return pa.array([settings.single_tier]).take(pa.array(np.zeros(columns.n, np.int64)))
    values = columns.numbers(tiers.signal)
    tier = np.full(columns.n, len(tiers.names) - 1, dtype=np.int64)
    for k in range(len(tiers.names) - 2, -1, -1):
        resolved = _resolved(tier_cutoff(tiers.names[k]), cutoffs)
        tier[values >= columns.by_language(resolved, values.dtype)] = k
    ranked = columns.in_domains(tiers.domains) & ~np.isnan(values)
    tier[~ranked] = tiers.names.index(tiers.default)
    return pa.array(tiers.names, pa.string()).take(pa.array(tier))


def _resolved(name: str, cutoffs: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
    values = cutoffs.get(name)
    if values is None or ANY_LANGUAGE not in values:
        raise RecipeError(
            f'selection: cutoff {name!r} has no resolved value for "{ANY_LANGUAGE}" in the '
            f"lock: resolve the recipe's cutoffs again"
        )
    return values
