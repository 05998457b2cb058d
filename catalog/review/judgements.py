"""What people's judgements say of a version: how many dropped documents were good, how many kept
ones are, and which thresholds the answers propose.

Samples are stratified (`strata.py`), so a judged record counts for the records of its stratum
divided by those judged in it (post-stratification). Intervals are Wilson's, of the effective number
of answers (sum of weights)^2 / sum of squared weights (Kish 1965); where all weights are equal that
is their number. Strata without an answer count for nothing: `covered` says how many records are in
the others. A record that several people judged counts once, with the share that finds it good.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from catalog.answers import Shown, in_json
from catalog.db import JudgementRow
from catalog.figures import wilson, written
from catalog.lineage import Lineage, Row
from catalog.review.proposals import JudgedSignal, Proposal, propose
from catalog.review.records import Place, is_good, may_be_shown, place_of
from catalog.review.strata import (
    BEFORE_TEXT,
    Sizes,
    Stratum,
    records_each,
    strata_of,
    stratum_sizes,
)

ALL = "all"
WIDEST = 0.5
"""An interval that spans more of all shares than this says too little to name one."""
LEAST_COVERED = 0.5
"""Where a smaller share of the records is in strata with an answer, these are not the group's."""


@dataclass(frozen=True)
class ShareGood:
    """The share of a group's documents that are good, estimated from those that were judged."""

    group: str
    records: Annotated[int, Shown(form="{:,}".format)]
    judged: int
    good: Annotated[float, Shown(form=written)]
    share: float
    low: float
    high: float
    covered: float

    shows: ClassVar = ("group", "records", "judged", "good", "estimate", "interval")

    @property
    @in_json
    def is_enough(self) -> bool:
        return self.high - self.low <= WIDEST and self.covered >= LEAST_COVERED

    @property
    def estimate(self) -> Annotated[str, Shown("share good")]:
        return f"{self.share:.1%}" if self.is_enough else "not enough answers"

    @property
    def interval(self) -> Annotated[str, Shown("95% interval")]:
        return f"{self.low:.1%} to {self.high:.1%}"


@dataclass(frozen=True)
class Judgements:
    """Reviewers' judgements of a version: the share of good documents among those dropped (wrongful
    loss) and among those kept (precision), thresholds that fit them better; each judgement only
    where it was asked for."""

    version: str
    state: str
    dropped: list[ShareGood]
    kept: list[ShareGood]
    thresholds: list[Proposal]
    judgements: Annotated[
        list[JudgementRow] | None,
        Shown(columns=("doc_id", "decision", "judged_by", "agrees", "why")),
    ] = None

    shows: ClassVar = ("dropped_by_rule", "kept_by_group", "proposed", "judgements")

    @property
    def dropped_by_rule(self) -> list[ShareGood]:
        return _titled(self.dropped, "dropped")

    @property
    def kept_by_group(self) -> list[ShareGood]:
        return _titled(self.kept, "kept")

    @property
    def proposed(self) -> list[Proposal]:
        return [one for one in self.thresholds if one.value is not None]

    @property
    def conclusion(self) -> str | None:
        if not self.dropped and not self.kept:
            return f"no judgements of {self.version} yet; record some in `catalog serve --review`"
        if self.proposed:
            return (
                "`corpus whatif --set selection.rules.NAME=VALUE` shows what a threshold would keep"
            )
        return "no threshold is proposed: `--json` has the reason for each"


def list_judgements(lineage: Lineage, listed: bool) -> Judgements:
    """Return what judgements say of a version, and with `listed` each of them."""
    found = summarise_judgements(lineage, stratum_sizes)
    return replace(found, judgements=_all_judgements(lineage) if listed else None)


@dataclass(frozen=True)
class Judged:
    """A record that people judged: the share of them that finds it good."""

    record: Row
    stratum: Stratum
    good: float


def summarise_judgements(lineage: Lineage, sizes_of: Callable[[Lineage], Sizes]) -> Judgements:
    """Return what judgements say of a version. Records are put into strata by what this version
    decided about them, which a takedown may have changed since they were judged."""
    version = lineage.version
    rows = lineage.registry.judgements(version.name)
    if not rows:
        return Judgements(version.name, version.state, [], [], [])
    judged = judged_records(lineage, rows)
    sizes, each = sizes_of(lineage), records_each(lineage)
    dropped = [one for one in judged if not one.stratum.is_kept]
    kept = [one for one in judged if one.stratum.is_kept]
    lost = {stratum: n for stratum, n in sizes.items() if not stratum.is_kept}
    left = {stratum: n for stratum, n in sizes.items() if stratum.is_kept}
    return Judgements(
        version.name,
        version.state,
        list(shares_good(dropped, lost, each, (_decision,))),
        list(shares_good(kept, left, each, (_decision, _language, _page_type))),
        propose(lineage, _signals(lineage, judged)),
    )


