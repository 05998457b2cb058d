"""Decisions from signals: each kind of rule, its reason, cutoffs, tiers."""

import json
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml

from corpus_assets.core.errors import CorruptArtifact, RecipeError
from corpus_assets.core.schemas import SELECTION
from corpus_assets.select.columns import SOURCE_TIER, TIE_KEY, Columns, with_source, with_tie_keys
from corpus_assets.select.requirement import requirement_of
from corpus_assets.select.rules import Cut, SelectionSettings
from corpus_assets.select.selection import (
    Cutoffs,
    dropped_shares,
    parse_cutoffs,
    plain_cutoffs,
    resolve_cutoffs,
    select,
)
from corpus_assets.select.shares import share_gaps

RECIPE = """
rules:
  - {name: language, signal: language, in: [en, de, fr, es], domains: [web]}
  - {name: language_confidence, signal: language_score, min: 0.65, domains: [web],
     languages: {de: {min: 0.5}}}
  - {name: gopher_words, signal: n_words, min: 50, max: 100000}
  - {name: low_quality, signal: quality_score, cutoff: quality, domains: [web]}
cutoffs:
  quality: {signal: quality_score, drop_share: 0.15, by: language, min_documents: 50}
tiers:
  signal: quality_score
  names: [high, mid, low]
  shares: [0.3, 0.4, 0.3]
  default: mid
  domains: [web]
"""
CUTOFFS = parse_cutoffs(
    {"quality": {"*": 0.2, "de": 0.1}, "tier:high": {"*": 0.7}, "tier:mid": {"*": 0.4}}
)
GOOD = {
    "domain": "web",
    "language": "en",
    "language_score": 0.9,
    "n_words": 100,
    "quality_score": 0.5,
}


def settings(text: str = RECIPE) -> SelectionSettings:
    return SelectionSettings.model_validate(yaml.safe_load(text))


def tables(rows: list[dict[str, Any]]) -> tuple[pa.Table, pa.Table]:
    rows = [{**GOOD, **row} for row in rows]
    ids = pa.array([k.to_bytes(16, "big") for k in range(len(rows))], pa.binary(16))
    types = {
        "language": pa.string(),
        "language_score": pa.float32(),
        "n_words": pa.int64(),
        "quality_score": pa.float32(),
    }
    domain = pa.array([row["domain"] for row in rows], pa.string())
    signals = {name: pa.array([row[name] for row in rows], t) for name, t in types.items()}
    documents = with_tie_keys(pa.table({"doc_id": ids, "domain": domain}), seed=7)
    return documents, pa.table({"doc_id": ids, **signals})


def decide(
    *rows: dict[str, Any],
    recipe: str = RECIPE,
    cutoffs: Cutoffs = CUTOFFS,
) -> list[dict[str, Any]]:
    table = select(*tables(list(rows)), settings(recipe), cutoffs)
    assert table.schema == SELECTION
    table.validate(full=True)
    rows_out: list[dict[str, Any]] = table.to_pylist()
    return rows_out


def test_a_good_document_is_kept_without_a_reason() -> None:
    (row,) = decide({})
    assert row == {
        "doc_id": bytes(16),
        "kept": True,
        "reason": None,
        "failed_rules": [],
        "language": "en",
        "tier": "mid",
    }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"language": "pl"}, "language"),
        ({"language_score": 0.6499}, "language_confidence"),
        ({"n_words": 49}, "gopher_words"),
        ({"n_words": 100_001}, "gopher_words"),
        ({"quality_score": 0.1999}, "low_quality"),
    ],
)
def test_each_kind_of_rule_gives_its_name_as_the_reason(
    change: dict[str, Any], reason: str
) -> None:
    (row,) = decide(change)
    assert (row["kept"], row["reason"], row["failed_rules"]) == (False, reason, [reason])
    assert row["tier"] is None


