"""Notes of finished stages: a plan that trusts them says what a plan by parts says."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpus_assets.core.home import Home
from corpus_assets.graph import FinishedStages, Pipeline
from corpus_assets.inspect.plan import CACHED, PlanLine, plan_assets
from corpus_assets.session import Session, open_session
from corpus_assets.versions.gc import collect_garbage
from corpus_assets_tests.conftest import Place, as_if_many_parts
from corpus_assets_tests.homes import copy_home


@pytest.fixture
def place(grouped_build: Place, tmp_path: Path) -> Iterator[Place]:
    shutil.copytree(grouped_build.folder / "corpus", tmp_path / "corpus")
    copy_home(grouped_build.home, tmp_path / "home")
    with as_if_many_parts():
        yield Place(tmp_path)


def opened(place: Place, changes: Mapping[str, Any] | None = None) -> Any:
    return open_session(str(place.recipe), Home.resolve(str(place.home)), overrides=changes)


def known(session: Session) -> set[tuple[str, str]]:
    """Which stages of which snapshots notes tell of."""
    found = FinishedStages(session.pipeline)
    return {
        (stage.name, snapshot)
        for stage in session.pipeline.graph
        for snapshot in session.pipeline.recipe.snapshots
        if stage.is_by_snapshot and found.find(stage, snapshot) is not None
    }


def by_parts(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> list[PlanLine]:
    with monkeypatch.context() as patch:
        patch.setattr(FinishedStages, "find", lambda *_: None)
        return plan_assets(pipeline)


def test_a_plan_of_a_finished_home_looks_at_no_part(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place) as session:
        asked: list[str] = []
        tasks = Pipeline.tasks
        expected = by_parts(session.pipeline, monkeypatch)

        def noted(pipeline: Pipeline, name: str, snapshot: str | None = None) -> Any:
            asked.append(f"{name}/{snapshot}")
            return tasks(pipeline, name, snapshot)

        monkeypatch.setattr(Pipeline, "tasks", noted)
        lines = plan_assets(session.pipeline)
    assert lines == expected
    assert {line.state for line in lines} == {CACHED}
    assert "documents/crawl-1" not in asked
    assert "clean_text/crawl-1" not in asked


CHANGES: list[dict[str, Any]] = [
    {"documents.gates.max_bytes": 900},
    {"selection.rules": []},
    {"clusters.min_similarity": 0.9},
    {"clusters.scope": "per_snapshot"},
    {"shards.seq_len": 128},
    {"calibrate_on": ["crawl-2"]},
]


@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: next(iter(changes)))
def test_a_changed_recipe_is_planned_as_without_notes(
    changes: dict[str, Any], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place, changes) as session:
        assert plan_assets(session.pipeline) == by_parts(session.pipeline, monkeypatch)


def test_a_changed_list_outside_the_store_is_planned_as_without_notes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.source("blocklist.txt").write_text("other.example.com\n")
    with opened(place) as session:
        lines = plan_assets(session.pipeline)
        assert lines == by_parts(session.pipeline, monkeypatch)
    assert {line.asset for line in lines if line.to_run} >= {"documents"}


def test_another_snapshot_leaves_the_notes_of_those_before(place: Place) -> None:
    with opened(place) as session:
        before = known(session)
    raw = yaml.safe_load(place.recipe.read_text())
    web = next(source for source in raw["sources"] if "crawl-2" in source["snapshots"])
    for by_snapshot in web.values():
        if isinstance(by_snapshot, dict) and "crawl-2" in by_snapshot:
            by_snapshot["crawl-3"] = by_snapshot["crawl-2"]
    place.recipe.write_text(yaml.safe_dump(raw, sort_keys=False))
    with opened(place) as session:
        assert ("clusters", "crawl-2") in before
        crawls = {(stage, snapshot) for stage, snapshot in before if snapshot != "books-1"}
        assert {each for each in known(session) if each[1] != "books-1"} == crawls


def test_a_collection_deletes_notes_before_what_they_stand_for(place: Place) -> None:
    with opened(place) as session:
        assert ("signals", "crawl-1") in known(session)
        stray = place.store / "artifacts" / "signals" / ("0" * 64)
        stray.mkdir()
        (stray / "signals.parquet").write_text("left by a killed run")
        collect_garbage(session.pipeline.store, session.registry)
        stages = {stage for stage, _ in known(session)}
        assert "documents" in stages
        assert "signals" not in stages
