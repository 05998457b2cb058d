"""Shares asked against shares got."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.shards.mixture import plan_mixture
from corpus_assets.shards.mixture_check import ShareMet, shares_met
from corpus_assets.shards.mixture_settings import MixedGroup, MixtureSettings
from corpus_assets_tests.shards.test_published_mixtures import SEQ_LEN, group


def met(groups: list[MixedGroup], **mixture: Any) -> dict[str, ShareMet]:
    settings = MixtureSettings.model_validate(mixture)
    phases, _ = plan_mixture(groups, settings, SEQ_LEN)
    return {share.key: share for share in shares_met(groups, settings, SEQ_LEN, phases)}


POOL = [
    *(group("web", n, language=code) for code, n in (("en", 7000), ("de", 900), ("fi", 100))),
    group("code", 2000, language="en"),
]


def test_shares_of_every_level_and_phase_are_met_to_the_sample() -> None:
    found = met(
        POOL,
        shares={"domain": {"web": 0.7}},
        inside={"domain": {"web": {"shares": {"language": {"de": 0.25, "fi": 0.01}}}}},
        phases=[{"share": 0.97}, {"share": 0.03, "change": {"domain": {"web": 0.5}}}],
        max_epochs=1000,
        run_epochs=30,
        block_samples=1000,
    )
    assert all(share.problem is None for share in found.values())
    assert {key: round(share.asked, 6) for key, share in found.items()} == {
        "phases.phase-1.share": 0.97,
        "phases.phase-2.share": 0.03,
        "phases.phase-1.shares.domain.web": 0.7,
        "phases.phase-1.inside.domain.web.shares.language.de": 0.175,
        "phases.phase-1.inside.domain.web.shares.language.fi": 0.007,
        "phases.phase-2.shares.domain.web": 0.5,
        "phases.phase-2.inside.domain.web.shares.language.de": 0.125,
        "phases.phase-2.inside.domain.web.shares.language.fi": 0.005,
    }
    assert abs(found["phases.phase-1.shares.domain.web"].got - 0.7) < 1e-9


def test_a_topic_without_text_is_told_with_its_tokens() -> None:
    pool = [group("web", 500, topic="math"), group("web", 500, topic="games")]
    found = met(pool, shares={"topic": {"law": 0.2}}, block_samples=100)
    law = found["phases.main.shares.topic.law"]
    assert (law.asked, law.got, law.missing_tokens) == (0.2, 0.0, 20_000)
    assert law.line() == (
        "phases.main.shares.topic.law gets 0.00% instead of 20.00% (20,000 tokens fewer): there is "
        "no text of it, and the others get its share"
    )


def test_a_value_that_nothing_is_left_for_or_of_which_nothing_may_be_drawn_is_told() -> None:
    pool = [group("web", 10, "high"), group("code", 10, "low"), group("books", 10, "high")]
    found = met(pool, shares={"domain": {"web": 0.8, "code": 0.2}}, only={"tier": ["high"]},
                block_samples=10)  # fmt: skip
    problems = {key.rpartition(".")[2]: share.problem for key, share in found.items()}
    assert problems == {
        "share": None,
        "web": None,
        "code": "tiers, weights or shares inside leave out all that there is of it",
        "books": "the other shares sum to 1; give it one, 0 leaves it out",
    }
    left_out = met(pool, shares={"domain": {"web": 0.8, "code": 0.2, "books": 0}},
                   only={"domain": ["web"]}, block_samples=10)  # fmt: skip
    assert {key for key, share in left_out.items() if share.problem is not None} == set()


def test_a_share_below_a_sample_names_the_block_that_has_it() -> None:
    pool = [group("web", 10_000, language="en"), group("web", 5, language="ki")]
    shares = {"language": {"ki": 0.0002}}
    share = met(pool, shares=shares, block_samples=100)["phases.main.shares.language.ki"]
    assert share.problem == "less than a sample in a block; raise block_samples to 5,000"
    assert met(pool, shares=shares, block_samples=5000)[share.key].problem is None


def test_a_phase_that_whole_blocks_cannot_have_is_told() -> None:
    phases = [{"name": "main", "share": 0.99}, {"name": "last", "share": 0.01}]
    pool = [group("web", 1000)]
    share = met(pool, phases=phases, block_samples=100)["phases.last.share"]
    assert share.problem == "it has 1 whole blocks of 11; lower block_samples"
    assert met(pool, phases=phases, block_samples=10)[share.key].problem is None
    nothing = [phases[0], phases[1] | {"only": {"tier": ["high"]}}]
    share = met(pool, phases=nothing)["phases.last.share"]
    assert share.problem == "there is no text of what it draws"


def test_a_share_that_limits_keep_from_being_filled_is_told() -> None:
    """Rounding up is refused to a group at its limit, and goes to others."""
    pool = [group("web", 975), *(group("code", 1, source=f"repo{k}") for k in range(25))]
    limits = {"default": 4, "domain": {"code": 1}}
    found = met(pool, shares={"domain": {"code": 0.025}}, max_epochs=limits, block_samples=100)
    code = found["phases.main.shares.domain.code"]
    assert code.got == 0.0
    assert (
        code.problem
        == "its groups may not be seen more often; raise max_epochs, or shorten the run"
    )


AXES = {"domain": ("web", "code", "books"), "language": ("en", "de", "fi"), "tier": ("high", "low")}


@st.composite
def divided(draw: st.DrawFn, axes: tuple[str, ...]) -> dict[str, Any]:
    """A random level: shares, a rest by weights or a temperature, levels inside it."""
    axis, *others = axes
    values = draw(st.lists(st.sampled_from(AXES[axis]), min_size=1, unique=True))
    parts = [draw(st.integers(1, 40)) for _ in values]
    level: dict[str, Any] = {
        "shares": {axis: {v: n / 200 for v, n in zip(values, parts, strict=True)}}
    }
    if draw(st.booleans()):
        level["temperature"] = {axis: draw(st.sampled_from([1, 2.5]))}
    if draw(st.integers(0, 4)) == 0:
        level["only"] = {"tier": ["high"]}
    if draw(st.booleans()):
        changed = draw(st.sampled_from(AXES[axis]))
        level["change"] = {axis: {changed: draw(st.sampled_from([0.0, 0.07, 0.2]))}}
    if others and draw(st.booleans()):
        value = draw(st.sampled_from([*AXES[axis], "*"]))
        level["inside"] = {axis: {value: draw(divided(tuple(others)))}}
    return level


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_is_asked_is_got_to_the_sample_by_every_level_of_every_phase(
    data: st.DataObject,
) -> None:
    axes = tuple(data.draw(st.permutations(list(AXES))))
    pool = [
        group(domain, data.draw(st.integers(1, 3000)), tier, language=language)
        for domain in AXES["domain"]
        for language in AXES["language"]
        for tier in AXES["tier"]
        if data.draw(st.integers(0, 5))
    ]
    mixture = data.draw(divided(axes)) | {
        "weights": {"source": {"web": 2.0}},
        "phases": [{"share": 0.75}, {"share": 0.25, **data.draw(divided(axes[:2]))}],
        "block_samples": 20_000,
        "run_tokens": 100 * 20_000 * SEQ_LEN,
        "max_epochs": 1e12,
    }
    setting = MixtureSettings.model_validate(mixture)
    phases, problem = plan_mixture(pool, setting, SEQ_LEN)
    assert problem is None
    assert phases == plan_mixture(pool[::-1], setting, SEQ_LEN)[0]
    for phase in phases:
        assert sum(phase.counts.values()) == 20_000
    for share in shares_met(pool, setting, SEQ_LEN, phases):
        if share.problem is not None:
            expected = ("less than a sample", "leave out all", "the other shares sum to 1")
            assert share.has_no_text or any(each in share.problem for each in expected)


def test_a_curve_of_one_topic_leaves_the_others_alone() -> None:
    pool = [
        group("web", 100, f"q{bucket}", topic=topic)
        for topic in ("math", "games")
        for bucket in (1, 2)
    ]
    steep = {"curve": {"buckets": 2, "points": [[0, 0], [0.5, 0], [1, 4]]}}
    setting = MixtureSettings.model_validate(
        {"shares": {"topic": {"math": 0.4}}, "inside": {"topic": {"math": steep}},
         "block_samples": 100}
    )  # fmt: skip
    [phase] = plan_mixture(pool, setting, SEQ_LEN)[0]
    found = {name.removeprefix("web-1/web/"): n for name, n in phase.counts.items()}
    assert found == {"q2/topic=math": 40, "q1/topic=games": 30, "q2/topic=games": 30}
