"""Weights to samples per block."""

from fractions import Fraction
from typing import Any, get_args

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from corpus_assets.core.errors import RecipeError
from corpus_assets.shards.mixture import phases_from, plan_mixture
from corpus_assets.shards.mixture_settings import (
    MixedGroup,
    MixtureSettings,
    PhaseSettings,
    RateSettings,
)
from corpus_assets.shards.mixture_table import mixture_rows
from corpus_assets.shards.mixture_tree import tempered
from corpus_loader.schedule import RatePiece, Shape

SEQ_LEN = 100


def sized(name: str, samples: int, tokens: int) -> MixedGroup:
    """A group whose source is what its snapshot begins with: that of `A.1/web/mid` is `A`."""
    snapshot, domain, tier = name.split("/")
    return MixedGroup(name, snapshot.partition(".")[0], domain, tier, samples, tokens)


def full(name: str, samples: int, fill: int = SEQ_LEN) -> MixedGroup:
    return sized(name, samples, samples * fill)


WEB_AND_CODE = [
    full("A/web/high", 1000),
    full("A/web/low", 4000),
    full("B/web/high", 1000),
    full("A/code/mid", 2000),
]


def mix(**changes: Any) -> MixtureSettings:
    base: dict[str, Any] = {
        "shares": {"domain": {"web": 0.75, "code": 0.25}},
        "weights": {"tier": {"high": 2, "low": 0.5}},
        "block_samples": 800,
    }
    return MixtureSettings.model_validate(base | changes)


HALF = {"domain": {"web": 0.5, "code": 0.5}}


def test_a_domain_gets_its_ratio_and_tiers_share_it_by_tokens_and_multiplier() -> None:
    [phase] = phases_from(WEB_AND_CODE, mix(), SEQ_LEN)
    # web: 600 of 800, split 1000*2 : 4000*0.5 : 1000*2
    assert phase.counts == {
        "A/web/high": 200,
        "A/web/low": 200,
        "B/web/high": 200,
        "A/code/mid": 200,
    }
    assert phase.blocks == 10  # one pass over 8,000 samples


def test_weights_are_per_token_so_badly_filled_groups_give_more_samples() -> None:
    groups = [full("A/web/mid", 1000, fill=100), full("A/code/mid", 2000, fill=50)]
    [phase] = phases_from(groups, mix(shares=HALF, block_samples=300), SEQ_LEN)
    assert phase.counts == {"A/web/mid": 100, "A/code/mid": 200}


def test_a_phase_may_change_weights_and_leave_tiers_and_domains_out() -> None:
    setting = mix(
        phases=[
            {"name": "main", "share": 0.5},
            {
                "name": "cooldown",
                "share": 0.5,
                "change": {"domain": {"code": 0}},
                "only": {"tier": ["high"]},
            },
        ]
    )
    main, cooldown = phases_from(WEB_AND_CODE, setting, SEQ_LEN)
    assert set(main.counts) == {group.id for group in WEB_AND_CODE}
    assert cooldown.counts == {"A/web/high": 400, "B/web/high": 400}
    assert (main.blocks, cooldown.blocks) == (5, 5)


def test_run_tokens_sets_the_length_of_the_run() -> None:
    [phase] = phases_from(WEB_AND_CODE, mix(run_tokens=1_600_000), SEQ_LEN)
    assert phase.blocks == 20


def test_equal_remainders_go_by_group_id() -> None:
    groups = [full(f"{name}/web/mid", 100) for name in "CABD"]
    [phase] = phases_from(groups, MixtureSettings(block_samples=6), SEQ_LEN)
    assert phase.counts == {"A/web/mid": 2, "B/web/mid": 2, "C/web/mid": 1, "D/web/mid": 1}


def test_a_tiny_group_is_not_rounded_up_past_its_epochs_and_shows_with_zero_epochs() -> None:
    groups = [full("A/web/mid", 9_999), full("B/web/mid", 1)]
    [phase] = phases_from(groups, MixtureSettings(block_samples=10), SEQ_LEN)
    assert phase.counts == {"A/web/mid": 10}
    table = {row.group: row for row in mixture_rows(groups, [phase])}
    assert table["B/web/mid"].epochs == 0
    assert table["A/web/mid"].share == 1
    assert table["A/web/mid"].epochs == pytest.approx(1, abs=0.001)


