"""From a URL, a host or a text to the documents, and to where they are now."""

# ruff: noqa: S608 - FROM parts are written by Lineage.scan alone; values are always bound

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from catalog.errors import CatalogError
from catalog.history import fate, places
from catalog.lineage import Lineage, Row
from catalog.text import text_id
from catalog.urls import host_key, url_key

MIN_NEEDLE_CHARS = 8


def find_url(lineage: Lineage, url: str, limit: int) -> dict[str, Any]:
    """Records of a page, whatever the spelling of its address; record keys match as written."""
    keys = [url]
    with suppress(ValueError):  # a record key of a source without URLs
        keys.append(url_key(url))
    return _report(lineage, "url_key IN (SELECT unnest(?::VARCHAR[]))", [keys], limit)


def find_host(lineage: Lineage, host: str, limit: int) -> dict[str, Any]:
    """Records of a host and all its subdomains."""
    try:
        key = host_key(host)
    except ValueError as error:
        raise CatalogError(f"{host!r} is not a host name: {error}") from error
    # ')' ends the host, ':' begins a port, ',' a subdomain.
    condition = "(starts_with(url_key, ?) OR starts_with(url_key, ?) OR starts_with(url_key, ?))"
    return _report(lineage, condition, [f"{key})", f"{key}:", f"{key},"], limit)


def find_text(lineage: Lineage, text: str, limit: int) -> dict[str, Any]:
    """Documents whose extracted text is `text`; failing that, kept ones that contain it.

    The exact look-up reads one 16-byte column. The other reads every kept text: it is limited
    to `limit` documents and says so.
    """
    ids = [text_id(text), text_id(text.rstrip("\r\n"))]
    exact = lineage.query(
        f"SELECT DISTINCT doc_id FROM {lineage.scan('texts')} "
        "WHERE text_id IN (SELECT unnest(?::BLOB[])) ORDER BY doc_id",
        [ids],
    )
    if exact:
        found = [row["doc_id"] for row in exact]
        return _by_ids(lineage, found, limit) | {"match": "exact"}
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
    answer = _by_ids(lineage, [row["doc_id"] for row in holding[:limit]], limit)
    answer |= {"match": "contains", "truncated": len(holding) > limit}
    return answer


def _by_ids(lineage: Lineage, doc_ids: Sequence[bytes], limit: int) -> dict[str, Any]:
    return _report(lineage, "doc_id IN (SELECT unnest(?::BLOB[]))", [list(doc_ids)], limit)


def _report(
    lineage: Lineage, condition: str, parameters: Sequence[Any], limit: int
) -> dict[str, Any]:
    scan = lineage.scan("documents")
    total = lineage.query(f"SELECT count(*) AS n FROM {scan} WHERE {condition}", parameters)[0]["n"]
    records = lineage.query(
        'SELECT doc_id, snapshot, part, "offset", url, url_key, file '
        f'FROM {scan} WHERE {condition} ORDER BY snapshot, part, "offset", doc_id LIMIT ?',
        [*parameters, limit],
    )
    doc_ids = list({bytes(row["doc_id"]): None for row in records})
    decided: dict[tuple[Any, ...], Row] = {}
    if doc_ids:
        for row in lineage.query(
            f"SELECT * FROM {lineage.scan('decisions')} WHERE doc_id IN (SELECT unnest(?::BLOB[]))",
            [doc_ids],
        ):
            decided[(row["doc_id"], row["snapshot"], row["part"], row["offset"])] = row
    placed = places(lineage, [key[0] for key, row in decided.items() if row["kept"]])
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
