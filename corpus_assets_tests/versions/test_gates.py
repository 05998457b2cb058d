"""Candidates and releases: what a build lets go, and what holds it back."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
import yaml

from catalog.db.registry import Registry
from catalog.db.rows import GateRow, ShardRow
from corpus_assets.core.home import Home
from corpus_assets.session import open_session
from corpus_assets.versions.gates import release_if_passed, version_gates
from corpus_assets.versions.version import make_version
from corpus_assets_tests.catalog.db.test_registry import ready, shard, version
from corpus_assets_tests.conftest import VERSION, Place


def registry_of(place: Place) -> Registry:
    return Registry(f"sqlite:///{place.home}/catalog.db")


def test_a_build_without_models_passes_its_gates_and_is_released(small_build: Place) -> None:
    row = registry_of(small_build).version()
    assert (row.name, row.state, row.released_by) == (VERSION, "released", "gate")
    gates = {gate.name: gate for gate in registry_of(small_build).gates(VERSION)}
    assert {name: gate.passed for name, gate in gates.items()} == dict.fromkeys(
        ("audit", "conservation", "drift", "models"), True
    )
    assert gates["models"].outcome == "no evidence"
    assert (row.release_reason or "").endswith(
        "; no evidence: small models compared it with no other version"
    )
    manifest = small_build.store / "versions" / VERSION / "manifest.json"
    assert json.loads(manifest.read_bytes())["recipe"]["evidence"] == "no evidence"


def test_asking_for_models_holds_a_version_back_and_changes_only_what_its_manifest_says_of_it(
    place: Place, small_build: Place
) -> None:
    for file in (place.home / "catalog.db", place.store / "versions" / VERSION):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert place.build("--set", "evidence={baseline: earlier}") == 0
    row = registry_of(place).version(VERSION)
    assert row.state == "candidate"
    (models,) = (g for g in registry_of(place).gates(VERSION) if g.name == "models")
    assert not models.passed
    assert "not compared with earlier yet" in models.detail["message"]
    ours, theirs = (p.store / "versions" / VERSION for p in (place, small_build))
    for file in sorted(theirs.rglob("*")):
        if file.is_file() and file.name not in ("manifest.json", "contents.json"):
            assert (ours / file.relative_to(theirs)).read_bytes() == file.read_bytes(), file.name
    said, before = (
        json.loads((folder / "manifest.json").read_bytes()) for folder in (ours, theirs)
    )
    assert said["recipe"].pop("evidence") == "earlier"
    assert before["recipe"].pop("evidence") == "no evidence"
    assert said == before


def test_the_previous_version_of_the_recipe_is_the_baseline_where_there_is_one(
    place: Place,
) -> None:
    """As in recipes that ship: the first version is released, and later ones wait for models."""
    asked = ("--set", "evidence={baseline: previous}")
    assert place.build(*asked, "--set", "name=other", version="other-1") == 0
    assert place.build(*asked, "--set", "mixture.change.domain.books=0.3", version="small-2") == 0
    registry = registry_of(place)
    found = {
        name: next(g for g in registry.gates(name) if g.name == "models")
        for name in ("other-1", "small-2")
    }
    assert registry.version("other-1").state == "released"
    assert found["other-1"].outcome == "no evidence"
    assert "first version of its recipe" in (found["other-1"].message or "")
    assert registry.version("small-2").state == "candidate"
    assert found["small-2"].detail["baseline"] == VERSION
    taking = version_gates_of(place, replaces=(VERSION,))
    assert taking["models"].outcome == "no evidence", "a takedown replaces the only earlier one"


def version_gates_of(place: Place, replaces: tuple[str, ...]) -> dict[str, GateRow]:
    """Gates of a version of the recipe that takes the place of others."""
    home = Home.resolve(str(place.home))
    with open_session(str(place.recipe), home, 1, {"evidence": {}}) as session:
        manifest = make_version(session.pipeline, "small-3").manifest
        found = version_gates(session.pipeline, session.registry, "small-3", manifest, replaces)
    return {gate.name: gate for gate in found}


def test_drift_beyond_the_bound_closes_the_gate(small_build: Place) -> None:
    settings = {
        "drift.survival.warn": 0.0,
        "drift.survival.error": 0.0,
        "drift.min_documents": 1,
    }
    home = Home.resolve(str(small_build.home))
    with open_session(str(small_build.recipe), home, 1, settings) as session:
        manifest = make_version(session.pipeline, VERSION).manifest
        gates = {
            g.name: g for g in version_gates(session.pipeline, session.registry, VERSION, manifest)
        }
    assert not gates["drift"].passed
    assert "error above 0" in gates["drift"].detail["message"]
    with open_session(
        str(small_build.recipe), home, 1, settings | {"gate.drift": "off"}
    ) as session:
        assert "drift" not in {
            g.name for g in version_gates(session.pipeline, session.registry, VERSION, manifest)
        }


def test_a_version_with_fallbacks_stays_a_candidate_until_somebody_releases_it(
    small_build: Place, registry: Registry
) -> None:
    instead = {"instead_of": ["my-quality"], "changes": {"survival": {}}}
    body = yaml.safe_load(small_build.recipe.read_text()) | {"fallbacks": {"quality": instead}}
    recipe = small_build.recipe.with_name("fallbacks.yaml")
    recipe.write_text(yaml.safe_dump(body))
    home = Home.resolve(str(small_build.home))
    asked = {"use_fallbacks": ["quality"]}
    try:
        with open_session(str(recipe), home, 1, asked) as session:
            manifest = make_version(session.pipeline, VERSION).manifest
            gates = version_gates(session.pipeline, session.registry, VERSION, manifest)
    finally:
        recipe.unlink()
    (gate,) = (gate for gate in gates if not gate.passed)
    assert gate.name == "fallbacks"
    assert "built with fallbacks: quality (for my-quality)" in gate.detail["message"]
    held = dataclasses.replace(gate, version="v")
    registry.publish_version(version("v"), [sized(100)], [], gates=[held])
    assert "stays a candidate: fallbacks: built with fallbacks" in release_if_passed(registry, "v")
    assert registry.release_version("v", "ann", "a trial", override=True)
    assert registry.version("v").state == "released"


def sized(tokens: int) -> ShardRow:
    return dataclasses.replace(shard(), tokens=tokens)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    registry = Registry(f"sqlite:///{tmp_path}/catalog.db")
    registry.upgrade()
    return ready(registry)


CLOSED = GateRow("v", "models", False, detail={"message": "not compared yet"})


@pytest.mark.parametrize(
    ("left", "state"), [(999_100, "released"), (998_900, "candidate")], ids=["little", "much"]
)
def test_a_takedown_inherits_the_verdict_where_little_changed(
    registry: Registry, left: int, state: str
) -> None:
    passed = GateRow("v", "models", True, -0.4, detail={"message": "better"})
    registry.publish_version(version("v"), [sized(1_000_000)], [], gates=[passed])
    registry.release_version("v", "gate", "better")
    new = dataclasses.replace(version("v.td1"), name="v.td1")
    closed = dataclasses.replace(CLOSED, version="v.td1")
    registry.publish_version(new, [sized(left)], [], revokes=["v"], gates=[closed])
    told = release_if_passed(registry, "v.td1", ["v"])
    assert registry.version("v.td1").state == state
    if state == "released":
        assert "inherits the verdict of v: 0.090% of tokens changed" in told
        (gate,) = registry.gates("v.td1")
        assert (gate.passed, gate.value, gate.detail["inherits"]) == (True, -0.4, "v")
    else:
        assert "not compared yet" in told


def test_what_takes_the_place_of_a_candidate_is_one(registry: Registry) -> None:
    registry.publish_version(version("v"), [sized(100)], [], gates=[])
    registry.publish_version(version("v.td1"), [sized(100)], [], revokes=["v"], gates=[])
    assert release_if_passed(registry, "v.td1", ["v"]) == "version v.td1 is a candidate, as v was"
    assert registry.version("v.td1").state == "candidate"
