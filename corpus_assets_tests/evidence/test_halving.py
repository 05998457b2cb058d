"""Successive halving, on losses whose truth is known."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from corpus_assets.evidence.compare import DecisionRule, HeldOut, Hosts, Scores
from corpus_assets.evidence.halving import (
    BETTER,
    KEPT,
    NOT_DECIDED,
    Standing,
    look_errors,
    rounds_of,
    standing,
)
from corpus_assets_tests.evidence.worlds import held_out

FREE = DecisionRule(must_not_regress=())


def drawn(
    rng: np.random.Generator,
    held: HeldOut,
    effects: Mapping[str, float | Mapping[str, float]],
    seeds: Sequence[int],
    turned: Sequence[str] = (),
) -> dict[str, list[Scores]]:
    """Losses at two learning rates; the sign of `turned` arms differs at the other one."""
    domain, host = np.array(held.domain), np.unique(held.host, return_inverse=True)[1]
    found = {}
    for arm, effect in effects.items():
        by = effect if isinstance(effect, Mapping) else dict.fromkeys(held.domains, effect)
        own = np.array([by[name] for name in domain]) + 0.2 * rng.standard_normal(len(domain))
        own = own + 0.2 * rng.standard_normal(host.max() + 1)[host]
        found[arm] = [
            Scores(
                tuple(seeds),
                held.bytes * (1 + (sign * own + 0.1 * rng.standard_normal((len(seeds), 1))) / 100),
            )
            for sign in (1, -1 if arm in turned else 1)
        ]
    return found


def stood(
    scores: Mapping[str, Sequence[Scores]], held: HeldOut, seeds: int, rule: DecisionRule = FREE
) -> Standing:
    return standing(Hosts(held), scores, {"key": list(scores)}, rounds_of(range(seeds)), rule)


def test_rounds_double_the_seeds_and_spread_them() -> None:
    assert rounds_of(range(12)) == ((0, 4, 8), (2, 6, 10), (1, 3, 5, 7, 9, 11))
    assert rounds_of(range(6)) == ((0, 2, 4), (1, 3, 5))
    assert rounds_of(range(4)) == ((0, 1, 2, 3),)


def test_the_errors_of_all_looks_and_pairs_are_those_of_the_rule() -> None:
    for seeds in (4, 6, 12, 25):
        errors = look_errors(rounds_of(range(seeds)), 10, 0.95)
        assert 10 * sum(errors) == pytest.approx(0.05)
        assert errors == sorted(errors)


def test_what_is_decided_needs_no_more_seeds_and_what_is_not_does() -> None:
    rng = np.random.default_rng(3)
    held = held_out(rng)
    first = drawn(rng, held, {"present": 0.0, "good": -0.01, "bad": 9.0}, (0, 2, 4))
    found = stood(first, held, 6)
    assert found.looks == 1
    assert set(found.wanted) == {"present", "good"}
    assert set(found.wanted["good"]) == set(range(6))
    assert found.outcomes["key"].verdict == NOT_DECIDED
    bad = found.outcomes["key"].points[2]
    assert (bad.arm, bad.look, bad.is_left) == ("bad", 1, False)
    begun = standing(None, {}, {"key": ["present", "good"]}, rounds_of(range(6)), FREE)
    assert begun.wanted == {"present": (0, 2, 4), "good": (0, 2, 4)}


def test_the_best_is_chosen_though_another_beat_the_present_value() -> None:
    rng = np.random.default_rng(4)
    held = held_out(rng)
    found = stood(drawn(rng, held, {"p": 0.0, "a": -4.0, "b": -8.0}, range(6)), held, 6)
    outcome = found.outcomes["key"]
    assert (outcome.verdict, outcome.chosen, outcome.left) == (BETTER, "b", ["b"])
    assert not found.wanted


def test_the_present_value_stays_where_it_is_best_or_not_told_apart() -> None:
    rng = np.random.default_rng(5)
    held = held_out(rng)
    for other, reason in ((9.0, "every other value is worse"), (0.001, "no value is shown")):
        outcome = stood(drawn(rng, held, {"p": 0.0, "a": other}, range(6)), held, 6).outcomes["key"]
        assert (outcome.verdict, outcome.chosen) == (KEPT, "p")
        assert outcome.reasons[0].startswith(reason)


def test_nothing_is_decided_against_a_value_whose_sign_differs_at_the_other_rate() -> None:
    rng = np.random.default_rng(6)
    held = held_out(rng)
    scores = drawn(rng, held, {"p": 0.0, "a": 5.0}, range(6), turned=["a"])
    assert stood(scores, held, 6).outcomes["key"].left == ["p", "a"]


def test_a_better_value_that_harms_a_guarded_domain_is_not_proposed() -> None:
    rng = np.random.default_rng(7)
    held = held_out(rng)
    mixed = {"domain0": -9.0, "domain1": -9.0, "domain2": 3.0}
    scores = drawn(rng, held, {"p": 0.0, "a": mixed}, range(6))
    outcome = stood(scores, held, 6, DecisionRule()).outcomes["key"]
    assert (outcome.verdict, outcome.chosen) == (NOT_DECIDED, "p")
    assert "domain2 is not shown to stay within +0.50%" in outcome.reasons[0]
    assert stood(scores, held, 6).outcomes["key"].verdict == BETTER


def test_seeds_that_a_round_has_not_are_not_looked_at() -> None:
    """What was run besides the plan changes no look: of the first round, three seeds count."""
    rng = np.random.default_rng(8)
    held = held_out(rng)
    scores = drawn(rng, held, {"p": 0.0, "a": 0.05, "b": 9.0}, range(6))
    part = {arm: [one.of((0, 2, 4)) for one in rates] for arm, rates in scores.items()}
    more = {arm: [one.of((0, 1, 2, 4)) for one in rates] for arm, rates in scores.items()}
    assert stood(part, held, 6) == stood(more, held, 6)


@pytest.mark.slow
def test_of_values_that_are_alike_none_is_decided_against_in_95_of_100_sweeps() -> None:
    rng = np.random.default_rng(9)
    worlds, decided, found = 400, 0, 0
    for _ in range(worlds):
        held = held_out(rng)
        alike = stood(drawn(rng, held, dict.fromkeys("pabc", 0.0), range(6)), held, 6)
        decided += len(alike.outcomes["key"].left) < 4
        better = stood(drawn(rng, held, {"p": 0.0, "a": 0.0, "b": -0.6}, range(6)), held, 6)
        found += better.outcomes["key"].chosen == "b"
    assert decided <= 0.08 * worlds
    assert found >= 0.8 * worlds
