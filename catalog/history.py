"""One document, whole: where it came from, what became of it, and where it is now."""

# ruff: noqa: S608 - FROM parts are written by Lineage.scan alone; values are always bound

from collections.abc import Iterable
from typing import Any

from catalog.errors import AmbiguousName, CatalogError, UnknownName
from catalog.lineage import Lineage, Row

MIN_PREFIX = 4
MEMBERS_SHOWN = 100


def resolve_doc_id(lineage: Lineage, written: str) -> bytes:
    """A document id from hex, whole or the start of it where only one document begins so."""
    digits = written.strip().lower()
    if not digits or len(digits) > 32 or set(digits) - set("0123456789abcdef"):
        raise CatalogError(
            f"{written!r} is not a document id: give up to 32 hex digits, or look the document up "
            "with `catalog find`"
        )
    if len(digits) < MIN_PREFIX:
        raise CatalogError(f"give at least {MIN_PREFIX} digits of a document id")
    lowest = bytes.fromhex(digits.ljust(32, "0"))
    highest = bytes.fromhex(digits.ljust(32, "f"))
    found = lineage.query(
        f"SELECT DISTINCT doc_id FROM {lineage.scan('documents')} "
        "WHERE doc_id BETWEEN ? AND ? ORDER BY doc_id LIMIT 6",
        [lowest, highest],
    )
    if not found:
        raise UnknownName(
            f"version {lineage.version.name} knows no document {digits}: it was never ingested "
            "for this version (try another --version)"
        )
    if len(found) > 1:
        some = ", ".join(row["doc_id"].hex() for row in found[:5])
        raise AmbiguousName(f"several documents begin with {digits}, give more digits: {some}")
    return bytes(found[0]["doc_id"])


def history(lineage: Lineage, doc_id: bytes) -> dict[str, Any]:
    """All that the version knows about a document, as plain values."""
    records = lineage.query(
        f'SELECT * FROM {lineage.scan("documents")} WHERE doc_id = ? ORDER BY part, "offset"',
        [doc_id],
    )
    snapshot = records[0]["snapshot"] if records else None
    parts = {row["part"] for row in records}
    decided = {
        (row["part"], row["offset"]): without(row, "doc_id")
        for row in lineage.query(
            f"SELECT * FROM {lineage.scan('decisions', snapshot, parts)} WHERE doc_id = ?",
            [doc_id],
        )
    }
    final = lineage.query(
        "SELECT domain, tier, language, boilerplate_lines, emails, ip_addresses, "
        "len(edits) AS edits, length(text) AS chars, part "
        f"FROM {lineage.scan('final_text', snapshot, parts)} WHERE doc_id = ?",
        [doc_id],
    )
    signals = lineage.query(
        f"SELECT * FROM {lineage.scan('signals', snapshot, parts)} WHERE doc_id = ? ORDER BY part",
        [doc_id],
    )
    kept = any(row["kept"] for row in decided.values())
    return {
        "doc_id": doc_id.hex(),
        "version": lineage.version.name,
        "kept": kept,
        "records": [
            without(row, "doc_id") | {"decision": decided.get((row["part"], row["offset"]))}
            for row in records
        ],
        "cluster": cluster(lineage, doc_id),
        "signals": [without(row, "doc_id") for row in signals],
        "final_text": final[0] if final else None,
        "shards": places(lineage, [doc_id], snapshot)[doc_id] if kept else [],
    }


def cluster(lineage: Lineage, doc_id: bytes) -> dict[str, Any] | None:
    """The documents that share one kept document, and which it is; None when it is alone.

    A snapshot is compared with those before it, so a document that had no copy when its own
    snapshot was decided is not listed itself: later copies name it as the one they gave way to.
    """
    scan = lineage.scan("cluster_members")
    own = lineage.query(
        f"SELECT * FROM {scan} WHERE doc_id = ? ORDER BY kept DESC, part, row", [doc_id]
    )
    kept_doc_id = own[0]["kept_doc_id"] if own else doc_id
    members = lineage.query(
        f"SELECT doc_id, snapshot, part, kind, kept, similarity FROM {scan} "
        f"WHERE kept_doc_id = ? ORDER BY kept DESC, doc_id, part, row LIMIT {MEMBERS_SHOWN}",
        [kept_doc_id],
    )
    if not members:
        return None
    if not any(row["kept"] for row in members):
        members = _kept_alone(lineage, kept_doc_id) + members
    mine = own[0] if own else members[0]
    return {
        "cluster_id": (own[0]["cluster_id"] if own else kept_doc_id).hex(),
        "size": _count(lineage, scan, kept_doc_id),
        "kept_doc_id": kept_doc_id.hex(),
        "kind": mine["kind"],
        "similarity": mine["similarity"],
        "members": [row | {"doc_id": row["doc_id"].hex()} for row in members],
    }


def _count(lineage: Lineage, scan: str, kept_doc_id: bytes) -> int:
    """The kept document and all that gave way to it."""
    found = lineage.query(
        f"SELECT count(*) AS n FROM {scan} WHERE kept_doc_id = ? AND NOT kept", [kept_doc_id]
    )
    return int(found[0]["n"]) + 1


def _kept_alone(lineage: Lineage, doc_id: bytes) -> list[Row]:
    """The kept document of a cluster, where its own snapshot knew no copy of it."""
    found = lineage.query(
        f"SELECT doc_id, snapshot, part FROM {lineage.scan('decisions')} "
        "WHERE doc_id = ? ORDER BY kept DESC, part LIMIT 1",
        [doc_id],
    )
    return [row | {"kind": "first", "kept": True, "similarity": 1.0} for row in found]


def places(
    lineage: Lineage, doc_ids: Iterable[bytes], snapshot: str | None = None
) -> dict[bytes, list[Row]]:
    """Where each document's tokens are: shard, sample, offset, length, in token order."""
    found: dict[bytes, list[Row]] = {doc_id: [] for doc_id in doc_ids}
    if not found:
        return found
    rows = lineage.query(
        'SELECT doc_id, shard, sample, "offset", length, doc_token_offset '
        f"FROM {lineage.scan('spans', snapshot)} "
        "WHERE doc_id IN (SELECT unnest(?::BLOB[])) ORDER BY shard, doc_token_offset",
        [list(found)],
    )
    for row in rows:
        found[bytes(row.pop("doc_id"))].append(row)
    return found


def fate(decision: Row | None) -> str:
    """A decision in words."""
    if decision is None:
        return "no decision recorded"
    if decision["kept"]:
        return f"kept ({decision['domain']}, {decision['tier']})"
    detail = f" ({decision['detail']})" if decision.get("detail") else ""
    return f"dropped by {decision['stage']}: {decision['reason']}{detail}"


def without(row: Row, *names: str) -> Row:
    """The row less some columns."""
    return {name: value for name, value in row.items() if name not in names}
