"""What a format of exports is: it writes parts of the stream, independent of each other, and then
what spans all parts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from corpus_assets.shards.export.files import FileEntry, PartRecord
from corpus_assets.shards.export.plan import ExportPlan
from corpus_assets.shards.export.stream import Chunk
from corpus_loader import index as shard_index


class PartWriter(Protocol):
    """One part, written from its first sample to its last."""

    def add(self, chunk: Chunk) -> None: ...

    def finish(self) -> list[FileEntry]:
        """Complete the part's files."""

    def abandon(self) -> None:
        """Let go of files that will not be completed; harmless after `finish`."""


class ExportLayout(Protocol):
    """A format. Parts are independent of each other, so they can be written at once."""

    takes_lineage: bool
    """Whether lineage is in its own files; else it is written beside them."""

    def open_part(self, folder: Path, plan: ExportPlan, number: int) -> PartWriter: ...

    def finish(
        self, folder: Path, plan: ExportPlan, parts: Sequence[PartRecord]
    ) -> list[FileEntry]:
        """Write what spans all parts; gives every file of the export that no part named."""


def packed_tokens(chunk: Chunk, plan: ExportPlan) -> npt.NDArray[np.generic]:
    """Return a chunk's tokens in the type of the export, little-endian."""
    return np.ascontiguousarray(chunk.tokens, dtype=shard_index.numpy_type(plan.dtype))
