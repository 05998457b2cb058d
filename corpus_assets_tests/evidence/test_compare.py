"""Differences, their intervals and the words for them, on losses whose truth is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit

from corpus_assets.evidence.compare import (
    BETTER,
    NOT_DECIDED,
    WORSE,
    Comparison,
    DecisionRule,
    Difference,
    HeldOut,
    Hosts,
    Scores,
    compare_arms,
    compute_factor,
    differences,
    documents_needed,
    even_places,
    fit_curve,
    overlap,
    seeds_needed,
    widening,
)
from corpus_assets_tests.evidence.worlds import Spread, held_out, losses

RULE = DecisionRule()

# t tables: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, two-sided 95%.
T_TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042}


def covered(seeds: int, spread: Spread, is_paired: bool, worlds: int) -> float:
    """The share of intervals, of a domain and of the macro average, that hold the truth."""
    rng = np.random.default_rng([seeds, is_paired, 7])
    held = held_out(rng)
    hosts = Hosts(held)
    hits = 0
    for _ in range(worlds):
        old, new = losses(rng, held, seeds, spread, percent=-1.0, is_paired=is_paired)
        found = differences(hosts, old, new)
        hits += sum(d.low <= -1.0 <= d.high for d in (found[0], found[-1]))
    return hits / (2 * worlds)


EQUAL, UNEQUAL = Spread(), Spread(baseline=0.1, arm=2.5, shared=0.0)
NO_TRAINING_NOISE = Spread(0.001, 0.001, 0.0, 1.0, 1.0, 0.01)
NO_HOSTS = Spread(0.3, 0.3, 0.0, 0.0, 0.0, 0.01)
SINGLE_ONLY = Spread(0.0, 0.0, 0.0, 0.0, 0.0, 2.0)


@pytest.mark.parametrize("spread", [EQUAL, UNEQUAL], ids=["equal", "25x"])
def test_intervals_cover_the_truth(spread: Spread) -> None:
    assert 0.92 <= covered(4, spread, True, worlds=300) <= 0.98


@pytest.mark.parametrize(
    "sizes", [[80] + [3] * 4 + [2] * 16, [40, 40] + [2] * 22, [1, 2, 3, 4, 5, 6, 7] * 3]
)
@pytest.mark.parametrize("of_hosts", [0.0, 0.3, 1.0])
def test_an_interval_holds_the_truth_where_one_host_has_most_documents(
    sizes: list[int], of_hosts: float
) -> None:
    rng = np.random.default_rng([len(sizes), round(10 * of_hosts)])
    number = np.repeat(np.arange(len(sizes)), sizes)
    hosts = Hosts(HeldOut(np.full(len(number), 1000), ["x"] * len(number), number.astype(str)))
    hits, worlds = 0, 1000
    for _ in range(worlds):
        values = of_hosts * rng.standard_normal(len(sizes))[number]
        values += rng.standard_normal(len(number))
        variance, degrees = hosts.variance(0, values)
        hits += abs(values.mean()) <= stdtrit(degrees, 0.975) * math.sqrt(variance)
    assert hits / worlds >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 4, 6])
@pytest.mark.parametrize("is_paired", [True, False], ids=["paired", "unpaired"])
@pytest.mark.parametrize(
    "spread",
    [EQUAL, UNEQUAL, NO_TRAINING_NOISE, NO_HOSTS, SINGLE_ONLY],
    ids=["equal", "25x", "hosts", "training", "single"],
)
def test_intervals_cover_the_truth_within_two_points(
    seeds: int, is_paired: bool, spread: Spread
) -> None:
    found = covered(seeds, spread, is_paired, worlds=1000)
    assert 0.93 <= found <= 0.975 if not is_paired else 0.93 <= found <= 0.97


def test_equal_arms_are_seldom_decided() -> None:
    rng = np.random.default_rng(3)
    held = held_out(rng)
    hosts = Hosts(held)
    decided = 0
    for _ in range(200):
        main = losses(rng, held, 4, Spread(host=0.0, document=0.0), is_paired=False)
        other = losses(rng, held, 4, Spread(host=0.0, document=0.0), is_paired=False)
        scores = {"a": (main[0], other[0]), "b": (main[1], other[1])}
        (found,) = compare_arms(held, "a", scores, RULE, hosts)
        decided += found.verdict != NOT_DECIDED
    assert decided <= 200 * 0.08


def plainly(held: HeldOut, old: Scores, new: Scores) -> dict[str, tuple[float, float, float]]:
    """Percent, training variance and evaluation variance of paired seeds: sums over hosts, loops, no
    arrays."""
    seeds = len(old.seeds)
    found = {}
    bits = [
        [[n / math.log(2) / b for n, b in zip(row, held.bytes, strict=True)] for row in s.nats]
        for s in (old, new)
    ]
    domains = sorted(set(held.domain))
    rows = {d: [i for i, name in enumerate(held.domain) if name == d] for d in domains}
    for name in [*domains, "macro"]:
        inside = domains if name == "macro" else [name]
        weight = {i: 1 / len(rows[d]) / len(inside) for d in inside for i in rows[d]}
        means = [[sum(w * row[i] for i, w in weight.items()) for row in arm] for arm in bits]
        a, b = (sum(m) / seeds for m in means)
        by_seed = [100 * (y - b / a * x) / a for x, y in zip(*means, strict=True)]
        centre = sum(by_seed) / seeds
        training = sum((e - centre) ** 2 for e in by_seed) / (seeds - 1) / seeds

        def hosts(effect: list[float], inside: list[str] = inside) -> float:
            """The sum over domains of the variance of a mean over other hosts of these sizes."""
            total = 0.0
            for d in inside:
                by_host: dict[str, list[float]] = {}
                for i in rows[d]:
                    by_host.setdefault(held.host[i], []).append(effect[i])
                n, groups = len(rows[d]), list(by_host.values())
                grand = sum(map(sum, groups)) / n
                own = [sum(group) / len(group) for group in groups]
                between = sum(len(g) * (m - grand) ** 2 for g, m in zip(groups, own, strict=True))
                within = sum((v - m) ** 2 for g, m in zip(groups, own, strict=True) for v in g)
                usual = (n - sum(len(g) ** 2 for g in groups) / n) / (len(groups) - 1)
                noise = within / (n - len(groups))
                of_hosts = (between / (len(groups) - 1) - noise) / usual
                if of_hosts <= 0:
                    of_hosts, noise = 0.0, (between + within) / (n - 1)
                variance = of_hosts * sum((len(g) / n) ** 2 for g in groups) + noise / n
                total += variance / len(inside) ** 2
            return total

        effects = [
            [100 * (y - b / a * x) / a for x, y in zip(bits[0][s], bits[1][s], strict=True)]
            for s in range(seeds)
        ]
        mean = [sum(e[i] for e in effects) / seeds for i in range(len(held.bytes))]
        own = [[e - m for e, m in zip(effect, mean, strict=True)] for effect in effects]
        single = sum(hosts(e) for e in own) / (seeds * (seeds - 1))
        found[name] = (100 * (b / a - 1), training, max(hosts(mean) - single, 0))
    return found


def test_a_plain_second_program_comes_to_the_same_numbers() -> None:
    rng = np.random.default_rng(5)
    held = held_out(rng, hosts=40)
    old, new = losses(rng, held, 4, EQUAL, percent=0.7)
    by_hand = plainly(held, old, new)
    found = differences(Hosts(held), old, new)
    assert [d.domain for d in found] == list(by_hand)
    for d in found:
        percent, training, evaluation = by_hand[d.domain]
        assert d.percent == pytest.approx(percent, rel=1e-9)
        assert d.training_variance == pytest.approx(training, rel=1e-9)
        assert d.evaluation_variance == pytest.approx(evaluation, rel=1e-9)
        share = training / (training + d.evaluation_variance)
        degrees = 1 / (share**1.5 / 3 + (1 - share) ** 1.5 / d.evaluation_degrees)
        assert d.degrees == pytest.approx(degrees, rel=1e-9)
        if d.domain != "macro":
            assert 25 <= d.evaluation_degrees <= 39  # 40 hosts of unlike size


def test_intervals_use_students_t() -> None:
    for degrees, quantile in T_TABLE.items():
        wide = replace(DIFFERENCE, degrees=degrees).at(0.95)
        assert (wide.high - wide.percent) / wide.error == pytest.approx(quantile, abs=6e-4)


def test_the_same_losses_give_the_same_intervals_whatever_ran_before() -> None:
    rng = np.random.default_rng(5)
    held = held_out(rng)
    old, new = losses(rng, held, 4, EQUAL)
    assert differences(Hosts(held), old, new) == differences(Hosts(held), old, new)


def test_unpaired_seeds_are_compared_with_the_spread_of_each_arm() -> None:
    held = HeldOut(np.full(4, 1000), ["x"] * 4, ["a", "b", "c", "d"])

    def flat(bits: list[float], first: int) -> Scores:
        nats = np.outer(np.array(bits) * math.log(2) * 1000, np.ones(4))
        return Scores(tuple(range(first, first + len(bits))), nats)

    found = differences(Hosts(held), flat([1.0, 1.0, 1.0], 0), flat([1.00, 1.02, 1.04], 9))[0]
    assert not found.is_paired
    assert found.percent == pytest.approx(2.0)
    assert found.training_variance == pytest.approx(4 / 3)  # of 0, 2, 4 percent, over three
    assert found.degrees == pytest.approx(2)


# Verdicts.

DIFFERENCE = Difference(
    domain="macro",
    baseline_bpb=1.0,
    bpb=0.99,
    percent=-1.0,
    low=-1.2,
    high=-0.8,
    training_variance=0.01,
    evaluation_variance=0.001,
    degrees=4.0,
    p=0.001,
    seeds=4,
    is_paired=True,
    training_degrees=3.0,
    evaluation_degrees=100.0,
)


def worlds_apart(
    main: dict[str, float], other: dict[str, float] | None, rule: DecisionRule = RULE, arms: int = 1
) -> Comparison:
    """Compare arms that differ by so many percent in each domain, with little noise."""
    rng = np.random.default_rng(11)
    domains = sorted(main)
    held = HeldOut(
        np.full(30 * len(domains), 1000),
        [d for d in domains for _ in range(30)],
        [f"{d}{n // 2}" for d in domains for n in range(30)],
    )

    def scores(by_domain: dict[str, float]) -> Scores:
        effect = np.repeat([by_domain[d] for d in domains], 30)
        noise = 0.05 * rng.standard_normal((4, 1)) + 0.05 * rng.standard_normal((4, len(effect)))
        return Scores((1, 2, 3, 4), math.log(2) * 1000 * (1 + (effect + noise) / 100))

    none = dict.fromkeys(domains, 0.0)
    arm = (scores(main), None if other is None else scores(other))
    named = {f"arm{n}": arm for n in range(arms)}
    return compare_arms(held, "base", {"base": (scores(none), scores(none)), **named}, rule)[0]


def test_better_at_both_rates_is_better_and_worse_is_worse() -> None:
    assert worlds_apart({"x": -1, "y": -2}, {"x": -1, "y": 0}).verdict == BETTER
    assert worlds_apart({"x": 1, "y": 2}, {"x": 1, "y": 1}).verdict == WORSE


def test_another_sign_at_the_other_rate_decides_nothing() -> None:
    found = worlds_apart({"x": -1, "y": -2}, {"x": 1, "y": 1})
    assert found.verdict == NOT_DECIDED
    assert "other learning rate" in found.reasons[0]


def test_one_learning_rate_alone_decides_nothing() -> None:
    assert worlds_apart({"x": -1, "y": -2}, None).verdict == NOT_DECIDED


def test_a_domain_that_regresses_keeps_the_rest_from_being_better() -> None:
    mixed = {"prose": -3.0, "code": 1.0}
    found = worlds_apart(mixed, mixed)
    assert (found.verdict, found.regressed) == (NOT_DECIDED, ("code",))
    assert "code must not regress" in found.reasons[0]
    allowed = DecisionRule(unless={"code": 0.02})
    assert worlds_apart(mixed, mixed, allowed).verdict == BETTER
    assert worlds_apart(mixed, mixed, DecisionRule(must_not_regress=("prose",))).verdict == BETTER


def guarded(rng: np.random.Generator, loss: float, hosts: int, margin: float = 0.01) -> Comparison:
    """Compare an arm that is 2% better in prose and truly so much worse in code."""
    held = held_out(rng, domains=2, hosts=hosts, per_host=2)
    spread = Spread(host=2.0, document=2.0)
    old, new = losses(rng, held, 4, spread, percent=-2.0)
    is_code = np.array([name == "domain1" for name in held.domain])
    worse = Scores(new.seeds, new.nats * np.where(is_code, (1 + loss / 100) / 0.98, 1.0))
    arms = {"base": (old, old), "new": (worse, worse)}
    rule = DecisionRule(margin=margin, must_not_regress=("domain1",))
    (found,) = compare_arms(held, "base", arms, rule, Hosts(held))
    return found


@pytest.mark.parametrize("hosts", [3, 10, 30])
def test_a_loss_of_twice_the_margin_does_not_pass_a_guard(hosts: int) -> None:
    rng = np.random.default_rng(hosts)
    found = [guarded(rng, 2.0, hosts) for _ in range(60)]
    passed = [not one.regressed and not one.unsafe for one in found]
    assert sum(passed) <= 0.05 * 60 + 1
    assert all(
        one.verdict != BETTER for one, is_safe in zip(found, passed, strict=True) if not is_safe
    )


def test_a_guard_that_is_not_decided_says_what_would_decide_it() -> None:
    rng = np.random.default_rng(2)
    found = next(one for one in (guarded(rng, -1.0, 10) for _ in range(50)) if one.unsafe)
    assert (found.verdict, found.regressed, found.unsafe) == (NOT_DECIDED, (), ("domain1",))
    (reason,) = (line for line in found.reasons if line.startswith("domain1"))
    assert "is not shown to stay within +1.00%" in reason
    assert "more held-out documents" in reason
    code = found.main[1]
    gap = abs(1.0 - code.percent)
    more = documents_needed(code, gap, 0.95)
    assert more is not None
    assert code.with_documents(code.documents + more).detects(gap, 0.95)
    assert not code.with_documents(code.documents + more - 1).detects(gap, 0.95)


def test_documents_that_seeds_have_in_common_widen_the_interval() -> None:
    """With a share r of the noise in common, a mean of n has r + (1 - r)/n of it, and the spread of
    seeds shows 1 - r: `widening` puts one for the other."""
    rng = np.random.default_rng(8)
    for share in (0.3, 0.5, 0.75):
        places = even_places(4)
        noise = rng.standard_normal((4000, 1000))
        starts = [int(place * 1000) for place in places]
        length = int(share * 1000)
        drawn = np.stack(
            [np.take(noise, np.arange(s, s + length) % 1000, axis=1).mean(axis=1) for s in starts],
            axis=1,
        )
        true = drawn.mean(axis=1).var()
        seen = drawn.var(axis=1, ddof=1).mean() * widening(4, overlap(places, share))
        assert seen == pytest.approx(true, rel=0.1)


def test_with_more_arms_each_needs_more() -> None:
    main = {"x": -0.3, "y": -0.3}
    one, many = (worlds_apart(main, main, arms=arms) for arms in (1, 20))
    assert one.confidence == 0.95
    assert many.confidence == pytest.approx(1 - 0.05 / 20)
    assert many.macro.high - many.macro.low > one.macro.high - one.macro.low


def test_what_is_not_decided_says_how_many_seeds_would() -> None:
    weak = replace(DIFFERENCE, percent=-0.1, training_variance=0.01, evaluation_variance=0.0)
    more = seeds_needed(weak, 0.1, 0.95)
    assert more is not None
    assert weak.with_seeds(4 + more).detects(0.1, 0.95)
    assert not weak.with_seeds(3 + more).detects(0.1, 0.95)
    blind = replace(weak, evaluation_variance=0.01)
    assert seeds_needed(blind, 0.1, 0.95) is None, "no seeds help where the held-out set is small"


# Compute.


def test_a_curve_is_found_again_and_the_factor_read_off_it() -> None:
    tokens = [10e6, 20e6, 40e6, 80e6]
    curve = fit_curve(tokens, [0.9 + 40 * t**-0.3 for t in tokens])
    assert curve.floor == pytest.approx(0.9, abs=1e-4)
    assert curve.power == pytest.approx(0.3, abs=1e-3)
    gain = 100 * (curve.at(60e6) / curve.at(40e6) - 1)
    found = compute_factor(curve, replace(DIFFERENCE, percent=gain, low=-90, high=0.0), 40e6)
    assert found is not None
    assert found.factor == pytest.approx(1.5, abs=1e-6)
    assert found.low == pytest.approx(1.0)
    assert found.high is None, "the baseline never comes so low"


def test_a_factor_far_outside_of_what_was_measured_is_refused() -> None:
    curve = fit_curve([10e6, 20e6, 40e6], [0.9 + 40 * t**-0.3 for t in (10e6, 20e6, 40e6)])
    gain = 100 * (curve.at(90e6) / curve.at(40e6) - 1)
    assert compute_factor(curve, replace(DIFFERENCE, percent=gain), 40e6) is None
    with pytest.raises(ValueError, match="three or more budgets"):
        fit_curve([1.0, 2.0], [2.0, 1.0])
