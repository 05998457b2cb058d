"""Bounds by language from a file: read with the recipe, pinned by what they say."""

from pathlib import Path
from typing import Any

import pytest

from corpus_assets.core.errors import RecipeError
from corpus_assets.recipe.load import load_recipe
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.select.tables import read_language_tables

CSV = "language,min_length,max_length\nde,3.1,11\nfr,2.9,\nxx,,\n"
RECIPE = """
name: tabled
seed: 1
sources: [{name: a, format: jsonl, domain: web, snapshots: {a-1: a.jsonl}}]
signals: {families: [{family: language}, {family: gopher_quality}]}
selection:
  rules:
    - name: word_length
      signal: mean_word_chars
      min: 3
      max: 10
      languages_from: {file: tables/lengths.csv, min: min_length, max: max_length}
      languages: {de: {max: 12}, it: {min: 4}}
tokenizer: {train: {vocab_size: 400, special_slots: 2}}
mixture: {}
"""


def written(folder: Path, table: str = CSV, recipe: str = RECIPE) -> Path:
    (folder / "tables").mkdir(exist_ok=True, parents=True)
    (folder / "tables" / "lengths.csv").write_text(table)
    path = folder / "tabled.yaml"
    path.write_text(recipe)
    return path


def languages(recipe: Recipe) -> dict[str, Any]:
    stated = recipe.selection.rules[0].languages
    return {name: (bounds.min, bounds.max) for name, bounds in stated.items()}


def test_a_table_fills_the_languages_and_what_the_rule_says_itself_wins(tmp_path: Path) -> None:
    recipe = load_recipe(written(tmp_path))
    assert languages(recipe) == {"de": (3.1, 12.0), "fr": (2.9, None), "it": (4.0, None)}
    assert recipe.selection.rules[0].bounds_for("fr").max == 10


def test_the_table_is_part_of_the_identity_and_the_file_is_not(tmp_path: Path) -> None:
    first = load_recipe(written(tmp_path / "a"))
    same = load_recipe(written(tmp_path / "b"))
    other = load_recipe(written(tmp_path / "c", CSV.replace("3.1", "3.2")))
    assert first.digest == same.digest != other.digest
    inline = RECIPE.replace(
        "languages_from: {file: tables/lengths.csv, min: min_length, max: max_length}",
        "domains: [web]",
    ).replace(
        "{de: {max: 12}, it: {min: 4}}", "{de: {min: 3.1, max: 12}, fr: {min: 2.9}, it: {min: 4}}"
    )
    stated = load_recipe(
        written(tmp_path / "d", recipe=inline.replace("      domains: [web]\n", ""))
    )
    assert stated.digest == first.digest
    assert Recipe.model_validate(first.model_dump(mode="json")) == first, "no file is needed again"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json", '{"de": {"min": 3.1}, "fr": {"max": 11, "note": "x"}}'),
        ("t.yaml", "de: {min: 3.1}\nfr: {max: 11}\n"),
        ("t.csv", "language,min,max\nde,3.1,\nfr,,11\n"),
    ],
)
def test_json_yaml_and_csv_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    raw: dict[str, Any] = {"selection": {"rules": [{"name": "r", "languages_from": name}]}}
    read_language_tables(raw, tmp_path)
    assert raw["selection"]["rules"][0]["languages"] == {"de": {"min": 3.1}, "fr": {"max": 11.0}}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("lang,min_length\nde,3\n", "no column 'language'; it has lang, min_length"),
        ("language,min_length,other\nde,3,4\n", "has no 'max_length'; it has min_length, other"),
        ("language,min_length,max_length\nde,three,\n", "de: 'three' is not a number"),
        ("language,min_length,max_length\nde,nan,\n", "de: 'nan' is not a number"),
        ("language,min_length,max_length\nde,3,4\nde,3,4\n", "line 3: duplicate language 'de'"),
        ("language,min_length,max_length\nde,9,4,5\n", "line 2 is damaged"),
        ("language,min_length,max_length\nfr,9,4\n", "min 9.0 is above max 4.0"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_by_name(
    tmp_path: Path, table: str, message: str
) -> None:
    with pytest.raises(RecipeError, match=message) as caught:
        load_recipe(written(tmp_path, table))
    assert str(caught.value).startswith(str(tmp_path / "tabled.yaml"))


def test_an_absent_table_is_refused_by_its_path(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "tables" / "lengths.csv").unlink()
    with pytest.raises(RecipeError, match=r"lengths.csv cannot be read: No such file"):
        load_recipe(path)


def test_a_table_that_nobody_read_is_refused() -> None:
    from corpus_assets.select.rules import Rule

    with pytest.raises(ValueError, match="load the recipe from there"):
        Rule.model_validate(
            {"name": "r", "signal": "s", "min": 1, "languages_from": {"file": "x.csv"}}
        )
