"""The formula of the order in plain integers, as the repository's page on formats tells it."""

import hashlib
from collections.abc import Mapping, Sequence

from corpus_loader.manifest import Phase

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15
ROUNDS = 8


def mix64(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % WORD
    return value ^ (value >> 31)


def derive(key: int, number: int) -> int:
    return mix64(key ^ mix64((number + 1) * GOLDEN % WORD))


def permute(index: int, size: int, key: int) -> int:
    bits = (size - 1).bit_length()
    low_bits = (bits + 1) // 2
    while True:
        high, low = divmod(index, 2**low_bits)
        for number in range(ROUNDS):
            round_key = (key + number * GOLDEN) % WORD
            if number % 2:
                high ^= mix64(round_key ^ low) % 2 ** (bits - low_bits)
            else:
                low ^= mix64(round_key ^ high) % 2**low_bits
        index = high * 2**low_bits + low
        if index < size:
            return index


def keyed_hash(key: str, name: str) -> int:
    digest = hashlib.blake2b(name.encode(), digest_size=8, key=key.encode()).digest()
    return int.from_bytes(digest, "little")


def locate(
    sizes: Mapping[str, int], phases: Sequence[Phase], block_samples: int, seed: int, position: int
) -> tuple[str, int, int]:
    """(group, sample, epoch) at a position."""
    before = dict.fromkeys(sizes, 0)
    number = 0
    while position >= phases[number].blocks * block_samples:
        position -= phases[number].blocks * block_samples
        for group, count in phases[number].counts.items():
            before[group] += phases[number].blocks * count
        number += 1
    phase = phases[number]
    block, slot = divmod(position, block_samples)
    phase_key = keyed_hash(f"corpus-assets/order/phase/{seed}", str(number))
    place = permute(slot, block_samples, derive(phase_key, block))
    for group in sorted(sizes):
        count = phase.counts.get(group, 0)
        if place < count:
            break
        place -= count
    epoch, index = divmod(before[group] + block * count + place, sizes[group])
    group_key = keyed_hash(f"corpus-assets/order/group/{seed}", group)
    return group, permute(index, sizes[group], derive(group_key, epoch)), epoch