@pytest.mark.parametrize(
    "change",
    [
        {"language_score": 0.65},
        {"n_words": 50},
        {"n_words": 100_000},
        {"quality_score": 0.2},
    ],
)
def test_a_value_at_the_bound_passes(change: dict[str, Any]) -> None:
    (row,) = decide(change)
    assert row["kept"]


@pytest.mark.parametrize(
    ("words", "language", "kept"),
    [(50, "en", False), (51, "en", True), (99, "en", True), (100, "en", False), (100, "de", True),
     (120, "de", False), (119, "de", True)],
)  # fmt: skip
def test_a_value_at_an_exclusive_bound_fails_whoever_gives_the_bound(
    words: int, language: str, kept: bool
) -> None:
    recipe = """
    rules:
      - {name: words, signal: n_words, min: 50, max: 100, exclusive: true,
         languages: {de: {max: 120}}}
    """
    (row,) = decide({"n_words": words, "language": language}, recipe=recipe)
    assert row["kept"] == kept
    (rule,) = settings(recipe).rules
    asked = requirement_of(rule, {}, "web", language)
    assert str(asked) == f"above 50, below {100 if language == 'en' else 120}"


def test_an_exclusive_bound_is_compared_in_the_columns_own_precision() -> None:
    recipe = "rules: [{name: r, signal: language_score, min: 0.65, exclusive: true}]"
    at, above = decide({"language_score": 0.65}, {"language_score": 0.6501}, recipe=recipe)
    assert (at["kept"], above["kept"]) == (False, True)


@pytest.mark.parametrize(
    ("signal", "reason"),
    [
        ("language", "language"),
        ("language_score", "language_confidence"),
        ("n_words", "gopher_words"),
        ("quality_score", "low_quality"),
    ],
)
def test_a_missing_signal_fails_the_rule_that_asks_for_it(signal: str, reason: str) -> None:
    (row,) = decide({signal: None})
    assert (row["kept"], row["reason"]) == (False, reason)


def test_a_signal_that_is_not_a_number_fails_like_a_missing_one() -> None:
    (row,) = decide({"quality_score": float("nan")})
    assert row["reason"] == "low_quality"


def test_the_first_failing_rule_in_recipe_order_is_the_reason() -> None:
    bad = {"n_words": 1, "language": "pl", "quality_score": 0.0}
    good, worse = decide({}, bad)
    assert good["kept"]
    assert worse["reason"] == "language"
    assert worse["failed_rules"] == ["language", "gopher_words", "low_quality"]
    backwards = yaml.safe_load(RECIPE)
    backwards["rules"].reverse()
    (row,) = decide(bad, recipe=yaml.safe_dump(backwards))
    assert row["reason"] == "low_quality"
    assert row["failed_rules"] == ["low_quality", "gopher_words", "language"]


def test_a_language_can_have_bounds_and_cutoffs_of_its_own() -> None:
    german, english = decide(
        {"language": "de", "language_score": 0.5, "quality_score": 0.1},
        {"language": "en", "language_score": 0.5, "quality_score": 0.1},
    )
    assert german["kept"]
    assert english["failed_rules"] == ["language_confidence", "low_quality"]


def test_what_a_languages_bounds_leave_out_is_as_for_all() -> None:
    recipe = "rules: [{name: r, signal: n_words, min: 10, max: 20, languages: {de: {min: 5}}}]"
    rows = [{"language": lang, "n_words": n} for lang in ("de", "en") for n in (4, 5, 20, 21)]
    kept = [row["kept"] for row in decide(*rows, recipe=recipe)]
    assert kept == [False, True, True, False, False, False, True, False]


def test_rules_hold_in_their_domains_only() -> None:
    row, short = decide(
        {"domain": "code", "language": None, "language_score": None, "quality_score": None},
        {"domain": "code", "n_words": 3},
    )
    assert row["kept"]
    assert short["reason"] == "gopher_words"


