"""Strata of a version's records, and a stratified sample of them for people to read.

A stratum is what decided about a record (stage and reason; of a kept one its domain and tier), its
language, and its page type where the recipe notes one. Records of a stratum come in the order of a
keyed hash of their ids, and strata take turns in a fixed order: a larger sample contains the
smaller one, all who ask get the same, and a takedown moves no other record of a stratum. So what was
judged of a stratum is a random sample of it, whichever sample it was judged in.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from itertools import islice, repeat
from math import inf, sqrt
from typing import NamedTuple

from catalog.ask import withheld
from catalog.db import LineageRow
from catalog.formats.lineage_tables import DROPPING_STAGES
from catalog.lineage import Lineage, Row

KEPT = "kept"
BEFORE_TEXT = DROPPING_STAGES[0]
"""The stage whose drops have no text: they are drawn only where their rule is asked for."""

MOST_RECORDS = 500_000  # that are looked at, in whole files
DRAWN = 60  # of each side
MOST_DRAWN = 1_000

DECISION = (
    "CASE WHEN kept THEN 'kept: ' || concat_ws(' / ', domain, tier) "
    "ELSE stage || ': ' || reason END"
)
ORDER = "md5('review' || hex(doc_id)), snapshot, part, \"offset\""


class Stratum(NamedTuple):
    """Records with one outcome, language and page type; an empty name is of those without one."""

    decision: str
    language: str
    page_type: str

    @property
    def is_kept(self) -> bool:
        return self.stage == KEPT

    @property
    def stage(self) -> str:
        return self.decision.partition(": ")[0]

    @property
    def reason(self) -> str:
        return self.decision.partition(": ")[2]


Sizes = Mapping[Stratum, int]


@dataclass(frozen=True)
class Asked:
    """Which records to draw: how many of each side; of one decision, language or page type, where
    that is not empty."""

    kept: int = DRAWN
    dropped: int = DRAWN
    decision: str = ""
    language: str = ""
    page_type: str = ""

    def fits(self, stratum: Stratum) -> bool:
        has_text = stratum.stage != BEFORE_TEXT or bool(self.decision)
        pairs = zip((self.decision, self.language, self.page_type), stratum, strict=True)
        return has_text and all(wanted in ("", found) for wanted, found in pairs)


@dataclass(frozen=True)
class Drawn:
    """A sample: records, kept and dropped in turns, each with its `stratum`, the number of records
    in it (`of`) and how many of these are in the sample (`among`).

    `unrepresented` are decisions that have records and none in the sample; `withheld` is the number
    of records that a takedown covers, which are left out.
    """

    records: Sequence[Row]
    unrepresented: Sequence[str]
    withheld: int


def stratum_sizes(lineage: Lineage) -> Sizes:
    """Count the records of each stratum, in the files that samples are drawn from."""
    rows = lineage.query(
        "SELECT decision, language, page_type, count(*) AS n "
        f"FROM {_records(lineage, _files(lineage))} GROUP BY ALL"
    )
    return {Stratum(row["decision"], row["language"], row["page_type"]): row["n"] for row in rows}


def records_each(lineage: Lineage) -> float:
    """Return how many records of the version each record stands for that is looked at."""
    looked_at = sum(file.rows for file in _files(lineage))
    return sum(file.rows for file in lineage.files["decisions"]) / max(1, looked_at)


def strata_of(
    lineage: Lineage, doc_ids: Iterable[str], places: Iterable[tuple[str, int]]
) -> list[Row]:
    """Return the records of some documents in some parts (snapshot, part), with their strata."""
    wanted = set(places)
    files = [one for one in lineage.files["decisions"] if (one.snapshot, one.part) in wanted]
    return lineage.query(
        f"SELECT * FROM {_records(lineage, files)} "
        "WHERE doc_id IN (SELECT unhex(unnest(?::VARCHAR[])))",
        [sorted(set(doc_ids))],
    )


def draw(lineage: Lineage, sizes: Sizes, asked: Asked) -> Drawn:
    """Draw a stratified sample, less what takedowns cover."""
    fitting = [one for one in sizes if asked.fits(one)]
    kept, dropped = (
        {tuple(one): sizes[one] for one in fitting if one.is_kept == is_kept}
        for is_kept in (True, False)
    )
    turns = _in_turns(
        list(islice(allocated(kept), asked.kept)), list(islice(allocated(dropped), asked.dropped))
    )
    numbers = Counter(turns)
    found = {
        (Stratum(row["decision"], row["language"], row["page_type"]), row["place"]): row
        for row in _first_of(lineage, numbers)
    }
    covered = withheld(lineage, [row["doc_id"] for row in found.values()])
    taken: Counter[Stratum] = Counter()
    records = []
    for stratum in turns:
        taken[stratum] += 1
        row = found[stratum, taken[stratum]]
        if row["doc_id"] not in covered:
            size = {"stratum": stratum, "of": sizes[stratum], "among": numbers[stratum]}
            records.append(row | size)
    decisions = {stratum.decision for stratum in numbers}
    missing = sorted({one.decision for one in fitting} - decisions)
    return Drawn(records, missing, len(turns) - len(records))


def allocated(sizes: Mapping[tuple[str, ...], int]) -> Iterator[tuple[str, ...]]:
    """Yield the stratum of each record to draw, in order, until none is left.

    1. Decisions take turns: each first once, the largest first; after that the one with the largest
       sqrt(records) / drawn (Adams' method of apportionment, over square roots: between equal
       numbers, which estimate each decision best, and proportional ones, which estimate all best).
    2. The turns of a decision go to its languages in the same way, and those to page types.
    """
    if set(sizes) == {()}:
        yield from repeat((), sizes[()])
        return
    branches: dict[str, dict[tuple[str, ...], int]] = {}
    for path, size in sizes.items():
        branches.setdefault(path[0], {})[path[1:]] = size
    totals = {name: sum(branch.values()) for name, branch in branches.items()}
    below = {name: allocated(branch) for name, branch in branches.items()}
    drawn: Counter[str] = Counter()
    turns = [(-inf, -total, name) for name, total in totals.items()]
    heapify(turns)
    while turns:
        _, total, name = turns[0]
        rest = next(below[name], None)
        if rest is None:
            heappop(turns)
            continue
        drawn[name] += 1
        heapreplace(turns, (-sqrt(totals[name]) / drawn[name], total, name))
        yield (name, *rest)


def _in_turns(kept: Sequence[tuple[str, ...]], dropped: Sequence[tuple[str, ...]]) -> list[Stratum]:
    """Mix both sides evenly, so that the beginning of a sample is a sample too."""
    places = [
        ((number + 0.5) / len(side), is_dropped, Stratum(*path))
        for is_dropped, side in enumerate((kept, dropped))
        for number, path in enumerate(side)
    ]
    return [stratum for _, _, stratum in sorted(places, key=lambda one: one[:2])]


def _first_of(lineage: Lineage, numbers: Mapping[Stratum, int]) -> list[Row]:
    """Return the first records of each stratum, with their `place` in its order from 1."""
    if not numbers:
        return []
    wanted = ", ".join(["(?, ?, ?, ?)"] * len(numbers))
    return lineage.query(
        f"SELECT found.*, row_number() OVER (PARTITION BY decision, language, page_type "
        f"ORDER BY {ORDER}) AS place FROM {_records(lineage, _files(lineage))} AS found "
        f"JOIN (VALUES {wanted}) AS wanted(decision, language, page_type, n) "
        "USING (decision, language, page_type) QUALIFY place <= n",
        [value for stratum, n in numbers.items() for value in (*stratum, n)],
    )


def _records(lineage: Lineage, files: Sequence[LineageRow]) -> str:
    """Return what to write after FROM to read decisions with their strata; those of records under
    a takedown are left out."""
    source = lineage.scan("decisions", files=files)
    places = {(file.snapshot, file.part) for file in files}
    texts = [one for one in lineage.files["documents"] if (one.snapshot, one.part) in places]
    documents = lineage.scan("documents", files=texts)
    is_noted = lineage.query(
        "SELECT true FROM (DESCRIBE SELECT * FROM " + documents + ") "
        "WHERE column_name = 'page_type'"
    )
    if is_noted:
        source += (
            ' LEFT JOIN (SELECT doc_id, snapshot, part, "offset", page_type FROM '
            f'{documents}) USING (doc_id, snapshot, part, "offset")'
        )
    page_type = "coalesce(page_type, '')" if is_noted else "''"
    return (
        f"(SELECT * REPLACE (coalesce(language, '') AS language), {DECISION} AS decision, "
        f"{page_type} AS page_type FROM {source} WHERE reason IS DISTINCT FROM 'suppressed')"
    )


def _files(lineage: Lineage) -> list[LineageRow]:
    """Return all files of decisions, or some that are drawn by their names: a page waits for it."""
    chosen: list[LineageRow] = []
    records = 0
    for file in sorted(lineage.files["decisions"], key=_by_name):
        if chosen and records + file.rows > MOST_RECORDS:
            break
        chosen.append(file)
        records += file.rows
    return chosen


def _by_name(file: LineageRow) -> str:
    return hashlib.sha256(f"{file.snapshot}/{file.part}".encode()).hexdigest()
