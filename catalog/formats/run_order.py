"""The order of a run, backwards, in plain Python: from a sample to the positions that hold it.

The formula is part of the format (docs/reference/formats.md, "The order of a run"). The loader has it forwards,
compiled; this is written apart from it, so that asking which steps saw a document does not load a
compiler, and tests hold the two against each other. Unsigned 64-bit arithmetic, wrapping. A
position costs some microseconds, and only those before `end` are computed.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catalog.formats.manifest import Phase

ROUNDS = 8
GOLDEN = 0x9E3779B97F4A7C15
WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Seen:
    """One time that a run sees a sample; `epoch` counts how often the group had been used up."""

    position: int
    epoch: int


def mix64(value: int) -> int:
    """Apply the finalizer of splitmix64: a bijection of 64-bit words."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & WORD
    return value ^ (value >> 31)


def derive(key: int, number: int) -> int:
    """Return the key of sub-sequence `number` of `key`."""
    return mix64(key ^ mix64(((number + 1) * GOLDEN) & WORD))


def permute(index: int, size: int, key: int) -> int:
    """Return image of `index` under the permutation of [0, size) that `key` names."""
    return _walk(index, size, key, range(ROUNDS))


def unpermute(index: int, size: int, key: int) -> int:
    """Return the inverse of `permute`: the same rounds, last one first."""
    return _walk(index, size, key, range(ROUNDS - 1, -1, -1))


def _walk(index: int, size: int, key: int, rounds: Sequence[int]) -> int:
    """Apply a Feistel network over the bits of size - 1, repeated until below `size`."""
    bits = (size - 1).bit_length()
    low_bits = (bits + 1) // 2
    low_mask, high_mask = (1 << low_bits) - 1, (1 << (bits - low_bits)) - 1
    while True:
        low, high = index & low_mask, index >> low_bits
        for number in rounds:
            round_key = (key + number * GOLDEN) & WORD
            if number & 1:
                high ^= mix64(round_key ^ low) & high_mask
            else:
                low ^= mix64(round_key ^ high) & low_mask
        index = (high << low_bits) | low
        if index < size:
            return index


class RunOrder:
    """The order of one run: a pure function of group sizes, phases and seed."""

    def __init__(
        self, samples: Mapping[str, int], phases: "Sequence[Phase]", block_samples: int, seed: int
    ) -> None:
        self.samples = dict(sorted(samples.items()))
        self.phases = tuple(phases)
        self.block_samples = block_samples
        self.seed = seed

    def __len__(self) -> int:
        """Return positions of the run."""
        return sum(phase.blocks for phase in self.phases) * self.block_samples

    def positions_of(self, group: str, sample: int, end: int | None = None) -> Iterator[Seen]:
        """Yield every time the run sees a group's sample before position `end`, earliest block
        first.

        1. In epoch e the sample is draw d = e * n + unpermute(sample, n, derive(group key, e)).
        2. The phase whose draws of the group cover d gives block and place k in the group's share.
        3. The share's start plus k is a place in the block; unshuffled it is the slot.
        """
        size = self.samples[group]
        group_key = self._key("group", group)
        for number, phase, first_position, first_draw in self._phases_of(group):
            count = phase.counts[group]
            share_start = sum(phase.counts.get(name, 0) for name in self.samples if name < group)
            phase_key = self._key("phase", str(number))
            last_draw = first_draw + phase.blocks * count
            for epoch in range(first_draw // size, -(-last_draw // size)):
                draw = epoch * size + unpermute(sample, size, derive(group_key, epoch))
                if not first_draw <= draw < last_draw:
                    continue
                block, ordinal = divmod(draw - first_draw, count)
                block_start = first_position + block * self.block_samples
                if end is not None and block_start >= end:
                    return  # draws, and so blocks, only grow from here on
                key = derive(phase_key, block)
                position = block_start + unpermute(share_start + ordinal, self.block_samples, key)
                if end is None or position < end:
                    yield Seen(position, epoch)

    def _phases_of(self, group: str) -> "Iterator[tuple[int, Phase, int, int]]":
        """Yield (number, phase, its first position, the group's draws before it), where it is
        drawn."""
        position = draws = 0
        for number, phase in enumerate(self.phases):
            count = phase.counts.get(group, 0)
            if count and phase.blocks:
                yield number, phase, position, draws
            position += phase.blocks * self.block_samples
            draws += phase.blocks * count

    def _key(self, kind: str, name: str) -> int:
        key = f"corpus-assets/order/{kind}/{self.seed}".encode()[:64]
        return int.from_bytes(
            hashlib.blake2b(name.encode(), digest_size=8, key=key).digest(), "little"
        )
