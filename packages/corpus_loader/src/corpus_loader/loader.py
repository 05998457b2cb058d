"""Batches of a run: any step, on any number of ranks, from memory-mapped shards.

The order comes from `order.Order`; the loader maps positions to files and copies each sample once,
from the mapped file into the batch. No state is kept but the step, so a run can start at any step
at once, and a rank reads only what it needs. `at` may be called from several threads.

The order is cheap for many positions at once and dear for one, so what a rank reads is located for
a window of steps: a jump to another part of the run costs some milliseconds, a step after a step
nothing to speak of.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_loader.errors import LoaderError
from corpus_loader.manifest import Group, Manifest, ShardRef
from corpus_loader.mapped_shards import MappedShards, Opener
from corpus_loader.order import Ints, Order
from corpus_loader.segments import Segments, segments_of
from corpus_loader.shard import Shard, Tokens

STATE_FORMAT = "corpus-assets/loader/1"

WINDOW_POSITIONS = 1 << 13

Check = Literal["hashes", "files", "none"]


@dataclass(frozen=True, slots=True)
class Batch:
    """A rank's part of one step; row i of each array belongs together."""

    step: int  # -1 for samples taken by position
    tokens: npt.NDArray[np.int32]  # [rows, seq_len]
    positions: Ints  # place in the run's global order
    groups: Ints  # index into `Loader.groups`
    shards: Ints  # index into `Loader.shards`
    samples: Ints  # sample inside the shard


class Places(NamedTuple):
    """Where some positions of a run lie: arrays of one length."""

    positions: Ints
    groups: Ints  # index into `Loader.groups`
    shards: Ints  # index into `Loader.shards`
    samples: Ints  # sample inside the shard

    def copy(self, rows: slice) -> "Places":
        return Places(*(column[rows].copy() for column in self))


