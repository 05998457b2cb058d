"""Selection settings: what a recipe may say, and what it is told when it may not."""

import pytest
import yaml
from pydantic import ValidationError

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.errors import RecipeError
from corpus_assets.select.rules import SelectionSettings
from corpus_assets_tests.select.test_selection import RECIPE, settings

COLUMNS: ColumnTypes = {
    "n_words": "int64",
    "language": "string",
    "language_score": "float32",
    "quality_score": "float32",
}
TIERS = "signal: quality_score, names: [a, b], default: a"


def test_settings_survive_being_written_and_read() -> None:
    stated = settings()
    again = SelectionSettings.model_validate(stated.identity())
    assert again == stated
    assert again.identity() == stated.identity()
    assert stated.identity()["rules"][0]["in"] == ["en", "de", "fr", "es"]


def test_a_rule_is_the_same_work_as_before_unless_its_ends_are_exclusive() -> None:
    plain = settings("rules: [{name: r, signal: s, min: 1}]")
    strict = settings("rules: [{name: r, signal: s, min: 1, exclusive: true}]")
    assert "exclusive" not in plain.identity()["rules"][0]
    assert strict.identity()["rules"][0]["exclusive"] is True
    assert SelectionSettings.model_validate(strict.identity()) == strict


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("rules: [{name: r, signal: s}]", "needs one of min/max, in, cutoff; it has none"),
        ("rules: [{name: r, signal: s, min: 1, in: [a]}]", "it has min/max and in"),
        ("rules: [{name: r, signal: s, min: 2, max: 1}]", "min 2.0 is above max 1.0"),
        (
            "rules: [{name: r, signal: s, max: 1, languages: {de: {min: 2}}}]",
            "min 2.0 is above max 1.0",
        ),
        ("rules: [{name: r, signal: s, in: [a], languages: {de: {min: 2}}}]", "with min/max only"),
        ("rules: [{name: r, signal: s, in: [a], exclusive: true}]", "with min/max only"),
        (
            "rules: [{name: r, signal: s, max: 2, exclusive: true, languages: {de: {min: 2}}}]",
            "nothing is both above and below 2",
        ),
        ("rules: [{name: r, signal: s, min: .nan}]", "finite"),
        ("rules: [{name: Bad Name, signal: s, min: 1}]", "pattern"),
        ("rules: [{name: r, signal: s, minimum: 1}]", "Extra inputs"),
        ("rules: [{name: r, signal: s, min: 1, domains: []}]", "at least 1 item"),
        (
            "rules: [{name: r, signal: s, min: 1}, {name: r, signal: s, max: 1}]",
            "two rules are named 'r'",
        ),
        ("rules: [{name: r, signal: s, cutoff: c}]", "cutoff 'c' is not under `cutoffs`"),
        (
            "{rules: [{name: r, signal: s, cutoff: c}], cutoffs: {c: {signal: t, drop_share: 0}}}",
            "is about 's', its cutoff 'c' about 't'",
        ),
        ("cutoffs: {c: {signal: s, drop_share: 1}}", "less than 1"),
        ("cutoffs: {c: {signal: s, drop_share: 0.1, by: host}}", "'language'"),
        (f"tiers: {{{TIERS}, shares: [1]}}", "2 names need as many shares, not 1"),
        (f"tiers: {{{TIERS}, shares: [0.5, 0.4]}}", "add up to 0.9, expected 1"),
        ("tiers: {signal: s, names: [a, a], shares: [0.5, 0.5], default: a}", "must differ"),
        (f"tiers: {{{TIERS}}}", "one of shares, bounds"),
        (f"tiers: {{{TIERS}, shares: [0.5, 0.5], bounds: [1]}}", "one of shares, bounds"),
        (f"tiers: {{{TIERS}, bounds: [2, 1]}}", "2 names need 1 bounds"),
        (f"tiers: {{{TIERS}, bounds: [2], by: language}}", "goes with shares only"),
        (
            "tiers: {signal: s, names: [a, b, c], bounds: [1, 2], default: a}",
            "bounds must fall.* 1 comes before 2",
        ),
        (
            "tiers: {signal: s, names: [a, b, c], bounds: [2, 1], best: lowest, default: a}",
            "bounds must rise.* 2 comes before 1",
        ),
        ("cutoffs: {c: {signal: s, drop_share: 0.1, drop: best}}", "'lowest' or 'highest'"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused_with_the_reason(recipe: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message.replace("[", r"\[")):
        SelectionSettings.model_validate(yaml.safe_load(recipe))


def test_rules_about_computed_signals_pass_the_check() -> None:
    settings().check(COLUMNS)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (
            "rules: [{name: r, signal: n_wrods, min: 1}]",
            r"selection.rules\[0\] \(r\).signal: no configured signal family gives 'n_wrods'; "
            r"expected one of n_words, language",
        ),
        ("cutoffs: {c: {signal: s, drop_share: 0.1}}", r"selection.cutoffs.c.signal: .*'s'"),
        ("tiers: {signal: s, names: [a], shares: [1], default: a}", r"selection.tiers.signal"),
        ("rules: [{name: r, signal: n_words, in: [a]}]", "'n_words' is a number; expected a label"),
        (
            "rules: [{name: r, signal: language, min: 1}]",
            "'language' is a label; expected a number",
        ),
    ],
)
def test_the_check_names_the_key_and_what_was_expected(recipe: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        settings(recipe).check(COLUMNS)


@pytest.mark.parametrize(
    "recipe",
    [
        "rules: [{name: r, signal: n_words, min: 1, languages: {de: {min: 2}}}]",
        "rules: [{name: r, signal: n_words, min: 1, only_languages: [de]}]",
        "cutoffs: {c: {signal: n_words, drop_share: 0.1, by: language}}",
        "tiers: {signal: n_words, names: [a], shares: [1], default: a, by: language}",
    ],
)
def test_asking_for_languages_without_a_language_signal_is_refused(recipe: str) -> None:
    with pytest.raises(RecipeError, match="gives 'language'"):
        settings(recipe).check({"n_words": "int64"})


def test_cutoffs_take_the_domains_of_their_rules() -> None:
    recipe = yaml.safe_load(RECIPE)
    assert settings().domains_of_cutoff("quality") == ("web",)
    recipe["rules"].append({"name": "any", "signal": "quality_score", "cutoff": "quality"})
    assert settings(yaml.safe_dump(recipe)).domains_of_cutoff("quality") is None
