"""Copies as a label of groups: the size of a cluster says how much its kept document is worth."""

import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.clean.settings import CleanTextSettings
from corpus_assets.clean.stage import copies_reached
from corpus_assets.shards.mixture import requested_mix
from corpus_assets.shards.mixture_settings import MixedGroup, MixtureSettings, PhaseSettings

MAIN = PhaseSettings(name="main", share=1.0)


def reached(sizes: list[int], members: list[tuple[int, bool, int]]) -> dict[int, int]:
    """Of documents in clusters: (row, kept, size of the cluster)."""
    table = pa.table(
        {
            "row": pa.array([row for row, _, _ in members], pa.int32()),
            "kept": pa.array([kept for _, kept, _ in members], pa.bool_()),
            "cluster_size": pa.array([size for _, _, size in members], pa.int32()),
        }
    )
    return copies_reached(table, sizes)


def test_the_largest_size_that_a_cluster_reaches_names_the_group() -> None:
    members = [(0, True, 2), (1, True, 4), (2, True, 5), (4, True, 900)]
    assert reached([2, 5], members) == {0: 2, 1: 2, 2: 5, 4: 5}


def test_dropped_members_and_small_clusters_are_in_none() -> None:
    assert reached([3], [(0, False, 9), (2, True, 2)]) == {}


def test_without_clusters_there_is_none() -> None:
    assert reached([2], []) == {}


def test_copies_multiply_the_weight_of_the_tier_in_every_phase() -> None:
    settings = MixtureSettings(
        weights={"tier": {"high": 2.0, "low": 0.5}, "copies": {"2": 1.5, "5": 3.0}},
        phases=(
            PhaseSettings(name="main", share=0.5),
            PhaseSettings(name="cooldown", share=0.5, weights={"tier": {"low": 0.0}}),
        ),
        block_samples=900,
    )
    groups = [
        MixedGroup(f"A/web/{tier}/{copies}", "A", "web", tier, 100, 6400, {"copies": copies})
        for tier, copies in (("high", "1"), ("high", "2"), ("low", "5"), ("low", "9"))
    ]
    main, cooldown = requested_mix(groups, settings, 64).ideals
    # 2 : 2 * 1.5 : 0.5 * 3 : 0.5, and without low ones 2 : 3
    assert [float(n) for n in main.values()] == [
        pytest.approx(900 * weight / 7) for weight in (2, 3, 1.5, 0.5)
    ]
    assert [float(n) for n in cooldown.values()] == [360, 540, 0, 0]


def test_limits_of_repetition_are_those_of_the_tier() -> None:
    settings = MixtureSettings(max_epochs={"tier": {"low": 1.0}})
    group = MixedGroup("A/web/low/copies=5", "A", "web", "low", 1, 1, {"copies": "5"})
    assert settings.limit(group) == (1.0, "max_epochs.tier.low")


@pytest.mark.parametrize("sizes", [(5, 2), (2, 2), (1,)])
def test_sizes_ascend_from_two(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError):
        CleanTextSettings(tiers_by_copies=sizes)