def test_a_rule_can_hold_for_some_languages_only() -> None:
    recipe = "rules: [{name: few_words, signal: n_words, min: 500, only_languages: [en]}]"
    rows = decide({"language": "en"}, {"language": "de"}, {"language": None}, recipe=recipe)
    assert [row["reason"] for row in rows] == ["few_words", None, None]


def test_tiers_follow_their_cutoffs_and_fall_back_to_the_default() -> None:
    rows = decide(
        {"quality_score": 0.7},
        {"quality_score": 0.6999},
        {"quality_score": 0.4},
        {"quality_score": 0.3},
        {"domain": "books", "quality_score": 0.95},
        {"domain": "books", "quality_score": None},
    )
    assert [row["tier"] for row in rows] == ["high", "mid", "mid", "low", "mid", "mid"]


def test_without_tiers_everything_kept_is_in_one() -> None:
    recipe = "rules: [{name: short, signal: n_words, min: 50}]"
    rows = decide({}, {"n_words": 1}, recipe=recipe)
    assert [row["tier"] for row in rows] == ["all", None]


def test_without_rules_everything_is_kept() -> None:
    (row,) = decide({"n_words": 0, "language": None}, recipe="rules: []")
    assert row["kept"]


def test_empty_tables_give_an_empty_selection() -> None:
    assert decide() == []


def test_chunked_tables_decide_like_whole_ones() -> None:
    documents, signals = tables([{"n_words": n} for n in range(40, 60)])
    chunked = pa.concat_tables([signals.slice(0, 7), signals.slice(7)])
    whole = select(documents, signals, settings(), CUTOFFS)
    assert select(documents, chunked, settings(), CUTOFFS).to_pylist() == whole.to_pylist()


def test_tables_that_do_not_belong_together_are_refused() -> None:
    documents, signals = tables([{}, {}])
    with pytest.raises(CorruptArtifact, match="same documents in the same order"):
        select(documents.take([1, 0]), signals, settings(), CUTOFFS)


def test_a_cutoff_that_was_never_resolved_is_an_error() -> None:
    with pytest.raises(RecipeError, match="cutoff 'quality' has no resolved value"):
        decide({}, cutoffs={})


def signals_with_domain(rows: list[dict[str, Any]]) -> pa.Table:
    documents, signals = tables(rows)
    for name in ("domain", TIE_KEY):
        signals = signals.append_column(name, documents.column(name))
    return signals


def many_rows() -> list[dict[str, Any]]:
    draw = random.Random(12)
    return [
        {"language": language, "quality_score": round(draw.random() * scale, 4)}
        for language, n, scale in (("en", 200, 1.0), ("de", 100, 0.5), ("fr", 49, 0.1))
        for _ in range(n)
    ]


def test_cutoffs_drop_their_share_of_each_language() -> None:
    rows = many_rows()
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings())
    assert list(cutoffs["quality"]) == ["*", "de", "en"], "fr has too few documents of its own"
    for language in ("en", "de"):
        scores = [row["quality_score"] for row in rows if row["language"] == language]
        below = sum(score < cutoffs["quality"][language].value for score in scores)
        assert below == int(0.15 * len(scores))
    everything = sorted(row["quality_score"] for row in rows)
    assert cutoffs["quality"]["*"].value == everything[int(0.15 * len(rows))]


def test_documents_of_equal_score_are_divided_so_that_the_share_asked_for_is_dropped() -> None:
    """A third of the documents share the score on which the cutoff falls."""
    rows = [{"quality_score": round(0.1 + k % 3 * 0.1, 4)} for k in range(900)]
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings())
    assert cutoffs["quality"]["en"].value == 0.1
    assert cutoffs["quality"]["en"].tie == pytest.approx(0.45, abs=0.06), "of 300, 135 go"
    decided = decide(*rows, cutoffs=cutoffs)
    assert sum(not row["kept"] for row in decided) == 135
    tiers = [row["tier"] for row in decided if row["kept"]]
    counts = [tiers.count(name) for name in ("high", "mid", "low")]
    assert counts == pytest.approx([0.3 * 765, 0.4 * 765, 0.3 * 765], abs=1)


