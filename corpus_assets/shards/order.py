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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from catalog.formats.manifest import Manifest, Phase
from corpus_assets.core.errors import ShardError
from corpus_assets.core.identity import keyed_hash
from corpus_assets.shards.kernels.draws import draw_samples
from corpus_assets.text.feistel import unpermute_many

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Draws:
    """What positions of the run hold: int64 arrays of one shape."""

    group: Ints  # index into `Order.group_ids`
    sample: Ints  # sample of the group
    epoch: Ints  # how many times the group had been used up before


class Order:
    """The order of one run: a pure function of group sizes, phases and seed."""

    def __init__(
        self, samples: dict[str, int], phases: Sequence[Phase], block_samples: int, seed: int
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
            raise ShardError(f"every phase must draw {block_samples} samples per block")
        if (self._counts.astype(bool) & (self._sizes == 0)).any():
            raise ShardError("a phase draws from a group without samples; rebuild the manifest")
        blocks = np.array([phase.blocks for phase in phases], dtype=np.int64)
        draws = np.cumsum(self._counts * blocks[:, None], axis=0)
        self._draws_after = draws
        self._draws_before = draws - self._counts * blocks[:, None]
        self._phase_ends = np.cumsum(blocks) * block_samples
        self._phase_starts = self._phase_ends - blocks * block_samples
        # Shares of the blocks of all phases on one line, phase i from i * block_samples on.
        self._share_ends = np.cumsum(self._counts.ravel())
        self._share_starts = self._share_ends - self._counts.ravel()
        self._flat_counts = np.ascontiguousarray(self._counts.ravel())
        self._flat_draws_before = np.ascontiguousarray(self._draws_before.ravel())
        self._group_keys = _keys("group", seed, self.group_ids)
        self._phase_keys = _keys("phase", seed, [str(number) for number in range(len(phases))])

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
        """Return what each position holds; a fraction of a microsecond each in batches."""
        at = np.asarray(positions, dtype=np.int64).ravel()
        if len(at) and (at.min() < 0 or at.max() >= len(self)):
            raise ShardError(f"positions of this run are 0..{len(self) - 1}")
        return self.draws(at)

    def draws(self, positions: Ints) -> Draws:
        """`locate` for positions that are known to lie in the run."""
        return Draws(
            *draw_samples(
                positions,
                self.block_samples,
                self._phase_ends,
                self._phase_keys,
                self._share_ends,
                self._flat_counts,
                self._flat_draws_before,
                self._sizes,
                self._group_keys,
            )
        )

    def positions_of(self, group: str, sample: int) -> Ints:
        """Every position of the run that holds the sample of the group, in order."""
        return self.positions_of_many(group, [sample])[1]

    def positions_of_many(self, group: str, samples: npt.ArrayLike) -> tuple[Ints, Ints]:
        """(row in `samples`, position) of every time they are seen, sorted by both."""
        if group not in self.group_ids:
            raise ShardError(f"group {group!r} is not in this manifest; it has {self.group_ids}")
        number = self.group_ids.index(group)
        wanted = np.asarray(samples, dtype=np.int64).ravel()
        size = int(self._sizes[number])
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= size):
            raise ShardError(f"group {group!r} has samples 0..{size - 1}")
        drawn = int(self._draws_after[-1, number]) if len(self._draws_after) else 0
        epochs = -(-drawn // size) if size else 0
        row = np.repeat(np.arange(len(wanted), dtype=np.int64), epochs)
        epoch = np.tile(np.arange(epochs, dtype=np.int64), len(wanted))
        sizes = np.full(len(row), size, dtype=np.int64)
        keys = np.full(len(row), self._group_keys[number], dtype=np.uint64)
        draw = epoch * size + unpermute_many(wanted[row], sizes, keys, epoch)
        seen = draw < drawn  # the last epoch may be cut short
        row, draw = row[seen], draw[seen]
        phase = np.searchsorted(self._draws_after[:, number], draw, side="right")
        block, ordinal = np.divmod(
            draw - self._draws_before[phase, number], self._counts[phase, number]
        )
        share = phase * len(self.group_ids) + number
        place = self._share_starts[share] - phase * self.block_samples + ordinal
        sizes = np.full(len(row), self.block_samples, dtype=np.int64)
        slot = unpermute_many(place, sizes, self._phase_keys[phase], block)
        position = self._phase_starts[phase] + block * self.block_samples + slot
        order = np.lexsort((position, row))
        return row[order], position[order]


def _keys(kind: str, seed: int, names: Sequence[str]) -> npt.NDArray[np.uint64]:
    key = f"corpus-assets/order/{kind}/{seed}".encode()
    return np.array([keyed_hash(key, name.encode()) for name in names], dtype=np.uint64)
