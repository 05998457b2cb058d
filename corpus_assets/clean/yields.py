"""How many documents of each page type and language are left of those that gave text, and which type
or language loses more than the others.

Rules that are written for articles drop forums and lists, and rules for English drop other languages.
Copies are no losses: their text is in the document that is kept. Pages of one site share their fate, so
intervals are those of sites drawn, not of documents: one large site decides about no type or language.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.figures import wilson
from corpus_assets.core import files
from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.lazy_sequence import spread
from corpus_assets.core.sample import Sample
from corpus_assets.core.schemas import PAGE_TYPE
from corpus_assets.core.store import Output, Store
from corpus_assets.select import SelectPlanner

KEPT, COPIES = "kept", "clusters"  # what is not lost: in the version, or a copy of what is
PARTS = 256
"""Parts of a snapshot that are counted; of more, that many that are evenly spaced."""

CLEARLY_LESS = 0.8  # of what the others keep
MIN_DOCUMENTS = 20
STANDARD_ERRORS = 2.5
"""Half the width of the intervals. Many languages are judged at once: of 150 that lose
alike, intervals of 95% would often call one worse."""

SITE_GROUPS = 64
"""Into which sites are put by hash: each is counted as one cluster, so that memory does not grow with
the number of sites."""
MIN_SITES = 5
"""That a type or language needs, if all were of the same size; of fewer, how much sites differ is not
known."""
SITES = Sample(b"corpus-assets/yields/sites")

KINDS = ("page type", "language")
LANGUAGE = "language"
DECIDED = ("doc_id", "stage", "reason", LANGUAGE, "failed_rules")  # columns that are counted
Group: TypeAlias = tuple[str | None, str | None, int]  # one of each of KINDS, group of sites
Outcome: TypeAlias = tuple[str, str]  # stage and reason; KEPT alone
Yields: TypeAlias = dict[Group, Counter[Outcome]]
BySite: TypeAlias = dict[int, Counter[Outcome]]


@dataclass(frozen=True)
class YieldLoss:
    """A page type or language that keeps clearly less than the others, and what makes the largest
    difference."""

    kind: str
    name: str
    documents: int
    share: float  # that is kept or a copy
    others_share: float
    reason: str
    reason_share: float  # of its documents
    reason_others_share: float


def snapshot_yields(pipeline: SelectPlanner, snapshot: str, parts: int = PARTS) -> Yields:
    """Count a snapshot's documents by page type, language and outcome; without those that a rule
    drops for what type or language they are of."""
    on_purpose = {
        rule.name
        for rule in pipeline.recipe.selection.rules
        if rule.signal in (LANGUAGE, PAGE_TYPE.name) and rule.allowed is not None
    }
    decided = pipeline.parts(files.DECISIONS, snapshot)
    documents = pipeline.parts(files.DOCUMENTS, snapshot)
    return summed_yields(
        part_yields(
            _columns(pipeline.store, decided[i], DECIDED),
            _columns(pipeline.store, documents[i], (PAGE_TYPE.name, "host")),
            on_purpose,
        )
        for i in spread(len(decided), parts)
    )


def part_yields(decisions: pa.Table, documents: pa.Table, on_purpose: Collection[str]) -> Yields:
    """Count the documents of a part that fail none of the rules `on_purpose`. `documents` may have
    their page types and hosts; `decisions` has more rows, those of records without text. A document
    without a host is a site of its own."""
    is_document = pc.fill_null(pc.not_equal(decisions["stage"], "documents"), True)
    table = decisions.filter(is_document)
    types = pa.nulls(table.num_rows, pa.string())
    if PAGE_TYPE.name in documents.column_names:
        types = documents[PAGE_TYPE.name]
    failed = table["failed_rules"].combine_chunks()
    meant = pc.is_in(failed.flatten(), pa.array(sorted(on_purpose), pa.string()))
    judged = np.ones(table.num_rows, np.bool_)
    judged[pc.list_parent_indices(failed).filter(meant).to_numpy()] = False
    sites = _site_groups(documents, table["doc_id"])
    columns = [types, table[LANGUAGE], sites, table["stage"], table["reason"]]
    names = ["page_type", "language", "site", "stage", "reason"]
    counted = (
        pa.table(columns, names=names)
        .filter(pa.array(judged))
        .group_by(names, use_threads=False)
        .aggregate([([], "count_all")])
    )
    out: Yields = {}
    for *group, stage, reason, n in zip(*(c.to_pylist() for c in counted.columns), strict=True):
        out.setdefault((group[0], group[1], group[2]), Counter())[stage or KEPT, reason or ""] += n
    return out


def _site_groups(documents: pa.Table, doc_ids: pa.ChunkedArray) -> pa.Array:
    """uint8[n]: the group of each document's host, or of its id where it has none."""
    groups = np.zeros(len(doc_ids), np.uint8)
    absent = np.ones(len(doc_ids), np.bool_)
    if "host" in documents.column_names:
        hosts = documents["host"].combine_chunks().dictionary_encode()
        absent = hosts.is_null().to_numpy(zero_copy_only=False)
        of_host = [
            SITES.place(host.encode()) % SITE_GROUPS for host in hosts.dictionary.to_pylist()
        ]
        groups[~absent] = np.array(of_host, np.uint8)[hosts.indices.drop_null().to_numpy()]
    ids = doc_ids.filter(pa.array(absent)).to_pylist()
    groups[absent] = [SITES.place(doc_id) % SITE_GROUPS for doc_id in ids]
    return pa.array(groups)


