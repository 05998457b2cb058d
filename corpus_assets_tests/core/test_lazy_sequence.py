"""Sequences that are made when they are asked for, and a few of many items."""

import itertools

import pytest

from corpus_assets.core.lazy_sequence import LazySequence, spread


@pytest.mark.parametrize(("items", "most"), [(0, 3), (1, 3), (3, 3), (4, 3), (90_000, 256), (7, 1)])
def test_a_spread_has_at_most_so_many_evenly_spaced(items: int, most: int) -> None:
    chosen = list(spread(items, most))
    assert len(chosen) <= most
    assert chosen == sorted(set(chosen))
    assert all(0 <= number < items for number in chosen)
    assert bool(chosen) == bool(items)
    gaps = {b - a for a, b in itertools.pairwise(chosen)}
    assert len(gaps) <= 1
    if items <= most:
        assert chosen == list(range(items))


def test_items_are_made_when_they_are_asked_for() -> None:
    made: list[int] = []

    def make(number: int, letter: str) -> str:
        made.append(number)
        return f"{number}{letter}"

    each = LazySequence(make, "abc")
    assert len(each) == 3
    assert made == []
    assert each[-1] == "2c"
    assert made == [2]
    assert list(each) == ["0a", "1b", "2c"]
    assert each[1:] == ["1b", "2c"]
