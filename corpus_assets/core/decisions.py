"""The fate of every record of a part: kept, or dropped by one stage for one reason.

Stages are asked in the order of the graph; the first that drops a record has the last word.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.schemas import DECISIONS


@dataclass(frozen=True)
class Drop:
    stage: str
    reason: str
    detail: str | None = None


def part_decisions(
    records: pa.Table,
    domain: str,
    selection: pa.Table,
    drops: Mapping[int, Drop],
) -> pa.Table:
    """DECISIONS for a part. `drops` maps a row of DOCUMENTS to the stage that dropped it.

    Records and documents are both ordered by (doc_id, offset), so the i-th record without a
    reason is row i of the part's DOCUMENTS.
    """
    is_document = pc.is_null(records["reason"])
    flags = is_document.to_numpy()
    row = pa.array(np.cumsum(flags) - 1, pa.int64(), mask=~flags)
    fates: list[Drop | None] = [drops.get(i) for i in range(selection.num_rows)]

    def said(name: str) -> pa.ChunkedArray:
        """Return what a stage after ingest said, where one dropped the document."""
        values = [None if drop is None else getattr(drop, name) for drop in fates]
        return pa.array(values, pa.string()).take(row)

    n = records.num_rows
    columns = {
        **{name: records[name] for name in ("doc_id", "snapshot", "part", "offset")},
        "domain": pa.repeat(pa.scalar(domain), n),
        "kept": pa.array([drop is None for drop in fates], pa.bool_()).take(row).fill_null(False),
        "stage": pc.if_else(is_document, said("stage"), "documents"),
        "reason": pc.if_else(is_document, said("reason"), records["reason"]),
        "detail": pc.if_else(is_document, said("detail"), records["detail"]),
        **{name: selection[name].take(row) for name in ("language", "tier", "failed_rules")},
    }
    return pa.table([columns[name] for name in DECISIONS.names], names=DECISIONS.names).cast(
        DECISIONS
    )


def id_keys(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.uint64]:
    """Return the first half of each document id as a number; collisions are rare."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    raw = np.frombuffer(whole.buffers()[1], "<u8")
    return raw[2 * whole.offset : 2 * (whole.offset + len(whole)) : 2].copy()
