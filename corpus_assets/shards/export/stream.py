"""The samples of an export in order, read by the loader from any place on."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from corpus_assets.shards.export.lineage import FlatSpans, SampleSpans
from corpus_assets.shards.export.plan import ExportPlan
from corpus_assets.shards.loader import Loader
from corpus_assets.shards.manifest import Manifest
from corpus_assets.shards.mapped import Opener

CHUNK_BYTES = 2**23


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some samples of an export, next to each other."""

    first: int  # number of the first sample in the export
    tokens: npt.NDArray[np.int32]  # [samples, seq_len], padded
    filled: npt.NDArray[np.int64]  # tokens of each sample without padding
    positions: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]  # index into the manifest's groups
    shards: npt.NDArray[np.int64]  # index into the loader's shards
    samples: npt.NDArray[np.int64]
    spans: SampleSpans | None


class RunStream:
    """All samples of a plan; may be read from several threads, each from its own place."""

    def __init__(self, manifest: Manifest, store: Path | Opener, plan: ExportPlan) -> None:
        self.plan = plan
        self.loader = Loader(manifest, store, global_batch=1, check="none")
        seeds = {one.seed for one in plan.passes}
        self._loaders = {seed: self.loader.with_seed(seed) for seed in seeds}
        self._ends = np.cumsum([one.samples for one in plan.passes])
        sizes = np.array([shard.samples for shard in self.loader.shards], dtype=np.int64)
        self._shard_starts = np.cumsum(sizes) - sizes

    def verify_source(self) -> None:
        """Hash every shard that the export draws from: a damaged one must not be copied on."""
        manifest, phase = self.loader.manifest, self.plan.phase
        drawn = {
            group
            for each in manifest.phases
            if each.blocks and phase in (None, each.name)
            for group in each.counts
        }
        owners = [group.id for group in manifest.groups for _ in group.shards]
        self.loader.verify(number for number, group in enumerate(owners) if group in drawn)

    def chunks(self, first: int, end: int, spans: FlatSpans | None = None) -> Iterator[Chunk]:
        """Samples [first, end) of the export, some megabytes at a time."""
        rows = max(1, CHUNK_BYTES // (4 * self.plan.seq_len))
        while first < end:
            number = int(np.searchsorted(self._ends, first, side="right"))
            one = self.plan.passes[number]
            stop = min(first + rows, end, int(self._ends[number]))
            begin = one.first + first - (int(self._ends[number]) - one.samples)
            positions = np.arange(begin, begin + stop - first)
            self._loaders[one.seed].announce(positions)  # read side by side, not one by one
            batch = self._loaders[one.seed].take(positions)
            found = None
            if spans is not None:
                found = spans.of(self._shard_starts[batch.shards] + batch.samples)
            filled = np.count_nonzero(batch.tokens != self.plan.pad_id, axis=1).astype(np.int64)
            yield Chunk(
                first, batch.tokens, filled, batch.positions, batch.groups, batch.shards,
                batch.samples, found,
            )  # fmt: skip
            first = stop
