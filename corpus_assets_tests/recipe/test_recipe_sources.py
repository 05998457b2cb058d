"""Each recipe that is called after a publication agrees with the table of its sources, both ways."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpus_assets.core.home import Home
from corpus_assets.inspect.plan import plan_build
from corpus_assets.recipe.load import load_recipe
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets_tests.recipe.test_all_recipes import own_copy

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
OWN = {"demo", "commoncrawl"}  # called after no publication
NAMES = sorted(path.stem for path in RECIPES.glob("*.yaml") if path.stem not in OWN)
COLUMNS = ["rule", "setting", "value", "status", "source", "because"]
STATUSES = {"as published", "deviates", "absent", "not verified", "ours", "measured"}
UNTOLD = {"name", "seed", "sources", "calibrate_on", "tokenizer", "shards", "fallbacks", "evidence"}
"""No publication's: whose files, how text becomes samples, and what stands in for models."""

Row = dict[str, str]


def table_of(name: str) -> list[Row]:
    with open(RECIPES / "sources" / f"{name}.csv", newline="", encoding="utf-8") as lines:
        reader = csv.DictReader(lines)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def recipe_of(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((RECIPES / f"{name}.yaml").read_text(encoding="utf-8"))
    return loaded


def entry_name(entry: Any) -> str | None:
    """What a list's entry is called in a setting: a rule by its name, a family without one by its
    kind."""
    return (entry.get("name") or entry.get("family")) if isinstance(entry, dict) else None


def without_name(entry: dict[str, Any]) -> dict[str, Any]:
    called = "name" if "name" in entry else "family"
    return {key: value for key, value in entry.items() if key != called}


def leaves(node: Any, path: str = "") -> Iterator[str]:
    """Every setting below a node that is no mapping."""
    if isinstance(node, list) and node and all(entry_name(entry) for entry in node):
        node = {str(entry_name(entry)): without_name(entry) for entry in node}
    elif not isinstance(node, dict):
        yield path
        return
    for key, value in node.items():
        yield from leaves(value, f"{path}.{key}" if path else str(key))


def value_at(node: Any, setting: str) -> Any:
    """What a recipe says there; KeyError where it says nothing."""
    if ".csv:" in setting:
        file, _, key = setting.partition(":")
        with open(RECIPES / file, newline="", encoding="utf-8") as lines:
            rows = {row.pop("language"): row for row in csv.DictReader(lines)}
        language, _, column = key.partition(".")
        row = {name: yaml.safe_load(value) for name, value in rows[language].items()}
        words = {name: row.pop(name) for name in ("stop_words", "own_words")}
        return words[column] if column else row
    for part in setting.split("."):
        if isinstance(node, list):
            node = {entry_name(entry): without_name(entry) for entry in node}
        node = node[part]
    return node


def differing(recipe: dict[str, Any], defaults: dict[str, Any], rows: list[Row]) -> list[str]:
    """Settings of rows whose value is not the recipe's."""
    wrong = []
    for row in rows:
        if row["setting"]:
            try:
                found = value_at(recipe, row["setting"])
            except (KeyError, FileNotFoundError):
                try:
                    found = value_at(defaults, row["setting"])
                except (KeyError, TypeError):
                    found = "nothing"
            if found != yaml.safe_load(row["value"]):
                wrong.append(row["setting"])
    return wrong


def untold(recipe: dict[str, Any], rows: list[Row]) -> list[str]:
    """Settings of the recipe that no row is about."""
    told = [row["setting"] for row in rows if row["setting"]]
    return [
        leaf
        for leaf in leaves({key: value for key, value in recipe.items() if key not in UNTOLD})
        if not any(leaf == one or leaf.startswith(f"{one}.") for one in told)
    ]


def test_the_recipe_for_crawls_extracts_no_page_that_its_language_rule_would_drop() -> None:
    raw = recipe_of("commoncrawl")
    (rule,) = [r for r in raw["selection"]["rules"] if r["name"] == "language"]
    assert raw["documents"]["gates"]["language_gate"]["languages"] == rule["in"]


def test_every_recipe_called_after_a_publication_has_a_table() -> None:
    assert {path.stem for path in (RECIPES / "sources").glob("*.csv")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_says_where_its_value_stands_or_why_not(name: str) -> None:
    rows = table_of(name)
    settings = [row["setting"] for row in rows if row["setting"]]
    assert len(settings) == len(set(settings))
    for row in rows:
        status = row["status"]
        assert status in STATUSES, row
        assert bool(row["setting"]) == (status not in ("absent", "measured")), row
        assert row["value"] or not row["setting"], row
        assert row["source"] or status == "ours", row
        assert row["because"] or status in ("as published", "not verified"), row


@pytest.mark.parametrize("name", NAMES)
def test_every_value_of_a_table_is_the_recipes(name: str) -> None:
    defaults = load_recipe(RECIPES / f"{name}.yaml").model_dump(mode="json")
    assert differing(recipe_of(name), defaults, table_of(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_of_a_recipe_stands_in_its_table(name: str) -> None:
    assert untold(recipe_of(name), table_of(name)) == [], f"add rows to recipes/sources/{name}.csv"


def test_every_language_of_a_table_of_thresholds_stands_there_too() -> None:
    with open(RECIPES / "fineweb2-languages.csv", newline="", encoding="utf-8") as lines:
        languages = {f"fineweb2-languages.csv:{row['language']}" for row in csv.DictReader(lines)}
    assert languages <= {row["setting"] for row in table_of("fineweb2")}


def test_a_changed_threshold_a_new_rule_and_a_lost_one_are_found() -> None:
    recipe, rows = recipe_of("fineweb"), table_of("fineweb")
    rules = recipe["selection"]["rules"]
    rule = next(rule for rule in rules if rule["name"] == "short_lines")
    rule["exclusive"] = False
    assert differing(recipe, {}, [r for r in rows if "optout" not in r["setting"]]) == [
        "selection.rules.short_lines"
    ]
    rules[rules.index(rule)] = {"name": "loud", "signal": "loudness", "max": 1}
    assert untold(recipe, rows) == ["selection.rules.loud.signal", "selection.rules.loud.max"]
    assert differing(recipe, {"selection": {"rules": []}}, rows)[0] == "selection.rules.short_lines"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home for all recipes, so that the demo's files are written once."""
    return Home.resolve(str(tmp_path_factory.mktemp("home")))


SHIPPED = sorted(path.stem for path in RECIPES.glob("*.yaml"))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_recipe_loads_and_can_be_planned(
    name: str, home: Home, tmp_path: Path
) -> None:
    changes: dict[str, Any] = {"use_fallbacks": ["all"]}
    if name == "commoncrawl":
        changes["sources.0.snapshots"] = {"crawl": "."}
    path = RECIPES / f"{name}.yaml" if name == "commoncrawl" else own_copy(tmp_path, name)
    with open_session(str(path), home, overrides=changes) as session:
        lines = plan_build(session.pipeline, session.registry)
    assert [line.asset for line in lines] == ["source_files", *STAGES.assets]
    assert lines[0].to_run == len(session.pipeline.recipe.snapshots)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "darkforest"])  # says nothing
def test_kinds_of_personal_data_that_a_publication_leaves_are_left(name: str) -> None:
    published = {
        "fineweb": {"email", "ip"},
        "fineweb-edu": {"email", "ip"},
        "fineweb2": {"email", "ip"},
        "dolma": {"email", "ip", "phone"},
        "common-pile-like": {"email", "ip", "phone"},  # in web text
        "txt360-like": {"email", "ip"},
    }
    scrub = load_recipe(RECIPES / f"{name}.yaml").clean_text.scrub
    assert set(scrub.actions("web")) == published.get(name, set())
