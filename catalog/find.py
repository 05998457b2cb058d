"""From a URL, a host or a text to the documents, and to where they are now."""

# ruff: noqa: S608 - FROM parts are written by Lineage.scan alone; values are always bound

from contextlib import suppress
from typing import Any

from catalog import lookups
from catalog.duck import Row
from catalog.errors import CatalogError
from catalog.history import fate
from catalog.lineage import Lineage
from catalog.text import text_id
from catalog.urls import host_key, older_url_key, url_key

MIN_NEEDLE_CHARS = 8


def find_url(lineage: Lineage, url: str, limit: int) -> dict[str, Any]:
    """Records of a page, whatever the spelling of its address; record keys match as written."""
    keys = [url]
    with suppress(ValueError):  # a record key of a source without URLs
        keys += [
            url_key(url),
            older_url_key(url) or url,
        ]  # versions keep the keys they were built with
    return _report(lineage, *lookups.records_by_url(lineage, keys, limit))


def find_host(lineage: Lineage, host: str, limit: int) -> dict[str, Any]:
    """Records of a host and all its subdomains."""
    try:
        key = host_key(host)
    except ValueError as error:
        raise CatalogError(f"{host!r} is not a host name: {error}") from error
    return _report(lineage, *lookups.records_by_host(lineage, key, limit))


def find_text(lineage: Lineage, text: str, limit: int) -> dict[str, Any]:
    """Documents whose extracted text is `text`; failing that, kept ones that contain it.

    The second search reads every kept text: it is limited to `limit` documents and says so.
    """
    exact = lookups.doc_ids_of_text(lineage, [text_id(text), text_id(text.rstrip("\r\n"))])
    if exact:
        found = lookups.records_by_id(lineage, exact, limit)
        return _report(lineage, *found) | {"match": "exact"}
    needle = text.strip()
    if len(needle) < MIN_NEEDLE_CHARS:
        raise CatalogError(
            f"no document has exactly this text, and to search inside documents give at least "
            f"{MIN_NEEDLE_CHARS} characters"
        )
    holding = lineage.query(
        f"SELECT DISTINCT doc_id FROM {lineage.scan('final_text')} "
        "WHERE contains(text, ?) ORDER BY doc_id LIMIT ?",
        [needle, limit + 1],
    )
    ids = [bytes(row["doc_id"]) for row in holding[:limit]]
    answer = _report(lineage, *lookups.records_by_id(lineage, ids, limit))
    return answer | {"match": "contains", "truncated": len(holding) > limit}


def _report(lineage: Lineage, total: int, records: list[Row]) -> dict[str, Any]:
    by_place: dict[tuple[str, int], list[bytes]] = {}
    for row in records:
        by_place.setdefault((row["snapshot"], row["part"]), []).append(row["doc_id"])
    decided: dict[tuple[Any, ...], Row] = {}
    for (snapshot, part), ids in by_place.items():
        for row in lineage.documents_in("decisions", list(dict.fromkeys(ids)), snapshot, [part]):
            decided[(row["doc_id"], row["snapshot"], row["part"], row["offset"])] = row
    placed = lookups.spans_of(lineage, [key[0] for key, row in decided.items() if row["kept"]])
    matches = []
    for row in records:
        decision = decided.get((row["doc_id"], row["snapshot"], row["part"], row["offset"]))
        kept = bool(decision and decision["kept"])
        spans = placed.get(row["doc_id"], []) if kept else []
        matches.append(
            row
            | {
                "doc_id": row["doc_id"].hex(),
                "kept": kept,
                "fate": fate(decision),
                "shards": sorted({span["shard"] for span in spans}),
                "samples": sorted({span["sample"] for span in spans}),
            }
        )
    return {
        "version": lineage.version.name,
        "match": "address",
        "total": total,
        "truncated": total > len(matches),
        "matches": matches,
    }