def test_the_last_samples_go_to_the_largest_remainders_within_the_epochs_allowed() -> None:
    groups = [full("A/web/mid", 993), full("B/web/mid", 7)]  # 99.3 and 0.7 of 100
    [phase] = phases_from(groups, MixtureSettings(block_samples=100), SEQ_LEN)
    assert phase.counts == {"A/web/mid": 99, "B/web/mid": 1}
    # Ten blocks would show the seven samples of B 1.43 times.
    [phase] = phases_from(groups, MixtureSettings(block_samples=100, max_epochs=1.2), SEQ_LEN)
    assert phase.counts == {"A/web/mid": 100}


def test_a_block_that_no_group_can_fill_within_its_epochs_is_refused() -> None:
    groups = [full("A/web/mid", 5), full("B/web/mid", 5)]
    with pytest.raises(RecipeError, match="raise block_samples or max_epochs"):
        phases_from(groups, MixtureSettings(block_samples=1, max_epochs=1), SEQ_LEN)


def test_too_many_epochs_are_refused_with_group_number_and_remedy() -> None:
    with pytest.raises(
        RecipeError, match=r"8\.00 epochs of group A/code/mid, allowed are 4.*max_epochs"
    ):
        phases_from([full("A/web/mid", 1000), full("A/code/mid", 100)],
                    mix(run_tokens=320_000), SEQ_LEN)  # fmt: skip


def test_a_domain_may_have_its_own_limit_of_epochs() -> None:
    groups = [full("A/web/mid", 1000), full("A/code/mid", 100)]
    setting = mix(run_tokens=320_000, max_epochs={"default": 4, "domain": {"code": 8}})
    [phase] = phases_from(groups, setting, SEQ_LEN)
    epochs = {row.group: row.epochs for row in mixture_rows(groups, [phase])}
    assert epochs == {"A/code/mid": 8.0, "A/web/mid": 2.4}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"shares": {"domain": {"web": -1}}}, "shares.domain.web"),
        ({"shares": {"domain": {"web": 50}}}, "shares.domain.web"),
        ({"shares": {"domain": {"web": float("nan")}}}, "shares.domain.web"),
        ({"shares": {"domain": {"web": 0.7, "code": 0.5}}}, "sum to 1.2.*use `change`"),
        ({"change": {"domain": {"web": 0.7, "code": 0.5}}}, "change of domain sums to more"),
        ({"temperature": {"language": 2}}, "divide by one axis"),
        ({"weights": {"domain": {"web": 2}}}, "domain.web has a share and a weight"),
        ({"weights": {"tier": {"high": -2}}}, "weights.tier.high"),
        ({"phases": [{"share": 1, "weights": {"source": {"A": -1}}}]}, "weights.source.A"),
        ({"max_epochs": {"source": {"A": 0}}}, "max_epochs.source.*A"),
        ({"phases": []}, "one phase"),
        ({"temperature": {"domain": 0.5}}, "temperature.domain"),
        ({"phases": [{"name": "a", "share": 0.5}]}, "sum to 0.5"),
        ({"phases": [{"name": "a", "share": 0.5}] * 2}, "twice"),
        ({"phases": [{"name": "a", "share": 1}, {"name": "b", "share": 0}]}, "phases.1.share"),
        ({"phases": [{"share": 1, "max_epochs": 2}]}, "epochs are those of the whole run"),
        ({"run_tokens": 5, "run_epochs": 2}, "not both"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises((RecipeError, ValidationError), match=word):
        mix(**changes)


AXES = {"domain": ("web", "code"), "source": ("A", "B"), "tier": ("high", "mid", "low")}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"shares": {"domain": {"web": 0.5, "x": 0.5}}}, "shares.domain names 'x', which is unk"),
        ({"phases": [{"share": 1, "change": {"domain": {"x": 0.1}}}]}, "phase-1.change.domain na"),
        ({"phases": [{"share": 1, "weights": {"tier": {"x": 1}}}]}, "weights.tier names 'x'"),
        ({"max_epochs": {"domain": {"x": 1}}}, "max_epochs.domain names 'x'"),
        ({"shares": {"domain": {"web": 1}}}, "shares.domain: nothing is left for code"),
        ({"shares": {"domain": {"web": 0.5, "code": 0.4}}}, "the shares sum to 0.9"),
        ({"curve": {"buckets": 2}}, r"curve has 2 buckets.*set selection.tiers.buckets: 2"),
        ({"weights": {"topic": {"math": 2}}}, "weights.topic: groups are not divided by topic"),
        ({"weights": {"copies": {2: 2}}}, "weights.copies: no group has copies"),
        ({"inside": {"domain": {"x": {}}}}, "inside.domain names 'x'"),
        (
            {"inside": {"domain": {"web": {"shares": {"source": {"C": 0.5}}}}}},
            "inside.domain.web.shares.source names 'C'",
        ),
        (
            {"phases": [{"share": 1, "weights": {"tier": {"high": 0, "mid": 0, "low": 0}}}]},
            "phase-1: all values of tier are left out",
        ),
    ],
)
def test_axes_and_values_that_there_are_not_are_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(RecipeError, match=word):
        mix(**changes).check(AXES)


