"""Whatever the manifest, a run has the mix it says at every place."""

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from corpus_assets.core.errors import RecipeError
from corpus_assets.shards.mixture import phases_from, requested_mix
from corpus_assets.shards.mixture_settings import MixedGroup, MixtureSettings, PhaseSettings
from corpus_loader import Order
from corpus_loader.manifest import Phase, group_id, join_labels

SEQ_LEN = 1000
WINDOW = 100
"""Blocks over which shares must be right."""


Fills = dict[str, npt.NDArray[np.int64]]
"""Tokens of every sample of a group, as packing leaves them: nearly full ones."""
Made = tuple[list[MixedGroup], Fills, list[Phase], Order, MixtureSettings]


@st.composite
def corpora(draw: st.DrawFn) -> Made:
    """Random groups, weights, tiers and phases, through the code that writes manifests."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    domains = draw(st.lists(st.sampled_from(["web", "code", "math"]), min_size=1, unique=True))
    groups, fills = [], Fills()
    for domain in domains:
        for tier in draw(
            st.lists(st.sampled_from(["high", "mid", "low"]), min_size=1, unique=True)
        ):
            for language in draw(
                st.lists(st.sampled_from(["", "de", "en"]), min_size=1, max_size=2, unique=True)
            ):
                samples = draw(st.integers(50, 60_000))
                least = draw(st.sampled_from([0.9, 0.97, 1.0]))
                labels = {"language": language} if language else {}
                name = group_id("S", domain, tier, join_labels(labels))
                fills[name] = generator.integers(int(least * SEQ_LEN), SEQ_LEN + 1, samples)
                tokens = int(fills[name].sum())
                groups.append(MixedGroup(name, "S", domain, tier, samples, tokens, labels))
    block = draw(st.sampled_from([256, 512, 1024]))
    parts = [draw(st.integers(50, 1000)) for _ in domains]
    setting = MixtureSettings(
        shares={
            "domain": {
                name: float(f"{n / sum(parts):.6f}") for name, n in zip(domains, parts, strict=True)
            }
        },
        weights={"tier": {"high": 2.0, "mid": 1.0, "low": 0.5}},
        phases=(
            PhaseSettings(name="main", share=0.85),
            PhaseSettings(
                name="cooldown",
                share=0.15,
                weights={"tier": {"low": 0.2, "high": 3.0}, "language": {"de": 2.5}},
            ),
        ),
        block_samples=block,
        run_tokens=draw(st.integers(150, 400)) * block * SEQ_LEN,
        max_epochs={"default": 1000},
    )
    try:
        phases = phases_from(groups, setting, SEQ_LEN)
    except RecipeError:
        assume(False)
    sizes = {group.id: group.samples for group in groups}
    return groups, fills, phases, Order(sizes, phases, block, draw(st.integers(0, 2**62))), setting


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(corpora(), st.data())
def test_over_any_hundred_blocks_token_shares_are_within_a_thousandth_of_the_manifest(
    made: Made, data: st.DataObject
) -> None:
    groups, fills, phases, order, _ = made
    by_id = {group.id: group for group in groups}
    starts = np.cumsum([0, *(phase.blocks for phase in phases)])
    for phase, start in zip(phases, starts, strict=False):
        if phase.blocks < WINDOW:
            continue
        first = int(start) + data.draw(st.integers(0, phase.blocks - WINDOW))
        at = np.arange(first * order.block_samples, (first + WINDOW) * order.block_samples)
        draws = order.locate(at)
        seen = np.zeros(len(order.group_ids))
        said = np.zeros(len(order.group_ids))
        for number, name in enumerate(order.group_ids):
            group = by_id[name]
            seen[number] = fills[name][draws.sample[draws.group == number]].sum()
            said[number] = phase.counts.get(name, 0) * group.tokens / group.samples
        assert np.abs(seen / seen.sum() - said / said.sum()).max() < 0.001


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(corpora())
def test_a_block_has_what_each_domain_and_tier_asks_for_up_to_one_sample(made: Made) -> None:
    """However many groups a domain has: what they lose by rounding does not add up."""
    groups, _, phases, _, setting = made
    requested = requested_mix(groups, setting, SEQ_LEN)
    for phase, ideal in zip(phases, requested.ideals, strict=True):
        for domain in setting.shares["domain"]:
            members = [group.id for group in groups if group.domain == domain]
            asked = sum(ideal[name] for name in members)
            assert abs(sum(phase.counts.get(name, 0) for name in members) - asked) < 1
            for tier in {group.tier for group in groups if group.domain == domain}:
                of_tier = [g.id for g in groups if (g.domain, g.tier) == (domain, tier)]
                wanted = sum(ideal[name] for name in of_tier)
                assert abs(sum(phase.counts.get(name, 0) for name in of_tier) - wanted) < 2
