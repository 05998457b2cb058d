"""Packs of results in a whole home: plans read them alone, takedowns and collections tidy them."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.verify.version import verify
from corpus_assets.core import files
from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.home import Home
from corpus_assets.core.result_index import StageResults
from corpus_assets.core.store import LocalStore
from corpus_assets.inspect.plan import CACHED, plan_build
from corpus_assets.select.losses import RULES, rule_counts
from corpus_assets.session import open_session
from corpus_assets.versions import gc, rule_charts
from corpus_assets.versions.funnel import read_columns
from corpus_assets.versions.gc import collect_garbage
from corpus_assets_tests.conftest import Place, as_if_many_parts
from corpus_assets_tests.damage import AFTER, flip, named, order, problems, take_out
from corpus_assets_tests.homes import copy_home


@pytest.fixture
def place(grouped_build: Place, tmp_path: Path) -> Iterator[Place]:
    shutil.copytree(grouped_build.folder / "corpus", tmp_path / "corpus")
    copy_home(grouped_build.home, tmp_path / "home")
    with as_if_many_parts():
        yield Place(tmp_path)


def states(place: Place) -> set[str]:
    with open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        return {line.state for line in plan_build(session.pipeline, session.registry)}


def packs_of(place: Place) -> list[str]:
    return LocalStore(place.store).list("results")


def test_a_plan_of_a_finished_home_reads_packs_and_no_result_of_a_task(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [path.rpartition("/")[0] for path in packs_of(place)]
    assert "results/clean_text/crawl-1" in folders
    assert len(folders) == len(set(folders)), "one of a stage and snapshot"
    read: list[str] = []

    def noted(store: LocalStore, path: str) -> bool:
        read.append(path)
        return (store.root / path).is_file()

    monkeypatch.setattr(LocalStore, "exists", noted)
    assert states(place) == {CACHED}
    assert [path for path in read if path.endswith("result.json")] == []


def test_a_home_without_packs_or_with_half_of_them_is_finished_all_the_same(place: Place) -> None:
    for path in packs_of(place)[::2]:
        (place.store / path).unlink()
    assert states(place) == {CACHED}
    shutil.rmtree(place.store / "results")
    assert states(place) == {CACHED}


def test_a_damaged_pack_is_named_by_verify_and_refused_by_a_plan(place: Place) -> None:
    assert problems(place) == []
    path = next(path for path in packs_of(place) if "/signals/crawl-1/" in path)
    flip(place.store / path)
    assert named(place) == {path}
    shutil.rmtree(place.store / "finished")
    with pytest.raises(CorruptArtifact, match=path):
        states(place)


def test_what_a_takedown_removes_leaves_the_packs_with_the_collection(place: Place) -> None:
    registry, store = Registry(Home.resolve(str(place.home)).catalog_url), LocalStore(place.store)
    before = {row.fingerprint for row in registry.artifacts("signals", "crawl-1")}
    order(place)
    take_out(place)
    collect_garbage(store, registry)
    alive = {row.fingerprint for row in registry.artifacts("signals", "crawl-1")}
    gone = before - alive
    assert gone
    held = StageResults(store, "signals", "crawl-1").columns.prints
    assert {each.tobytes().hex() for each in held} == alive
    assert not any(
        bytes.fromhex(fingerprint) in (place.store / path).read_bytes()
        for path in packs_of(place)
        for fingerprint in gone
    )
    assert verify(registry, FileStore(str(place.store)), AFTER).problems == []


def test_a_collection_asks_a_ranged_file_for_its_index_and_its_task_for_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, store = Registry(Home.resolve(str(place.home)).catalog_url), LocalStore(place.store)
    read: list[str] = []

    def noted(self: LocalStore, path: str, *place: int) -> bytes:
        read.append(path)
        return (self.root / path).read_bytes()[place[0] :][: place[1]] if place else b""

    monkeypatch.setattr(LocalStore, "read_range", noted)
    monkeypatch.setattr(gc, "load_result", noted)
    assert collect_garbage(store, registry, dry_run=True).artifacts == 0
    ranged = [o for row in registry.artifacts() for o in row.outputs if o.name.endswith(".zip")]
    assert ranged
    assert sorted(read) == sorted(output.path for output in ranged)


def test_a_report_counts_rules_from_results_and_reads_no_selection_for_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[list[str]] = []

    def noted(*given: Any) -> pa.Table:
        read.append(given[3])
        return read_columns(*given)

    monkeypatch.setattr(rule_charts, "read_columns", noted)
    with open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        rule_charts.rules_and_signals(session.pipeline)
        assert read
        assert ["reason", "failed_rules"] not in read
        for result in session.pipeline.all_results("selection"):
            columns = ["reason", "failed_rules"]
            chosen = read_columns(session.pipeline, result, files.SELECTION, columns)
            assert result.notes[RULES] == rule_counts(chosen)
