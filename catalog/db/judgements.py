"""The registry's methods for people's judgements of decisions, and the gate that counts them.

A judgement is about one record of one version. When a version takes the place of another after a
takedown, judgements go on to it, less those about records that were removed, whose words are gone
with them: a revoked version has none.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from sqlalchemy import Connection, delete, insert, select

from catalog.db.database import Database, timestamp
from catalog.db.models import Gate, Judgement, Version, pick, read_rows, values_of
from catalog.db.rows import GateRow, JudgementRow
from catalog.errors import CatalogConflict
from catalog.figures import counted, wilson

REVIEW = "review"
MAX_WHY_CHARS = 2_000


@dataclass(frozen=True)
class JudgementCounts:
    """Judgements of one reason: how many, how many disagree, and the interval of that share."""

    stage: str
    reason: str
    judged: int
    disagreed: int

    @property
    def share(self) -> float:
        return self.disagreed / self.judged if self.judged else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.disagreed, self.judged)


def summed(rows: Iterable[JudgementRow]) -> list[JudgementCounts]:
    """Add judgements up by stage and reason, those with most disagreement first."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        count = counts.setdefault((row.stage, row.reason), [0, 0])
        count[0] += 1
        count[1] += not row.agrees
    found = [JudgementCounts(*key, *count) for key, count in counts.items()]
    return sorted(found, key=lambda one: (-one.interval[0], -one.share, one.stage, one.reason))


class JudgementMethods:
    """What `Registry` knows of judgements; each method is one transaction."""

    database: Database

    def judge(self, row: JudgementRow) -> None:
        """Record a judgement, the last one of a person on a record stands; the version's gate is
        recounted."""
        if not row.judged_by.strip():
            raise CatalogConflict("a judgement needs the name of its reviewer")
        if row.why is not None and len(row.why) > MAX_WHY_CHARS:
            raise CatalogConflict(f"the reason is longer than {MAX_WHY_CHARS:,} characters")
        with self.database.write() as connection:
            _require_live(connection, row.version)
            same = [Judgement.c[name] == getattr(row, name) for name in KEY]
            connection.execute(delete(Judgement).where(*same))
            values = values_of(row) | {"created_at": row.created_at or timestamp()}
            connection.execute(insert(Judgement).values(**values))
            count_review(connection, row.version)

    def withdraw_judgement(
        self, version: str, doc_id: str, snapshot: str, part: int, offset: int, judged_by: str
    ) -> None:
        """Delete a person's judgement on a record, where there is one; the version's gate is
        recounted."""
        given = (version, doc_id, snapshot, part, offset, judged_by)
        with self.database.write() as connection:
            _require_live(connection, version)
            same = [Judgement.c[name] == value for name, value in zip(KEY, given, strict=True)]
            connection.execute(delete(Judgement).where(*same))
            count_review(connection, version)

    def judgements(self, version: str) -> list[JudgementRow]:
        """Return the judgements about a version, oldest first."""
        with self.database.read() as connection:
            return _judgements(connection, version)


KEY = ("version", "doc_id", "snapshot", "part", "offset", "judged_by")


def _require_live(connection: Connection, version: str) -> None:
    status = select(Version.c.status).where(Version.c.name == version)
    if connection.scalar(status) != "live":
        raise CatalogConflict(f"{version} is not a live version: judge a live one")


def _judgements(connection: Connection, version: str) -> list[JudgementRow]:
    wanted = pick(Judgement, JudgementRow).where(Judgement.c.version == version)
    return read_rows(connection, JudgementRow, wanted.order_by(Judgement.c.id))


def hand_on(
    connection: Connection, old: str, new: str, removed: Collection[tuple[str, str, int, int]]
) -> None:
    """Give judgements of a version to the one in its place, less those about records (id, snapshot,
    part, offset) that are gone."""
    rows = _judgements(connection, old)
    connection.execute(delete(Judgement).where(Judgement.c.version == old))
    known = {(row.doc_id, row.snapshot, row.part, row.offset, row.judged_by)
             for row in _judgements(connection, new)}  # fmt: skip
    for row in rows:
        place = (row.doc_id, row.snapshot, row.part, row.offset)
        if place not in removed and (*place, row.judged_by) not in known:
            moved = values_of(replace(row, version=new))
            connection.execute(insert(Judgement).values(**moved))
    count_review(connection, new)


def count_review(connection: Connection, version: str) -> None:
    """Decide the gate `review` of a version again, where it has one."""
    wanted = pick(Gate, GateRow).where(Gate.c.version == version, Gate.c.name == REVIEW)
    for gate in read_rows(connection, GateRow, wanted):
        decided = decide(gate, _judgements(connection, version))
        connection.execute(delete(Gate).where(Gate.c.version == version, Gate.c.name == REVIEW))
        connection.execute(insert(Gate).values(**values_of(decided) | {"created_at": timestamp()}))


def decide(gate: GateRow, judgements: Iterable[JudgementRow]) -> GateRow:
    """Decide a gate whose `detail` says `min_judged`, and `threshold` how much disagreement is
    borne: passed when so many records were judged, and of no reason it is shown (by the lower end
    of the interval) that more are judged wrong."""
    found = summed(judgements)
    judged, least, most = (
        sum(one.judged for one in found),
        gate.detail["min_judged"],
        gate.threshold,
    )
    bad = [one for one in found if most is not None and one.interval[0] > most]
    if bad:
        named = ", ".join(
            f"{one.stage}/{one.reason} {one.disagreed} of {one.judged}" for one in bad[:3]
        )
        outcome, message = "failed", f"reviewers disagree with {named}"
    elif judged < least:
        outcome, message = (
            "undecided",
            f"{judged} of {least} records judged: `catalog serve --review`",
        )
    else:
        outcome, message = (
            "passed",
            f"{counted(judged, 'record')} judged, no reason is above the limit of disagreement",
        )
    worst = max((one.interval[0] for one in found), default=None)
    detail = {"min_judged": least, "outcome": outcome, "message": message}
    return replace(gate, passed=outcome == "passed", value=worst, detail=detail)
