"""Upsampling curves: how often each bucket of a score is seen."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import RecipeError
from corpus_assets.select.columns import Columns
from corpus_assets.select.rules import Cut, SelectionSettings, TierSettings, tier_cutoff
from corpus_assets.shards.curve import CurveSettings
from corpus_assets.shards.mixture import phases_from
from corpus_assets.shards.mixture_settings import MixedGroup, MixtureSettings

TWENTY = {"buckets": 20, "discard": 0.4, "mean": 2.5, "largest": 7}


def multipliers(**changes: Any) -> list[float]:
    """From the best bucket to the worst."""
    return list(CurveSettings.model_validate(TWENTY | changes).multipliers.values())


def naive(buckets: int, discard: float, mean: float, p: float, rise: float) -> list[float]:
    """Means of the curve over each bucket, worst first, by a million small steps."""
    at = (np.arange(1_000_000) + 0.5) / 1_000_000
    x = np.maximum(at - discard, 0)
    curve = np.where(x > 0, x**p * np.exp(rise * x), 0.0)
    curve *= mean / curve.mean()
    return [float(part.mean()) for part in np.split(curve, buckets)]


@pytest.mark.parametrize("discard", [0.0, 0.4, 0.43])
@pytest.mark.parametrize(("p", "rise"), [(0.0, 0.0), (1.0, 0.0), (0.5, 2.0), (2.0, 15.0)])
def test_a_bucket_has_the_mean_of_the_curve_over_it(discard: float, p: float, rise: float) -> None:
    found = multipliers(discard=discard, power=p, exponent=rise, largest=99)
    assert found[::-1] == pytest.approx(naive(20, discard, 2.5, p, rise), abs=2e-5)


def test_the_steepest_curve_meets_mean_and_largest_and_rises() -> None:
    found = multipliers()
    assert found[0] == 7.0
    assert sum(found) / 20 == pytest.approx(2.5, abs=1e-6)
    assert found == sorted(found, reverse=True)
    assert found[12:] == [0.0] * 8, "the worst 40 in 100"
    assert [round(one, 1) for one in (*found[:3], found[11])] == [7.0, 6.5, 6.1, 0.7], "as the docs"


def test_where_the_largest_is_far_the_rise_is_bounded() -> None:
    assert multipliers(mean=0.5) == multipliers(mean=0.5, power=2, exponent=2)


def test_points_are_joined_by_straight_lines() -> None:
    curve = CurveSettings(buckets=4, points=((0, 0), (0.5, 0), (1, 4)))
    assert curve.multipliers == {"q4": 3.0, "q3": 1.0, "q2": 0.0, "q1": 0.0}


def test_a_curve_is_the_same_when_it_is_read_again() -> None:
    for curve in (CurveSettings(**TWENTY), CurveSettings(buckets=2, points=((0, 1), (1, 2)))):
        assert CurveSettings.model_validate(curve.model_dump(mode="json")) == curve


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"discard": 0.8}, "the best bucket would be seen 12.5 times, allowed is 7"),
        ({"power": 2}, "the best bucket would be seen 11"),
        ({"exponent": 2}, "`exponent` goes with `power`"),
        ({"points": [[0, 1], [1, 2]]}, "a curve is `points`, or its parameters"),
        ({"buckets": 1}, "greater than or equal to 2"),
    ],
)
def test_a_curve_that_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        multipliers(**changes)


@pytest.mark.parametrize(
    "points", [[[0, 1]], [[0.5, 1], [0, 1]], [[0, 0], [1, 0]], [[0, -1], [1, 1]]]
)
def test_points_go_from_end_to_end(points: list[list[float]]) -> None:
    with pytest.raises(ValidationError):
        CurveSettings.model_validate({"buckets": 4, "points": points})


def test_a_curve_weighs_buckets_of_each_phase_and_tiers_count_before_it() -> None:
    groups = [MixedGroup(f"A/web/q{k}", "A", "web", f"q{k}", 100, 10_000) for k in (1, 2)]
    settings = MixtureSettings.model_validate(
        {
            "curve": {"buckets": 2, "points": [[0, 1], [1, 5]]},  # 2 and 4
            "phases": [
                {"name": "main", "share": 0.5},
                {
                    "name": "flat",
                    "share": 0.25,
                    "curve": {"buckets": 2, "points": [[0, 1], [1, 1]]},
                },
                {"name": "best", "share": 0.25, "weights": {"tier": {"q1": 0}}},
            ],
            "block_samples": 30,
        }
    )
    found = [phase.counts for phase in phases_from(groups, settings, 100)]
    assert found == [{"A/web/q1": 10, "A/web/q2": 20}, {"A/web/q1": 15, "A/web/q2": 15},
                     {"A/web/q2": 30}]  # fmt: skip


def test_buckets_are_tiers_of_equal_shares() -> None:
    tiers = TierSettings.model_validate({"signal": "s", "buckets": 4, "default": "q1"})
    assert tiers.names == ("q4", "q3", "q2", "q1")
    assert tiers.shares == (0.25,) * 4
    assert TierSettings.model_validate(tiers.model_dump(mode="json")).names == tiers.names
    with pytest.raises(ValidationError, match="`buckets` replaces names and shares"):
        TierSettings.model_validate({"signal": "s", "buckets": 2, "names": ["a"], "default": "a"})


def test_a_document_is_seen_as_often_as_its_weight_says_up_to_the_width_of_its_class() -> None:
    """As docs/how-to/set-the-mixture.md has it: classes of a factor 2, and the geometric middle of each."""
    names, bounds = ("w8", "w4", "w2", "w1", "w0"), (8.0, 4.0, 2.0, 1.0)
    tiers = TierSettings(signal="importance", names=names, bounds=bounds, default="w0")
    weights = np.exp(np.random.default_rng(7).uniform(0, math.log(15.9), 4000))
    table = pa.table({"importance": weights, "domain": ["web"] * 4000})
    cuts = zip(names, bounds, strict=False)
    cutoffs = {tier_cutoff(name): {"*": Cut(bound)} for name, bound in cuts}
    codes, found = Columns(table).tiers(SelectionSettings(tiers=tiers), cutoffs)
    sizes = {name: int((codes == k).sum()) for k, name in enumerate(found)}
    groups = [MixedGroup(f"A/web/{t}", "A", "web", t, n, 64 * n) for t, n in sizes.items() if n]
    middles = {"w8": 11.31, "w4": 5.657, "w2": 2.828, "w1": 1.414, "w0": 0.0}
    wanted = round(64 * sum(middles[name] * n for name, n in sizes.items()))
    settings = MixtureSettings(
        weights={"tier": middles},
        run_tokens=wanted,
        block_samples=wanted // 64,
        max_epochs={"default": 20},
    )
    [phase] = phases_from(groups, settings, 64)
    epochs = {g.tier: phase.blocks * phase.counts[g.id] / g.samples for g in groups}
    seen = np.array([epochs[found[code]] for code in codes])
    assert (np.abs(np.log2(seen / weights)) <= 0.5 + 0.01).all()


def _by_tokens(tokens: dict[str, int], mean: Fraction, **changes: Any) -> dict[str, float]:
    curve = {"buckets": 20, "discard": 0.4, "mean": None, "largest": 7} | changes
    return CurveSettings.model_validate(curve).multipliers_of(tokens, mean)


def test_a_curve_over_buckets_of_other_sizes_is_the_published_one() -> None:
    """Of the two topics of dolma3's mixing_dashboard.ipynb, which asks for 2 epochs of each."""
    medicine = {"q2": 2000, "q1": 1000}
    assert _by_tokens(medicine, Fraction(2), buckets=2, discard=0.5) == {"q2": 3.0, "q1": 0.0}
    science = {"q2": 4000, "q1": 3000}
    assert _by_tokens(science, Fraction(2), buckets=2, discard=0.5) == {"q2": 3.5, "q1": 0.0}
    equal = dict.fromkeys(CurveSettings(**TWENTY).multipliers, 5)
    assert _by_tokens(equal, Fraction(5, 2)) == CurveSettings(**TWENTY).multipliers