@pytest.mark.parametrize("end", ["lowest", "highest"])
@pytest.mark.parametrize("buckets", [2, 20, 100])
def test_buckets_of_a_coarse_score_have_equal_shares(end: str, buckets: int) -> None:
    recipe = f"""
tiers: {{signal: quality_score, buckets: {buckets}, best: {end}, default: none}}
"""
    rows = [{"quality_score": round(k % 7 / 7, 4)} for k in range(1000)]
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings(recipe))
    tiers = [row["tier"] for row in decide(*rows, recipe=recipe, cutoffs=cutoffs)]
    counts = [tiers.count(name) for name in set(tiers)]
    assert len(counts) == buckets
    assert max(counts) - min(counts) <= 2


def test_who_of_equals_goes_depends_on_the_document_and_the_seed_alone() -> None:
    rows = [{"quality_score": round(0.1 + k % 3 * 0.1, 4)} for k in range(900)]
    documents, signals = tables(rows)
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings())
    whole = select(documents, signals, settings(), cutoffs)
    part = select(documents.slice(100, 50), signals.slice(100, 50), settings(), cutoffs)
    assert part.to_pylist() == whole.slice(100, 50).to_pylist()
    other = with_tie_keys(documents.drop_columns(TIE_KEY), seed=8)
    again = select(other, signals, settings(), cutoffs)
    assert again["kept"].to_pylist() != whole["kept"].to_pylist()


@pytest.mark.parametrize("score", [0.3, 0.0, 1.0])
def test_a_score_that_most_documents_share_is_refused_with_its_histogram(score: float) -> None:
    rows = [{"quality_score": score}] * 900 + [{"quality_score": 0.9}] * 50
    with pytest.raises(RecipeError, match="is flat or saturated.*900 of 950") as told:
        resolve_cutoffs(signals_with_domain(rows), settings())
    assert f"{np.float32(score)!s}: 900" in str(told.value)
    assert "0.9: 50" in str(told.value)


def test_a_value_that_most_documents_share_may_lie_on_one_side_of_a_cutoff() -> None:
    """Most pages have no bad word at all: the worst twentieth can still be told."""
    recipe = """
rules: [{name: foul, signal: quality_score, cutoff: foul}]
cutoffs: {foul: {signal: quality_score, drop_share: 0.05, drop: highest}}
"""
    rows = [{"quality_score": 0.0}] * 900 + [{"quality_score": k / 100} for k in range(1, 101)]
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings(recipe))
    decided = decide(*rows, recipe=recipe, cutoffs=cutoffs)
    assert sum(not row["kept"] for row in decided) == 50


def test_shares_are_counted_as_they_were_asked_for() -> None:
    rows = many_rows()
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings())
    found = dropped_shares(Columns(signals_with_domain(rows)), settings(), cutoffs)
    assert found["quality"]["asked"] == 0.15
    assert found["quality"]["of"] == {
        "*": (349, 349, 52),
        "de": (100, 100, 15),
        "en": (200, 200, 30),
    }
    for name, share in (("tier:high", 0.7), ("tier:mid", 0.3)):
        ((documents, weight, beyond),) = found[name]["of"].values()
        assert documents == weight
        assert beyond == pytest.approx(share * weight, abs=1)
    assert share_gaps([found])[0].gap == 0
    worse = [{**row, "quality_score": row["quality_score"] / 2} for row in rows]
    moved = dropped_shares(Columns(signals_with_domain(worse)), settings(), cutoffs)
    assert share_gaps([moved])[0].gap > 0.05
    assert share_gaps([found, moved])[0].documents > share_gaps([moved])[0].documents


def test_the_order_and_slicing_of_documents_do_not_change_cutoffs() -> None:
    rows = many_rows()
    whole = resolve_cutoffs(signals_with_domain(rows), settings())
    random.Random(13).shuffle(rows)
    table = signals_with_domain(rows)
    pieces = (table.slice(k, 50) for k in range(0, len(rows), 50))
    again = resolve_cutoffs(pieces, settings())
    assert json.dumps(again) == json.dumps(whole)


