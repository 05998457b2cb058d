"""The look-ups of `catalog.lineage.lookups` once more, as plain scans: what key files must find."""

from collections.abc import Iterable, Sequence
from typing import Any

from catalog.lineage.duck import Row
from catalog.lineage.lookups import MEMBER
from catalog.lineage.tables import Lineage


def doc_ids_between(lineage: Lineage, lowest: bytes, highest: bytes, limit: int) -> list[bytes]:
    rows = lineage.query(
        f"SELECT DISTINCT doc_id FROM {lineage.scan('records')} "
        "WHERE doc_id BETWEEN ? AND ? ORDER BY doc_id LIMIT ?",
        [lowest, highest, limit],
    )
    return [bytes(row["doc_id"]) for row in rows]


def records_of(lineage: Lineage, doc_id: bytes) -> list[Row]:
    return lineage.query(
        f'SELECT * FROM {lineage.scan("records")} WHERE doc_id = ? ORDER BY part, "offset"',
        [doc_id],
    )


def records_by_url(lineage: Lineage, keys: Sequence[str], limit: int) -> tuple[int, list[Row]]:
    return _records(lineage, "url_key IN (SELECT unnest(?::VARCHAR[]))", [list(keys)], limit)


def records_by_id(lineage: Lineage, ids: Sequence[bytes], limit: int) -> tuple[int, list[Row]]:
    return _records(lineage, "doc_id IN (SELECT unnest(?::BLOB[]))", [list(ids)], limit)


def records_by_host(lineage: Lineage, host_key: str, limit: int) -> tuple[int, list[Row]]:
    starts = [f"{host_key}{end}" for end in (")", ":", ",")]  # the host, a port, a subdomain
    condition = " OR ".join(["starts_with(url_key, ?)"] * len(starts))
    return _records(lineage, f"host IS NOT NULL AND ({condition})", starts, limit)


def doc_ids_of_text(lineage: Lineage, text_ids: Sequence[bytes]) -> list[bytes]:
    rows = lineage.query(
        f"SELECT DISTINCT doc_id FROM {lineage.scan('documents')} "
        "WHERE text_id IN (SELECT unnest(?::BLOB[])) ORDER BY doc_id",
        [list(text_ids)],
    )
    return [bytes(row["doc_id"]) for row in rows]


def spans_of(
    lineage: Lineage, doc_ids: Iterable[bytes], snapshot: str | None = None
) -> dict[bytes, list[Row]]:
    found: dict[bytes, list[Row]] = {doc_id: [] for doc_id in doc_ids}
    for row in lineage.query(
        'SELECT doc_id, shard, sample, "offset", length, doc_token_offset '
        f"FROM {lineage.scan('spans', snapshot)} "
        "WHERE doc_id IN (SELECT unnest(?::BLOB[])) ORDER BY shard, doc_token_offset",
        [list(found)],
    ):
        found[bytes(row.pop("doc_id"))].append(row)
    return found


def cluster_rows(lineage: Lineage, doc_id: bytes) -> list[Row]:
    return lineage.query(
        f"SELECT * FROM {lineage.scan('cluster_members')} WHERE doc_id = ? "
        "ORDER BY kept DESC, part, row",
        [doc_id],
    )


def members_of(lineage: Lineage, kept_doc_id: bytes, limit: int) -> tuple[int, list[Row]]:
    rows = lineage.query(
        f"SELECT {', '.join(MEMBER)} FROM {lineage.scan('cluster_members')} "
        "WHERE kept_doc_id = ? ORDER BY kept DESC, doc_id, part, row",
        [kept_doc_id],
    )
    return sum(not row["kept"] for row in rows), rows[:limit]


def _records(
    lineage: Lineage, condition: str, parameters: Sequence[Any], limit: int
) -> tuple[int, list[Row]]:
    rows = lineage.query(
        'SELECT doc_id, snapshot, part, "offset", url, url_key, file '
        f"FROM {lineage.scan('records')} WHERE {condition} "
        'ORDER BY snapshot, part, "offset", doc_id',
        parameters,
    )
    return len(rows), rows[:limit]
