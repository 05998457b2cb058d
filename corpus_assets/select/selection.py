"""Selection stage: thresholds over signals in, keep or drop with a reason out.

Rules are data (`select.rules`). A rule fails where its signal is outside the bounds, not
in the list, beyond its cutoff, or missing. The first failing rule, in recipe order, is the
reason; all failing rules are recorded. Nothing here reads text: a changed threshold costs
seconds.

Cutoffs are the one thing that looks at many documents. `resolve_cutoffs` does so once, and the
values are pinned in the lock; `select` then depends on a document's own row and the lock.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from corpus_assets.core.errors import CorruptArtifact, RecipeError
from corpus_assets.core.schemas import SELECTION
from corpus_assets.select.columns import (
    SOURCE_TIER,
    Columns,
    Mask,
    ResolvedCutoffs,
    failures,
    first_failures,
)
from corpus_assets.select.rules import (
    ANY,
    Rule,
    SelectionSettings,
    TierSettings,
    tier_cutoff,
    upper_cutoff,
)

__all__ = ["VERSION", "Cutoffs", "SelectionSettings", "resolve_cutoffs", "select"]

VERSION = 3

Cutoffs = dict[str, dict[str, float]]


def select(
    documents: pa.Table, signals: pa.Table, settings: SelectionSettings, cutoffs: ResolvedCutoffs
) -> pa.Table:
    """One SELECTION row a document; `documents` needs doc_id and domain, and the tiers of sources
    where they say them; row i beside row i."""
    if not documents.column("doc_id").equals(signals.column("doc_id")):
        raise CorruptArtifact(
            "documents and signals do not list the same documents in the same order: "
            "remove the part's signals and compute them again"
        )
    for name in ("domain", SOURCE_TIER):
        if name in documents.column_names:
            signals = signals.append_column(name, documents[name])
    columns = Columns(signals)
    failed = failures(columns, settings, cutoffs)
    first = first_failures(failed)
    kept = first < 0
    names = pa.array([rule.name for rule in settings.rules], pa.string())
    tiers, tier_names = columns.tiers(settings, cutoffs)
    return pa.Table.from_arrays(
        [
            documents.column("doc_id"),
            pa.array(kept),
            names.take(pa.array(first, mask=kept)),
            _listed(failed, names),
            columns.language,
            pa.array(tier_names, pa.string()).take(pa.array(tiers, mask=~kept)),
        ],
        schema=SELECTION,
    )


def _listed(failed: Mask, names: pa.Array) -> pa.ListArray:
    """The names of the rules that each document fails, in the order of the rules."""
    offsets = np.zeros(failed.shape[1] + 1, dtype=np.int32)
    np.cumsum(failed.sum(axis=0, dtype=np.int32), out=offsets[1:])
    which = np.empty(offsets[-1], dtype=np.int16)
    place = offsets[:-1].copy()
    for k in range(failed.shape[0]):
        rows = np.flatnonzero(failed[k])
        which[place[rows]] = k
        place[rows] += 1
    return pa.ListArray.from_arrays(pa.array(offsets), names.take(pa.array(which)))


def resolve_cutoffs(
    signals: pa.Table | Iterable[pa.Table],
    settings: SelectionSettings,
    distinct: Mask | None = None,
) -> Cutoffs:
    """Turn shares into values: `{cutoff: {language: value, "*": value}}`, keys sorted.

    `signals` carries a `domain` column beside the signals. A cutoff is the value of the
    document at rank floor(share * n) from the end that it drops, among the documents of its
    domains that have the signal and pass the rules before it (`among`; `distinct` says of each
    row whether it is the one that is kept of its copies), or the same by weight;
    values beyond it fail, so ties at the cutoff are kept and never more than the share is
    dropped. Languages and domains with fewer than `min_documents` use
    "*", the value over all of them; a domain's own values are named `domain/language` and
    `domain/*`. Tier cutoffs are resolved the same way among the documents that the rules keep and
    whose source does not say their tier.
    Values are the shortest decimals that stand for the stored numbers. A cutoff that drops the
    highest values is named `max:NAME`, a tier's worst value `tier:NAME`.
    """
    tables = [signals] if isinstance(signals, pa.Table) else list(signals)
    used = [*settings.signals(), "domain", SOURCE_TIER]
    tables = [t.select([c for c in dict.fromkeys(used) if c in t.schema.names]) for t in tables]
    if not tables:
        raise RecipeError("selection: there are no signals to resolve cutoffs from")
    columns = Columns(pa.concat_tables(tables))
    out = bounded_tiers(settings)
    survives = np.ones(columns.n, dtype=np.bool_)
    judged = 0  # rules that `survives` knows of
    for name, rules_before in settings.cutoffs_in_order():
        survives &= _passes(columns, settings, settings.rules[judged:rules_before], out)
        judged = rules_before
        cutoff = settings.cutoffs[name]
        among = columns.in_domains(settings.domains_of_cutoff(name))
        if cutoff.among != "all":
            among = among & survives
            user = settings.rules[rules_before] if rules_before < len(settings.rules) else None
            if user is not None and user.where is not None and user.cutoff == name:
                among = among & columns.meets(user.where, settings, out)
        if cutoff.among == "distinct_survivors":
            if distinct is None:
                raise RecipeError(
                    f"selection.cutoffs.{name} is among distinct survivors, and which documents "
                    "are copies is not in stored columns; keep the cutoffs of the version with "
                    "--pin-cutoffs, or build the recipe"
                )
            among = among & distinct
        out[upper_cutoff(name) if cutoff.drop == "highest" else name] = columns.quantiles(
            f"selection.cutoffs.{name}",
            cutoff.signal,
            cutoff.drop_share,
            cutoff.drop,
            among,
            cutoff.by,
            cutoff.min_documents,
            cutoff.weigh,
        )
    if settings.tiers is not None and settings.tiers.shares is not None:
        kept = survives & _passes(columns, settings, settings.rules[judged:], out)
        out |= _tier_cutoffs(columns, settings.tiers, settings.tiers.shares, kept)
    return {name: dict(sorted(values.items())) for name, values in sorted(out.items())}


def bounded_tiers(settings: SelectionSettings) -> Cutoffs:
    """Return the worst value of each tier but the last, where the recipe states them."""
    tiers = settings.tiers
    if tiers is None or tiers.bounds is None:
        return {}
    names = zip(tiers.names, tiers.bounds, strict=False)
    return {tier_cutoff(name): {ANY: bound} for name, bound in names}


def _passes(
    columns: Columns, settings: SelectionSettings, rules: Sequence[Rule], cutoffs: Cutoffs
) -> Mask:
    """bool[n]: who meets all of some rules, whose cutoffs are resolved."""
    passes = np.ones(columns.n, dtype=np.bool_)
    for rule in rules:
        passes &= ~columns.fails(rule, settings, cutoffs)
    return passes


def _tier_cutoffs(
    columns: Columns, tiers: TierSettings, shares: Sequence[float], kept: Mask
) -> Cutoffs:
    """Return the worst value of each tier but the last, among the documents kept."""
    out: Cutoffs = {}
    worse = 1.0
    for name, share in zip(tiers.names[:-1], shares[:-1], strict=True):
        worse -= share
        out[tier_cutoff(name)] = columns.quantiles(
            "selection.tiers",
            tiers.signal,
            max(round(worse, 9), 0.0),
            "lowest" if tiers.best == "highest" else "highest",
            columns.in_domains(tiers.domains) & columns.is_graded & kept,
            tiers.by,
            tiers.min_documents,
            tiers.weigh,
        )
    return out
