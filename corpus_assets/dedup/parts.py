"""What signatures leave in the store for a part, and how clustering finds it again."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.core.task import TaskContext
from corpus_assets.dedup.candidate_keys import TieFile
from corpus_assets.dedup.clusters import MEMBERS
from corpus_assets.dedup.signatures import parse_sketches

CLUSTER_KEYS = ["url_key", "text_id", "fetched_at"]


def with_columns(table: pa.Table, columns: Sequence[tuple[str, pa.ChunkedArray]]) -> pa.Table:
    for name, column in columns:
        table = table.append_column(name, column)
    return table


def stored_parts(context: TaskContext) -> list["StoredPart"]:
    """The parts of a clusters task's window, by rank and number."""
    parts = []
    for rank, snapshot in enumerate(context.task.settings["window"]):
        for name in context.names(f"{snapshot}/"):
            if name.endswith("/signatures"):
                parts.append(StoredPart(context, name.removesuffix("/signatures"), rank))
    return parts


class StoredPart:
    """A part as `cluster_window` asks for it. Files are checked against their hashes whenever
    they are read; tie tables, which are read in slices, the first time."""

    def __init__(self, context: TaskContext, prefix: str, rank: int) -> None:
        self.rank = rank
        self.number = int(prefix.rpartition("/")[2])
        self.n_rows = context.task.inputs[f"{prefix}/signatures"].rows
        self._context = context
        self._prefix = prefix
        self._ties: Path | None = None

    def kept(self) -> npt.NDArray[np.bool_]:
        chosen = self._context.table(f"{self._prefix}/selection", ["kept"])
        return np.asarray(chosen["kept"].to_numpy(), dtype=np.bool_)

    def ties(self) -> TieFile:
        if self._ties is None:
            self._ties = self._context.path(f"{self._prefix}/ties")
        return TieFile.open(self._ties)

    def members(self) -> pa.Table:
        table = self._context.table(f"{self._prefix}/signatures")
        scores = self._scores()
        n = table.num_rows
        columns = {
            "snapshot_rank": pa.repeat(pa.scalar(self.rank, pa.int32()), n),
            "part": pa.repeat(pa.scalar(self.number, pa.int32()), n),
            "row": pa.array(np.arange(n, dtype=np.int32)),
            "n_chars": scores["n_chars"].cast(pa.int64()),
            "quality": (
                scores["quality_score"].cast(pa.float32())
                if "quality_score" in scores.column_names
                else pa.nulls(n, pa.float32())
            ),
        }
        return with_columns(table, list(columns.items())).select(MEMBERS.names)

    def _scores(self) -> pa.Table:
        """The two signals that a policy may ask for, and none of the many others."""
        data = self._context.content(f"{self._prefix}/signals")
        file = pq.ParquetFile(pa.BufferReader(data))
        wanted = ("n_chars", "quality_score")
        columns = [name for name in wanted if name in file.schema_arrow.names]
        return file.read(columns=columns, use_threads=False)

    def sketches(self) -> npt.NDArray[np.uint8]:
        return parse_sketches(self._context.content(f"{self._prefix}/sketches"))
