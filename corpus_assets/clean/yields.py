"""How many documents of each page type and language are left of those that gave text, and which type
or language loses more than the others.

Rules that are written for articles drop forums and lists, and rules for English drop other languages.
Copies are no losses: their text is in the document that is kept.
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

KINDS = ("page type", "language")
LANGUAGE = "language"
Group: TypeAlias = tuple[str | None, str | None]  # one of each of KINDS
Outcome: TypeAlias = tuple[str, str]  # stage and reason; KEPT alone
Yields: TypeAlias = dict[Group, Counter[Outcome]]


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
            _columns(pipeline.store, decided[i], ("stage", "reason", LANGUAGE, "failed_rules")),
            _columns(pipeline.store, documents[i], (PAGE_TYPE.name,)),
            on_purpose,
        )
        for i in spread(len(decided), parts)
    )


def part_yields(decisions: pa.Table, documents: pa.Table, on_purpose: Collection[str]) -> Yields:
    """Count the documents of a part that fail none of the rules `on_purpose`. `documents` may have
    their page types; `decisions` has more rows, those of records without text."""
    is_document = pc.fill_null(pc.not_equal(decisions["stage"], "documents"), True)
    table = decisions.filter(is_document)
    types = pa.nulls(table.num_rows, pa.string())
    if PAGE_TYPE.name in documents.column_names:
        types = documents[PAGE_TYPE.name]
    failed = table["failed_rules"].combine_chunks()
    meant = pc.is_in(failed.flatten(), pa.array(sorted(on_purpose), pa.string()))
    judged = np.ones(table.num_rows, np.bool_)
    judged[pc.list_parent_indices(failed).filter(meant).to_numpy()] = False
    columns = [types, table[LANGUAGE], table["stage"], table["reason"]]
    names = ["page_type", "language", "stage", "reason"]
    counted = (
        pa.table(columns, names=names)
        .filter(pa.array(judged))
        .group_by(names, use_threads=False)
        .aggregate([([], "count_all")])
    )
    out: Yields = {}
    for *group, stage, reason, n in zip(*(c.to_pylist() for c in counted.columns), strict=True):
        out.setdefault((group[0], group[1]), Counter())[stage or KEPT, reason or ""] += n
    return out


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

    For each with enough documents, beside all others of its kind: the upper end of the interval of
    its share (Wilson) is below CLEARLY_LESS of the lower end of theirs.
    """
    found = []
    for place, kind in enumerate(KINDS):
        by_name: dict[str | None, Counter[Outcome]] = {}
        for group, outcomes in yields.items():
            by_name.setdefault(group[place], Counter()).update(outcomes)
        whole = sum(by_name.values(), Counter())
        for name, outcomes in by_name.items():
            others = whole - outcomes
            if name is None or min(outcomes.total(), others.total()) < MIN_DOCUMENTS:
                continue
            _, most = wilson(_left(outcomes), outcomes.total(), STANDARD_ERRORS)
            least, _ = wilson(_left(others), others.total(), STANDARD_ERRORS)
            if most < CLEARLY_LESS * least:
                found.append(_loss(kind, name, outcomes, others))
    return sorted(found, key=lambda one: (one.share / one.others_share, one.kind, one.name))


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
