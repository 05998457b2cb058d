"""Keyed random draws.

Draws depend on a key and on nothing else. `random.Random` promises a stable sequence only for
`random()`; `choice`, `sample` and `shuffle` have changed between Python releases. Here every draw
is taken from BLAKE2b in counter mode, so a key gives the same draws on every Python and machine.
About 1 us a draw.
"""

import hashlib
from collections.abc import MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")

_BLOCK = 64  # bytes of one BLAKE2b digest: eight draws


class Draw:
    """A stream of draws named by a key, e.g. `Draw("web", "CC-DEMO-2024-10", "spam")`."""

    def __init__(self, *key: str | int) -> None:
        self._name = "\x1f".join(str(part) for part in key)
        self._key = hashlib.blake2b(self._name.encode("utf-8"), digest_size=32).digest()
        self._block = b""
        self._counter = 0

    def fork(self, *key: str | int) -> "Draw":
        """Return a new stream under this one's name; this one is not advanced."""
        return Draw(self._name, *key)

    def bits64(self) -> int:
        """Return the next 64 bits."""
        at = self._counter * 8 % _BLOCK
        if at == 0:
            count = self._counter.to_bytes(8, "little")
            self._block = hashlib.blake2b(count, digest_size=_BLOCK, key=self._key).digest()
        self._counter += 1
        return int.from_bytes(self._block[at : at + 8], "little")

    def below(self, bound: int) -> int:
        """Draw an integer in [0, bound); the modulus' bias is under 2**-32 for our bounds."""
        return self.bits64() % bound

    def between(self, low: int, high: int) -> int:
        """Return an integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True in about `percent` of 100 draws."""
        return self.below(100) < percent

    def choice(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Fisher-Yates, in place."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Up to `count` different items, in drawn order."""
        pool = list(items)
        self.shuffle(pool)
        return pool[:count]

    def subset(self, items: Sequence[T], count: int) -> list[T]:
        """Up to `count` different items, in their own order."""
        chosen = sorted(self.sample(range(len(items)), count))
        return [items[index] for index in chosen]
