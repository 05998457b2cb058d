"""Sequences whose items are made when they are asked for, and which of many items are a few."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Column(Protocol):
    """A sequence, or an array."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, place: Any) -> Any: ...


class LazySequence(Sequence[T_co]):
    """Item i is `make(i, *(column[i] for column in columns))`, made again at every access."""

    def __init__(self, make: Callable[..., T_co], first: Column, *others: Column):
        if any(len(other) != len(first) for other in others):
            raise ValueError(f"columns of {[len(c) for c in (first, *others)]} items do not match")
        self._make, self._columns = make, (first, *others)

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, place: int) -> T_co: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T_co]: ...
    def __getitem__(self, place: int | slice) -> T_co | Sequence[T_co]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        return self._make(number, *(column[number] for column in self._columns))

    def __iter__(self) -> Iterator[T_co]:
        for number, items in enumerate(zip(*self._columns, strict=True)):
            yield self._make(number, *items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def spread(items: int, most: int) -> range:
    """Return the numbers of at most so many items, evenly spaced over all of them."""
    return range(0, items, max(1, -(-items // most)))
