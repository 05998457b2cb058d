"""One record of a sample for people to judge, and their judgement of it.

A judgement says whether the decision was right (`agrees`), which says of the document whether it is
good: it belongs in the corpus.
"""

from collections.abc import Mapping

from catalog.ask import refuse_suppressed
from catalog.db import JudgementRow
from catalog.errors import CatalogError, TakedownRefused, UnknownName
from catalog.lineage import Lineage, Row, cluster_rows
from catalog.review.strata import DECISION, KEPT

MAX_CHARS = 20_000  # of a text on a page
CLUSTERS = "clusters"  # the stage that drops copies

Place = tuple[str, str, int, int]


def place_of(row: Row | JudgementRow) -> Place:
    """Return what names a record: its document's id in hex, snapshot, part and offset."""
    if isinstance(row, JudgementRow):
        return row.doc_id, row.snapshot, row.part, row.offset
    return row["doc_id"].hex(), row["snapshot"], row["part"], row["offset"]


def is_good(row: JudgementRow) -> bool:
    """Whether a judgement finds the document good."""
    return row.agrees == (row.stage == KEPT)


def shown_record(lineage: Lineage, row: Row) -> Row | None:
    """Return a record of a sample with its address, title, signals and text (the final one where it
    is kept), and the document that it is a copy of; None where a takedown covers it."""
    doc_id, place = row["doc_id"], (row["snapshot"], [row["part"]])
    record = _record(lineage, doc_id, row["snapshot"], row["part"], row["offset"])
    if record is None:
        return None
    documents = lineage.documents_in("documents", [doc_id], *place, ("title", "text"))
    finals = lineage.documents_in("final_text", [doc_id], *place, ("text",)) if row["kept"] else ()
    signals = lineage.documents_in("signals", [doc_id], *place)
    copies = cluster_rows(lineage, doc_id) if row["stage"] == CLUSTERS else ()
    text = next((one["text"] for one in (*finals, *documents)), None)
    return row | {
        "doc_id": doc_id.hex(),
        "url": record["url"] or record["url_key"],
        "title": documents[0]["title"] if documents else None,
        "text": text and text[:MAX_CHARS],
        "more": max(0, len(text or "") - MAX_CHARS),
        "signals": signals[0] if signals else {},
        "copy_of": copies[0]["kept_doc_id"].hex() if copies else None,
    }


def may_be_shown(lineage: Lineage, row: JudgementRow) -> bool:
    """Whether the version has the record of a judgement, and no takedown covers it."""
    doc_id = bytes.fromhex(row.doc_id)
    return _record(lineage, doc_id, row.snapshot, row.part, row.offset) is not None


def new_judgement(
    lineage: Lineage, place: Mapping[str, str], good: bool, why: str, by: str
) -> JudgementRow:
    """Return a judgement about the record at a place (doc_id, snapshot, part, offset), whether its
    document is good, with what the version decided about it."""
    doc_id, snapshot, part, offset = parse_place(place)
    rows = lineage.query(
        f"SELECT {DECISION} AS decision, language "
        f'FROM {lineage.scan("decisions", snapshot, [part])} WHERE doc_id = ? AND "offset" = ?',
        [bytes.fromhex(doc_id), offset],
    )
    if not rows or _record(lineage, bytes.fromhex(doc_id), snapshot, part, offset) is None:
        raise UnknownName(f"version {lineage.version.name} has no such record to judge")
    stage, _, reason = rows[0]["decision"].partition(": ")
    return JudgementRow(
        version=lineage.version.name,
        doc_id=doc_id,
        snapshot=snapshot,
        part=part,
        offset=offset,
        stage=stage,
        reason=reason,
        agrees=good == (stage == KEPT),
        why=why.strip() or None,
        judged_by=by.strip(),
        language=rows[0]["language"],
    )


def parse_place(written: Mapping[str, str]) -> Place:
    """Read the fields of a form that name a record."""
    try:
        doc_id = bytes.fromhex(written["doc_id"]).hex()
        return doc_id, written["snapshot"], int(written["part"]), int(written["offset"])
    except (KeyError, ValueError) as error:
        raise CatalogError(
            "a judgement names its record by doc_id, snapshot, part and offset"
        ) from error


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
