"""The node `lineage_keys`: runs of parts and shards, registered with the version they find."""

import dataclasses

import pytest

from catalog.formats.store import FileStore as CatalogStore
from catalog.verify.version import verify
from corpus_assets.core.home import Home
from corpus_assets.core.store import Result
from corpus_assets.core.task import Task
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.lineage import stage as lineage_keys
from corpus_assets.lineage.stage import plan_lineage_keys
from corpus_assets.session import open_session
from corpus_assets.versions.gc import dead_artifacts
from corpus_assets_tests.conftest import VERSION, Place


def test_a_published_version_has_keys_for_every_table(small_build: Place) -> None:
    home = Home.resolve(str(small_build.home))
    with open_session(str(small_build.recipe), home) as session:
        store = CatalogStore(small_build.store)
        assert session.registry.key_files(VERSION)
        assert verify(session.registry, store, VERSION).problems == []


class Changed(Pipeline):
    """The graph with another first part of one table of one snapshot."""

    def __init__(self, now: Pipeline, node: str, file: str) -> None:
        super().__init__(now.recipe, now.locations, now.store, now.suppressions, now.pins)
        self.node, self.file = node, file

    def results(self, node: str, snapshot: str | None = None) -> list[Result]:
        found = list(super().results(node, snapshot))
        if node == self.node:
            name = next(name for name in sorted(found[0].outputs) if self.file in name)
            other = dataclasses.replace(found[0].outputs[name], sha256="0" * 64)
            outputs = dict(found[0].outputs) | {name: other}
            found[0] = dataclasses.replace(found[0], outputs=outputs)
        return found


@pytest.mark.parametrize(
    ("node", "file", "table"),
    [
        ("documents", "records.parquet", "records"),
        ("documents", "documents.parquet", "documents"),
        ("clusters", "members-", "cluster_members"),
        ("shards", ".spans.", "spans"),
    ],
)
def test_a_changed_file_changes_the_keys_of_its_run_and_no_others(
    small_build: Place, monkeypatch: pytest.MonkeyPatch, node: str, file: str, table: str
) -> None:
    monkeypatch.setattr(lineage_keys, "UNITS_PER_RUN", 1)
    home = Home.resolve(str(small_build.home))
    with open_session(str(small_build.recipe), home) as session:
        snapshot = session.pipeline.recipe.snapshots[0]
        before = plan_lineage_keys(session.pipeline, snapshot)
        pipeline = Changed(session.pipeline, node, file)
        after = _under_old_tasks(pipeline, session.pipeline, snapshot)
    changed = [
        task.settings["table"]
        for task, old in zip(after, before, strict=True)
        if task.fingerprint != old.fingerprint
    ]
    assert changed == [table]


def _under_old_tasks(pipeline: Changed, now: Pipeline, snapshot: str) -> list[Task]:
    """Tasks over changed results; which tasks there are before them stays as it is."""
    pipeline.tasks = now.tasks  # type: ignore[method-assign]
    return plan_lineage_keys(pipeline, snapshot)


def test_runs_have_a_fixed_number_of_parts(
    small_build: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home.resolve(str(small_build.home))
    with open_session(str(small_build.recipe), home) as session:
        snapshot = session.pipeline.recipe.snapshots[0]
        parts = len(session.pipeline.results("documents", snapshot))
        assert parts > 1
        for units, runs in ((1, parts), (64, 1)):
            monkeypatch.setattr(lineage_keys, "UNITS_PER_RUN", units)
            tasks = plan_lineage_keys(session.pipeline, snapshot)
            mine = [task for task in tasks if task.settings["table"] == "documents"]
            assert len(mine) == runs
            assert [n for task in mine for n in task.settings["units"]] == list(range(parts))


def test_keys_go_with_the_files_they_find(small_build: Place) -> None:
    """What gc keeps: keys whose tables a live version names, and no others."""
    home = Home.resolve(str(small_build.home))
    with open_session(str(small_build.recipe), home) as session:
        artifacts = session.registry.artifacts()
        named = {row.path for row in session.registry.lineage_files(VERSION)}
        lost = {
            row.path
            for row in session.registry.lineage_files(VERSION, "records")
            if row.snapshot == session.pipeline.recipe.snapshots[0] and row.part == 0
        }
    assert not [row for row in dead_artifacts(artifacts, named) if row.stage == "lineage_keys"]
    texts = {path.replace("records.parquet", "documents.parquet") for path in lost}
    dead = dead_artifacts(artifacts, named - lost - texts)
    tables = [out.name for row in dead if row.stage == "lineage_keys" for out in row.outputs]
    assert "document_ids.keys" in tables
    assert "span_ids.keys" not in tables
