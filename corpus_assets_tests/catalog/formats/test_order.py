"""The plain order formula is the loader's, bit by bit."""

import random

import numpy as np
import pytest

from catalog.formats import run_order as plain
from catalog.formats.manifest import Phase
from corpus_assets.shards.order import Order
from corpus_assets.text import feistel


def random_run(chance: random.Random) -> tuple[dict[str, int], list[Phase], int, int]:
    groups = [f"S{n}/{chance.choice(['web', 'ünï', 'b'])}/t" for n in range(chance.randint(1, 5))]
    samples = {group: chance.choice([0, 1, 2, 3, 7, 40, 129]) for group in groups}
    drawn = [group for group in groups if samples[group]] or groups[:1]
    samples[drawn[0]] = samples[drawn[0]] or 5
    block = chance.choice([1, 2, 3, 16, 33])
    phases = []
    for number in range(chance.randint(1, 4)):
        counts: dict[str, int] = {}
        for _ in range(block):
            group = chance.choice(drawn)
            counts[group] = counts.get(group, 0) + 1
        phases.append(Phase(name=f"p{number}", blocks=chance.choice([0, 1, 4, 9]), counts=counts))
    return samples, phases, block, chance.choice([0, 7, -3, 2**63, chance.getrandbits(40)])


def plain_order(
    samples: dict[str, int], phases: list[Phase], block: int, seed: int
) -> plain.RunOrder:
    return plain.RunOrder(samples, phases, block, seed)


def test_permutations_equal_the_kernels_and_undo_themselves() -> None:
    chance = random.Random(1)
    for size in [1, 2, 3, 4, 5, 255, 256, 257, 10**6, 2**40 + 1, 2**62]:
        for key in [0, 1, 2**64 - 1, chance.getrandbits(64)]:
            for index in {0, size - 1, chance.randrange(size)}:
                image = plain.permute(index, size, key)
                kernel = feistel.permute(np.uint64(index), np.uint64(size), np.uint64(key))
                assert image == int(kernel)
                assert plain.unpermute(image, size, key) == index


def test_a_small_permutation_hits_every_place_once() -> None:
    for size in range(1, 70):
        images = {plain.permute(index, size, 99) for index in range(size)}
        assert images == set(range(size))


def test_keys_equal_the_kernels() -> None:
    for key in (0, 5, 2**64 - 1):
        for number in (0, 1, 10**12):
            assert plain.derive(key, number) == int(
                feistel.derive(np.uint64(key), np.uint64(number))
            )


@pytest.mark.parametrize("case", range(40))
def test_every_sample_is_found_at_exactly_the_positions_that_a_replay_has_it(case: int) -> None:
    samples, phases, block, seed = random_run(random.Random(case))
    ours = plain_order(samples, phases, block, seed)
    theirs = Order(samples, phases, block, seed)
    assert len(ours) == len(theirs)
    replay = theirs.locate(np.arange(len(theirs)))
    seen: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for position, (group, sample, epoch) in enumerate(
        zip(replay.group.tolist(), replay.sample.tolist(), replay.epoch.tolist(), strict=True)
    ):
        key = (theirs.group_ids[group], sample)
        seen.setdefault(key, []).append((position, epoch))
    for group, size in samples.items():
        for sample in range(size):
            found = [(time.position, time.epoch) for time in ours.positions_of(group, sample)]
            assert sorted(found) == seen.get((group, sample), [])


@pytest.mark.parametrize("case", range(10))
def test_an_end_cuts_off_what_comes_later_and_nothing_else(case: int) -> None:
    chance = random.Random(case)
    samples, phases, block, seed = random_run(chance)
    order = plain_order(samples, phases, block, seed)
    end = chance.randint(0, len(order) + 3)
    for group, size in samples.items():
        for sample in range(min(size, 5)):
            whole = {time.position for time in order.positions_of(group, sample)}
            cut = {time.position for time in order.positions_of(group, sample, end)}
            assert cut == {position for position in whole if position < end}
