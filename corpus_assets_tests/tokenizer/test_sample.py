"""Which documents a tokenizer learns from, and which it is measured on."""

import hashlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from corpus_assets.tokenizer import sample
from corpus_assets.tokenizer.sample import PLACES, Ints, amounts, divided, draw, places, sides
from corpus_assets.tokenizer.settings import TokenizerSample

SEED = 7


def ids(domain: str, count: int) -> list[bytes]:
    return [
        hashlib.blake2b(f"{domain}/{i}".encode(), digest_size=16).digest() for i in range(count)
    ]


class Corpus:
    """Domains of documents with lengths and languages, cut into parts in a given order."""

    def __init__(self, seed: int, sizes: dict[str, int], longest: int = 4000) -> None:
        generator = np.random.default_rng(seed)
        self.documents = {
            domain: (
                ids(domain, count),
                generator.integers(1, longest, count),
                generator.choice(["en", "de", "sw"], count, p=[0.8, 0.15, 0.05]).tolist(),
            )
            for domain, count in sizes.items()
        }

    def places(self, setting: TokenizerSample) -> dict[str, Ints]:
        return {
            domain: places(found, languages, setting, SEED)
            for domain, (found, _, languages) in self.documents.items()
        }

    def draw(self, setting: TokenizerSample, parts: int = 3, back: bool = False) -> dict[str, Any]:
        tables = []
        for domain, at in self.places(setting).items():
            lengths = self.documents[domain][1]
            for rows in np.array_split(np.arange(len(at)), parts):
                tables.append((domain, amounts(at[rows], lengths[rows])))
        return draw(tables[::-1] if back else tables, setting, setting.weights({}))


@pytest.fixture
def nothing_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "HELD_OUT", 0.0)


def chars(drawn: dict[str, Any]) -> dict[str, int]:
    return {domain: row["chars"] for domain, row in drawn.items()}


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 1000),
    st.dictionaries(st.sampled_from(["web", "code", "math"]), st.integers(1, 300), min_size=1),
    st.integers(1, 400_000),
    st.sampled_from([0.0, 0.01, 0.3]),
)
def test_no_document_is_on_both_sides_and_the_sample_is_bounded(
    seed: int, sizes: dict[str, int], room: int, held_out: float
) -> None:
    setting = TokenizerSample(max_chars=room)
    corpus = Corpus(seed, sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "HELD_OUT", held_out)
        drawn = corpus.draw(setting)
    at = corpus.places(setting)
    there: dict[str, int] = {}
    taken: dict[str, int] = {}
    for domain, row in drawn.items():
        trained, held = sides(at[domain], row)
        assert not (trained & held).any()
        assert (trained.sum(), held.sum()) == (row["documents"], row["held_out_documents"])
        lengths = corpus.documents[domain][1]
        assert lengths[trained].sum() == row["chars"]
        if sizes[domain] > 1 and held_out:
            assert held.sum() >= 1
        there[domain] = int(lengths[~held].sum())
        taken[domain] = int(trained.sum())
    quotas = divided(room, there, {})
    assert all(taken[domain] >= 1 for domain in sizes if quotas[domain])
    longest = max(int(lengths.max()) for _, lengths, _ in corpus.documents.values())
    assert sum(chars(drawn).values()) <= room + longest * len(sizes)


def test_neither_the_order_of_files_nor_how_they_are_cut_matters() -> None:
    setting = TokenizerSample(max_chars=100_000)
    corpus = Corpus(1, {"web": 500, "code": 80})
    assert corpus.draw(setting) == corpus.draw(setting, parts=17, back=True)


