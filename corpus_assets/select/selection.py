"""Selection stage: thresholds over signals in, keep or drop with a reason out.

Rules are data (`select.rules`). A rule fails where its signal is outside the bounds, not
in the list, beyond its cutoff, or missing. The first failing rule, in recipe order, is the
reason; all failing rules are recorded. Nothing here reads text: a changed threshold costs
seconds.

Cutoffs are the one thing that looks at many documents. `resolve_cutoffs` does so once, and the
values are pinned in the lock; `select` then depends on a document's own row, its own tie key and
the lock.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.core.errors import CorruptArtifact, RecipeError
from corpus_assets.core.schemas import SELECTION
from corpus_assets.select.columns import (
    SOURCE_TIER,
    TIE_KEY,
    Columns,
    Mask,
    ResolvedCutoffs,
    Share,
    failures,
    first_failures,
    other_end,
)
from corpus_assets.select.rules import (
    ANY,
    Cut,
    Rule,
    SelectionSettings,
    tier_cutoff,
    upper_cutoff,
)

__all__ = ["VERSION", "Cutoffs", "SelectionSettings", "resolve_cutoffs", "select"]

VERSION = 4

Cutoffs = dict[str, dict[str, Cut]]
ShareCounts = dict[str, Any]


def select(
    documents: pa.Table, signals: pa.Table, settings: SelectionSettings, cutoffs: ResolvedCutoffs
) -> pa.Table:
    """One SELECTION row a document; `documents` needs doc_id and domain, the tiers of sources where
    they say them, and tie keys where cutoffs divide equals; row i beside row i."""
    if not documents.column("doc_id").equals(signals.column("doc_id")):
        raise CorruptArtifact(
            "documents and signals do not list the same documents in the same order: "
            "remove the part's signals and compute them again"
        )
    for name in ("domain", SOURCE_TIER, TIE_KEY):
        if name in documents.column_names and name not in signals.column_names:
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
    """Turn shares into values: `{cutoff: {language: cut, "*": cut}}`, keys sorted.

    `signals` carries `domain` and tie keys beside the signals. A cut is the value and the tie key of
    the document at rank floor(share * n) from the end that it drops, among the documents of its
    domains that have the signal and pass the rules before it (`among`; `distinct` says of each
    row whether it is the one that is kept of its copies), or the same by weight. Documents beyond
    it fail; of those with just its value, the ones with a smaller tie key. So the share that is
    dropped is the share asked for, to a document. A score that leaves more than half of the
    documents to the tie keys is refused. Languages and domains with fewer than `min_documents` use
    "*", the cut over all of them; a domain's own are named `domain/language` and `domain/*`.
    Tier cutoffs are resolved the same way among the documents that the rules keep and whose source
    does not say their tier.
    Values are the shortest decimals that stand for the stored numbers. A cutoff that drops the
    highest values is named `max:NAME`, a tier's worst value `tier:NAME`.
    """
    tables = [signals] if isinstance(signals, pa.Table) else list(signals)
    used = [*settings.signals(), "domain", SOURCE_TIER, TIE_KEY]
    tables = [t.select([c for c in dict.fromkeys(used) if c in t.schema.names]) for t in tables]
    if not tables:
        raise RecipeError("selection: there are no signals to resolve cutoffs from")
    columns = Columns(pa.concat_tables(tables))
    out = bounded_tiers(settings)
    for asked, among in _populations(columns, settings, out, distinct):
        if among is None:
            raise RecipeError(
                f"{asked.key} is among distinct survivors, and which documents are copies is not "
                "in stored columns; keep the cutoffs of the version with --pin-cutoffs, or build "
                "the recipe"
            )
        out[asked.name] = columns.quantiles(asked, among)
    return {name: dict(sorted(values.items())) for name, values in sorted(out.items())}


def dropped_shares(
    columns: Columns, settings: SelectionSettings, cutoffs: ResolvedCutoffs
) -> dict[str, ShareCounts]:
    """Count, for each share that the recipe asks for, the documents that it is of and those beyond
    the cut: `{cutoff: {"asked": share, language: counts, "*": counts}}`.

    Cutoffs among distinct survivors are left out: who is a copy is found after selection.
    """
    return {
        asked.name: {"asked": asked.share, "of": columns.shares(asked, among, cutoffs[asked.name])}
        for asked, among in _populations(columns, settings, cutoffs, None)
        if among is not None
    }


def _populations(
    columns: Columns,
    settings: SelectionSettings,
    cutoffs: ResolvedCutoffs,
    distinct: Mask | None,
) -> Iterator[tuple[Share, Mask | None]]:
    """Yield each share asked for with the documents that it is of, None where that is not known, in
    the order in which they are resolved; `cutoffs` holds those before it by then."""
    survives = np.ones(columns.n, dtype=np.bool_)
    judged = 0  # rules that `survives` knows of
    for name, rules_before in settings.cutoffs_in_order():
        survives &= _passes(columns, settings, settings.rules[judged:rules_before], cutoffs)
        judged = rules_before
        cutoff = settings.cutoffs[name]
        among: Mask = columns.in_domains(settings.domains_of_cutoff(name))
        if cutoff.among != "all":
            among = among & survives
            user = settings.rules[rules_before] if rules_before < len(settings.rules) else None
            if user is not None and user.where is not None and user.cutoff == name:
                among = among & columns.meets(user.where, settings, cutoffs)
        is_known = cutoff.among != "distinct_survivors" or distinct is not None
        if cutoff.among == "distinct_survivors" and distinct is not None:
            among = among & distinct
        resolved_as = upper_cutoff(name) if cutoff.drop == "highest" else name
        yield (
            Share(
                f"selection.cutoffs.{name}", resolved_as, cutoff.signal, cutoff.drop_share,
                cutoff.drop, cutoff.by, cutoff.min_documents, cutoff.weigh,
            ),
            among if is_known else None,
        )  # fmt: skip
    tiers = settings.tiers
    if tiers is None or tiers.shares is None:
        return
    kept = survives & _passes(columns, settings, settings.rules[judged:], cutoffs)
    graded = columns.in_domains(tiers.domains) & columns.is_graded & kept
    worse = 1.0
    for name, share in zip(tiers.names[:-1], tiers.shares[:-1], strict=True):
        worse -= share
        yield (
            Share(
                "selection.tiers", tier_cutoff(name), tiers.signal, max(round(worse, 9), 0.0),
                other_end(tiers.best), tiers.by, tiers.min_documents, tiers.weigh,
            ),
            graded,
        )  # fmt: skip


def bounded_tiers(settings: SelectionSettings) -> Cutoffs:
    """Return the worst value of each tier but the last, where the recipe states them."""
    tiers = settings.tiers
    if tiers is None or tiers.bounds is None:
        return {}
    names = zip(tiers.names, tiers.bounds, strict=False)
    return {tier_cutoff(name): {ANY: Cut(bound)} for name, bound in names}


def _passes(
    columns: Columns, settings: SelectionSettings, rules: Sequence[Rule], cutoffs: ResolvedCutoffs
) -> Mask:
    """bool[n]: who meets all of some rules, whose cutoffs are resolved."""
    passes = np.ones(columns.n, dtype=np.bool_)
    for rule in rules:
        passes &= ~columns.fails(rule, settings, cutoffs)
    return passes


def plain_cutoffs(cutoffs: ResolvedCutoffs) -> dict[str, Any]:
    """Return resolved cutoffs as JSON has them: a number, or [number, tie key] where documents with
    just this value are divided."""
    return {
        name: {of: list(cut) if cut.tie else cut.value for of, cut in cuts.items()}
        for name, cuts in cutoffs.items()
    }


def parse_cutoffs(plain: Mapping[str, Mapping[str, float | list[float]]]) -> Cutoffs:
    """Read what `plain_cutoffs` made."""
    return {
        name: {of: Cut(*cut) if isinstance(cut, list) else Cut(cut) for of, cut in cuts.items()}
        for name, cuts in plain.items()
    }