def test_cutoffs_are_the_stored_numbers_and_serialize_short() -> None:
    cutoffs = resolve_cutoffs(signals_with_domain(many_rows()), settings())
    for cuts in cutoffs.values():
        for cut in cuts.values():
            assert cut.value == round(cut.value, 4)
            assert json.dumps(cut.value) == str(np.float32(cut.value))
    assert parse_cutoffs(json.loads(json.dumps(plain_cutoffs(cutoffs)))) == cutoffs


def test_cutoffs_are_resolved_in_the_domains_of_their_rules() -> None:
    books = [{"domain": "books", "quality_score": 0.0}] * 500
    rows = many_rows()
    assert resolve_cutoffs(signals_with_domain(rows + books), settings()) == resolve_cutoffs(
        signals_with_domain(rows), settings()
    )


def test_a_cutoff_is_a_share_of_the_documents_that_reach_its_rule() -> None:
    """Junk that an earlier rule drops scores low: a tenth of everything would drop no good one."""
    good = [{"quality_score": round(0.5 + k / 1000, 4)} for k in range(200)]
    junk = [{"quality_score": 0.01, "n_words": 3}] * 300
    cutoffs = resolve_cutoffs(signals_with_domain(good + junk), settings())
    kept = [row["kept"] for row in decide(*good, *junk, cutoffs=cutoffs)]
    assert sum(kept) == 170, "fifteen of a hundred that reach it"
    of_all = settings(RECIPE.replace("drop_share: 0.15", "among: all, drop_share: 0.6"))
    found = resolve_cutoffs(signals_with_domain(good + junk), of_all)["quality"]["en"]
    assert found == Cut(0.5), "three of five are junk"


def test_a_cutoff_after_another_is_a_share_of_what_that_leaves() -> None:
    two = """
rules:
  - {name: low_quality, signal: quality_score, cutoff: quality}
  - {name: short, signal: n_words, cutoff: words}
cutoffs:
  words: {signal: n_words, drop_share: 0.5}
  quality: {signal: quality_score, drop_share: 0.5}
"""
    rows = [{"quality_score": k / 100, "n_words": k} for k in range(100)]
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings(two))
    assert cutoffs == {"quality": {"*": Cut(0.5)}, "words": {"*": Cut(75.0)}}


@pytest.mark.parametrize(("end", "bound"), [("lowest", 0.5), ("highest", 0.4)])
def test_a_share_by_characters_counts_long_documents_for_more(end: str, bound: float) -> None:
    by_characters = f"""
rules: [{{name: low_quality, signal: quality_score, cutoff: quality}}]
cutoffs:
  quality: {{signal: quality_score, drop_share: 0.5, drop: {end}, weigh: characters}}
"""
    rows = [{"quality_score": k / 10} for k in range(10)]
    weights = [1, 1, 1, 5, 1, 1, 5, 1, 1, 1]  # 18 in all: 9 may go from either end
    table = signals_with_domain(rows).append_column("n_chars", pa.array(weights, pa.int64()))
    key = "quality" if end == "lowest" else "max:quality"
    assert resolve_cutoffs(table, settings(by_characters))[key] == {"*": Cut(bound)}
    order = list(range(10))
    random.Random(15).shuffle(order)
    assert resolve_cutoffs(table.take(order), settings(by_characters))[key] == {"*": Cut(bound)}


def test_a_cutoff_among_distinct_survivors_counts_copies_once() -> None:
    distinct = settings(RECIPE.replace("drop_share", "among: distinct_survivors, drop_share"))
    copies = [{"quality_score": 0.1}] * 100
    others = [{"quality_score": round(0.2 + k / 1000, 4)} for k in range(100)]
    is_first = np.array([k == 0 or k >= 100 for k in range(200)])
    table = signals_with_domain(copies + others)
    assert resolve_cutoffs(table, distinct, is_first)["quality"]["en"] == Cut(0.214)
    assert resolve_cutoffs(table, settings())["quality"]["en"].value == 0.1
    with pytest.raises(RecipeError, match="which documents are copies is not in stored columns"):
        resolve_cutoffs(table, distinct)


