"""Taking documents out of a part that was already read: a filter over its two tables.

The result is, byte for byte, what reading the source again under the same orders would give,
at the cost of the part's columns and without its source file.
"""

from bisect import bisect_right

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.schemas import RECORDS
from corpus_assets.core.urls import host_of_key, one_spelling
from corpus_assets.ingest.documents import SUPPRESSED, SUPPRESSED_COLUMNS
from corpus_assets.ingest.suppressions import Suppressions

RECORD_KEYS = ["doc_id", "url_key", "host", "reason"]
DOCUMENT_KEYS = ["text_id", "derived_from", "sketch"]

FEW_PREFIXES = 20  # so many are faster compared one by one than looked up for each address

Mask = npt.NDArray[np.bool_]


def covered_records(records: pa.Table, documents: pa.Table, orders: Suppressions) -> Mask:
    """Which records an order covers that are not suppressed yet; needs no text.

    Both tables are ordered by (doc_id, offset), so the i-th record without a reason is row i
    of the documents. Columns are compared with all orders of a kind at once: the cost is about
    one microsecond a record, and a little for each order.
    """
    covered = _is_in(records["doc_id"], orders.doc_ids)
    covered |= _pages(records["url_key"], records["host"], orders)
    alive = pc.is_null(records["reason"]).to_numpy()
    texts = _is_in(documents["text_id"], orders.text_ids)
    texts |= orders.sketches.match(documents["sketch"])
    texts |= _descendants(documents["derived_from"], orders)
    covered[alive] |= texts
    suppressed = pc.equal(records["reason"], SUPPRESSED).fill_null(False)
    covered &= ~suppressed.to_numpy()
    return covered


def _is_in(column: pa.ChunkedArray | pa.Array, values: frozenset[str] | frozenset[bytes]) -> Mask:
    if not values:
        return np.zeros(len(column), np.bool_)
    mask = pc.is_in(column, pa.array(values, column.type))
    return np.array(mask, np.bool_)


def _pages(keys: pa.ChunkedArray, hosts: pa.ChunkedArray, orders: Suppressions) -> Mask:
    """Which addresses an order covers, as `Suppressions.match_url` tells of one."""
    prefixes = orders.url_prefixes
    if orders.url_keys or prefixes:
        keys = _in_one_spelling(keys)
    covered = _is_in(keys, orders.url_keys)
    if len(prefixes) <= FEW_PREFIXES:
        for prefix in prefixes:
            covered |= pc.starts_with(keys, prefix).to_numpy()
    else:
        for row, key in enumerate(keys.to_pylist()):
            place = bisect_right(prefixes, key)
            if place and key.startswith(prefixes[place - 1]):
                covered[row] = True
    if len(orders.hosts):
        blocked = [h for h in hosts.unique().to_pylist() if h and orders.hosts.match(h)]
        covered |= _is_in(hosts, frozenset(blocked))
    return covered


def _in_one_spelling(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """Few keys hold an escape, and all others are in it already."""
    escaped = pc.fill_null(pc.match_substring(keys, "%"), False)
    odd = [one_spelling(key) for key in keys.filter(escaped).to_pylist()]
    if not odd:
        return keys
    whole = pc.replace_with_mask(
        keys.combine_chunks(), escaped.combine_chunks(), pa.array(odd, keys.type)
    )
    return pa.chunked_array([whole])


def covered_keys(kind: str, keys: pa.Array, orders: Suppressions) -> Mask:
    """Which keys of a table orders cover: addresses (`url`), or ids in hexadecimal of documents
    (`doc_id`) or texts (`text_id`)."""
    if kind != "url":
        ids = orders.doc_ids if kind == "doc_id" else orders.text_ids
        return _is_in(keys, frozenset(each.hex() for each in ids))
    place = pc.struct_field(pc.extract_regex(keys, r"^(?P<place>[^)]*\)/)"), "place")
    sites = place.dictionary_encode()
    known = [host_of_key(site) for site in sites.dictionary.to_pylist()]
    hosts = pa.array(known, pa.string()).take(sites.indices)
    return _pages(pa.chunked_array([keys]), pa.chunked_array([hosts]), orders)


def _descendants(parents: pa.ChunkedArray, orders: Suppressions) -> Mask:
    """Which texts were derived from a page that an order covers."""
    covered = np.zeros(len(parents), np.bool_)
    listed = parents.combine_chunks()
    named = pc.list_flatten(listed)
    if len(named):
        gone = [
            key
            for key in named.unique().to_pylist()
            if orders.match_url(key, host_of_key(key)) is not None
        ]
        children = pc.list_parent_indices(listed).to_numpy()
        covered[children[_is_in(named, frozenset(gone))]] = True
    return covered


def purge_part(
    records: pa.Table, documents: pa.Table, orders: Suppressions
) -> tuple[pa.Table, pa.Table]:
    """Return RECORDS and DOCUMENTS without what the orders cover; the ledger keeps a bare row of
    each."""
    covered = covered_records(records, documents, orders)
    alive = pc.is_null(records["reason"]).to_numpy()
    columns = []
    for field in RECORDS:
        column = records[field.name].combine_chunks()
        if field.name == "reason":
            column = _where(covered, SUPPRESSED, column, field.type)
        elif field.name in SUPPRESSED_COLUMNS:
            column = _where(covered, SUPPRESSED_COLUMNS[field.name], column, field.type)
        columns.append(column)
    kept = documents.filter(pa.array(~covered[alive]))
    return pa.Table.from_arrays(columns, schema=RECORDS), kept


def _where(mask: Mask, value: object, column: pa.Array, kind: pa.DataType) -> pa.Array:
    return pc.if_else(pa.array(mask), pa.scalar(value, kind), column)