@pytest.mark.usefixtures("nothing_held_out")
def test_a_bounded_sample_takes_the_same_share_of_every_domain() -> None:
    corpus = Corpus(2, {"web": 4000, "code": 1000})
    everything = chars(corpus.draw(TokenizerSample()))
    half = chars(corpus.draw(TokenizerSample(max_chars=sum(everything.values()) // 2)))
    for domain in everything:
        assert half[domain] / everything[domain] == pytest.approx(0.5, abs=0.01)


@pytest.mark.usefixtures("nothing_held_out")
def test_proportions_lift_a_rare_domain_and_what_it_lacks_goes_to_the_others() -> None:
    corpus = Corpus(3, {"web": 4000, "code": 1000, "math": 50})
    there = chars(corpus.draw(TokenizerSample()))
    setting = TokenizerSample(
        max_chars=2_000_000, proportions={"web": 0.5, "code": 0.25, "math": 0.25}
    )
    found = chars(corpus.draw(setting))
    assert found["math"] == there["math"] < 500_000
    left = 2_000_000 - there["math"]
    assert found["web"] / left == pytest.approx(2 / 3, abs=0.01)
    assert found["code"] / left == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("proportions", "weights"),
    [("mixture", {"web": 3, "code": 1}), ("corpus", {}), ({"web": 0.5}, {"web": 0.5})],
)
def test_proportions_are_the_mixtures_unless_the_sample_has_its_own(
    proportions: Any, weights: dict[str, float]
) -> None:
    assert TokenizerSample().proportions == "mixture"
    assert TokenizerSample(proportions=proportions).weights({"web": 3, "code": 1}) == weights


def test_a_domain_with_proportion_0_is_left_out_even_where_it_fits() -> None:
    setting = TokenizerSample(proportions={"web": 1, "code": 0})
    drawn = Corpus(4, {"web": 50, "code": 50}).draw(setting)
    assert drawn["code"]["documents"] == 0
    assert drawn["web"]["documents"] == 49


@pytest.mark.usefixtures("nothing_held_out")
@pytest.mark.parametrize("room", [10**9, 500_000])
def test_shares_of_languages_hold_whether_or_not_the_sample_is_bounded(room: int) -> None:
    setting = TokenizerSample(language_shares={"en": 0.1}, max_chars=room)
    corpus = Corpus(5, {"web": 20_000})
    trained, _ = sides(corpus.places(setting)["web"], corpus.draw(setting)["web"])
    languages = np.array(corpus.documents["web"][2])
    taken = {name: trained[languages == name].mean() for name in ("en", "de", "sw")}
    assert taken["en"] / taken["de"] == pytest.approx(0.1, rel=0.25)
    assert taken["sw"] == pytest.approx(taken["de"], rel=0.25)


def test_languages_that_are_not_named_are_left_out_and_unknown_ones_too() -> None:
    setting = TokenizerSample(languages=("de",))
    found = places(ids("web", 4), ["en", "de", None, "de"], setting, SEED)
    assert (found >= 0).tolist() == [False, True, False, True]


def test_places_depend_on_the_document_and_the_seed_alone() -> None:
    setting = TokenizerSample(language_shares={"en": 0.5})
    some = ids("web", 200)
    english = ["en"] * 200
    at = places(some, english, setting, SEED)
    assert places(some[::-1], english, setting, SEED).tolist() == at[::-1].tolist()
    assert places(some, english, setting, SEED + 1).tolist() != at.tolist()
    assert at.max() < PLACES
    assert 0.35 < (at >= 0).mean() < 0.65


def test_a_document_counts_only_as_far_as_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "MAX_DOCUMENT_CHARS", 100)
    at = places(ids("web", 2), [None, None], TokenizerSample(), SEED)
    assert sum(amounts(at, np.array([50, 10_000]))["chars"].to_pylist()) == 150


def test_held_out_text_is_bounded_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "HELD_OUT", 0.4)
    monkeypatch.setattr(sample, "HELD_OUT_CHARS", 100_000)
    corpus = Corpus(6, {"web": 3000, "code": 3000})
    drawn = corpus.draw(TokenizerSample())
    for row in drawn.values():
        assert 40_000 < row["held_out_chars"] <= 50_000


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 10_000),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 5000), min_size=1),
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0.0, 0.1, 1.0, 3.0])),
)
def test_room_is_divided_without_waste_and_nobody_gets_more_than_it_has(
    room: int, there: dict[str, int], proportions: dict[str, float]
) -> None:
    quotas = divided(room, there, proportions)
    wanted = [name for name in there if not proportions or proportions.get(name, 0.0)]
    assert all(quotas[name] <= there[name] for name in there)
    total = sum(quotas.values())
    assert total <= room
    if wanted and sum(there[name] for name in wanted) >= room:
        assert total > room - len(wanted)
    else:
        assert total == sum(there[name] for name in wanted)
    open_ = [name for name in wanted if quotas[name] < there[name]]
    if proportions and len(open_) > 1:
        parts = [Fraction(quotas[name] + 1) / Fraction(repr(proportions[name])) for name in open_]
        least = [Fraction(quotas[name]) / Fraction(repr(proportions[name])) for name in open_]
        assert max(least) <= min(parts)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"proportions": {"wbe": 1}}, r"proportions\.wbe: no source has this domain; known: code"),
        ({"proportions": {"web": 1}}, "proportions: domain code has a source and no proportion"),
        ({"proportions": {"web": 1, "code": 1, "x": 1}}, r"proportions\.x: no source"),
    ],
)
def test_names_of_domains_that_do_not_fit_the_sources_are_refused(
    sample: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        TokenizerSample(**sample).check_domains({"web", "code"})


@pytest.mark.parametrize("wrong", [{"max_chars": 0}, {"proportions": {"a": -1}}])
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TokenizerSample(**wrong)
