"""Samples: some of many items, in an order that a key and each item's name alone decide.

So the same items are drawn however documents are cut into parts, a larger sample holds the smaller,
and an item that is taken down moves no other: it is as if it had never been there.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.identity import keyed_hash

PLACE = "place"
"""Column of tables that were drawn from: where each row stands in the order."""

CIRCLE = 1 << 64
"""Places are below it."""

T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    """One order over all names; samples with other keys are independent of it."""

    key: bytes

    def place(self, name: bytes) -> int:
        return keyed_hash(self.key, name)

    def places(self, names: Iterable[bytes]) -> npt.NDArray[np.uint64]:
        """About a microsecond each."""
        return keyed_hashes(self.key, names)

    def ordered(self, items: Iterable[T], name: Callable[[T], bytes]) -> list[T]:
        """Return items in their order; equal places come by name."""
        return sorted(items, key=lambda item: (self.place(own := name(item)), own))

    def holds(self, name: bytes, share: float | Fraction) -> bool:
        """Whether a sample of so large a share of all items has this one."""
        return self.place(name) < int(share * CIRCLE)


def first_drawn(tables: Iterable[pa.Table], most: int) -> pa.Table:
    """Return the first `most` rows of several tables by their `PLACE`, in its order. Memory: twice
    as many rows, and the largest table."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(each.num_rows for each in held) > 2 * most:
            held = [_first(held, most)]
    return _first(held, most)


def _first(tables: Iterable[pa.Table], most: int) -> pa.Table:
    together = pa.concat_tables(tables)
    order = np.argsort(together[PLACE].to_numpy(), kind="stable")
    return together.take(pa.array(order[:most]))


def held_out(ordered: Sequence[T], share: float) -> tuple[Sequence[T], Sequence[T]]:
    """Divide two items or more into a share to measure on and the rest, neither of them empty."""
    count = min(max(round(share * len(ordered)), 1), len(ordered) - 1)
    return ordered[:count], ordered[count:]


def keyed_hashes(key: bytes, data: Iterable[bytes]) -> npt.NDArray[np.uint64]:
    """Return `keyed_hash` of each, about a microsecond each: the keyed state is set up once."""
    state = hashlib.blake2b(digest_size=8, key=key[:64])
    digests = bytearray()
    for each in data:
        one = state.copy()
        one.update(each)
        digests += one.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)
