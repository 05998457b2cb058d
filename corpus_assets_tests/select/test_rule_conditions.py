"""Rules that hold for some documents only: by another signal, by a cutoff, by the tier."""

import random
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import digest
from corpus_assets.select.columns import Columns, with_source, with_tie_keys
from corpus_assets.select.losses import language_losses, rule_losses_message
from corpus_assets.select.requirement import requirement_of
from corpus_assets.select.rules import Cut, SelectionSettings
from corpus_assets.select.selection import Cutoffs, resolve_cutoffs, select
from corpus_assets_tests.select.test_selection import settings, tables
from corpus_assets_tests.select.test_selection_rules import COLUMNS

TIERED = """
rules:
  - {name: few_words, signal: n_words, min: 50, where: {tier: [low, unknown]}}
tiers: {signal: quality_score, names: [high, low], bounds: [0.5], default: unknown}
"""


def reasons(recipe: str, rows: list[dict[str, Any]]) -> list[str | None]:
    """Why each document goes, under cutoffs resolved from all of them."""
    stated = settings(recipe)
    documents, signals = tables(rows)
    cutoffs = resolve_cutoffs(
        with_tie_keys(signals, 7).append_column("domain", documents["domain"]), stated
    )
    found: list[str | None] = select(documents, signals, stated, cutoffs)["reason"].to_pylist()
    return found


def where(condition: str) -> str:
    return f"rules: [{{name: few_words, signal: n_words, min: 50, where: {condition}}}]"


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        ("{signal: quality_score, max: 0.4}", [True, True, False, False]),
        ("{signal: quality_score, max: 0.4, exclusive: true}", [True, False, False, False]),
        ("{signal: quality_score, min: 0.4}", [False, True, True, False]),
        ("{signal: language, in: [en]}", [True, False, False, True]),
    ],
)
def test_a_rule_with_a_condition_drops_only_those_who_meet_it(
    condition: str, asked: list[bool]
) -> None:
    rows = [
        {"quality_score": 0.1, "language": "en"},
        {"quality_score": 0.4, "language": "de"},
        {"quality_score": 0.9, "language": None},
        {"quality_score": None, "language": "en"},  # without the signal nobody meets it
    ]
    thin = [{**row, "n_words": 10} for row in rows]
    assert reasons(where(condition), thin) == ["few_words" if a else None for a in asked]
    assert reasons(where(condition), rows) == [None] * 4


def test_a_rule_can_hold_for_tiers_and_ungraded_documents_are_in_the_default_one() -> None:
    thin = [{"quality_score": s, "n_words": 10} for s in (0.5, 0.4, None)]
    assert reasons(TIERED, thin) == [None, "few_words", "few_words"]


def test_a_tier_that_a_source_says_counts_before_the_grade() -> None:
    stated = settings(TIERED.replace("[low, unknown]", "[curated]"))
    documents, signals = tables([{"quality_score": 0.1, "n_words": 10}])
    cutoffs = {"tier:high": {"*": Cut(0.5)}}
    assert select(documents, signals, stated, cutoffs)["reason"].to_pylist() == [None]
    given = with_source(documents.select(["doc_id"]), "web", "curated")
    assert select(given, signals, stated, cutoffs)["reason"].to_pylist() == ["few_words"]


def test_conditional_rules_leave_the_others_to_the_cutoffs_after_them() -> None:
    recipe = """
rules:
  - {name: few_words, signal: n_words, min: 50, where: {signal: quality_score, max: 0.5}}
  - {name: worst_half, signal: quality_score, cutoff: half}
cutoffs: {half: {signal: quality_score, drop_share: 0.5}}
"""
    rows = [{"quality_score": k / 10, "n_words": 10} for k in range(10)]
    found = reasons(recipe, rows)
    assert found == ["few_words"] * 6 + ["worst_half"] * 2 + [None] * 2


def test_a_cutoff_is_a_share_of_those_whom_its_rule_is_about() -> None:
    recipe = """
rules:
  - {name: r, signal: n_words, cutoff: c, where: {signal: quality_score, max: 0.5}}
cutoffs: {c: {signal: n_words, drop_share: 0.5, among: AMONG}}
"""
    rows = [{"quality_score": 0.1, "n_words": 100 + k} for k in range(4)]
    rows += [{"quality_score": 0.9, "n_words": k} for k in range(96)]
    assert reasons(recipe.replace("AMONG", "survivors"), rows) == ["r"] * 2 + [None] * 98
    assert reasons(recipe.replace("AMONG", "all"), rows) == [None] * 100


def test_a_condition_can_be_a_cutoff_and_is_resolved_before_the_rules_own() -> None:
    recipe = """
rules:
  - {name: a, signal: n_words, cutoff: short, where: {signal: quality_score, cutoff: worst}}
cutoffs:
  short: {signal: n_words, drop_share: 0.5}
  worst: {signal: quality_score, drop_share: 0.6, drop: highest}
"""
    rows = [{"quality_score": k / 10, "n_words": k} for k in range(10)]
    # The four lowest scores meet it; half of these have too few words.
    assert reasons(recipe, rows) == ["a"] * 2 + [None] * 8


def test_survivors_before_copies_are_counted_know_the_tiers_that_rules_ask_for() -> None:
    recipe = TIERED.replace(
        "tiers:",
        "  - {name: worst, signal: quality_score, cutoff: c}\n"
        "cutoffs: {c: {signal: quality_score, drop_share: 0.1, among: distinct_survivors}}\ntiers:",
    )
    assert [rule.name for rule in settings(recipe).rules_before_distinct or ()] == ["few_words"]
    conditional = recipe.replace("tier: [low, unknown]", "signal: quality_score, cutoff: c")
    assert settings(conditional).rules_before_distinct == ()