class Loader:
    """A run over a manifest: `at(step)` for any step, or iterate from the current step.

    Step s holds positions [s * global_batch, (s + 1) * global_batch) of the global order, and rank
    r the r-th equal slice of them, so the order does not depend on the number of ranks. Positions
    that do not fill a last batch are left out.

    `store` is the store's folder, or a function that fetches a path of it. In a folder every shard
    is looked at when the loader is made: `check="files"` opens all four files of each, so that one
    that is missing, cut short, of another tokenizer or of another manifest stops the run before
    its first step; `"hashes"` reads every byte again; `"none"` opens shards when they are reached,
    as it is with a function, which would fetch them all. `tokenizer_sha256` is the tokenizer the
    trainer uses, where it is known. While iterating, samples of the next `prefetch_steps` steps
    are announced to the kernel, which reads them from disk meanwhile.
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
        prefetch_steps: int = 2,
        check: Check = "files",
        tokenizer_sha256: str | None = None,
    ) -> None:
        if not (global_batch >= 1 and world_size >= 1 and 0 <= rank < world_size):
            raise LoaderError(
                f"rank {rank} of {world_size} with a global batch of {global_batch} is impossible; "
                "give a rank below world_size and a batch of 1 or more"
            )
        if global_batch % world_size:
            raise LoaderError(
                f"a global batch of {global_batch} does not split over {world_size} ranks; "
                "make it a multiple of world_size"
            )
        if tokenizer_sha256 not in (None, manifest.tokenizer.sha256):
            raise LoaderError(
                f"version {manifest.version} was made with tokenizer {manifest.tokenizer.sha256} "
                f"({manifest.tokenizer.path}), the trainer has {tokenizer_sha256}; "
                "train with the version's tokenizer"
            )
        self.manifest = manifest
        self.seed = manifest.seed if seed is None else seed
        self.global_batch = global_batch
        self.rank = rank
        self.world_size = world_size
        self.prefetch_steps = prefetch_steps
        self.step = 0
        self.order = Order.of(manifest, self.seed)
        self.groups: tuple[Group, ...] = manifest.groups
        place = Path(store) if isinstance(store, str) else store
        self._files = MappedShards(manifest, place, max_open_shards)
        self.shards: tuple[ShardRef, ...] = self._files.refs
        sizes = np.array([shard.samples for shard in self.shards], dtype=np.int64)
        self._shard_ends = np.cumsum(sizes)
        self._shard_starts = self._shard_ends - sizes
        group_sizes = np.array([group.samples for group in self.groups], dtype=np.int64)
        self._group_starts = np.cumsum(group_sizes) - group_sizes
        self._windows: dict[int, Places] = {}  # the few that were located last
        self._manifest_digest = manifest.digest()
        if check == "hashes" or (check == "files" and isinstance(place, Path)):
            self._files.check(hashes=check == "hashes")

    @classmethod
    def open(cls, manifest_file: str | Path, seed: int | None = None, **options: Any) -> "Loader":
        """Open a version's `manifest.json` where it lies: `STORE/versions/NAME/`."""
        path = Path(manifest_file).absolute()
        return cls(Manifest.load(path), path.parents[2], seed, **options)

    def with_seed(self, seed: int) -> "Loader":
        """Return the same run under another seed, from its first step; open files are shared."""
        other = copy.copy(self)
        other.seed, other.step, other.order = seed, 0, Order.of(self.manifest, seed)
        other._windows = {}
        return other

    def __len__(self) -> int:
        """Return the number of steps of the run."""
        return len(self.order) // self.global_batch

    def at(self, step: int, out: npt.NDArray[np.int32] | None = None) -> Batch:
        """Return this rank's batch at a step, in time that does not depend on the step.

        The tokens are copied into `out` where it is given (int32 [rows, seq_len], contiguous; a
        buffer in pinned memory, say), else into a new array.
        """
        return self._filled(step, self._places(step), out)

    def take(
        self,
        positions: npt.ArrayLike,
        out: npt.NDArray[np.int32] | None = None,
        *,
        announced: bool = False,
    ) -> Batch:
        """Return the samples at any positions of the global order, whatever batch and rank; step -1.

        With `announced` the system is asked for all of them first, and reads them from disk side by
        side; a system call each, so one or two microseconds.
        """
        places = self._find(positions)
        if announced:
            self._files.advise(places.shards, places.samples)
        return self._filled(-1, places, out)

    def _filled(self, step: int, places: Places, out: npt.NDArray[np.int32] | None) -> Batch:
        shape = (len(places.positions), self.manifest.seq_len)
        if out is None:
            out = np.empty(shape, dtype=np.int32)
        elif out.shape != shape or not (
            out.dtype == np.int32 and out.flags.c_contiguous and out.flags.writeable
        ):
            raise LoaderError(
                f"a batch of {shape[0]} rows of {shape[1]} tokens needs a writable, contiguous "
                f"int32 buffer of that shape, not {out.dtype} {list(out.shape)}"
            )
        self._files.gather(places.shards, places.samples, out)
        return Batch(step, out, *places)

    def views(self, step: int) -> list[Tokens]:
        """Return the rows of `at(step)` without a copy: read-only views of the mapped files, in the
        type that their tokens have there (`manifest.dtype`)."""
        places = self._places(step)
        return [
            self._files.view(shard)[sample]
            for shard, sample in zip(places.shards.tolist(), places.samples.tolist(), strict=True)
        ]

    def prefetch(self, step: int) -> None:
        """Announce a step's samples to the kernel; shards that are not mapped yet are left out."""
        if 0 <= step < len(self):
            places = self._places(step)
            self._files.advise(places.shards, places.samples)

    def _places(self, step: int) -> Places:
        """Where this rank's samples of a step lie."""
        if not 0 <= step < len(self):
            raise LoaderError(f"this run has steps 0..{len(self) - 1}, not {step}")
        rows = self.global_batch // self.world_size
        steps = max(1, WINDOW_POSITIONS // rows)
        number, within = divmod(step, steps)
        window = self._windows.get(number)
        if window is None:
            window = self._window(number * steps, min(steps, len(self) - number * steps))
            newest = list(self._windows.items())[-3:]
            self._windows = {**dict(newest), number: window}
        return window.copy(slice(within * rows, (within + 1) * rows))

    def _window(self, first: int, steps: int) -> Places:
        rows = self.global_batch // self.world_size
        begins = np.arange(first, first + steps, dtype=np.int64) * self.global_batch
        return self._find(begins[:, None] + np.arange(rows) + self.rank * rows)

    def _find(self, positions: npt.ArrayLike) -> Places:
        at = np.asarray(positions, dtype=np.int64).ravel()
        draws = self.order.locate(at)
        place = self._group_starts[draws.group] + draws.sample
        shards = np.searchsorted(self._shard_ends, place, side="right")  # past empty ones
        return Places(at, draws.group, shards, place - self._shard_starts[shards])

    def learning_rate(self, step: int) -> float | None:
        """Return the learning rate of a step, by its first position; None where none is stated."""
        return self.manifest.learning_rate(step * self.global_batch)

    def segments(self, batch: Batch) -> Segments:
        """Document boundaries of a batch, for attention that stays inside documents."""
        tokenizer = self.manifest.tokenizer
        return segments_of(batch.tokens, tokenizer.eod_id, tokenizer.pad_id)

    def shard(self, number: int) -> Shard:
        """Return the open shard `self.shards[number]`, to ask for spans; checked when first opened."""
        return self._files.shard(number)

    def verify(self, numbers: Iterable[int] | None = None) -> None:
        """Hash all files of some shards, or of all, again; the first that differs is raised."""
        self._files.check(numbers, hashes=True)

    def close(self) -> None:
        """Let go of all files; batches and views stay valid, and a later step opens them again."""
        self._files.close()

    def steps_of(self, group: str, sample: int, shard: str | None = None) -> Ints:
        """Return every step at which the run sees a sample, in order, as often as it is seen.

        `sample` counts through the group, or inside `shard` where its name is given.
        """
        if shard is not None:
            sample = self.manifest.sample_in_group(group, shard, sample)
        steps = self.order.positions_of(group, sample) // self.global_batch
        return steps[steps < len(self)]

    def __iter__(self) -> Iterator[Batch]:
        """Batches from the current step to the end; `step` counts what was handed out."""
        for ahead in range(1, self.prefetch_steps):
            self.prefetch(self.step + ahead)
        while self.step < len(self):
            batch = self.at(self.step)
            if self.prefetch_steps > 0:
                self.prefetch(self.step + self.prefetch_steps)
            self.step += 1
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the run: enough to resume exactly, on any number of ranks."""
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
                raise LoaderError(
                    f"the saved state has {name} {state.get(name)!r}, this run has {own!r}; "
                    "resume with the manifest, seed and global batch the run was started with"
                )
        step = state.get("step")
        if not isinstance(step, int) or not 0 <= step <= len(self):
            raise LoaderError(f"the saved state has step {step!r}, this run has 0..{len(self)}")
        self.step = step