def test_a_group_that_holds_more_than_its_samples_is_refused() -> None:
    with pytest.raises(RecipeError, match="501 tokens in 5 samples"):
        phases_from([*WEB_AND_CODE, sized("C/web/mid", 5, 501)], mix(), SEQ_LEN)


sizes = st.builds(
    lambda samples, fill: (samples, samples * fill), st.integers(1, 5000), st.integers(1, SEQ_LEN)
)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from("AB"), st.sampled_from(["high", "mid", "low"])), sizes, min_size=1
    ),
    st.integers(1, 2000),
    st.sampled_from([0.3, 0.5, 0.85]),
)
def test_counts_fill_each_block_exactly_and_stay_within_epochs_whatever_the_order_of_groups(
    found: dict[tuple[str, str], tuple[int, int]], block: int, share: float
) -> None:
    groups = [sized(f"{a}/web/{tier}", n, tokens) for (a, tier), (n, tokens) in found.items()]
    setting = MixtureSettings(
        block_samples=block,
        phases=(
            PhaseSettings(name="a", share=share),
            PhaseSettings(name="b", share=1 - share, weights={"tier": {"high": 3.0}}),
        ),
        max_epochs={"default": 6},
    )
    try:
        phases = phases_from(groups, setting, SEQ_LEN)
    except RecipeError:
        assume(False)  # more epochs than allowed: has a test of its own
    assert phases == phases_from(groups[::-1], setting, SEQ_LEN)
    for phase in phases:
        assert sum(phase.counts.values()) == block
        assert min(phase.counts.values()) >= 1
    for row in mixture_rows(groups, phases):
        assert row.epochs <= 6


def shares(groups: list[MixedGroup], setting: MixtureSettings, kind: str) -> dict[str, float]:
    """Shares of the run by source, domain or tier."""
    found: dict[str, float] = {}
    for row in mixture_rows(groups, phases_from(groups, setting, SEQ_LEN)):
        found[getattr(row, kind)] = found.get(getattr(row, kind), 0.0) + row.share
    return {name: round(share, 3) for name, share in found.items()}


NEWS_AND_WIKI = [
    full("news.1/web/mid", 3000),
    full("news.2/web/mid", 3000),
    full("wiki.1/web/mid", 2000),
    full("git.1/code/mid", 8000),
]
HALVES = {"shares": HALF, "block_samples": 1000, "max_epochs": 100}


def test_a_source_is_seen_as_often_as_its_weight_says_and_its_domain_keeps_its_ratio() -> None:
    assert shares(NEWS_AND_WIKI, mix(**HALVES), "source") == {
        "git": 0.5,
        "news": 0.375,
        "wiki": 0.125,
    }
    weighted = mix(**HALVES, weights={"source": {"wiki": 3}})
    assert shares(NEWS_AND_WIKI, weighted, "source") == {"git": 0.5, "news": 0.25, "wiki": 0.25}
    phases = phases_from(NEWS_AND_WIKI, weighted, SEQ_LEN)
    epochs = {row.group: row.epochs for row in mixture_rows(NEWS_AND_WIKI, phases)}
    assert epochs["wiki.1/web/mid"] == pytest.approx(3 * epochs["news.1/web/mid"], rel=0.01)


def test_weights_of_source_and_tier_multiply() -> None:
    groups = [full("A.1/web/high", 100), full("A.1/web/low", 100), full("B.1/web/low", 100)]
    setting = MixtureSettings(
        weights={"source": {"A": 3}, "tier": {"high": 2, "low": 1}}, block_samples=100
    )
    [phase] = phases_from(groups, setting, SEQ_LEN)
    assert phase.counts == {"A.1/web/high": 60, "A.1/web/low": 30, "B.1/web/low": 10}


