"""Every shipped recipe, one after another in one home, as a user tries them after `make demo`."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.build import InProcess, build, pin_sources
from corpus_assets.core.home import Home
from corpus_assets.graph import check_shares
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.inspect.plan import plan_build
from corpus_assets.recipe.load import load_recipe
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.session import open_session
from corpus_assets_tests.cli.test_commands import Captured, said

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
REMOTE = "commoncrawl"  # has no snapshot until one is added from a server; tests of its own do
SHIPPED = sorted(path.stem for path in RECIPES.glob("*.yaml") if path.stem != REMOTE)
NAMES = sorted(SHIPPED, key=lambda name: name != "demo")  # the demo first, as `make demo` builds it
FALLBACKS = {"use_fallbacks": ["all"]}


def own_copy(folder: Path, name: str) -> Path:
    """The recipe, or a copy of it beside files of its own where it asks for the user's."""
    path = RECIPES / f"{name}.yaml"
    recipe = load_recipe(path, FALLBACKS)
    places = [place for source in recipe.sources for place in source.snapshots.values()]
    if all(place.startswith("demo://") for place in places):
        return path
    for source in recipe.sources:
        rows = [row_that_passes(recipe, source, n) for n in range(8)]
        for place in source.snapshots.values():
            there = folder / place.replace("*", "part-0")
            there.parent.mkdir(parents=True, exist_ok=True)
            if source.format == "parquet":
                pq.write_table(pa.Table.from_pylist(rows), there)
            else:
                there.write_text("\n".join(map(json.dumps, rows)))
    return Path(shutil.copy(path, folder / path.name))


def row_that_passes(recipe: Recipe, source: SourceSpec, n: int) -> dict[str, Any]:
    """A record with all columns that a source maps, and labels and scores that the rules ask for."""
    named = f"{source.name} {n}"
    more = "".join(f"It goes on to {named}, {k}. " for k in range(40))
    row: dict[str, Any] = {"text": f"Text {n} of {source.name}. {more}"}
    fields = source.fields
    address = f"https://{source.name}.example/{n}"
    of_fields: dict[Any, Any] = {fields.key: named, fields.url: address, fields.path: f"{n}.py"}
    of_fields[fields.licence] = ["MIT"]
    columns: dict[str, Any] = {str(name): cell for name, cell in of_fields.items() if name}
    for rule in recipe.selection.rules:
        if rule.signal in fields.labels and rule.allowed:
            label = rule.allowed[n % len(rule.allowed)]
            columns[fields.labels[rule.signal]] = label.replace("*", "2.7")
        elif rule.signal in fields.scores and rule.min is not None:
            columns[fields.scores[rule.signal]] = 5
    for column, cell in columns.items():
        *outer, inner = column.split(".")
        within = row
        for name in outer:
            within = within.setdefault(name, {})
        within[inner] = cell
    return row


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home.resolve(str(tmp_path_factory.mktemp("recipes") / "home"))


@pytest.mark.slow
def test_every_shipped_recipe_is_planned_and_pins_its_sources_in_one_home(
    home: Home, tmp_path: Path
) -> None:
    for name in NAMES:
        with open_session(str(own_copy(tmp_path, name)), home, overrides=FALLBACKS) as session:
            pin_sources(session)
            source_files, *_ = plan_build(session.pipeline, session.registry)
            assert source_files.to_run == 0, name


def test_a_plan_refuses_a_snapshot_of_another_source_as_a_build_does(
    home: Home, tmp_path: Path, capsys: Captured
) -> None:
    with open_session(str(RECIPES / "demo.yaml"), home) as session:
        pin_sources(session)
    text = (RECIPES / "demo.yaml").read_text().replace("- name: web\n", "- name: late-web\n")
    other = tmp_path / "other.yaml"
    shutil.copy(RECIPES / "unspaced-languages.csv", tmp_path)
    other.write_text(text)
    told = [
        said(capsys, command, str(other), "--home", str(home.root), code=1)
        for command in ("plan", "build")
    ]
    assert "is pinned with 4 files of source web, and the recipe names it under" in told[0]
    assert told[1] == f"planning {other}\n{told[0]}"


def test_a_plan_refuses_other_files_under_a_pinned_name_as_a_build_does(
    home: Home, tmp_path: Path, capsys: Captured
) -> None:
    text = (RECIPES / "demo.yaml").read_text()
    other = tmp_path / "other.yaml"
    shutil.copy(RECIPES / "unspaced-languages.csv", tmp_path)
    other.write_text(text.replace("CC-DEMO-2024-10/*.warc.gz", "CC-DEMO-2024-18/*.warc.gz"))
    with open_session(str(RECIPES / "demo.yaml"), home) as session:
        pin_sources(session)
    told = [
        said(capsys, command, str(other), "--home", str(home.root), code=1)
        for command in ("plan", "build")
    ]
    assert "its files have changed: a snapshot is frozen" in told[0]
    assert told[1] == f"planning {other}\n{told[0]}"


def small(name: str) -> dict[str, Any]:
    """What makes a build of a recipe small: one file a crawl, few tokens a sample."""
    changes: dict[str, Any] = FALLBACKS | {
        "tokenizer.train.vocab_size": 1000,
        "tokenizer.audit.on_failure": "warn",
        "shards.seq_len": 64,
        "mixture.block_samples": 32,
        "mixture.max_epochs": 1000,
    }
    for source in load_recipe(RECIPES / f"{name}.yaml", FALLBACKS).sources:
        changes[f"sources.{source.name}.snapshots"] = {
            snapshot: place.replace("*.warc.gz", "part-00000.warc.gz")
            for snapshot, place in source.snapshots.items()
        }
    return changes


@pytest.mark.parametrize(
    "names", [("stack-edu-like",), pytest.param(NAMES, marks=pytest.mark.slow)], ids=["one", "all"]
)
def test_every_shipped_recipe_is_built_in_one_home(tmp_path: Path, names: list[str]) -> None:
    home = Home.resolve(str(tmp_path / "home"))
    for name in names:
        path = own_copy(tmp_path, name)
        with open_session(str(path), home, overrides=small(name)) as session:
            built = build(session, f"{name}-all", InProcess())
            assert built.manifest.groups, name
            assert check_shares(session.pipeline, built.manifest).numbers["shares"], name
            stands_in = bool(session.pipeline.recipe.use_fallbacks)
            state = session.registry.version(built.name).state
            assert not stands_in or state == "candidate", name
