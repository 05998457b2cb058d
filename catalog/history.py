"""One document, whole: where it came from, what became of it, and where it is now."""

from collections import Counter
from typing import Any

from catalog.duck import Row
from catalog.errors import AmbiguousName, CatalogError, UnknownName
from catalog.lineage import Lineage
from catalog.lookups import (
    cluster_rows,
    doc_ids_between,
    members_of,
    places_of,
    records_of,
    spans_of,
)

MIN_PREFIX = 4
MEMBERS_SHOWN = 100
FINAL = (
    "domain",
    "tier",
    "language",
    "boilerplate_lines",
    "scrubbed",
    "edits",
    "text",
)


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
    found = doc_ids_between(lineage, lowest, highest, 6)
    if not found:
        raise UnknownName(
            f"version {lineage.version.name} knows no document {digits}: it was never ingested "
            "for this version (try another --version)"
        )
    if len(found) > 1:
        some = ", ".join(doc_id.hex() for doc_id in found[:5])
        raise AmbiguousName(f"several documents begin with {digits}, give more digits: {some}")
    return found[0]


def history(lineage: Lineage, doc_id: bytes) -> dict[str, Any]:
    """All that the version knows about a document, as plain values."""
    records = records_of(lineage, doc_id)
    snapshot = records[0]["snapshot"] if records else ""
    parts = {row["part"] for row in records}
    decided = {
        (row["part"], row["offset"]): without(row, "doc_id")
        for row in lineage.documents_in("decisions", [doc_id], snapshot, parts)
    }
    final = lineage.documents_in("final_text", [doc_id], snapshot, parts, FINAL)
    signals = lineage.documents_in("signals", [doc_id], snapshot, parts)
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
        "final_text": _measured(final[0]) if final else None,
        "shards": spans_of(lineage, [doc_id], snapshot)[doc_id] if kept else [],
    }


def cluster(lineage: Lineage, doc_id: bytes, shown: int = MEMBERS_SHOWN) -> dict[str, Any] | None:
    """The documents that share one kept document, and which it is; None when it is alone.

    A snapshot is compared with those before it, so a document that had no copy when its own
    snapshot was decided is not listed itself: later copies name it as the one they gave way to.
    """
    own = cluster_rows(lineage, doc_id)
    kept_doc_id = own[0]["kept_doc_id"] if own else doc_id
    gave_way, members = members_of(lineage, kept_doc_id, shown)
    if not members:
        return None
    if not any(row["kept"] for row in members):
        members = _kept_alone(lineage, kept_doc_id) + members
    mine = own[0] if own else members[0]
    return {
        "cluster_id": (own[0]["cluster_id"] if own else kept_doc_id).hex(),
        "size": gave_way + 1,
        "kept_doc_id": kept_doc_id.hex(),
        "kind": mine["kind"],
        "similarity": mine["similarity"],
        "members": [row | {"doc_id": row["doc_id"].hex()} for row in members],
    }


def _kept_alone(lineage: Lineage, doc_id: bytes) -> list[Row]:
    """The kept document of a cluster, where its own snapshot knew no copy of it."""
    found = [
        row
        for snapshot, part in places_of(lineage, doc_id)
        for row in lineage.documents_in("decisions", [doc_id], snapshot, [part])
    ]
    found.sort(key=lambda row: (not row["kept"], row["part"]))
    return [
        {name: row[name] for name in ("doc_id", "snapshot", "part")}
        | {"kind": "first", "kept": True, "similarity": 1.0}
        for row in found[:1]
    ]


def _measured(final: Row) -> Row:
    """A final text by its numbers."""
    edits = final["edits"] or ()
    kinds = Counter(kind for edit in edits if (kind := edit.get("kind")))
    counts = {"edits": len(edits), "edits_by_kind": dict(sorted(kinds.items()))}
    counts["chars"] = len(final["text"])
    scrubbed = {"scrubbed": dict(final["scrubbed"] or ())}
    plain = without(final, "text", "edits", "snapshot", "part")
    return plain | scrubbed | counts | {"part": final["part"]}


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
