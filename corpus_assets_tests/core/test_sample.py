"""One order over all names, whatever they are cut into; a share of them, and a held-out side."""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.identity import keyed_hash
from corpus_assets.core.sample import CIRCLE, PLACE, Sample, first_drawn, held_out

KEY = b"test"
NAMES = [random.Random(seed).randbytes(16) for seed in range(400)]


def test_places_are_the_keyed_hashes_of_names() -> None:
    sample = Sample(KEY)
    places = [keyed_hash(KEY, name) for name in NAMES]
    assert sample.places(NAMES).tolist() == places == [sample.place(name) for name in NAMES]
    assert sample.places([]).tolist() == []
    assert sample.places(iter(NAMES[:3])).tolist() == places[:3]
    assert Sample(b"other").places(NAMES).tolist() != places


def test_the_order_is_of_names_and_what_is_gone_moves_no_other() -> None:
    sample = Sample(KEY)
    order = sample.ordered(NAMES, bytes)
    assert order == sorted(NAMES, key=lambda name: keyed_hash(KEY, name))
    assert sample.ordered(reversed(NAMES), bytes) == order
    left = [name for name in NAMES if name != order[7]]
    assert sample.ordered(left, bytes) == order[:7] + order[8:]


def test_equal_places_come_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sample, "place", lambda self, name: 1)
    assert Sample(KEY).ordered([b"b", b"c", b"a"], bytes) == [b"a", b"b", b"c"]


def test_a_larger_share_holds_the_smaller() -> None:
    sample = Sample(KEY)
    assert not any(sample.holds(name, 0) for name in NAMES)
    assert all(sample.holds(name, 1.0) for name in NAMES)
    quarter = {name for name in NAMES if sample.holds(name, Fraction(1, 4))}
    half = {name for name in NAMES if sample.holds(name, 0.5)}
    assert quarter < half
    assert half == {name for name in NAMES if sample.place(name) < CIRCLE // 2}
    assert 60 < len(quarter) < 140


@pytest.mark.parametrize("cuts", [(), (200,), (1, 2, 399), (50, 100, 150, 200, 250, 300, 350)])
def test_the_first_of_several_tables_are_the_first_of_all(cuts: tuple[int, ...]) -> None:
    places = Sample(KEY).places(NAMES)
    table = pa.table({PLACE: pa.array(places), "name": NAMES})
    ends = [0, *cuts, len(NAMES)]
    tables = [table.slice(a, b - a) for a, b in pairwise(ends)]
    rows = np.argsort(places, kind="stable")
    for most in (0, 1, 30, 1_000):
        drawn = first_drawn(iter(tables), most)
        assert drawn["name"].to_pylist() == [NAMES[row] for row in rows[:most]]


@pytest.mark.parametrize(
    ("items", "share", "held"), [(2, 0.0, 1), (2, 1.0, 1), (10, 0.2, 2), (10, 0.99, 9), (3, 0.5, 2)]
)
def test_neither_side_of_a_division_is_empty(items: int, share: float, held: int) -> None:
    one, other = held_out(range(items), share)
    assert [*one, *other] == list(range(items))
    assert len(one) == held
