"""The order of a run, as a formula that runs both ways.

A position p of the run lies in a phase, in a block of it, at a slot:

1. the slot is shuffled inside its block by the key (seed, phase, block);
2. the shuffled slot falls into one group's share of the block, as its k-th sample there;
3. that is the group's draw number d = draws in earlier phases + block * count + k;
4. epoch d // n, and inside the epoch a permutation by (seed, group, epoch) of d % n, where n is
   the group's number of samples, gives the sample.

So a group is used up evenly before it repeats, each block has the exact mix, and no state is kept:
any position costs the same. Each step can be undone, so a sample leads to all its positions.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_loader.errors import LoaderError
from corpus_loader.manifest import Manifest, Phase
from corpus_loader.permutation import Words, derive, permute, unpermute

Ints = npt.NDArray[np.int64]


class Draws(NamedTuple):
    """What positions of the run hold: arrays of one length."""

    group: Ints  # index into `Order.group_ids`
    sample: Ints  # sample of the group
    epoch: Ints  # how many times the group had been used up before


class Sightings(NamedTuple):
    """Times at which the run sees some samples: arrays of one length, sorted by row and position."""

    row: Ints  # index into the samples that were asked for
    position: Ints
    epoch: Ints  # how many times the group had been used up before


class Order:
    """The order of one run: a pure function of group sizes, phases and seed."""

    def __init__(
        self, samples: Mapping[str, int], phases: Sequence[Phase], block_samples: int, seed: int
    ) -> None:
        self.group_ids = tuple(sorted(samples))
        self.block_samples = block_samples
        self._sizes = np.array([samples[group] for group in self.group_ids], dtype=np.int64)
        # [phases, groups]
        self._counts = np.array(
            [[phase.counts.get(group, 0) for group in self.group_ids] for phase in phases],
            dtype=np.int64,
        ).reshape(len(phases), len(self.group_ids))
        if (self._counts.sum(axis=1) != block_samples).any():
            raise LoaderError(f"every phase must draw {block_samples} samples per block")
        if (self._counts.astype(bool) & (self._sizes == 0)).any():
            raise LoaderError("a phase draws from a group without samples; rebuild the manifest")
        self._blocks = np.array([phase.blocks for phase in phases], dtype=np.int64)
        self._draws_after = np.cumsum(self._counts * self._blocks[:, None], axis=0)
        self._draws_before = self._draws_after - self._counts * self._blocks[:, None]
        self._phase_ends = np.cumsum(self._blocks) * block_samples
        self._phase_starts = self._phase_ends - self._blocks * block_samples
        # Shares of the blocks of all phases on one line, phase i from i * block_samples on.
        self._share_ends = np.cumsum(self._counts.ravel())
        self._share_starts = self._share_ends - self._counts.ravel()
        self._group_keys = _keys("group", seed, self.group_ids)
        self._phase_keys = _keys("phase", seed, map(str, range(len(phases))))

    @classmethod
    def of(cls, manifest: Manifest, seed: int | None = None) -> "Order":
        """Return the order of a run over a manifest, by its own seed or another."""
        samples = {group.id: group.samples for group in manifest.groups}
        chosen = manifest.seed if seed is None else seed
        return cls(samples, manifest.phases, manifest.block_samples, chosen)

    def __len__(self) -> int:
        """Positions of the run."""
        return int(self._phase_ends[-1]) if len(self._phase_ends) else 0

    def phase_bounds(self, number: int) -> tuple[int, int]:
        """First position of a phase and the one after its last."""
        return int(self._phase_starts[number]), int(self._phase_ends[number])

    def locate(self, positions: npt.ArrayLike) -> Draws:
        """Return what each position holds; in thousands, a fraction of a microsecond each."""
        at = np.asarray(positions, dtype=np.int64).ravel()
        if len(at) and (at.min() < 0 or at.max() >= len(self)):
            raise LoaderError(f"positions of this run are 0..{len(self) - 1}")
        if not len(at):
            return Draws(at, at, at)
        phase = np.searchsorted(self._phase_ends, at, side="right")
        block, slot = np.divmod(at - self._phase_starts[phase], self.block_samples)
        keys = derive(self._phase_keys[phase], block)
        place = permute(slot, np.full(len(at), self.block_samples), keys)
        place += phase * self.block_samples
        share = np.searchsorted(self._share_ends, place, side="right")
        draw = self._draws_before.ravel()[share] + block * self._counts.ravel()[share]
        draw += place - self._share_starts[share]
        group = share % len(self.group_ids)
        sizes = self._sizes[group]
        epoch, index = np.divmod(draw, sizes)
        sample = permute(index, sizes, derive(self._group_keys[group], epoch))
        return Draws(group, sample, epoch)

    def positions_of(self, group: str, sample: int) -> Ints:
        """Return every position of the run that holds the sample of the group, in order."""
        return self.sightings(group, [sample]).position

    def sightings(self, group: str, samples: npt.ArrayLike, end: int | None = None) -> Sightings:
        """Return every time that the run sees any of a group's samples, before position `end`.

        1. In epoch e a sample is draw d = e * n + unpermute(sample, n, derive(group key, e)).
        2. The phase whose draws of the group cover d gives block and place k in the group's share.
        3. The share's start plus k is a place in the block; unshuffled it is the slot.

        Epochs after `end` are not looked at.
        """
        if group not in self.group_ids:
            raise LoaderError(f"group {group!r} is not in this manifest; it has {self.group_ids}")
        number = self.group_ids.index(group)
        wanted = np.asarray(samples, dtype=np.int64).ravel()
        size = int(self._sizes[number])
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= size):
            raise LoaderError(f"group {group!r} has samples 0..{size - 1}")
        end = len(self) if end is None else min(end, len(self))
        drawn = self._drawn(number, end)
        epochs = -(-drawn // size) if size else 0
        row = np.repeat(np.arange(len(wanted), dtype=np.int64), epochs)
        epoch = np.tile(np.arange(epochs, dtype=np.int64), len(wanted))
        sizes = np.full(len(row), size, dtype=np.int64)
        keys = derive(np.full(len(row), self._group_keys[number]), epoch)
        draw = epoch * size + unpermute(wanted[row], sizes, keys)
        seen = draw < drawn  # the last epoch may be cut short
        row, epoch, draw = row[seen], epoch[seen], draw[seen]
        phase = np.searchsorted(self._draws_after[:, number], draw, side="right")
        block, ordinal = np.divmod(
            draw - self._draws_before[phase, number], self._counts[phase, number]
        )
        share = phase * len(self.group_ids) + number
        place = self._share_starts[share] - phase * self.block_samples + ordinal
        keys = derive(self._phase_keys[phase], block)
        slot = unpermute(place, np.full(len(row), self.block_samples), keys)
        position = self._phase_starts[phase] + block * self.block_samples + slot
        order = np.lexsort((position, row))
        order = order[position[order] < end]
        return Sightings(row[order], position[order], epoch[order])

    def _drawn(self, number: int, end: int) -> int:
        """Draws from a group in all blocks that begin before a position."""
        begun = np.clip(-(-(end - self._phase_starts) // self.block_samples), 0, self._blocks)
        return int((begun * self._counts[:, number]).sum())


def _keys(kind: str, seed: int, names: Iterable[str]) -> Words:
    """BLAKE2b of 8 bytes under a key, read as little-endian."""
    key = f"corpus-assets/order/{kind}/{seed}".encode()[:64]
    found = [hashlib.blake2b(name.encode(), digest_size=8, key=key).digest() for name in names]
    return np.frombuffer(b"".join(found), "<u8").astype(np.uint64)
