"""The order formula, forwards and backwards."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_loader import LoaderError, Order
from corpus_loader.manifest import Phase


@st.composite
def orders(draw: st.DrawFn) -> tuple[Order, dict[str, int], list[Phase], int]:
    """Random group sizes and phases; not every group is in every phase."""
    names = [f"S{number}/web/mid" for number in range(draw(st.integers(1, 4)))]
    sizes = {name: draw(st.integers(1, 25)) for name in names}
    block = draw(st.integers(1, 12))
    phases = []
    for number in range(draw(st.integers(1, 3))):
        cuts = sorted(draw(st.lists(st.integers(0, block), min_size=len(names) - 1,
                                    max_size=len(names) - 1)))  # fmt: skip
        counts = np.diff([0, *cuts, block]).tolist()
        share = {name: count for name, count in zip(names, counts, strict=True) if count}
        phases.append(Phase(name=str(number), blocks=draw(st.integers(0, 6)), counts=share))
    seed = draw(st.integers(0, 2**63))
    return Order(sizes, phases, block, seed), sizes, phases, block


@settings(max_examples=40, deadline=None)
@given(orders(), st.integers(0, 2**31))
def test_every_position_agrees_with_the_formula_in_plain_integers(
    made: tuple[Order, dict[str, int], list[Phase], int], seed: int
) -> None:
    _, sizes, phases, block = made
    order = Order(sizes, phases, block, seed)
    draws = order.locate(np.arange(len(order)))
    for position in range(len(order)):
        found = (
            order.group_ids[draws.group[position]],
            int(draws.sample[position]),
            int(draws.epoch[position]),
        )
        assert found == naive.locate(sizes, phases, block, seed, position)


@settings(max_examples=80, deadline=None)
@given(orders())
def test_each_block_has_the_exact_counts_of_its_phase(
    made: tuple[Order, dict[str, int], list[Phase], int],
) -> None:
    order, _, phases, block = made
    assert len(order) == block * sum(phase.blocks for phase in phases)
    first = 0
    for phase in phases:
        for _ in range(phase.blocks):
            groups = order.locate(np.arange(first, first + block)).group
            counted = np.bincount(groups, minlength=len(order.group_ids)).tolist()
            assert counted == [phase.counts.get(group, 0) for group in order.group_ids]
            first += block


@settings(max_examples=80, deadline=None)
@given(orders())
def test_no_sample_comes_twice_in_an_epoch_and_full_epochs_hold_all(
    made: tuple[Order, dict[str, int], list[Phase], int],
) -> None:
    order, sizes, _, _ = made
    draws = order.locate(np.arange(len(order)))
    for number, group in enumerate(order.group_ids):
        epochs = draws.epoch[draws.group == number]
        samples = draws.sample[draws.group == number]
        for epoch in range(int(epochs.max(initial=-1)) + 1):
            seen = samples[epochs == epoch]
            assert len(np.unique(seen)) == len(seen)
            if epoch < epochs.max():
                assert np.array_equal(np.sort(seen), np.arange(sizes[group]))


@settings(max_examples=80, deadline=None)
@given(orders())
def test_the_inverse_equals_a_replay_of_the_whole_run(
    made: tuple[Order, dict[str, int], list[Phase], int],
) -> None:
    order, sizes, _, _ = made
    draws = order.locate(np.arange(len(order)))
    for number, group in enumerate(order.group_ids):
        seen = order.sightings(group, np.arange(sizes[group]))
        for sample in range(sizes[group]):
            replayed = np.flatnonzero((draws.group == number) & (draws.sample == sample))
            assert seen.position[seen.row == sample].tolist() == replayed.tolist()
            assert seen.epoch[seen.row == sample].tolist() == draws.epoch[replayed].tolist()
            assert order.positions_of(group, sample).tolist() == replayed.tolist()


@settings(max_examples=80, deadline=None)
@given(orders(), st.integers(0, 300))
def test_an_end_cuts_off_what_comes_later_and_nothing_else(
    made: tuple[Order, dict[str, int], list[Phase], int], end: int
) -> None:
    order, sizes, _, _ = made
    for group, size in sizes.items():
        whole = order.sightings(group, np.arange(size))
        cut = order.sightings(group, np.arange(size), end)
        kept = whole.position < end
        for all_of_it, part in zip(whole, cut, strict=True):
            assert all_of_it[kept].tolist() == part.tolist()


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_token_shares_of_any_100_blocks_are_those_of_the_manifest(data: st.DataObject) -> None:
    """Samples are not equally full, as after best-fit packing: the last of a shard may be near
    empty. Windows of 100 blocks, wherever they start, are within 0.1% all the same."""
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    names = [f"S{number}/web/mid" for number in range(data.draw(st.integers(2, 6)))]
    sizes = {name: int(generator.integers(300, 20_000)) for name in names}
    block = data.draw(st.sampled_from([1024, 1500, 2048]))
    phases = []
    for number in range(data.draw(st.integers(1, 2))):
        counts = generator.multinomial(block, generator.dirichlet(np.ones(len(names))))
        share = {name: int(n) for name, n in zip(names, counts, strict=True) if n}
        phases.append(Phase(name=str(number), blocks=150, counts=share))
    order = Order(sizes, phases, block, data.draw(st.integers(0, 2**63)))
    fills = []
    for name in names:  # sorted, as the order has them
        tokens = np.minimum(2048, 2048 - generator.exponential(20, sizes[name]).astype(int))
        tokens[generator.random(sizes[name]) < 0.001] = 300
        fills.append(tokens)
    for number, phase in enumerate(phases):
        expected = np.array(
            [phase.counts.get(name, 0) * fills[k].mean() for k, name in enumerate(names)]
        )
        first, end = order.phase_bounds(number)
        aligned = first + block * int(generator.integers(0, 51))
        anywhere = int(generator.integers(first, end - 100 * block + 1))
        for start in (aligned, anywhere):
            draws = order.locate(np.arange(start, start + 100 * block))
            found = np.array(
                [fills[k][draws.sample[draws.group == k]].sum() for k in range(len(names))]
            )
            shares = found / found.sum() - expected / expected.sum()
            assert np.abs(shares).max() < 0.001


def big(seed: int) -> Order:
    share = {"A/web/mid": 700, "B/web/mid": 324}
    phases = [Phase(name="main", blocks=10**9, counts=share)]
    return Order({"A/web/mid": 10**9, "B/web/mid": 77_777}, phases, 1024, seed)


def test_a_run_of_a_trillion_samples_is_located_and_inverted_without_a_table() -> None:
    order = big(3)
    positions = np.array([0, 5 * 10**11 + 17, len(order) - 1])
    draws = order.locate(positions)
    for row, position in enumerate(positions):
        if order.group_ids[draws.group[row]] == "A/web/mid":
            assert position in order.positions_of("A/web/mid", int(draws.sample[row]))


def test_what_a_short_run_saw_is_found_without_a_look_at_a_long_one() -> None:
    """The small group is used up four million times in the whole run."""
    order = big(3)
    seen = order.sightings("B/web/mid", [5], end=10 * 1024 * 1024)
    draws = order.locate(seen.position)
    assert draws.sample.tolist() == [5] * len(seen.position)
    assert draws.epoch.tolist() == seen.epoch.tolist() == [*range(len(seen.position))]
    assert len(seen.position) in (43, 44)  # 10,240 blocks of 324 of 77,777 samples: 42.7 times


def test_the_order_of_published_runs_never_changes() -> None:
    draws = big(1).locate([0, 1, 2, 1024, 10**12])
    assert draws.group.tolist() == [1, 0, 1, 0, 0]
    assert draws.sample.tolist() == [11894, 36719171, 65997, 661115396, 685100239]


def test_another_seed_gives_another_order() -> None:
    one, two = big(1).locate(np.arange(2000)), big(2).locate(np.arange(2000))
    assert np.mean(one.group != two.group) > 0.3
    assert np.mean(one.sample == two.sample) < 0.01


def test_positions_samples_and_groups_that_do_not_exist_are_refused() -> None:
    order = big(1)
    with pytest.raises(LoaderError, match="positions of this run"):
        order.locate([len(order)])
    with pytest.raises(LoaderError, match="positions of this run"):
        order.locate([-1])
    with pytest.raises(LoaderError, match="samples 0"):
        order.positions_of("B/web/mid", 77_777)
    with pytest.raises(LoaderError, match="not in this manifest"):
        order.positions_of("C/web/mid", 0)


def test_phases_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(LoaderError, match="must draw 4"):
        Order({"A": 3}, [Phase(name="x", blocks=1, counts={"A": 3})], 4, 1)
    with pytest.raises(LoaderError, match="without samples"):
        Order({"A": 0}, [Phase(name="x", blocks=1, counts={"A": 4})], 4, 1)


def test_a_run_without_phases_is_empty() -> None:
    order = Order({"A": 3}, [], 4, 1)
    assert len(order) == 0
    assert order.positions_of("A", 1).tolist() == []
    assert order.locate([]).sample.tolist() == []