def test_tier_shares_are_shares_of_what_the_rules_keep() -> None:
    draw = random.Random(14)
    rows = [{"quality_score": round(k / 2000, 4)} for k in range(1000)]
    rows += [{"quality_score": 0.99, "n_words": 1}] * 1000
    draw.shuffle(rows)
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings())
    decided = decide(*rows, cutoffs=cutoffs)
    kept = [row["tier"] for row in decided if row["kept"]]
    counts = [kept.count(name) / len(kept) for name in ("high", "mid", "low")]
    assert counts == pytest.approx([0.3, 0.4, 0.3], abs=0.01)


def test_a_cutoff_without_any_documents_says_so() -> None:
    with pytest.raises(RecipeError, match=r"selection.cutoffs.quality: no document has a value"):
        resolve_cutoffs(signals_with_domain([]), settings())
    with pytest.raises(RecipeError, match="no signals to resolve"):
        resolve_cutoffs([], settings())


def test_no_cutoffs_and_no_tiers_resolve_to_nothing() -> None:
    assert resolve_cutoffs(signals_with_domain([]), SelectionSettings()) == {}


PERPLEXITY = """
rules:
  - {name: hard_to_read, signal: quality_score, cutoff: perplexity}
cutoffs:
  perplexity: {signal: quality_score, drop_share: 0.15, drop: highest, by: language}
tiers:
  signal: quality_score
  names: [head, middle, tail]
  shares: [0.3, 0.3, 0.4]
  best: lowest
  by: language
  default: all
"""


def test_a_cutoff_can_drop_the_highest_values_of_each_language() -> None:
    rows = many_rows()
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings(PERPLEXITY))
    decided = decide(*rows, recipe=PERPLEXITY, cutoffs=cutoffs)
    for language in ("en", "de"):
        scores = sorted(row["quality_score"] for row in rows if row["language"] == language)
        bound = scores[-1 - int(0.15 * len(scores))]
        assert cutoffs["max:perplexity"][language] == Cut(bound)
        for row, fate in zip(rows, decided, strict=True):
            if row["language"] == language:
                assert fate["kept"] == (row["quality_score"] <= bound)


def test_the_best_tier_can_be_the_one_of_the_lowest_values() -> None:
    rows = [{"quality_score": round(k / 1000, 4)} for k in range(1000)]
    cutoffs = resolve_cutoffs(signals_with_domain(rows), settings(PERPLEXITY))
    decided = decide(*rows, recipe=PERPLEXITY, cutoffs=cutoffs)
    tiers = [row["tier"] for row in decided if row["kept"]]
    assert tiers == sorted(tiers), "head, then middle, then tail, as values rise"
    counts = [tiers.count(name) / len(tiers) for name in ("head", "middle", "tail")]
    assert counts == pytest.approx([0.3, 0.3, 0.4], abs=0.01)


def test_turning_the_values_round_turns_cutoffs_and_tiers_round() -> None:
    rows = many_rows()
    mirrored = [{**row, "quality_score": -row["quality_score"]} for row in rows]
    usual = PERPLEXITY.replace(", drop: highest", "").replace("best: lowest", "best: highest")
    one = resolve_cutoffs(signals_with_domain(rows), settings(PERPLEXITY))
    other = resolve_cutoffs(signals_with_domain(mirrored), settings(usual))
    assert {name.removeprefix("max:"): v for name, v in one.items()} == {
        name: {key: Cut(-cut.value, cut.tie) for key, cut in cuts.items()}
        for name, cuts in other.items()
    }
    assert decide(*rows, recipe=PERPLEXITY, cutoffs=one) == decide(
        *mirrored, recipe=usual, cutoffs=other
    )


