"""What a mix says of itself before anyone trains."""

import re
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

from corpus_assets.core.errors import RecipeError
from corpus_assets.shards.mixture import phases_from
from corpus_assets.shards.mixture_settings import MixtureSettings
from corpus_assets.shards.mixture_table import DrawnGroup, gathered_rows, mix_of, mixture_rows
from corpus_assets_tests.shards.test_mixture import SEQ_LEN, WEB_AND_CODE, full, mix, sized

Row = TypeVar("Row", bound=DrawnGroup)


def by_group(rows: Iterable[Row]) -> dict[str, Row]:
    return {row.group: row for row in rows}


def test_a_mix_shows_tokens_shares_epochs_and_limits_of_every_group() -> None:
    setting = mix(max_epochs={"default": 4, "tier": {"low": 1}, "domain": {"code": 3}})
    made = mix_of(WEB_AND_CODE, setting, SEQ_LEN)
    assert made.problem is None
    rows = by_group(made.rows)
    high = rows["A/web/high"]
    assert (high.tokens, high.drawn_tokens, high.epochs) == (100_000, 200_000, 2.0)
    assert high.share == high.phases["main"] == 0.25
    assert (rows["A/web/low"].allowed, rows["A/web/low"].limit) == (
        1,
        "max_epochs.tier.low",
    )
    assert rows["A/code/mid"].allowed == 3
    assert sum(row.share for row in made.rows) == pytest.approx(1)


def test_the_table_of_phases_is_that_of_the_manifest() -> None:
    made = mix_of(WEB_AND_CODE, mix(), SEQ_LEN)
    table = by_group(mixture_rows(WEB_AND_CODE, phases_from(WEB_AND_CODE, mix(), SEQ_LEN)))
    for row in made.rows:
        assert row.drawn_tokens == table[row.group].drawn_tokens
        assert row.epochs == table[row.group].epochs


def test_a_cooldown_that_drops_low_tiers_and_lifts_high_ones_shows_in_its_column() -> None:
    phases = [
        {"name": "main", "share": 0.85},
        {"name": "cooldown", "share": 0.15, "weights": {"tier": {"low": 0, "high": 4.0}}},
    ]
    made = mix_of(WEB_AND_CODE, mix(phases=phases, run_tokens=16_000_000), SEQ_LEN)
    rows = by_group(made.rows)
    assert rows["A/web/low"].phases["cooldown"] == 0
    assert rows["A/web/high"].phases["cooldown"] > rows["A/web/high"].phases["main"]
    tokens = {phase.name: phase.tokens for phase in made.phases}
    assert tokens["main"] / sum(tokens.values()) == pytest.approx(0.85, abs=0.01)


def test_a_mix_that_asks_for_too_much_is_shown_as_asked_with_the_reason() -> None:
    made = mix_of(WEB_AND_CODE, mix(run_tokens=10_000_000), SEQ_LEN)
    assert made.problem is not None
    assert "allowed are 4 by mixture.max_epochs" in made.problem
    assert any(row.epochs > row.allowed for row in made.rows)


@pytest.mark.parametrize("run_tokens", [3_000_000, 10_000_000, 10**12])
@pytest.mark.parametrize("block", [7, 64, 800])
def test_the_longest_run_that_a_refusal_names_is_accepted(run_tokens: int, block: int) -> None:
    setting = mix(
        run_tokens=run_tokens,
        block_samples=block,
        max_epochs={"default": 4, "domain": {"code": 1.5}},
    )
    made = mix_of(WEB_AND_CODE, setting, SEQ_LEN)
    assert made.longest_run is not None
    with pytest.raises(RecipeError, match=f"lower run_tokens to {made.longest_run:,}"):
        phases_from(WEB_AND_CODE, setting, SEQ_LEN)
    shorter = setting.model_copy(update={"run_tokens": made.longest_run})
    assert phases_from(WEB_AND_CODE, shorter, SEQ_LEN)


WAYS_OUT = re.compile(
    r"; lower mixture\.(?P<weight>[\w.]+) to (?P<lower>[\d.]+), "
    r"raise (?P<limit>[\w.]+) to (?P<higher>[\d.]+), or lower run_tokens to (?P<run>[\d,]+)"
)


