"""Batches of a run: any step, on any number of ranks, from memory-mapped shards.

The order comes from `order.Order`; the loader maps positions to files and copies each sample once,
from the mapped file into the batch. Nothing is read ahead and no state is kept but the step, so a
run can start at any step at once, and a rank reads only what it needs.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corpus_assets.errors import ShardError
from corpus_assets.shards.manifest import Group, Manifest, ShardRef
from corpus_assets.shards.order import Order
from corpus_assets.shards.reader import Segments, Shard, ShardPaths, segments_of

STATE_FORMAT = "corpus-assets/loader/1"

Opener = Callable[[str], Path]
"""Gives the local file for a path of the store, fetching it if need be."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A rank's part of one step; row i of each array belongs together."""

    step: int
    tokens: npt.NDArray[np.int32]  # [rows, seq_len]
    positions: npt.NDArray[np.int64]  # place in the run's global order
    groups: npt.NDArray[np.int64]  # index into `Loader.groups`
    shards: npt.NDArray[np.int64]  # index into `Loader.shards`
    samples: npt.NDArray[np.int64]  # sample inside the shard


class Loader:
    """A run over a manifest: `at(step)` for any step, or iterate from where it stands.

    Step s holds positions [s * global_batch, (s + 1) * global_batch) of the global order, and rank
    r the r-th equal slice of them, so the order does not depend on the number of ranks. Positions
    that do not fill a last batch are left out.
    """

    def __init__(
        self,
        manifest: Manifest,
        store: str | Path | Opener,
        seed: int | None = None,
        *,
        global_batch: int,
        rank: int = 0,
        world_size: int = 1,
        max_open_shards: int = 512,
    ) -> None:
        if not (global_batch >= 1 and world_size >= 1 and 0 <= rank < world_size):
            raise ShardError(
                f"rank {rank} of {world_size} with a global batch of {global_batch} is impossible; "
                "give a rank below world_size and a batch of 1 or more"
            )
        if global_batch % world_size:
            raise ShardError(
                f"a global batch of {global_batch} does not split over {world_size} ranks; "
                "make it a multiple of world_size"
            )
        self.manifest = manifest
        self.seed = manifest.seed if seed is None else seed
        self.global_batch = global_batch
        self.rank = rank
        self.world_size = world_size
        self.max_open_shards = max_open_shards
        self.step = 0
        self.order = Order.of(manifest, self.seed)
        self.groups: tuple[Group, ...] = manifest.groups
        self.shards: tuple[ShardRef, ...] = tuple(s for g in self.groups for s in g.shards)
        sizes = np.array([shard.samples for shard in self.shards], dtype=np.int64)
        self._shard_ends = np.cumsum(sizes)
        self._shard_starts = self._shard_ends - sizes
        group_sizes = np.array([group.samples for group in self.groups], dtype=np.int64)
        self._group_starts = np.cumsum(group_sizes) - group_sizes
        self._store: Path | Opener = Path(store) if isinstance(store, str) else store
        self._known: dict[int, Shard] = {}
        self._mapped: OrderedDict[int, None] = OrderedDict()
        self._manifest_digest = manifest.digest()

    def __len__(self) -> int:
        """Steps of the run."""
        return len(self.order) // self.global_batch

    def at(self, step: int) -> Batch:
        """This rank's batch at a step, in time that does not depend on the step."""
        if not 0 <= step < len(self):
            raise ShardError(f"this run has steps 0..{len(self) - 1}, not {step}")
        rows = self.global_batch // self.world_size
        first = step * self.global_batch + self.rank * rows
        positions = np.arange(first, first + rows, dtype=np.int64)
        draws = self.order.locate(positions)
        place = self._group_starts[draws.group] + draws.sample
        shards = np.searchsorted(self._shard_ends, place, side="right")
        samples = place - self._shard_starts[shards]
        tokens = np.empty((rows, self.manifest.seq_len), dtype=np.int32)
        for row, (shard, sample) in enumerate(zip(shards.tolist(), samples.tolist(), strict=True)):
            tokens[row] = self._samples(shard)[sample]
        return Batch(step, tokens, positions, draws.group, shards, samples)

    def segments(self, batch: Batch) -> Segments:
        """Document boundaries of a batch, for attention that stays inside documents."""
        tokenizer = self.manifest.tokenizer
        return segments_of(batch.tokens, tokenizer.eod_id, tokenizer.pad_id)

    def shard(self, number: int) -> Shard:
        """The open shard `self.shards[number]`, to ask for spans; checked when first opened."""
        shard = self._known.get(number)
        if shard is None:
            ref = self.shards[number]
            paths = ShardPaths(
                *(self._local(file.path) for file in (ref.bin, ref.idx, ref.spans, ref.header))
            )
            shard = Shard.open(
                paths,
                header_sha256=ref.header.sha256,
                tokenizer_sha256=self.manifest.tokenizer.sha256,
                seq_len=self.manifest.seq_len,
            )
            if len(shard) != ref.samples:
                raise ShardError(
                    f"{ref.name} has {len(shard)} samples, the manifest says {ref.samples}; "
                    "use the manifest the shard belongs to"
                )
            self._known[number] = shard
        return shard

    def steps_of(self, group: str, sample: int, shard: str | None = None) -> npt.NDArray[np.int64]:
        """Every step at which the run sees a sample, in order; repeated if seen twice in a step.

        `sample` counts through the group, or inside `shard` where its name is given.
        """
        if shard is not None:
            sample = self.group_sample(group, shard, sample)
        steps = self.order.positions_of(group, sample) // self.global_batch
        return steps[steps < len(self)]

    def group_sample(self, group: str, shard: str, sample: int) -> int:
        """Number in its group of a shard's sample."""
        first = 0
        for found in (g for g in self.groups if g.id == group):
            for ref in found.shards:
                if ref.name == shard:
                    if not 0 <= sample < ref.samples:
                        raise ShardError(f"{shard} has samples 0..{ref.samples - 1}, not {sample}")
                    return first + sample
                first += ref.samples
        raise ShardError(f"group {group!r} has no shard {shard!r} in this manifest")

    def __iter__(self) -> Iterator[Batch]:
        """Batches from the current step to the end; `step` counts what was handed out."""
        while self.step < len(self):
            batch = self.at(self.step)
            self.step += 1
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """Where the run stands: enough to go on exactly, on any number of ranks."""
        return {
            "format": STATE_FORMAT,
            "manifest": self._manifest_digest,
            "seed": self.seed,
            "global_batch": self.global_batch,
            "step": self.step,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; one of another run is refused."""
        for name, own in self.state_dict().items():
            if name != "step" and state.get(name) != own:
                raise ShardError(
                    f"the saved state has {name} {state.get(name)!r}, this run has {own!r}; "
                    "resume with the manifest, seed and global batch the run was started with"
                )
        step = state.get("step")
        if not isinstance(step, int) or not 0 <= step <= len(self):
            raise ShardError(f"the saved state has step {step!r}, this run has 0..{len(self)}")
        self.step = step

    def __getstate__(self) -> dict[str, Any]:
        """Open files stay behind when a worker process gets its copy."""
        return {**self.__dict__, "_known": {}, "_mapped": OrderedDict()}

    def _local(self, path: str) -> Path:
        return self._store / path if isinstance(self._store, Path) else self._store(path)

    def _samples(self, number: int) -> npt.NDArray[np.int32]:
        """A shard's mapped samples; each mapping holds a file open, so few are kept."""
        shard = self.shard(number)
        self._mapped[number] = None
        self._mapped.move_to_end(number)
        if len(self._mapped) > self.max_open_shards:
            oldest, _ = self._mapped.popitem(last=False)
            self._known[oldest].close()
        return shard.samples