def judged_records(lineage: Lineage, rows: Iterable[JudgementRow]) -> list[Judged]:
    """Return each judged record that the version has, once."""
    verdicts: defaultdict[Place, list[bool]] = defaultdict(list)
    for row in rows:
        verdicts[place_of(row)].append(is_good(row))
    records = strata_of(
        lineage,
        (doc_id for doc_id, *_ in verdicts),
        ((snapshot, part) for _, snapshot, part, _ in verdicts),
    )
    found = []
    for record in records:
        given = verdicts.get(place_of(record))
        if given:
            stratum = Stratum(record["decision"], record["language"], record["page_type"])
            found.append(Judged(record, stratum, sum(given) / len(given)))
    return found


# Shares.


def _all(stratum: Stratum) -> str:
    """All that samples are drawn from without a rule chosen: what has no text is left out."""
    return "" if stratum.stage == BEFORE_TEXT else ALL


def _decision(stratum: Stratum) -> str:
    return stratum.reason if stratum.is_kept else stratum.decision


def _language(stratum: Stratum) -> str:
    return f"language {stratum.language or 'unknown'}"


def _page_type(stratum: Stratum) -> str:
    return f"page type {stratum.page_type}" if stratum.page_type else ""


def shares_good(
    judged: Sequence[Judged],
    sizes: Sizes,
    each: float,
    groupings: Sequence[Callable[[Stratum], str]],
) -> Iterable[ShareGood]:
    """Yield the share of all, and of the groups of each grouping, largest first."""
    for grouping in (_all, *groupings):
        records: Counter[str] = Counter()
        for stratum, n in sizes.items():
            records[grouping(stratum)] += n
        members: defaultdict[str, list[Judged]] = defaultdict(list)
        for one in judged:
            members[grouping(one.stratum)].append(one)
        for group in sorted(filter(None, members), key=lambda group: (-records[group], group)):
            yield share_good(group, members[group], sizes, records[group], each)


def share_good(
    group: str, judged: Sequence[Judged], sizes: Sizes, records: int, each: float = 1.0
) -> ShareGood:
    """Estimate the share of good documents in a group of `records` from its judged ones."""
    numbers = Counter(one.stratum for one in judged)
    # Files that are not looked at may have strata of their own: such a record stands for itself.
    stands_for = {stratum: max(sizes.get(stratum, 0), n) for stratum, n in numbers.items()}
    weights = [stands_for[one.stratum] / numbers[one.stratum] for one in judged]
    total = sum(weights)
    share = sum(w * one.good for w, one in zip(weights, judged, strict=True)) / total
    effective = total**2 / sum(w * w for w in weights)
    low, high = wilson(share * effective, effective)
    return ShareGood(
        group=group,
        records=round(max(records, sum(stands_for.values())) * each),
        judged=len(judged),
        good=sum(one.good for one in judged),
        share=share,
        low=low,
        high=high,
        covered=min(1.0, sum(stands_for.values()) / max(1, records)),
    )


def _titled(shares: Iterable[ShareGood], title: str) -> list[ShareGood]:
    """Name the side that shares are of: the table of a terminal has no caption."""
    return [replace(one, group=f"{title}, {one.group}") for one in shares]


# Signals and words.


def _signals(lineage: Lineage, judged: Iterable[Judged]) -> list[JudgedSignal]:
    """Return judged records that selection's thresholds decide about: kept ones, and those that
    fail one rule."""
    found = []
    for one in judged:
        failed = tuple(one.record["failed_rules"] or ())
        is_alone = one.stratum.stage == "selection" and len(failed) == 1
        if (one.stratum.is_kept or is_alone) and one.good != 0.5:
            found.append(
                JudgedSignal(
                    place_of(one.record),
                    one.record["domain"],
                    one.record["language"] or None,
                    failed[0] if is_alone else None,
                    one.good > 0.5,
                )
            )
    return found


def _all_judgements(lineage: Lineage) -> list[JudgementRow]:
    """Return all judgements; without their words where a takedown covers the record."""
    return [
        row if may_be_shown(lineage, row) else replace(row, why=None)
        for row in lineage.registry.judgements(lineage.version.name)
    ]