def test_documents_that_tiers_cannot_grade_may_have_a_tier_of_their_own() -> None:
    raw = yaml.safe_load(PERPLEXITY)
    del raw["rules"], raw["cutoffs"]
    cutoffs = parse_cutoffs({"tier:head": {"*": 0.2}, "tier:middle": {"*": 0.4}})
    rows = [{"quality_score": value} for value in (0.2, 0.4, 0.5, None)]
    decided = decide(*rows, recipe=yaml.safe_dump(raw), cutoffs=cutoffs)
    assert [row["tier"] for row in decided] == ["head", "middle", "tail", "all"]


def test_tiers_with_fixed_bounds_need_no_documents_to_resolve_them() -> None:
    recipe = """
tiers: {signal: quality_score, names: [high, mid, low], bounds: [0.7, 0.4], default: low}
"""
    cutoffs = resolve_cutoffs(signals_with_domain([]), settings(recipe))
    assert cutoffs == {"tier:high": {"*": Cut(0.7)}, "tier:mid": {"*": Cut(0.4)}}
    rows = [{"quality_score": value} for value in (0.9, 0.7, 0.69, 0.4, 0.1)]
    decided = decide(*rows, recipe=recipe, cutoffs=cutoffs)
    assert [row["tier"] for row in decided] == ["high", "high", "mid", "mid", "low"]


LANGUAGE_RULE = """
rules:
  - name: words
    signal: n_words
    min: 50
    max: 1000
    languages: {de: {min: 40}, fr: {min: 30, max: 500}}
"""


@pytest.mark.parametrize(
    ("language", "low", "high"),
    [("en", 50, 1000), (None, 50, 1000), ("de", 40, 1000), ("fr", 30, 500)],
)
def test_each_end_is_that_of_the_language_or_of_the_rule(
    language: str | None, low: int, high: int
) -> None:
    rows = [{"language": language, "n_words": n} for n in (low - 1, low, high, high + 1)]
    # Others stand beside them, so that one table holds several bounds.
    rows += [{"language": lang} for lang in ("en", "de", "")]
    kept = [row["kept"] for row in decide(*rows, recipe=LANGUAGE_RULE)]
    assert kept[:4] == [False, True, True, False]


def test_cutoffs_can_be_resolved_for_each_domain_and_for_each_of_its_languages() -> None:
    draw = random.Random(15)
    rows = [
        {"domain": domain, "language": language, "quality_score": round(draw.random() * scale, 4)}
        for domain, scale in (("web", 1.0), ("books", 0.4))
        for language, n in (("en", 100), ("de", 60), ("fr", 10))
        for _ in range(n)
    ]
    recipe = """
    rules: [{name: low_quality, signal: quality_score, cutoff: quality}]
    cutoffs: {quality: {signal: quality_score, drop_share: 0.2, by: BY, min_documents: 50}}
    """
    by_domain = resolve_cutoffs(
        signals_with_domain(rows), settings(recipe.replace("BY", "domain"))
    )["quality"]
    assert sorted(by_domain) == ["*", "books/*", "web/*"]
    both = settings(recipe.replace("BY", "domain_language"))
    cutoffs = resolve_cutoffs(signals_with_domain(rows), both)
    values = cutoffs["quality"]
    assert sorted(values) == [
        "*", "books/*", "books/de", "books/en", "web/*", "web/de", "web/en",
    ]  # fmt: skip
    table = select(*tables(rows), both, cutoffs).to_pylist()
    for domain in ("web", "books"):
        for language in ("en", "de", "fr"):
            least = values.get(f"{domain}/{language}", values[f"{domain}/*"])
            for row, decided in zip(rows, table, strict=True):
                if (row["domain"], row["language"]) == (domain, language):
                    assert decided["kept"] == (row["quality_score"] >= least.value)
    kept = sum(row["kept"] for row in table[:100])
    assert kept == 80, "a fifth of the English web pages go, whatever books score"