@pytest.mark.parametrize(
    ("changes", "weight"),
    [
        ({"shares": {"domain": {"web": 0.3, "code": 0.7}}, "run_tokens": 1_000_000},
         "change.domain.code"),
        ({"shares": {}, "weights": {"source": {"B": 20}, "tier": {"high": 2, "low": 0.5}}},
         "weights.source.B"),
        ({"shares": {}, "weights": {"tier": {"high": 99, "low": 1}}}, "weights.tier.high"),
        ({"max_epochs": {"default": 5, "domain": {"code": 0.9}}}, "change.domain.code"),
        (
            {
                "shares": {},
                "inside": {"domain": {"web": {"shares": {"tier": {"high": 0.9}}}}},
                "run_tokens": 1_000_000,
            },
            "inside.domain.web.change.tier.high",
        ),
    ],
)  # fmt: skip
def test_each_of_the_three_ways_out_that_a_refusal_names_is_accepted(
    changes: dict[str, Any], weight: str
) -> None:
    setting = mix(**{"max_epochs": 3, "block_samples": 64} | changes)
    groups = WEB_AND_CODE
    with pytest.raises(RecipeError) as caught:
        phases_from(groups, setting, SEQ_LEN)
    found = WAYS_OUT.search(str(caught.value))
    assert found is not None, caught.value
    assert found["weight"] == weight
    for key, value in (
        (found["weight"], float(found["lower"])),
        (found["limit"], float(found["higher"])),
        ("run_tokens", int(found["run"].replace(",", ""))),
    ):
        assert phases_from(groups, setting.with_number(key.split("."), value), SEQ_LEN), key


def test_where_no_single_weight_helps_the_refusal_says_so() -> None:
    """Less code means more of web, whose best tier is then repeated too often."""
    shares = {"domain": {"web": 0.3, "code": 0.7}}
    setting = mix(shares=shares, run_tokens=2_000_000, max_epochs=3)
    with pytest.raises(RecipeError, match="lower the shares or weights of several values together"):
        phases_from(WEB_AND_CODE, setting, SEQ_LEN)


def test_where_no_run_is_short_enough_a_smaller_block_is_named() -> None:
    groups = [full("A/web/mid", 10), full("A/code/mid", 2)]
    with pytest.raises(RecipeError, match="lower block_samples, since the corpus is smaller"):
        phases_from(groups, mix(shares={"domain": {"web": 0.5, "code": 0.5}}), SEQ_LEN)


def test_replay_may_be_allowed_for_one_group_and_refused_for_another() -> None:
    setting = mix(
        run_tokens=1_200_000,
        max_epochs={"default": 1, "domain": {"code": 8}},
        inside={"domain": {"web": {"max_epochs": {"tier": {"high": 6}}}}},
    )
    rows = by_group(mix_of(WEB_AND_CODE, setting, SEQ_LEN).rows)
    assert rows["A/web/high"].epochs > 1
    assert rows["A/web/low"].epochs <= 1
    refused = mix_of(WEB_AND_CODE, mix(run_tokens=1_200_000, max_epochs=1.0), SEQ_LEN)
    assert refused.problem is not None
    assert "and too many of 2 other groups" in refused.problem


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, (4.0, "max_epochs")),
        ({"max_epochs": 3}, (3.0, "max_epochs")),
        ({"max_epochs": {"domain": {"web": 2}}}, (2.0, "max_epochs.domain.web")),
        ({"max_epochs": {"tier": {"low": 9}}}, (9.0, "max_epochs.tier.low")),
        ({"max_epochs": {"domain": {"web": 2}, "tier": {"low": 1}}}, (1.0, "max_epochs.tier.low")),
        ({"max_epochs": {"default": 2, "tier": {"high": 1}}}, (2.0, "max_epochs.default")),
        ({"max_epochs": {"tier": {"high": 1}}}, (4.0, "max_epochs.default")),
        (
            {"max_epochs": {"domain": {"web": 2}, "source": {"A": 1.5, "B": 1}}},
            (1.5, "max_epochs.source.A"),
        ),
        (
            {
                "max_epochs": {"tier": {"low": 1}},
                "inside": {"domain": {"web": {"max_epochs": {"tier": {"low": 3}}}}},
            },
            (3.0, "inside.domain.web.max_epochs.tier.low"),
        ),
        (
            {
                "max_epochs": {"tier": {"low": 1}},
                "inside": {"domain": {"*": {"max_epochs": 5}}},
            },
            (5.0, "inside.domain.*.max_epochs"),
        ),
    ],
)
def test_the_closest_limit_counts(limits: dict[str, Any], expected: tuple[float, str]) -> None:
    assert MixtureSettings.model_validate(limits).limit(full("A/web/low", 1)) == expected


