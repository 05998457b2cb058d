"""The recipes that are mixtures: sources with tiers, epochs and licences of their own."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.build import InProcess, build, pin_sources
from corpus_assets.core.home import Home
from corpus_assets.core.task import read_table
from corpus_assets.demo.generate import generate_demo
from corpus_assets.graph.run import run_asset
from corpus_assets.inspect.mix import mix_source
from corpus_assets.recipe.load import load_recipe
from corpus_assets.session import Session, open_session
from corpus_assets.shards.mixture_table import mix_of
from corpus_assets_tests.cli.test_commands import Captured, said
from corpus_loader import Manifest

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
SMALL = {
    "use_fallbacks": ["all"],
    "tokenizer.train.vocab_size": 700,
    "tokenizer.audit.on_failure": "warn",
    "shards.seq_len": 128,
    "mixture.block_samples": 32,
}


def records(session: Session) -> list[dict[str, Any]]:
    """Every ingested record, with the snapshot it came in."""
    return [
        row | {"snapshot": snapshot}
        for snapshot in session.pipeline.recipe.snapshots
        for result in session.pipeline.results("documents", snapshot)
        for row in read_table(session.pipeline.store, result.outputs["records.parquet"]).to_pylist()
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    found = Home.resolve(str(tmp_path_factory.mktemp("home")))
    generate_demo(found.demo_sources)
    return found


# DarkForest.


@pytest.fixture(scope="module")
def darkforest(home: Home) -> dict[str, Any]:
    changes = SMALL | {"tokenizer.train.vocab_size": 1000, "mixture.max_epochs": 200}
    crawls = ("CC-DEMO-2024-10", "CC-DEMO-2024-26")
    changes["sources.web.snapshots"] = {
        crawl: f"demo://web/{crawl}/part-00000.warc.gz" for crawl in crawls
    }
    changes["sources.web.tier"] = dict(zip(crawls, ("mid", "low"), strict=True))
    with open_session(str(RECIPES / "darkforest.yaml"), home, overrides=changes) as session:
        assert build(session, "dark-1", InProcess()) is not None
        pin = session.pipeline.calibrations()["tokenizer"]
        tokenizer = json.loads(session.pipeline.store.read(pin.path))
    found: dict[str, Any] = {"tokenizer": tokenizer}
    alone = load_recipe(RECIPES / "darkforest.yaml").mixture.phases[1].model_dump(mode="json")
    changes["mixture.phases"] = [alone | {"share": 1}]
    with open_session(str(RECIPES / "darkforest.yaml"), home, overrides=changes) as session:
        assert build(session, "dark-cooldown", InProcess()) is not None
    for key, version in (("manifest", "dark-1"), ("cooldown", "dark-cooldown")):
        folder = Path(home.store_url) / "versions" / version
        found[key] = Manifest.load(folder / "manifest.json")
    return found


@pytest.mark.slow
def test_sources_have_the_tiers_that_were_given_by_hand(darkforest: dict[str, Any]) -> None:
    tiers = {group.snapshot: group.tier for group in darkforest["manifest"].groups}
    assert tiers == {
        "books-2024-01": "high",
        "math-2024-04": "high",
        "code-2024-03": "mid",
        "CC-DEMO-2024-10": "mid",
        "CC-DEMO-2024-26": "low",
        "synthetic-2024-06": "low",
    }


@pytest.mark.slow
def test_the_cooldown_is_the_last_stretch_and_has_no_low_tier(darkforest: dict[str, Any]) -> None:
    manifest = darkforest["manifest"]
    main_phase, cooldown = manifest.phases
    assert [phase.name for phase in manifest.phases] == ["main", "cooldown"]
    share = cooldown.blocks / (main_phase.blocks + cooldown.blocks)
    assert 0.1 <= share <= 0.2
    tier = {group.id: group.tier for group in manifest.groups}
    assert "low" in {tier[group] for group in main_phase.counts}
    assert "low" not in {tier[group] for group in cooldown.counts}


@pytest.mark.slow
def test_a_second_manifest_has_the_cooldown_alone_over_the_same_shards(
    darkforest: dict[str, Any],
) -> None:
    both, alone = darkforest["manifest"], darkforest["cooldown"]
    assert [phase.name for phase in alone.phases] == ["cooldown"]
    assert alone.groups == both.groups
    assert alone.phases[0].counts == both.phases[1].counts


@pytest.mark.slow
def test_thirty_of_256_slots_have_names_and_the_rest_are_reserved(
    darkforest: dict[str, Any],
) -> None:
    ids = {token["content"]: token["id"] for token in darkforest["tokenizer"]["added_tokens"]}
    assert sorted(ids.values()) == list(range(256))
    named = [name for name in ids if not name.startswith("<|reserved_")]
    assert sorted(ids[name] for name in named) == list(range(30))
    kinds = ("im_", "tool", "think", "fim_", "lang_")
    assert all(sum(kind in name for name in named) >= 2 for kind in kinds)
    published = load_recipe(RECIPES / "darkforest.yaml")
    assert published.tokenizer.train is not None
    assert published.tokenizer.train.vocab_size == 128000
    assert published.contamination.enough == {"drop_share": 0.8, "exclusive": True}
    assert published.contamination.ngram == 13


# The Pile.


def test_the_pile_without_its_sources_says_so_in_one_line(tmp_path: Path, capsys: Captured) -> None:
    for command in ("plan", "build"):
        error = said(capsys, command, "the-pile", "--home", str(tmp_path / "home"), code=1)
        (line,) = [each for each in error.splitlines() if each != "planning the-pile"]
        assert "snapshot pile-cc-2020 of pile-cc: no file matches" in line


@pytest.mark.slow
def test_the_pile_sees_each_source_as_often_as_its_table_says(tmp_path: Path) -> None:
    shutil.copy(RECIPES / "the-pile.yaml", tmp_path / "pile.yaml")
    recipe = load_recipe(tmp_path / "pile.yaml")
    assert len(recipe.sources) == 22
    for place, source in enumerate(recipe.sources):
        lines = [
            json.dumps({"text": f"Text {line} of {source.name}. " + "It goes on and on. " * 40})
            for line in range(6 + place % 3)
        ]
        folder = tmp_path / "pile" / source.name
        folder.mkdir(parents=True)
        (folder / "part-0.jsonl").write_text("\n".join(lines))
    home = Home.resolve(str(tmp_path / "home"))
    changes = SMALL | {"mixture.block_samples": 512}
    with open_session(str(tmp_path / "pile.yaml"), home, overrides=changes) as session:
        assert build(session, "p", InProcess()) is not None
    found = mix_source(home, "p", {"mixture.run_epochs": 9, "mixture.max_epochs": 100})
    rows = mix_of(found.groups, found.mixture, found.seq_len).rows
    epochs = {row.source: row.epochs for row in rows}
    scale = epochs["pile-cc"]
    for name, times in recipe.mixture.weights["source"].items():
        assert epochs[name] / scale == pytest.approx(times, rel=0.25)


# Common-Pile-like.


def test_only_documents_under_an_open_licence_come_in(home: Home) -> None:
    changes = {"use_fallbacks": ["all"], "calibrate_on": ["math-2024-04"]}
    changes |= {
        "sources.web.snapshots": {"CC-DEMO-2024-10": "demo://web/CC-DEMO-2024-10/*0.warc.gz"}
    }
    with open_session(str(RECIPES / "common-pile-like.yaml"), home, overrides=changes) as session:
        pin_sources(session)
        for snapshot in session.pipeline.recipe.snapshots:
            run_asset(
                session.pipeline, session.engine, session.registry, session.progress, "documents",
                snapshot,
            )  # fmt: skip
        found = records(session)
        gates = session.pipeline.recipe.documents.gates
    came_in = {row["licence"] for row in found if row["reason"] is None}
    assert came_in <= set(gates.allowed_licences or ())
    assert {"MIT", "CC-BY-4.0"} <= came_in
    refused = Counter(row["licence"] for row in found if row["reason"] == "licence_not_allowed")
    assert refused["GPL-3.0-only"] > 0
    assert refused["unknown"] > 0  # most pages say nothing


# OLMo-3-like.


def test_topics_times_grades_follow_the_curve_and_the_worst_are_not_drawn(home: Home) -> None:
    crawl = {"CC-DEMO-2024-10": "demo://web/CC-DEMO-2024-10/part-00000.warc.gz"}
    changes = SMALL | {"tokenizer.train.vocab_size": 1000, "mixture.block_samples": 1024}
    changes |= {"sources.web.snapshots": crawl, "mixture.max_epochs": 1000}
    with open_session(str(RECIPES / "olmo3-like.yaml"), home, overrides=changes) as session:
        assert build(session, "olmo-1", InProcess()) is not None
        recipe = session.pipeline.recipe
    assert set(recipe.fallbacks_in_use()) == {"quality", "topic", "lists"}
    found = mix_source(home, "olmo-1", {})
    rows = mix_of(found.groups, found.mixture, found.seq_len).rows
    web = [row for row in rows if row.domain == "web"]
    assert {row.labels["topic"] for row in web} <= {"science_math_and_technology", "other"}
    (curve,) = (
        level.curve for level in recipe.mixture.inside["domain"]["web"].inside["topic"].values()
    )
    assert curve is not None
    assert curve.discard == 0.4
    # Two fifths of a topic's own tokens, in whole buckets: which ones differs by topic.
    dropped = {f"q{n:02d}" for n in range(1, 5)}
    assert all(row.drawn_tokens == 0 for row in web if row.tier in dropped)
    others = [row for row in web if row.labels["topic"] == "other" and row.drawn_tokens]
    drawn = {row.tier: row.epochs for row in others}
    best, middling = max(drawn), min(drawn)
    assert drawn[best] > drawn[middling]
    named = load_recipe(RECIPES / "olmo3-like.yaml")
    assert len(named.mixture.inside["domain"]["web"].shares["topic"]) == 24 + 1  # `other`
