"""Mixtures as published, on pools unlike those that they were published for."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.core.errors import RecipeError
from corpus_assets.recipe.load import load_recipe
from corpus_assets.shards.mixture import phases_from, plan_mixture
from corpus_assets.shards.mixture_settings import MixedGroup, MixtureSettings
from corpus_loader.manifest import Phase, group_id, join_labels

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
SEQ_LEN = 100


def group(
    domain: str, samples: int, tier: str = "all", source: str = "", **labels: str
) -> MixedGroup:
    """A group of full samples, in a snapshot named after its source."""
    source = source or domain
    name = group_id(f"{source}-1", domain, tier, join_labels(labels))
    return MixedGroup(name, source, domain, tier, samples, samples * SEQ_LEN, labels)


def planned(groups: list[MixedGroup], **mixture: Any) -> list[Phase]:
    settings = MixtureSettings.model_validate({"max_epochs": 10**9} | mixture)
    return phases_from(groups, settings, SEQ_LEN)


def drawn(phase: Phase, groups: list[MixedGroup], axis: str) -> dict[str, int]:
    """Samples in a block by the values of an axis."""
    found: dict[str, int] = {}
    for each in groups:
        value = each.axes[axis]
        found[value] = found.get(value, 0) + phase.counts.get(each.id, 0)
    return found


def test_llama_3_has_fifty_twenty_five_seventeen_and_eight_percent() -> None:
    pool = [
        *(group("general", n, source=f"crawl{n}") for n in (7, 8191, 3)),
        group("math", 13),
        group("code", 90_001),
        *(group("languages", n, language=code) for code, n in (("de", 1), ("fi", 640), ("th", 77))),
    ]
    shares = {"domain": {"general": 0.50, "math": 0.25, "code": 0.17, "languages": 0.08}}
    [phase] = planned(pool, shares=shares, block_samples=100)
    assert drawn(phase, pool, "domain") == {"general": 50, "math": 25, "code": 17, "languages": 8}
    phases = [{"name": "main", "share": 0.9},
              {"share": 0.1, "change": {"domain": {"math": 0.4, "code": 0.3}}}]  # fmt: skip
    main, annealing = planned(pool, shares=shares, phases=phases, block_samples=290)
    assert drawn(main, pool, "domain")["general"] == 145
    # What mathematics and code leave is divided as before: 50 to 8 of 58.
    assert drawn(annealing, pool, "domain") == {
        "general": 75, "math": 116, "code": 87, "languages": 12,
    }  # fmt: skip
    assert annealing.name == "phase-2"


def test_the_recipe_after_llama_3_has_these_shares_of_a_web_in_many_languages() -> None:
    mixture = load_recipe(RECIPES / "llama3-like.yaml").mixture
    pool = [
        group("web", 813, language="en"),
        *(group("web", n, source=f"crawl{n}", language="other") for n in (2, 5000)),
        *(group(name, 77, language="other") for name in ("math", "code")),
    ]
    settings = mixture.model_copy(update={"max_epochs": {"default": 1e9}})
    main, annealing = phases_from(pool, settings, SEQ_LEN)
    assert drawn(main, pool[:3], "language") == {"en": 50, "other": 8}
    assert drawn(main, pool, "domain") == {"web": 58, "math": 25, "code": 17}
    assert drawn(annealing, pool, "domain") == {"web": 41, "math": 35, "code": 24}
    assert [(part.start, part.end) for part in annealing.learning_rate] == [(8e-7, 0)]


def test_each_source_of_the_pile_is_seen_as_often_as_its_table_says() -> None:
    mixture = load_recipe(RECIPES / "the-pile.yaml").mixture
    epochs = mixture.weights["source"]
    pool = [group("pile", 2 * (7 + 13 * k % 101), source=name) for k, name in enumerate(epochs)]
    block = sum(int(each.samples * epochs[each.source]) for each in pool)
    exact = mixture.model_copy(update={"block_samples": block})
    [phase] = phases_from(pool, exact, SEQ_LEN)
    seen = {each.source: phase.blocks * phase.counts[each.id] / each.samples for each in pool}
    assert seen == epochs


@pytest.mark.parametrize("sizes", [lambda k: 1000, lambda k: 1 + 37 * k * k % 991])
def test_olmo_3_has_a_fifth_of_science_whatever_its_topics_are_by_nature(sizes: Any) -> None:
    mixture = load_recipe(RECIPES / "olmo3-like.yaml").mixture
    shares = mixture.inside["domain"]["web"].shares["topic"]
    assert shares["science_math_and_technology"] == 0.2103
    pool = [
        group("web", sizes(31 * k + bucket), f"q{bucket:02d}", topic=topic)
        for k, topic in enumerate(shares)
        for bucket in range(1, 21)
    ]
    run = {"run_tokens": SEQ_LEN * sum(each.samples for each in pool) // 4}  # of what there is
    settings = mixture.model_copy(
        update=run | {"block_samples": 9999, "max_epochs": {"default": 1e9}}
    )
    [phase] = phases_from(pool, settings, SEQ_LEN)
    assert drawn(phase, pool, "topic") == {name: round(10_000 * n) for name, n in shares.items()}
    science = [each for each in pool if each.labels["topic"] == "science_math_and_technology"]
    rate = {each.tier: Fraction(phase.counts.get(each.id, 0), each.samples) for each in science}
    worst, at = 0.0, 0
    while not rate[science[at].tier]:
        worst, at = worst + science[at].samples / sum(each.samples for each in science), at + 1
    assert worst <= 0.4 < worst + science[at].samples / sum(each.samples for each in science)
    assert rate["q20"] > 2 * rate[science[at + 1].tier] > 0


def test_fineweb2_repeats_by_the_number_of_copies_with_other_weights_in_a_language() -> None:
    weights = {"copies": {2: 2, 3: 3, 5: 5, 100: 8, 1000: 1}}
    inside = {"language": {"sw": {"weights": {"copies": {2: 1, 5: 7}}}}}
    pool = [
        group("web", 3 + 5 * k, language=code, copies=copies)
        for code in ("de", "sw")
        for k, copies in enumerate(("2", "3", "5", "100", "1000"))
    ] + [group("web", 11, language=code) for code in ("de", "sw")]
    times = {("de", "2"): 2, ("de", "3"): 3, ("de", "5"): 5, ("de", "100"): 8,
             ("sw", "2"): 1, ("sw", "3"): 3, ("sw", "5"): 7, ("sw", "100"): 8}  # fmt: skip
    wanted = {
        each.id: each.samples
        * times.get((each.labels["language"], each.labels.get("copies", "")), 1)
        for each in pool
    }
    [phase] = planned(
        pool, weights=weights, inside=inside, run_epochs=1, block_samples=sum(wanted.values())
    )
    assert (phase.blocks, phase.counts) == (1, wanted)
    by_language = planned(pool, weights=weights, shares={"language": {"sw": 0.3}},
                          block_samples=1000)  # fmt: skip
    assert drawn(by_language[0], pool, "language") == {"de": 700, "sw": 300}


def test_the_cooldown_of_darkforest_has_the_top_two_tiers_alone() -> None:
    mixture = load_recipe(RECIPES / "darkforest.yaml").mixture
    pool = [
        group(domain, 31 + 17 * k * n, tier)
        for k, domain in enumerate(mixture.shares["domain"], 1)
        for n, tier in enumerate(("high", "mid", "low"), 1)
    ]
    changes = {"block_samples": 100, "run_tokens": 400 * 100 * SEQ_LEN}
    settings = mixture.model_copy(update=changes | {"max_epochs": {"default": 1e9}})
    main, cooldown = phases_from(pool, settings, SEQ_LEN)
    assert (main.blocks, cooldown.blocks) == (340, 60)
    assert drawn(main, pool, "domain") == {
        "web": 50, "code": 20, "books": 12, "math": 10, "synthetic": 8,
    }  # fmt: skip
    assert drawn(cooldown, pool, "domain") == {
        "web": 40, "code": 25, "books": 15, "math": 20, "synthetic": 0,
    }  # fmt: skip
    assert drawn(cooldown, pool, "tier")["low"] == 0
    # A token of a tier of weight 4 is seen four times as often as one of weight 1.
    large = settings.model_copy(update={"block_samples": 10**6})
    main = phases_from(pool, large, SEQ_LEN)[0]
    rate = {each.tier: main.counts[each.id] / each.samples for each in pool if each.domain == "web"}
    assert rate["high"] / rate["mid"] == pytest.approx(4, rel=1e-3)


def test_a_phase_of_a_hundredth_has_a_hundredth_of_the_blocks() -> None:
    pool = [group("web", 1000), group("code", 10)]
    phases = [{"share": 0.99}, {"share": 0.01, "shares": {"domain": {"code": 1, "web": 0}}}]
    main, last = planned(pool, phases=phases, run_tokens=SEQ_LEN * 50_000, block_samples=50)
    assert (main.blocks, last.blocks) == (990, 10)
    assert last.counts == {"code-1/code/all": 50}


TEN_DOCUMENTS = [group("web", 10_000, language="en"), group("web", 2, language="ki")]


def test_a_language_of_ten_documents_names_its_share_and_the_tokens_that_it_lacks() -> None:
    shares = {"language": {"ki": 0.01}}
    settings = MixtureSettings(shares=shares, block_samples=100)
    with pytest.raises(RecipeError) as caught:
        phases_from(TEN_DOCUMENTS, settings, SEQ_LEN)
    # A hundredth of 1,000,200 tokens are 100 blocks of one sample; four times 2 samples are allowed.
    assert "the share shares.language.ki, 0.01 of the tokens, lacks 9,200 tokens" in str(
        caught.value
    )
    assert "lower mixture.change.language.ki to 0.0008" in str(caught.value)
    phases, said = plan_mixture(TEN_DOCUMENTS, settings, SEQ_LEN)
    assert said is not None
    assert "the run is shortened" in said
    assert drawn(phases[0], TEN_DOCUMENTS, "language") == {"en": 99, "ki": 1}


def test_a_topic_without_text_gives_its_share_to_the_others_in_their_proportions() -> None:
    pool = [group("web", 40, topic="math"), group("web", 900, topic="games")]
    shares = {"topic": {"math": 0.3, "games": 0.6, "law": 0.1}}
    [phase] = planned(pool, shares=shares, block_samples=90)
    assert drawn(phase, pool, "topic") == {"math": 30, "games": 60}


def test_shares_of_languages_inside_a_domain_leave_the_others_alone() -> None:
    pool = [
        *(group("web", n, language=code) for code, n in (("en", 900), ("de", 20), ("fi", 3))),
        *(group("books", n, language=code) for code, n in (("en", 30), ("de", 10))),
    ]
    inside = {"domain": {"web": {"shares": {"language": {"de": 0.25, "fi": 0.05}}}}}
    [phase] = planned(pool, shares={"domain": {"web": 0.8}}, inside=inside, block_samples=100)
    found = {name.removeprefix("web-1/"): n for name, n in phase.counts.items()}
    assert found == {
        "web/all/language=en": 56, "web/all/language=de": 20, "web/all/language=fi": 4,
        "books-1/books/all/language=en": 15, "books-1/books/all/language=de": 5,
    }  # fmt: skip


def test_a_run_is_as_long_as_its_tokens_or_its_epochs() -> None:
    pool = [group("web", 60, "high"), group("web", 40, "low")]
    for changes, blocks in (
        ({}, 10),
        ({"run_epochs": 1}, 10),
        ({"run_epochs": 2.5}, 25),
        ({"run_tokens": 3 * 10 * SEQ_LEN}, 3),
        ({"run_tokens": None, "run_epochs": 0.5}, 5),
        ({"run_epochs": 1, "weights": {"tier": {"high": 3}}}, 22),
    ):
        [phase] = planned(pool, block_samples=10, **changes)
        assert phase.blocks == blocks, changes
    # `corpus mix --tokens` asks a recipe of epochs for another length.
    setting = MixtureSettings(run_epochs=1, block_samples=10)
    other = setting.model_copy(update={"run_tokens": 2 * 10 * SEQ_LEN})
    assert phases_from(pool, other, SEQ_LEN)[0].blocks == 2


def test_shares_that_change_keep_the_proportions_of_the_others() -> None:
    pool = [group(name, 50) for name in ("web", "code", "books", "math")]
    shares = {"domain": {"web": 0.6, "code": 0.1, "books": 0.2, "math": 0.1}}
    for changed in (0.0, 0.37, 1.0):
        [phase] = planned(
            pool, shares=shares, change={"domain": {"code": changed}}, block_samples=9000
        )
        found = drawn(phase, pool, "domain")
        left = 9000 * (1 - Fraction(str(changed)))
        assert found == {
            "code": round(9000 * changed), "web": left * 6 / 9, "books": left * 2 / 9,
            "math": left / 9,
        }  # fmt: skip


def test_a_share_of_ninety_nine_percent_leaves_the_last_one_to_the_others() -> None:
    pool = [group("web", 500), group("code", 30), group("books", 10)]
    shares = {"domain": {"web": 0.99}}
    settings = MixtureSettings.model_validate({"shares": shares})
    settings.check({"domain": ("web", "code", "books")})
    [phase] = planned(pool, shares=shares, block_samples=400)
    assert drawn(phase, pool, "domain") == {"web": 396, "code": 3, "books": 1}
