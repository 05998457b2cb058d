"""Taking documents out of a part that was already read: a filter over its two tables.

The result is, byte for byte, what reading the source again under the same orders would give,
at the cost of the part's columns and without its source file.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.documents import RECORDS
from corpus_assets.sources.suppressions import Suppressions
from corpus_assets.stages.documents import SUPPRESSED, SUPPRESSED_COLUMNS

RECORD_KEYS = ["doc_id", "url_key", "host", "reason"]
DOCUMENT_KEYS = ["text_id", "derived_from"]


def covered_records(
    records: pa.Table, documents: pa.Table, orders: Suppressions
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which records an order covers that are not suppressed yet; needs no text.

    Both tables are ordered by (doc_id, offset), so the i-th record without a reason is row i
    of the documents.
    """
    covered = np.zeros(records.num_rows, dtype=np.bool_)
    reasons = records["reason"].to_pylist()
    for row, (doc_id, key, host) in enumerate(
        zip(*(records[name].to_pylist() for name in RECORD_KEYS[:3]), strict=True)
    ):
        if reasons[row] != SUPPRESSED:
            covered[row] = orders.match_record(key, host or "", doc_id)
    alive = (row for row, reason in enumerate(reasons) if reason is None)
    texts = (documents[name].to_pylist() for name in DOCUMENT_KEYS)
    for row, text_id, parents in zip(alive, *texts, strict=True):
        covered[row] |= orders.match_text(text_id, parents or ())
    return covered


def purge_part(
    records: pa.Table, documents: pa.Table, orders: Suppressions
) -> tuple[pa.Table, pa.Table]:
    """RECORDS and DOCUMENTS without what the orders cover; the ledger keeps a bare row of each."""
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


def _where(
    mask: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    value: object,
    column: pa.Array,
    kind: pa.DataType,
) -> pa.Array:
    return pc.if_else(pa.array(mask), pa.scalar(value, kind), column)
