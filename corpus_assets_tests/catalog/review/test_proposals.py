"""Thresholds that judgements propose: the best bound, and when there is none."""

import random
from itertools import pairwise, permutations

import pytest
from scipy.stats import mannwhitneyu

from catalog.review.proposals import (
    BEST,
    NOT_APART,
    NOT_ENOUGH,
    ONE_SIDE,
    Proposal,
    _proposal,
    _short_number,
    at_least_by_chance,
    best_bound,
    differ_by_chance,
    signal_value,
    threshold_name,
)


def judged(
    values: list[float], good: list[bool], now: float, end: str = "min", dropped: int | None = None
) -> Proposal:
    one = {
        "rule": "word_count",
        "signal": "n_words",
        "end": end,
        "language": None,
        "exclusive": False,
        "values": [now],
        "now": 0,
    }
    fails = sum(value < now if end == "min" else value > now for value in values)
    return _proposal(one, values, good, fails if dropped is None else dropped, 0.05)


def wrong_at(values: list[float], good: list[bool], bound: float, is_min: bool) -> int:
    """Counted one by one."""
    return sum(
        (value >= bound if is_min else value <= bound) != is_good
        for value, is_good in zip(values, good, strict=True)
    )


@pytest.mark.parametrize("is_min", [True, False])
def test_no_bound_between_two_values_has_fewer_wrong_answers(is_min: bool) -> None:
    chance = random.Random(1)
    for _ in range(200):
        values = [float(chance.randrange(12)) for _ in range(chance.randrange(2, 20))]
        if len(set(values)) < 2:
            continue
        good = [chance.random() < 0.5 for _ in values]
        bound, wrong = best_bound(values, good, is_min, chance.uniform(-1, 12))
        gaps = [(low + high) / 2 for low, high in pairwise(sorted(set(values)))]
        assert wrong == min(wrong_at(values, good, gap, is_min) for gap in gaps)
        assert wrong == wrong_at(values, good, bound, is_min)
        assert bound not in values


def test_of_equally_good_bounds_the_one_nearest_to_the_present_is_taken() -> None:
    values, good = [1.0, 2.0, 3.0, 4.0], [False, True, False, True]
    assert best_bound(values, good, True, 1.2) == (1.5, 1)
    assert best_bound(values, good, True, 3.9) == (3.5, 1)


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [(47, 53, 50), (0.1, 0.12, 0.11), (-3, -2, -2.5), (1 / 3, 2 / 3, 0.5), (1234, 1260, 1250)],
)
def test_a_bound_has_as_few_digits_as_its_neighbours_allow(
    low: float, high: float, number: float
) -> None:
    assert low < _short_number(low, high) < high
    assert len(str(_short_number(low, high))) <= len(str(float(number)))


def test_a_threshold_that_drops_good_documents_is_lowered_to_where_bad_ones_begin() -> None:
    values = [10.0, 12, 15, 18, 32, 34, 36, 38, 41, 45, 60, 70, 80, 90]
    good = [False] * 4 + [True] * 10
    found = judged(values, good, now=50)
    assert (found.value, found.wrong, found.wrong_then, found.why_none) == (20, 6, 0, None)
    assert (found.answers, found.good, found.dropped) == (14, 10, 10)
    assert found.threshold == "word_count.min"
    mirrored = judged([-v for v in values], good, now=-50, end="max")
    assert (mirrored.value, mirrored.wrong, mirrored.wrong_then) == (-20, 6, 0)


@pytest.mark.parametrize(
    ("values", "good", "now", "why_none"),
    [
        ([10, 20, 60, 70], [False, False, True, True], 50, NOT_ENOUGH),
        ([20, 30, 40, *range(60, 80)], [True] * 23, 50, NOT_ENOUGH),
        ([10, 20, 30, 40, 60, 70, 80, 90] * 2, [True, False] * 8, 50, NOT_APART),
        ([60, 70, 80, 10, 20, 30] * 2, [False] * 3 + [True] * 3 + [False] * 3 + [True] * 3, 50,
         NOT_APART),
        ([*range(10, 22), *range(60, 72)], [False] * 12 + [True] * 12, 50, BEST),
        ([*range(10, 22), 40, *range(60, 72)], [False] * 12 + [True] * 13, 50, BEST),
        ([60, 61, 62, *range(70, 90)], [False] * 3 + [True] * 20, 50, ONE_SIDE),
    ],
)  # fmt: skip
def test_nothing_is_proposed_where_answers_do_not_ask_for_it(
    values: list[float], good: list[bool], now: float, why_none: str
) -> None:
    found = judged(values, good, now)
    assert (found.value, found.wrong_then, found.why_none) == (None, None, why_none)
    assert found.wrong == wrong_at(values, good, now, True)


def test_the_test_of_mann_and_whitney_is_near_the_share_of_all_permutations() -> None:
    values, n_good = [1.0, 2, 3, 4, 5, 6, 7, 8], 4
    good = [False, False, True, False, True, False, True, True]

    def ranks(chosen: tuple[float, ...]) -> float:
        return sum(chosen[:n_good])

    seen = ranks((3, 5, 7, 8))
    orders = list(permutations(values))
    exact = sum(ranks(order) >= seen for order in orders) / len(orders)
    assert differ_by_chance(values, good) == pytest.approx(exact, abs=0.01)
    assert differ_by_chance([1.0, 1, 1, 1], [True, False] * 2) == 1
    assert differ_by_chance(values, [True] * 8) == 1


def test_the_test_of_mann_and_whitney_is_scipys_with_ties() -> None:
    chance = random.Random(2)
    for _ in range(50):
        values = [float(chance.randrange(8)) for _ in range(30)]
        good = [True, False, *(chance.random() < 0.4 for _ in values[2:])]
        sides = [[v for v, g in zip(values, good, strict=True) if g == side] for side in (1, 0)]
        expected = mannwhitneyu(*sides, alternative="greater", method="asymptotic")
        assert differ_by_chance(values, good) == pytest.approx(expected.pvalue)


def test_a_coin_seldom_falls_on_one_side_only() -> None:
    assert at_least_by_chance(5, 5) == 1 / 32
    assert at_least_by_chance(0, 7) == 1
    assert at_least_by_chance(7, 8) == pytest.approx(9 / 256)


def test_a_threshold_of_a_language_and_a_field_of_a_signal_have_names() -> None:
    one = {"rule": "word_count", "end": "max", "language": "de"}
    assert threshold_name(one) == "word_count.languages.de.max"
    scores = {"language_scores": {"en": 0.5}, "n_words": 3}
    assert signal_value(scores, "language_scores.en") == 0.5
    assert signal_value(scores, "language_scores.de") is None
    assert signal_value(scores, "n_words.en") is None