def test_a_rule_about_a_graded_tier_reads_the_signal_that_grades() -> None:
    assert settings(TIERED).rules_before({"quality_score"}) == ()
    assert len(settings(TIERED).rules_before({"language"})) == 1
    held = settings(where("{signal: quality_score, max: 0.5}"))
    assert held.rules_before({"quality_score"}) == ()


def test_random_documents_are_decided_as_one_at_a_time() -> None:
    draw = random.Random(7)
    rows = [
        {
            "quality_score": draw.choice([None, 0.25, 0.5, 0.75]),
            "language": draw.choice(["en", "de", None]),
            "n_words": draw.choice([10, 49, 50, 90]),
        }
        for _ in range(300)
    ]
    stated = yaml.safe_load(TIERED)
    stated["rules"] += [
        {"name": "german", "signal": "n_words", "min": 60,
         "where": {"signal": "language", "in": ["de"]}},
        {"name": "good", "signal": "n_words", "max": 60,
         "where": {"signal": "quality_score", "min": 0.5, "exclusive": True}},
    ]  # fmt: skip
    expected = []
    for row in rows:
        score, words = row["quality_score"], row["n_words"]
        failed = {
            "few_words": words < 50 and (score is None or score < 0.5),
            "german": words < 60 and row["language"] == "de",
            "good": words > 60 and score is not None and score > 0.5,
        }
        expected.append(next((name for name, is_so in failed.items() if is_so), None))
    assert reasons(yaml.safe_dump(stated), rows) == expected


def test_a_rule_without_a_condition_has_no_key_for_one() -> None:
    plain = settings("rules: [{name: r, signal: s, min: 1}]")
    before = "fdded0d54046e1b76f75887518116356f65e3a8251dab900df8933efca7d8bc3"
    assert digest(plain.identity()) == before
    held = settings("rules: [{name: r, signal: s, min: 1, where: {signal: t, in: [a]}}]")
    assert SelectionSettings.model_validate(held.identity()) == held


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (
            where("{tier: [low]}")
            + "\ntiers: {signal: s, names: [low], shares: [1], default: low}",
            "known only after all rules.*give tiers `bounds`",
        ),
        (where("{signal: s}"), "`tier`, or a `signal` with one of"),
        (where("{signal: s, tier: [low]}"), "`tier`, or a `signal` with one of"),
        (where("{max: 1}"), "`tier`, or a `signal` with one of"),
        (where("{signal: s, max: 1, in: [a]}"), "`tier`, or a `signal` with one of"),
        (where("{signal: s, in: [a], exclusive: true}"), "min/max only"),
        (where("{signal: s, min: 2, max: 1}"), "nothing could pass"),
        (where("{signal: s, cutoff: c}"), "cutoff 'c' is not under `cutoffs`"),
        (
            where("{signal: s, cutoff: c}") + "\ncutoffs: {c: {signal: t, drop_share: 0.1}}",
            "is about 's', its cutoff 'c' about 't'",
        ),
        (
            "rules: [{name: r, signal: s, cutoff: c, where: {signal: s, cutoff: c}}]\n"
            "cutoffs: {c: {signal: s, drop_share: 0.1}}",
            "asks for cutoff 'c' twice",
        ),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused_with_the_reason(
    recipe: str, message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        settings(recipe)


def test_the_check_names_the_signal_of_a_condition() -> None:
    with pytest.raises(RecipeError, match=r"\(few_words\).where.signal: .*'topic'"):
        settings(where("{signal: topic, in: [a]}")).check(COLUMNS)
    with pytest.raises(RecipeError, match="'language' is a label"):
        settings(where("{signal: language, min: 1}")).check(COLUMNS)


def test_people_read_whom_a_rule_is_about() -> None:
    def said(recipe: str, cutoffs: Cutoffs) -> str:
        return str(requirement_of(settings(recipe).rules[0], cutoffs, "web", "en"))

    assert said(TIERED, {}) == "at least 50, where tier is one of low, unknown"
    assert said(where("{signal: quality_score, max: 0.4}"), {}) == (
        "at least 50, where quality_score is at most 0.4"
    )
    held = (
        where("{signal: quality_score, cutoff: c}")
        + "\ncutoffs: {c: {signal: quality_score, drop_share: 0.1}}"
    )
    assert said(held, {"c": {"*": Cut(0.25)}}) == (
        "at least 50, where quality_score is at least 0.25 (cutoff c)"
    )


def test_the_loss_of_a_language_is_judged_among_those_whom_the_rule_is_about() -> None:
    stated = settings(TIERED)
    rows = [{"language": "zh", "quality_score": 0.1, "n_words": 10}] * 30
    rows += [{"language": "zh", "quality_score": 0.9, "n_words": 10}] * 70
    documents, signals = tables(rows)
    cutoffs = resolve_cutoffs(
        with_tie_keys(signals, 7).append_column("domain", documents["domain"]), stated
    )
    columns = Columns(signals.append_column("domain", documents["domain"]))
    about = {"few_words": columns.concerns(stated.rules[0], stated, cutoffs)}
    losses = language_losses(select(documents, signals, stated, cutoffs), stated, about)
    assert losses == {"zh": {"*": 100, "few_words": 30, "*few_words": 30}}
    passed, message = rule_losses_message(losses, 0.5)
    assert not passed
    assert "`few_words` drops 100% of 30 documents in zh that it is about" in message


def test_no_documents_are_no_trouble() -> None:
    stated = settings(TIERED)
    documents, signals = tables([])
    assert select(documents, signals, stated, {"tier:high": {"*": 0.5}}).num_rows == 0