def naive(row: dict[str, Any], stated: SelectionSettings, cutoffs: Cutoffs) -> list[str]:
    """The rules that a document fails, one at a time."""
    failed = []
    for rule in stated.rules:
        if rule.domains is not None and row["domain"] not in rule.domains:
            continue
        if rule.only_languages is not None and row["language"] not in rule.only_languages:
            continue
        value = row[rule.signal]
        if rule.allowed is not None:
            passed = value in rule.allowed
        elif value is None or value != value:
            passed = False
        elif rule.cutoff is not None:
            values = cutoffs[rule.cutoff]
            passed = value >= np.float32(values.get(row["language"], values["*"]).value)
        else:
            own = rule.languages.get(row["language"])
            low = own.min if own is not None and own.min is not None else rule.min
            high = own.max if own is not None and own.max is not None else rule.max
            is_float = rule.signal != "n_words"
            low, high = (
                np.float32(end) if is_float and end is not None else end for end in (low, high)
            )
            passed = (low is None or value >= low) and (high is None or value <= high)
        if not passed:
            failed.append(rule.name)
    return failed


def test_many_random_documents_are_decided_as_one_at_a_time() -> None:
    draw = random.Random(16)
    recipe = yaml.safe_load(RECIPE)
    recipe["rules"] += [  # more rules than a machine word has bits
        {"name": f"words_{k}", "signal": "n_words", "max": 100 + k * 7, "only_languages": ["en"]}
        for k in range(70)
    ]
    stated = SelectionSettings.model_validate(recipe)

    def score() -> float | None:
        return draw.choice([None, float("nan"), 0.65, 0.2, 0.1, float(np.float32(draw.random()))])

    rows = [
        {
            "domain": draw.choice(["web", "books"]),
            "language": draw.choice(["en", "de", "pl", None]),
            "language_score": score(),
            "n_words": draw.choice([None, 49, 50, draw.randrange(100_010)]),
            "quality_score": score(),
        }
        for _ in range(400)
    ]
    documents, signals = tables(rows)
    stored = [
        {**row, **kept}
        for row, kept in zip(rows, signals.drop_columns("doc_id").to_pylist(), strict=True)
    ]
    decided = select(documents, signals, stated, CUTOFFS).to_pylist()
    expected = [naive(row, stated, CUTOFFS) for row in stored]
    assert [row["failed_rules"] for row in decided] == expected
    assert [row["reason"] for row in decided] == [(f or [None])[0] for f in expected]
    assert [row["tier"] is None for row in decided] == [bool(f) for f in expected]


def test_documents_whose_source_says_their_tier_are_not_graded() -> None:
    documents, signals = tables([{"quality_score": 0.9}] * 4 + [{"n_words": 1}])
    given = pa.array([None, "low", "gold", None, "gold"], pa.string())
    decided = select(
        documents.append_column(SOURCE_TIER, given), signals, settings(), CUTOFFS
    ).to_pylist()
    assert [row["tier"] for row in decided] == ["high", "low", "gold", "high", None]


def test_shares_of_tiers_are_of_the_documents_that_are_graded() -> None:
    scores = [k / 100 for k in range(100)]
    graded = [{"quality_score": score, "n_words": 100} for score in scores]
    signals = signals_with_domain(graded).drop_columns("domain")
    others = signals_with_domain([{"quality_score": 0.995}] * 500).drop_columns("domain")
    alone = resolve_cutoffs(with_source(signals, "web", None), settings())
    beside = resolve_cutoffs(
        [with_source(signals, "web", None), with_source(others, "web", "gold")], settings()
    )
    assert beside["tier:high"]["*"] >= alone["tier:high"]["*"], "the quality rule drops more"
    high = [s for s in scores if s >= beside["tier:high"]["*"].value]
    kept = [s for s in scores if s >= beside["quality"]["*"].value]
    assert len(high) == round(0.3 * len(kept))