def test_groups_too_small_for_a_block_are_named_with_the_block_that_has_them() -> None:
    groups = [full("A/web/mid", 9_999), full("B/web/mid", 1)]
    made = mix_of(groups, MixtureSettings(block_samples=10), SEQ_LEN)
    assert made.unseen == ("B/web/mid",)
    assert made.block_samples_for_all == 10_000
    whole = MixtureSettings(block_samples=made.block_samples_for_all)
    assert mix_of(groups, whole, SEQ_LEN).unseen == ()


def test_a_domain_of_many_small_groups_keeps_its_share() -> None:
    """Of 300 snapshots each would round to nothing in a block of 256; together they must not."""
    many = [
        full(f"S{number:03d}/web/{tier}", 100) for number in range(150) for tier in ("high", "low")
    ]
    groups = [*many, full("A/code/mid", 10_000)]
    setting = mix(shares={"domain": {"web": 0.5, "code": 0.5}}, block_samples=256)
    [phase] = phases_from(groups, setting, SEQ_LEN)
    counts: dict[str, int] = {}
    for name, count in phase.counts.items():
        domain, tier = name.split("/")[1:]
        for key in (domain, f"{domain}/{tier}"):
            counts[key] = counts.get(key, 0) + count
    assert counts["web"] == counts["code"] == 128
    assert (counts["web/high"], counts["web/low"]) == (102, 26)  # 2 : 0.5


def test_sources_of_many_small_groups_keep_their_shares() -> None:
    """Of 0.6 and 0.3 samples a block, all of the first would else be rounded up, none of the
    second."""
    groups = [full(f"{name}{n}/web/mid", size) for name, size in (("A.", 600), ("B.", 300))
              for n in range(150)]  # fmt: skip
    [phase] = phases_from(groups, MixtureSettings(block_samples=135), SEQ_LEN)
    counts = {source: sum(n for name, n in phase.counts.items() if name.startswith(source))
              for source in "AB"}  # fmt: skip
    assert counts == {"A": 90, "B": 45}


def test_rows_can_be_gathered_by_source_tier_and_domain() -> None:
    rows = mix_of(WEB_AND_CODE, mix(), SEQ_LEN).rows
    sources = by_group(gathered_rows(rows, "source"))
    assert {name: row.tokens for name, row in sources.items()} == {
        "code/A": 200_000,
        "web/A": 500_000,
        "web/B": 100_000,
    }
    tiers, domains = by_group(gathered_rows(rows, "tier")), by_group(gathered_rows(rows, "domain"))
    assert set(tiers) == {"web/high", "web/low", "code/mid"}
    assert tiers["web/high"].tokens == 200_000
    assert tiers["web/high"].epochs == 2.0
    assert domains["web"].share == domains["web"].phases["main"] == 0.75
    assert gathered_rows(rows, "group") == list(rows)


def test_thousands_of_groups_are_mixed_exactly() -> None:
    groups = [
        sized(f"S{n:04d}/{domain}/mid", 1000 + n, (1000 + n) * 90 + n)
        for n in range(700)
        for domain in ("web", "code")
    ]
    setting = mix(shares={"domain": {"web": 0.7, "code": 0.3}}, block_samples=100_000)
    made = mix_of(groups, setting, SEQ_LEN)
    assert made.problem is None
    assert sum(row.share for row in made.rows if row.domain == "web") == pytest.approx(
        0.7, abs=0.0005
    )