def test_a_curve_over_buckets_of_other_sizes_keeps_mean_and_largest() -> None:
    draw = np.random.default_rng(5)
    for mean in (0.2, 1.0, 2.5, 4.0):
        tokens = {f"q{n:02d}": int(draw.integers(1, 10**9)) for n in range(1, 21) if n % 7}
        found = _by_tokens(tokens, Fraction(repr(mean)))
        total = sum(tokens.values())
        assert list(found) == sorted(tokens, reverse=True)
        assert sum(found[q] * n for q, n in tokens.items()) / total == pytest.approx(mean, abs=1e-5)
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert max(found.values()) <= 7
        gone = sum(tokens[q] for q, times in found.items() if not times) / total
        assert gone <= 0.4 < gone + tokens[min(q for q, times in found.items() if times)] / total
    flat = set(_by_tokens({"q2": 1, "q1": 1}, Fraction(9), buckets=2, discard=0).values())
    assert flat == {9.0}  # more than `largest`: limits on epochs say so


def test_inside_each_topic_the_share_says_the_mean_of_its_curve() -> None:
    draw = np.random.default_rng(8)
    pool = [
        MixedGroup(f"{topic}/{tier}", "web", "web", tier, n, n * 100, {"topic": topic})
        for topic in ("law", "games", "art")
        for tier, n in zip(
            CurveSettings(**TWENTY).multipliers,
            draw.integers(9_000, 30_000, 20).tolist(),
            strict=True,
        )
    ]
    curve = {"buckets": 20, "discard": 0.4, "mean": None, "largest": 7}
    asked = {
        "shares": {"topic": {"law": 0.6, "games": 0.3, "art": 0.1}},
        "inside": {"topic": {"*": {"curve": curve}}},
        "block_samples": 100_000,
        "max_epochs": 7.01,
    }
    run = 12 * 100_000 * 100
    settings = MixtureSettings.model_validate(asked | {"run_tokens": run})
    [phase] = phases_from(pool, settings, 100)
    for topic, share in (("law", 60_000), ("games", 30_000), ("art", 10_000)):
        own = [group for group in pool if group.labels["topic"] == topic]
        assert sum(phase.counts.get(group.id, 0) for group in own) == share
        tokens = {group.tier: group.tokens for group in own}
        mean = Fraction(share, 100_000) * run / sum(tokens.values())
        multipliers = _by_tokens(tokens, mean)
        for group in own:
            epochs = phase.counts.get(group.id, 0) * phase.blocks / group.samples
            assert epochs == pytest.approx(multipliers[group.tier], rel=0.01, abs=0.001)


def test_a_mean_by_the_share_is_of_the_whole_run() -> None:
    curve = {"buckets": 20, "mean": None}
    with pytest.raises(
        RecipeError, match=r"phases.main.curve.mean: null is the epochs of the whole"
    ):
        MixtureSettings.model_validate({"phases": [{"name": "main", "share": 1, "curve": curve}]})
    with pytest.raises(ValidationError, match="a curve is `points`, or its parameters"):
        CurveSettings.model_validate({"buckets": 2, "mean": None, "points": [[0, 0], [1, 1]]})
