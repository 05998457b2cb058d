"""Point look-ups over a version's lineage, by its key files.

The cost is one short search a run and a row group or two for each row found; a test holds the
answers against scans. Everything above (`find`, `history`, `trace`) asks here.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from catalog.db import LineageRow
from catalog.formats.key_files import (
    CLUSTER_IDS,
    DOCUMENT_IDS,
    SPAN_IDS,
    TEXT_IDS,
    URL_KEYS,
    id_key,
    url_hash,
)
from catalog.lineage.duck import Row
from catalog.lineage.rows import Rows, domain_ranges, ids_between
from catalog.lineage.tables import Lineage

SHOWN = ("doc_id", "snapshot", "part", "offset", "url", "url_key", "file")
SPAN = ("sample", "offset", "length", "doc_token_offset")
MEMBER = ("doc_id", "snapshot", "part", "kind", "kept", "similarity")
LONG = 20_000  # rows of one cluster from which on a scan is the shorter way

Found = Sequence[tuple[LineageRow, Rows]]


def doc_ids_between(lineage: Lineage, lowest: bytes, highest: bytes, limit: int) -> list[bytes]:
    """Return documents of the version whose ids are in a range, ascending, the first `limit`."""
    return ids_between(lineage.keys, lineage.rows, lowest, highest, limit)


def records_of(lineage: Lineage, doc_id: bytes) -> list[Row]:
    """Return all records with an id (a capture may stand in several parts), by part and offset."""
    found = lineage.keys.find(DOCUMENT_IDS, id_key(doc_id))
    rows = [row for row in _rows(lineage, found) if row["doc_id"] == doc_id]
    return sorted(rows, key=lambda row: (row["part"], row["offset"]))


def places_of(lineage: Lineage, doc_id: bytes) -> list[tuple[str, int]]:
    """Return (snapshot, part) of every record with an id."""
    return list(
        dict.fromkeys((row["snapshot"], row["part"]) for row in records_of(lineage, doc_id))
    )


def records_by_url(lineage: Lineage, keys: Sequence[str], limit: int) -> tuple[int, list[Row]]:
    """Return how many records have one of some url_keys, and the first of them."""
    found = [
        pair for key in dict.fromkeys(keys) for pair in lineage.keys.find(URL_KEYS, url_hash(key))
    ]
    return _confirmed(lineage, _merged(found), "url_key", set(keys), limit)


def records_by_id(lineage: Lineage, ids: Sequence[bytes], limit: int) -> tuple[int, list[Row]]:
    """Return how many records some documents have, and the first of them."""
    found = [
        pair for one in dict.fromkeys(ids) for pair in lineage.keys.find(DOCUMENT_IDS, id_key(one))
    ]
    return _confirmed(lineage, _merged(found), "doc_id", set(ids), limit)


def records_by_host(lineage: Lineage, host_key: str, limit: int) -> tuple[int, list[Row]]:
    """Return how many records a host and its subdomains have, and the first of them."""
    found = lineage.keys.hosts(domain_ranges(host_key))
    return sum(len(rows) for _, rows in found), _first(lineage, found, limit)


def doc_ids_of_text(lineage: Lineage, text_ids: Sequence[bytes]) -> list[bytes]:
    """Return documents whose extracted text has one of some ids, ascending."""
    found = [
        pair for one in dict.fromkeys(text_ids) for pair in lineage.keys.find(TEXT_IDS, id_key(one))
    ]
    hits = _rows(lineage, found, ("doc_id", "text_id"))
    return sorted({bytes(row["doc_id"]) for row in hits if row["text_id"] in set(text_ids)})


def spans_of(
    lineage: Lineage, doc_ids: Iterable[bytes], snapshot: str | None = None
) -> dict[bytes, list[Row]]:
    """Return where each document's tokens are: shard, sample, offset, length, in token order."""
    found: dict[bytes, list[Row]] = {doc_id: [] for doc_id in doc_ids}
    places = [pair for doc_id in found for pair in lineage.keys.find(SPAN_IDS, id_key(doc_id))]
    for file, numbers in sorted(_merged(places), key=lambda pair: pair[0].shard or ""):
        if snapshot is not None and file.snapshot != snapshot:
            continue
        rows = lineage.rows.take(file.path, numbers, ("doc_id", *SPAN)).to_pylist()
        for row in sorted(rows, key=lambda row: int(row["doc_token_offset"])):
            doc_id = bytes(row.pop("doc_id"))
            if doc_id in found:
                found[doc_id].append({"shard": file.shard} | row)
    return found


