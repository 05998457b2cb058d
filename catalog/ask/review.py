"""Samples of decisions for people to judge, and their judgements."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from catalog.answers import Shown
from catalog.ask.raw import refuse_suppressed
from catalog.ask.versions import version_funnel
from catalog.db import JudgementRow, LineageRow, summed
from catalog.errors import CatalogError, TakedownRefused, UnknownName
from catalog.formats.lineage_tables import DROPPING_STAGES
from catalog.lineage import Lineage, Row

KEPT = "kept"
MOST_RECORDS = 500_000  # that a sample is drawn from, in whole files
DRAWN = 50
MAX_CHARS = 6_000  # of a text on a page

REASON = "CASE WHEN kept THEN concat_ws(' / ', domain, tier) ELSE reason END"
STAGE = "CASE WHEN kept THEN 'kept' ELSE stage END"


def review_groups(lineage: Lineage) -> list[Row]:
    """Return what can be asked for: stage, reason and language, with the number of records in the
    files that samples are drawn from."""
    return sorted(
        lineage.query(
            f"SELECT {STAGE} AS stage, {REASON} AS reason, language, count(*) AS n "
            f"FROM {_scan(lineage)} WHERE reason IS DISTINCT FROM 'suppressed' GROUP BY ALL"
        ),
        key=lambda row: (
            (KEPT, *DROPPING_STAGES).index(row["stage"]),
            row["reason"],
            row["language"] or "",
        ),
    )


def next_sample(lineage: Lineage, asked: Mapping[str, str], by: str, skip: int) -> Row | None:
    """Return the next record that fits `asked` (stage, reason, language; each may be left out) and
    that `by` has not judged, `skip` of them passed over; None where there is none.

    Records come in an order of hashes of their ids, which is the same for all who ask. What a
    standing order covers is passed over.
    """
    judged = {
        (row.doc_id, row.snapshot, row.part, row.offset)
        for row in lineage.registry.judgements(lineage.version.name)
        if row.judged_by == by
    }
    filters = {"stage": STAGE, "reason": REASON, "language": "coalesce(language, '')"}
    wanted = {name: value for name in filters if (value := asked.get(name))}
    conditions = " AND ".join(f"{filters[name]} = ?" for name in wanted) or "true"
    limit = DRAWN + len(judged) + skip
    found = lineage.query(
        f'SELECT doc_id, snapshot, part, "offset", {STAGE} AS stage, {REASON} AS reason, language, '
        f"detail, failed_rules, domain FROM {_scan(lineage)} WHERE reason IS DISTINCT FROM 'suppressed' "
        f'AND {conditions} ORDER BY md5(hex(doc_id)), "offset" LIMIT {limit:d}',
        list(wanted.values()),
    )
    for row in found:
        if (row["doc_id"].hex(), row["snapshot"], row["part"], row["offset"]) in judged:
            continue
        shown = _shown(lineage, row)
        if shown is None:
            continue
        if skip == 0:
            return shown
        skip -= 1
    return None


@dataclass(frozen=True)
class ReasonJudgements:
    """Judgements of a reason; `share` of them disagree, `low` to `high` is its 95% interval."""

    stage: str
    reason: str
    records: int
    judged: int
    disagreed: Annotated[int, Shown("disagree")]
    share: Annotated[float, Shown(form=lambda share: f"{share:.1%}")]
    low: float
    high: float

    shows: ClassVar = ("decision", "records", "judged", "disagreed", "share", "interval")

    @property
    def decision(self) -> str:
        return f"{self.stage}: {self.reason}"

    @property
    def interval(self) -> Annotated[str, Shown("95% interval")]:
        return f"{self.low:.1%} to {self.high:.1%}"


@dataclass(frozen=True)
class Judgements:
    """Reviewers' judgements of a version's decisions; each of them only where it was asked for."""

    version: str
    state: str
    reasons: list[ReasonJudgements]
    judgements: Annotated[
        list[JudgementRow] | None,
        Shown(columns=("doc_id", "decision", "judged_by", "agrees", "why")),
    ] = None

    shows: ClassVar = ("reasons", "judgements")

    @property
    def conclusion(self) -> str | None:
        if self.reasons:
            return None
        return f"no judgements of {self.version} yet; record some in `catalog serve --review`"


def list_judgements(lineage: Lineage, listed: bool) -> Judgements:
    """Return judgements by reason, and with `listed` each of them."""
    version = lineage.version
    each = all_judgements(lineage) if listed else None
    return Judgements(version.name, version.state, summarise_judgements(lineage), each)


def summarise_judgements(lineage: Lineage) -> list[ReasonJudgements]:
    """Return judgements by reason, with how many records that reason has in the version."""
    rows = lineage.registry.judgements(lineage.version.name)
    if not rows:
        return []
    totals = Counter(
        {
            (step["stage"], reason): n
            for step in version_funnel(lineage)
            for n, reason in step["reasons"]
        }
    )
    for shard in lineage.registry.version_shards(lineage.version.name):
        totals[KEPT, f"{shard.domain} / {shard.tier}"] += shard.documents
    return [
        ReasonJudgements(one.stage, one.reason, totals[one.stage, one.reason], one.judged, one.disagreed,
               one.share, *one.interval)
        for one in summed(rows)
    ]  # fmt: skip


def all_judgements(lineage: Lineage) -> list[JudgementRow]:
    """Return all judgements; without their words where a standing order covers the record."""
    return [
        row if _may_be_shown(lineage, row) else replace(row, why=None)
        for row in lineage.registry.judgements(lineage.version.name)
    ]


def _may_be_shown(lineage: Lineage, row: JudgementRow) -> bool:
    doc_id = bytes.fromhex(row.doc_id)
    return _record(lineage, doc_id, row.snapshot, row.part, row.offset) is not None


def new_judgement(
    lineage: Lineage, place: Mapping[str, str], agrees: bool, why: str, by: str
) -> JudgementRow:
    """Return a judgement about the record at a place (doc_id, snapshot, part, offset), with what
    the version decided about it."""
    try:
        doc_id, part, offset = (
            bytes.fromhex(place["doc_id"]), int(place["part"]), int(place["offset"])
        )  # fmt: skip
        snapshot = place["snapshot"]
    except (KeyError, ValueError) as error:
        raise CatalogError(
            "a judgement names its record by doc_id, snapshot, part and offset"
        ) from error
    rows = lineage.query(
        f"SELECT {STAGE} AS stage, {REASON} AS reason, language "
        f'FROM {lineage.scan("decisions", snapshot, [part])} WHERE doc_id = ? AND "offset" = ?',
        [doc_id, offset],
    )
    if not rows or _record(lineage, doc_id, snapshot, part, offset) is None:
        raise UnknownName(f"version {lineage.version.name} has no such record to judge")
    return JudgementRow(
        version=lineage.version.name,
        doc_id=doc_id.hex(),
        snapshot=snapshot,
        part=part,
        offset=offset,
        stage=rows[0]["stage"],
        reason=rows[0]["reason"],
        agrees=agrees,
        why=why.strip() or None,
        judged_by=by.strip(),
        language=rows[0]["language"],
    )


def _scan(lineage: Lineage) -> str:
    """Read all decisions, or those of files that are drawn by their names: a page waits for it."""
    drawn: list[LineageRow] = []
    records = 0
    for file in sorted(lineage.files["decisions"], key=_drawn):
        if drawn and records + file.rows > MOST_RECORDS:
            break
        drawn.append(file)
        records += file.rows
    return lineage.scan("decisions", files=drawn)


def _drawn(file: LineageRow) -> str:
    return hashlib.sha256(f"{file.snapshot}/{file.part}".encode()).hexdigest()


def _shown(lineage: Lineage, row: Row) -> Row | None:
    """Return a record with its address and text: the final one where it is kept."""
    doc_id, place = row["doc_id"], (row["snapshot"], [row["part"]])
    record = _record(lineage, doc_id, row["snapshot"], row["part"], row["offset"])
    if record is None:
        return None
    table = "final_text" if row["stage"] == KEPT else "documents"
    texts = lineage.documents_in(table, [doc_id], *place, ("text",))
    signals = lineage.documents_in("signals", [doc_id], *place)
    text = texts[0]["text"] if texts else None
    return row | {
        "doc_id": doc_id.hex(),
        "url": record["url"] or record["url_key"],
        "text": text and text[:MAX_CHARS],
        "more": max(0, len(text or "") - MAX_CHARS),
        "signals": signals[0] if signals else {},
    }


def _record(lineage: Lineage, doc_id: bytes, snapshot: str, part: int, offset: int) -> Row | None:
    """Return a record of the ledger; None where it is not there or an order covers it."""
    for record in lineage.documents_in("records", [doc_id], snapshot, [part]):
        if record["offset"] == offset:
            try:
                refuse_suppressed(lineage, doc_id, record)
            except TakedownRefused:
                return None
            return record
    return None