def test_a_phase_may_weigh_a_source_otherwise_or_leave_it_out() -> None:
    setting = mix(
        **HALVES,
        phases=[
            {"name": "main", "share": 0.5},
            {"name": "cooldown", "share": 0.5, "weights": {"source": {"news": 0}}},
        ],
    )
    main, cooldown = phases_from(NEWS_AND_WIKI, setting, SEQ_LEN)
    assert set(main.counts) == {group.id for group in NEWS_AND_WIKI}
    assert cooldown.counts == {"wiki.1/web/mid": 500, "git.1/code/mid": 500}


def test_a_source_may_have_its_own_limit_of_epochs() -> None:
    setting = mix(**{**HALVES, "max_epochs": 2}, weights={"source": {"wiki": 3}})
    less = mix(
        **{**HALVES, "max_epochs": {"default": 2, "source": {"wiki": 1.5}}},
        weights={"source": {"wiki": 3}},
    )
    with pytest.raises(RecipeError, match=r"2\.00 epochs of group wiki.*max_epochs\.source\.wiki"):
        phases_from(NEWS_AND_WIKI, less, SEQ_LEN)
    assert phases_from(NEWS_AND_WIKI, setting, SEQ_LEN)


def test_a_source_without_anything_gives_its_share_to_its_domain() -> None:
    setting = mix(**HALVES, weights={"source": {"wiki": 3}})
    left = [group for group in NEWS_AND_WIKI if group.source != "wiki"]
    assert plan_mixture(left, setting, SEQ_LEN) == plan_mixture(left, mix(**HALVES), SEQ_LEN)
    assert shares(left, setting, "source") == {"git": 0.5, "news": 0.5}


SIZES = [full("A/web/mid", 9000), full("A/code/mid", 1000)]


def by_size(**changes: Any) -> MixtureSettings:
    return MixtureSettings.model_validate(
        {"temperature": {"domain": 1}, "block_samples": 1000, "max_epochs": 100} | changes
    )


@pytest.mark.parametrize(
    ("temperature", "web"),
    [
        (1, 0.9),  # by size
        (2, 0.75),  # 3 : 1
        (1 / 0.3, 0.659),  # 9 ^ 0.3 : 1, the alpha of XLM-R and mT5
        (1e9, 0.5),
    ],
)
def test_temperature_makes_domains_more_equal_the_higher_it_is(
    temperature: float, web: float
) -> None:
    assert shares(SIZES, by_size(temperature={"domain": temperature}), "domain")["web"] == web


def test_powers_of_sizes_are_exact_where_they_are_whole() -> None:
    assert tempered({"a": 9, "b": 1}, 2) == {"a": Fraction(3, 4), "b": Fraction(1, 4)}
    sizes = {"a": 10**15 + 37, "b": 7}
    total = sum(sizes.values())
    assert tempered(sizes, 1) == {name: Fraction(size, total) for name, size in sizes.items()}


def test_powers_that_are_not_whole_have_thirty_digits() -> None:
    shares = tempered({"a": 12, "b": 1}, 2.5)
    power = shares["a"] / shares["b"]
    assert abs(power**5 - 12**2) < Fraction(1, 10**26)  # 12 ^ (2 / 5)
    assert power.denominator <= 10**29


def test_a_temperature_over_sources_leaves_the_ratios_of_domains() -> None:
    groups = [full("A.1/web/mid", 8000), full("A.2/web/mid", 1000), full("B.1/web/mid", 1000),
              full("C.1/code/mid", 5000)]  # fmt: skip
    by_source = {"temperature": {"source": 2}}
    setting = mix(**HALVES, inside={"domain": {"*": by_source}})
    assert shares(groups, setting, "source") == {"A": 0.375, "B": 0.125, "C": 0.5}
    weighted = by_source | {"weights": {"source": {"B": 3}}}
    setting = mix(**HALVES, inside={"domain": {"web": weighted}})
    assert shares(groups, setting, "source") == {"A": 0.25, "B": 0.25, "C": 0.5}


