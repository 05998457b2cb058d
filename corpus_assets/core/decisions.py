"""The outcome of every record of a part: kept, or dropped by one stage for one reason.

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
    outcomes: list[Drop | None] = [drops.get(i) for i in range(selection.num_rows)]

    def of_drops(name: str) -> pa.ChunkedArray:
        """Return a field of the documents' drops, by record; null where no stage after ingest
        dropped one."""
        values = [None if drop is None else getattr(drop, name) for drop in outcomes]
        return pa.array(values, pa.string()).take(row)

    n = records.num_rows
    columns = {
        **{name: records[name] for name in ("doc_id", "snapshot", "part", "offset")},
        "domain": pa.repeat(pa.scalar(domain), n),
        "kept": pa.array([drop is None for drop in outcomes], pa.bool_())
        .take(row)
        .fill_null(False),
        "stage": pc.if_else(is_document, of_drops("stage"), "documents"),
        "reason": pc.if_else(is_document, of_drops("reason"), records["reason"]),
        "detail": pc.if_else(is_document, of_drops("detail"), records["detail"]),
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
