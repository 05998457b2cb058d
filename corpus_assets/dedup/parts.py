"""Parts of a window as clustering asks for them, from the inputs of a task."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core import files
from corpus_assets.core.task import TaskContext
from corpus_assets.dedup.candidate_keys import CandidateKeys
from corpus_assets.dedup.clusters import MEMBERS
from corpus_assets.dedup.signatures import parse_sketches

SIGNED_FILES = (files.SIGNALS, files.SIGNATURES, files.CANDIDATE_KEYS, files.SKETCHES)


def with_columns(table: pa.Table, columns: Sequence[tuple[str, pa.Array]]) -> pa.Table:
    for name, column in columns:
        table = table.append_column(name, column)
    return table


def stored_parts(context: TaskContext) -> list["StoredPart"]:
    """Return the parts of a clusters task's window, by rank and number."""
    parts = []
    for rank, snapshot in enumerate(context.task.settings["window"]):
        for name in context.names(f"{snapshot}/"):
            if name.endswith("/signatures"):
                n_rows = context.task.inputs[name].rows
                parts.append(StoredPart(context, name.removesuffix("/signatures"), rank, n_rows))
    return parts


class StoredPart:
    """A part as `cluster_window` asks for it. Files are checked against their hashes whenever
    they are read; candidate keys, which are read in slices, the first time."""

    def __init__(self, context: TaskContext, prefix: str, rank: int, n_rows: int) -> None:
        self.rank = rank
        self.number = int(prefix.rpartition("/")[2])
        self.n_rows = n_rows
        self._context = context
        self._prefix = prefix
        self._keys_path: Path | None = None

    def kept(self) -> npt.NDArray[np.bool_]:
        chosen = self._context.table(f"{self._prefix}/selection", ["kept"])
        return np.asarray(chosen["kept"].to_numpy(), dtype=np.bool_)

    def candidate_keys(self) -> CandidateKeys:
        if self._keys_path is None:
            self._keys_path = self._context.path(f"{self._prefix}/ties")
        return CandidateKeys.open(self._keys_path)

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
        """Return the two signals that a policy may ask for, and none of the many others."""
        data = self._context.content(f"{self._prefix}/signals")
        file = pq.ParquetFile(pa.BufferReader(data))
        wanted = ("n_chars", "quality_score")
        columns = [name for name in wanted if name in file.schema_arrow.names]
        return file.read(columns=columns, use_threads=False)

    def sketches(self) -> npt.NDArray[np.uint8]:
        return parse_sketches(self._context.content(f"{self._prefix}/sketches"))


class GroupPart(StoredPart):
    """A part of a group of an exchange, whose documents are numbered by their records."""

    def __init__(self, context: TaskContext, prefix: str, first_part: int) -> None:
        records = context.table(f"{prefix}/records", ["reason"])
        self.n_records = records.num_rows
        self._numbers = np.flatnonzero(pc.is_null(records["reason"]).to_numpy()).astype(np.uint32)
        super().__init__(context, prefix, 0, self._numbers.size)
        self.number += first_part

    def numbers(self) -> npt.NDArray[np.uint32]:
        return self._numbers


def group_parts(context: TaskContext) -> list[GroupPart]:
    """Return the parts of an exchange task's group."""
    first_part = context.task.settings.get("first_part", 0)
    return [
        GroupPart(context, name.removesuffix("/records"), first_part)
        for name in context.names("")
        if name.endswith("/records")
    ]