def test_a_phase_counts_the_size_of_what_it_draws() -> None:
    groups = [full("A/web/high", 1000), full("A/web/low", 8000), full("A/code/high", 1000)]
    phases = [
        {"name": "a", "share": 0.5},
        {"name": "b", "share": 0.5, "weights": {"tier": {"low": 0}}},
    ]
    main, cooldown = phases_from(groups, by_size(phases=phases), SEQ_LEN)
    assert main.counts["A/code/high"] == 100
    assert cooldown.counts == {"A/web/high": 500, "A/code/high": 500}


def test_a_phase_may_leave_a_domain_out_of_those_by_size() -> None:
    phases = [
        {"name": "a", "share": 0.9},
        {"name": "b", "share": 0.1, "weights": {"domain": {"web": 0}}},
    ]
    main, cooldown = phases_from(SIZES, by_size(phases=phases), SEQ_LEN)
    assert main.counts == {"A/web/mid": 900, "A/code/mid": 100}
    assert cooldown.counts == {"A/code/mid": 1000}


def test_what_is_taken_down_counts_in_no_size() -> None:
    """The weights of a version without some documents are those of a build that never read them:
    they follow from its groups alone."""
    less = [full("A/web/mid", 1000), SIZES[1]]
    assert shares(less, by_size(temperature={"domain": 2}), "domain") == {"web": 0.5, "code": 0.5}
    assert shares(SIZES[1:], by_size(temperature={"domain": 2}), "domain") == {"code": 1.0}


def test_a_temperature_divides_what_shares_leave() -> None:
    groups = [*SIZES, full("A/books/mid", 4000), full("A/math/mid", 1000)]
    found = shares(groups, by_size(shares={"domain": {"web": 0.7}}, temperature={"domain": 2}),
                   "domain")  # fmt: skip
    assert found == {"web": 0.7, "books": 0.15, "code": 0.075, "math": 0.075}


def test_settings_are_the_same_when_they_are_read_again() -> None:
    setting = by_size(max_epochs={"copies": {2: 3}}, weights={"held_back": {True: 0}})
    assert setting.weights == {"held_back": {"true": 0}}
    assert MixtureSettings.model_validate(setting.identity()) == setting


def test_a_domain_without_anything_gives_its_share_to_the_rest() -> None:
    setting = mix(shares=HALF)
    only_web = [group for group in WEB_AND_CODE if group.domain == "web"]
    [phase] = phases_from(only_web, setting, SEQ_LEN)
    assert phase == phases_from(only_web, mix(shares={}), SEQ_LEN)[0]
    assert plan_mixture(only_web, setting, SEQ_LEN) == ([phase], None)


def test_a_corpus_of_which_nothing_is_left_has_no_phases() -> None:
    assert plan_mixture([], mix(), SEQ_LEN) == ([], None)


def test_a_run_that_the_limits_do_not_allow_is_shortened_until_they_do() -> None:
    setting = mix(run_tokens=100_000_000, max_epochs=3)
    with pytest.raises(RecipeError, match="epochs"):
        phases_from(WEB_AND_CODE, setting, SEQ_LEN)
    phases, said = plan_mixture(WEB_AND_CODE, setting, SEQ_LEN)
    assert said is not None
    assert said.startswith("the run is shortened to")
    assert max(row.epochs for row in mixture_rows(WEB_AND_CODE, phases)) <= 3.0


def test_a_corpus_smaller_than_a_block_is_repeated_and_that_is_said() -> None:
    few = [full("A/web/high", 1)]
    phases, said = plan_mixture(few, mix(shares={}, block_samples=1000), SEQ_LEN)
    assert [sum(phase.counts.values()) for phase in phases] == [1000]
    assert said is not None
    assert said.startswith("groups are repeated more often than is allowed")


def labelled(domain: str, samples: int, **labels: str) -> MixedGroup:
    name = f"A/{domain}/mid/" + "/".join(f"{k}={v}" for k, v in sorted(labels.items()))
    return MixedGroup(name, "A", domain, "mid", samples, samples * SEQ_LEN, labels)


LANGUAGES = [
    labelled("web", 8000, language="en"),
    labelled("web", 1000, language="de"),
    labelled("web", 1000, language="fi"),
    labelled("code", 2000, language="en"),
]


def by_language(setting: MixtureSettings, phase: int = 0) -> dict[str, int]:
    counts = phases_from(LANGUAGES, setting, SEQ_LEN)[phase].counts
    return {name.removeprefix("A/").replace("mid/language=", ""): n for name, n in counts.items()}