def _columns(store: Store, output: Output, names: Collection[str]) -> pa.Table:
    """Return those of some columns that a file has; nothing else of it is read."""
    try:
        with store.open(output.path) as file:
            parquet = pq.ParquetFile(file)
            found = [name for name in names if name in parquet.schema_arrow.names]
            return parquet.read(columns=found, use_threads=False)
    except pa.ArrowException as error:
        raise CorruptArtifact(f"{output.path} is not readable Parquet: {error}") from error


def summed_yields(yields: Iterable[Yields]) -> Yields:
    """Add up the counts of parts or snapshots."""
    out: Yields = {}
    for one in yields:
        for group, outcomes in one.items():
            out.setdefault(group, Counter()).update(outcomes)
    return out


def yield_losses(yields: Yields) -> list[YieldLoss]:
    """Return the page types and languages that keep clearly less than the others, the worst first.

    For each with enough documents and sites, beside all others of its kind: the upper end of the
    interval of its share is below CLEARLY_LESS of the lower end of theirs.
    """
    found = []
    for place, kind in enumerate(KINDS):
        by_name: dict[str | None, BySite] = {}
        for (*names, site), outcomes in yields.items():
            by_name.setdefault(names[place], {}).setdefault(site, Counter()).update(outcomes)
        whole: BySite = {}
        for sites in by_name.values():
            for site, outcomes in sites.items():
                whole.setdefault(site, Counter()).update(outcomes)
        for name, own in by_name.items():
            beside = {site: one - own.get(site, Counter()) for site, one in whole.items()}
            ours, theirs = _interval(own), _interval(beside)
            if name is None or ours is None or theirs is None:
                continue
            if ours[1] < CLEARLY_LESS * theirs[0]:
                found.append(_loss(kind, name, _sum(own.values()), _sum(beside.values())))
    return sorted(found, key=lambda one: (one.share / one.others_share, one.kind, one.name))


def _sum(counters: Iterable[Counter[Outcome]]) -> Counter[Outcome]:
    return sum(counters, Counter())


def _interval(by_site: BySite) -> tuple[float, float] | None:
    """Return the interval of the share that is left; None of too few documents or sites.

    Wilson's, of as many documents as would have the variance of the share over sites drawn:
    `H / (H - 1) * sum((left - share * n) ** 2) / sum(n) ** 2` over H sites, and never less than that
    of documents drawn.
    """
    counts = [(one.total(), _left(one)) for one in by_site.values() if one.total()]
    if len(counts) < 2:
        return None
    n, left = np.array(counts, np.float64).T
    documents = n.sum()
    if documents < MIN_DOCUMENTS or documents**2 < MIN_SITES * np.square(n).sum():
        return None
    share = left.sum() / documents
    by_sites = np.square(left - share * n).sum() * len(n) / (len(n) - 1)
    by_documents = share * (1 - share) * documents
    effective = documents * min(1.0, by_documents / by_sites if by_sites else 1.0)
    return wilson(share * effective, effective, STANDARD_ERRORS)


def _left(outcomes: Mapping[Outcome, int]) -> int:
    return sum(n for (stage, _), n in outcomes.items() if stage in (KEPT, COPIES))


def _loss(kind: str, name: str, own: Counter[Outcome], others: Counter[Outcome]) -> YieldLoss:
    def shares(outcome: Outcome) -> tuple[float, float]:
        return own[outcome] / own.total(), others[outcome] / others.total()

    def excess(outcome: Outcome) -> tuple[float, Any]:
        here, there = shares(outcome)
        return there - here, outcome

    worst = min((one for one in own if one[0] not in (KEPT, COPIES)), key=excess)
    return YieldLoss(
        kind,
        name,
        own.total(),
        _left(own) / own.total(),
        _left(others) / others.total(),
        worst[1],
        *shares(worst),
    )


def yield_losses_message(yields: Yields) -> tuple[bool, str]:
    """Whether no page type and no language keeps clearly less than the others, and a sentence."""
    losses = yield_losses(yields)
    if not losses:
        return True, f"no page type or language keeps less than {CLEARLY_LESS:.0%} of the others"
    named = "; ".join(
        f"{one.kind} {one.name}: {one.share:.0%} of {one.documents:,} documents left, of the others "
        f"{one.others_share:.0%}; `{one.reason}` drops {one.reason_share:.0%} of them, of the others "
        f"{one.reason_others_share:.0%}"
        for one in losses[:3]
    )
    more = f"; and {len(losses) - 3} more" if len(losses) > 3 else ""
    return False, (
        f"{named}{more}. Look at some of them (`corpus sample-page`); `where`, `only_languages` or "
        "`languages` of a rule restrict it"
    )
