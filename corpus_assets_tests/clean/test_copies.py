"""Tiers by copies: the size of a cluster names the tier of its kept document."""

import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.clean.clean_text import CleanTextSettings
from corpus_assets.clean.stage import tiers_by_copies
from corpus_assets.shards.mixture import MixedGroup, MixtureSettings, PhaseSettings

MAIN = PhaseSettings(name="main", share=1.0)


def tiers(sizes: list[int], members: list[tuple[int, bool, int]]) -> list[str | None]:
    """Tiers of five documents; a member is (row, kept, cluster size)."""
    rows, kept, found = zip(*members, strict=True) if members else ((), (), ())
    table = pa.table(
        {
            "row": pa.array(rows, pa.int32()),
            "kept": pa.array(kept, pa.bool_()),
            "cluster_size": pa.array(found, pa.int32()),
        }
    )
    given = pa.chunked_array([pa.array(["high", "low", "high", None, "low"])])
    named: list[str | None] = tiers_by_copies(given, table, sizes).to_pylist()
    return named


def test_the_largest_size_that_a_cluster_reaches_names_the_tier() -> None:
    members = [(0, True, 2), (1, True, 4), (2, True, 5), (4, True, 99)]
    assert tiers([2, 5], members) == ["high.2", "low.2", "high.5", None, "low.5"]


def test_dropped_members_and_small_clusters_keep_their_tier() -> None:
    members = [(0, False, 9), (1, True, 2), (3, True, 9)]
    assert tiers([3], members) == ["high", "low", "high", None, "low"]


def test_no_clusters_change_nothing() -> None:
    assert tiers([2], []) == ["high", "low", "high", None, "low"]


def test_copies_multiply_the_weight_of_the_tier_in_every_phase() -> None:
    settings = MixtureSettings(tiers={"high": 2.0, "low": 0.5}, copies={2: 1.5, 5: 3.0})
    cooldown = PhaseSettings(name="cooldown", share=1.0, tiers={"low": 0.0})
    seen = {tier: float(settings.multiplier(tier, MAIN)) for tier in ("high", "high.2", "low.5")}
    assert seen == {"high": 2.0, "high.2": 3.0, "low.5": 1.5}
    assert settings.multiplier("low.5", cooldown) == 0
    assert settings.multiplier("high.9", MAIN) == 2, "sizes without a weight count once"


def test_a_tier_whose_own_name_ends_in_a_number_is_itself() -> None:
    settings = MixtureSettings(tiers={"v.2": 1.0, "v": 5.0}, copies={2: 7.0})
    assert settings.base_tier("v.2") == ("v.2", 1)
    assert settings.base_tier("v.2.2") == ("v.2", 2)


def test_limits_of_repetition_are_those_of_the_tier() -> None:
    settings = MixtureSettings(max_epochs_by_tier={"low": 1.0})
    group = MixedGroup("A/web/low.5", "A", "web", "low.5", 1, 1)
    assert settings.limit(group) == (1.0, "max_epochs_by_tier.low")


@pytest.mark.parametrize("sizes", [(5, 2), (2, 2), (1,)])
def test_sizes_ascend_from_two(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError):
        CleanTextSettings(tiers_by_copies=sizes)