def test_weights_of_languages_multiply_inside_their_domain() -> None:
    setting = mix(weights={"language": {"de": 4, "en": 0.5}}, block_samples=1200)
    # web: 900 of 1200, split 8000*0.5 : 1000*4 : 1000
    assert by_language(setting) == {"web/en": 400, "web/de": 400, "web/fi": 100, "code/en": 300}


def test_a_phase_has_weights_of_languages_and_labels_of_its_own() -> None:
    phases = [{"name": "main", "share": 0.5},
              {"name": "b", "share": 0.5, "weights": {"language": {"en": 0}}}]  # fmt: skip
    setting = mix(weights={"language": {"de": 3}}, phases=phases, max_epochs=9)
    assert by_language(setting, 1) == {"web/de": 600, "web/fi": 200}


def test_languages_can_be_sampled_by_a_temperature() -> None:
    each = {"domain": {"*": {"temperature": {"language": 1.5}}}}
    [phase] = phases_from(LANGUAGES, mix(inside=each, block_samples=1200), SEQ_LEN)
    shares = tempered({"en": 800_000, "de": 100_000, "fi": 100_000}, 1.5)
    assert shares["en"] / shares["de"] == pytest.approx(4)  # 8 ^ (1 / 1.5)
    assert phase.counts["A/web/mid/language=en"] == 600
    assert phase.counts["A/web/mid/language=de"] == 150
    assert phase.counts["A/code/mid/language=en"] == 300


def test_topics_and_grades_are_weighed_together() -> None:
    groups = [
        MixedGroup(f"A/web/{t}/topic={c}", "A", "web", t, 100, 100 * SEQ_LEN, {"topic": c})
        for t in ("high", "low")
        for c in ("math", "games")
    ]
    setting = MixtureSettings(
        weights={"tier": {"high": 2, "low": 1}, "topic": {"math": 3}}, block_samples=120
    )
    [phase] = phases_from(groups, setting, SEQ_LEN)
    # 2*3 : 2 : 3 : 1
    assert sorted(phase.counts.values()) == [10, 20, 30, 60]
    assert phase.counts["A/web/high/topic=math"] == 60


def test_a_language_or_label_may_have_its_own_limit_of_epochs_and_the_lowest_counts() -> None:
    limits = {"default": 3, "language": {"de": 2}, "topic": {"math": 1.5}}
    setting = mix(max_epochs=limits, inside={"domain": {"code": {"max_epochs": 9}}})
    both = labelled("web", 10, language="de", topic="math")
    assert setting.limit(both) == (1.5, "max_epochs.topic.math")
    assert setting.limit(LANGUAGES[1]) == (2, "max_epochs.language.de")
    assert setting.limit(LANGUAGES[0]) == (3, "max_epochs.default")
    assert setting.limit(LANGUAGES[3]) == (9, "inside.domain.code.max_epochs")
    assert mix(max_epochs=3).limit(both) == (3, "max_epochs")


def test_the_weight_to_lower_may_be_that_of_a_label() -> None:
    groups = [labelled("web", 1000, topic="math"), labelled("web", 9000, topic="games")]
    setting = MixtureSettings(weights={"topic": {"math": 50}}, block_samples=100)
    with pytest.raises(RecipeError, match=r"lower mixture\.weights\.topic\.math to \d"):
        phases_from(groups, setting, SEQ_LEN)


def test_phases_hand_learning_rates_over_and_change_no_sample() -> None:
    rates = [
        {"share": 0.1, "start": 0, "end": 0.002},
        {"share": 0.9, "start": 0.002, "end": 0.0002, "shape": "cosine"},
    ]
    plain = mix(phases=[{"name": "main", "share": 1}])
    stated = mix(phases=[{"name": "main", "share": 1, "learning_rate": rates}])
    [before], [after] = (phases_from(WEB_AND_CODE, each, SEQ_LEN) for each in (plain, stated))
    assert (before.counts, before.blocks) == (after.counts, after.blocks)
    assert before.learning_rate == ()
    assert after.learning_rate == (
        RatePiece(share=0.1, start=0.0, end=0.002),
        RatePiece(share=0.9, start=0.002, end=0.0002, shape="cosine"),
    )
    assert get_args(RateSettings.model_fields["shape"].annotation) == get_args(Shape)
    with pytest.raises(ValidationError, match="learning_rate sum to 0.9"):
        mix(phases=[{"share": 1, "learning_rate": rates[1:]}])