def cluster_rows(lineage: Lineage, doc_id: bytes) -> list[Row]:
    """Return what the searches for duplicates say of a document; the row that keeps it first."""
    found = _members(lineage, doc_id)
    if found is None:
        return lineage.query(
            f"SELECT * FROM {lineage.scan('cluster_members')} WHERE doc_id = ? "
            "ORDER BY kept DESC, part, row",
            [doc_id],
        )
    rows = [row for row in _rows(lineage, found) if row["doc_id"] == doc_id]
    return sorted(rows, key=lambda row: (not row["kept"], row["part"], row["row"]))


def members_of(lineage: Lineage, kept_doc_id: bytes, limit: int) -> tuple[int, list[Row]]:
    """Return how many gave way to a document, and the first members of its cluster, the kept one
    first."""
    found = _members(lineage, kept_doc_id)
    if found is None:
        scan = lineage.scan("cluster_members")
        rows = lineage.query(
            f"SELECT {', '.join(MEMBER)} FROM {scan} "
            "WHERE kept_doc_id = ? ORDER BY kept DESC, doc_id, part, row LIMIT ?",
            [kept_doc_id, limit],
        )
        gone = lineage.query(
            f"SELECT count(*) AS n FROM {scan} WHERE kept_doc_id = ? AND NOT kept", [kept_doc_id]
        )
        return int(gone[0]["n"]), rows
    rows = [
        row
        for row in _rows(lineage, found, (*MEMBER, "row", "kept_doc_id"))
        if row["kept_doc_id"] == kept_doc_id
    ]
    rows.sort(key=lambda row: (not row["kept"], row["doc_id"], row["part"], row["row"]))
    shown = [{name: row[name] for name in MEMBER} for row in rows[:limit]]
    return sum(not row["kept"] for row in rows), shown


def _members(lineage: Lineage, doc_id: bytes) -> Found | None:
    """Return rows of cluster members that name a document; None where they are so many that a scan
    is the shorter way."""
    found = lineage.keys.find(CLUSTER_IDS, id_key(doc_id))
    return None if sum(len(rows) for _, rows in found) > LONG else found


def _rows(lineage: Lineage, found: Found, columns: Sequence[str] | None = None) -> Iterable[Row]:
    for file, numbers in _merged(found):
        yield from lineage.rows.take(file.path, numbers, columns).to_pylist()


def _merged(found: Found) -> list[tuple[LineageRow, Rows]]:
    """Return each file once, its rows ascending."""
    by_file: dict[LineageRow, list[Rows]] = {}
    for file, numbers in found:
        by_file.setdefault(file, []).append(numbers)
    return [
        (file, some[0] if len(some) == 1 else np.unique(np.concatenate(some)))
        for file, some in by_file.items()
    ]


def _first(
    lineage: Lineage,
    found: Found,
    limit: int,
    wanted: Callable[[Row], bool] = lambda row: True,
) -> list[Row]:
    """Return the first records by (snapshot, part, offset, doc_id); parts behind them are not
    read."""
    shown: list[Row] = []
    for file, numbers in sorted(found, key=lambda pair: (pair[0].snapshot, pair[0].part or 0)):
        if len(shown) >= limit:
            break
        left = limit - len(shown)
        if len(numbers) > left:  # read of all rows only what decides which are first
            offsets = lineage.rows.take(file.path, numbers, ("offset",))["offset"].to_numpy()
            numbers = np.sort(numbers[np.argsort(offsets, kind="stable")[:left]])
        rows = lineage.rows.take(file.path, numbers, SHOWN).to_pylist()
        rows.sort(key=lambda row: (row["offset"], row["doc_id"]))
        shown += [row for row in rows if wanted(row)]
    return shown[:limit]


def _confirmed(
    lineage: Lineage, found: Found, column: str, values: set[Any], limit: int
) -> tuple[int, list[Row]]:
    rows = _first(lineage, found, sum(len(n) for _, n in found), lambda row: row[column] in values)
    return len(rows), rows[:limit]
