"""A plan costs what there is, and not that again for every snapshot."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from catalog.db.registry import Registry
from corpus_assets.cli.main import main
from corpus_assets.core.store import LocalStore
from corpus_assets_tests.conftest import Place


def test_a_plan_lists_a_stage_once_and_reads_the_rows_of_each_snapshot_alone(
    small_build: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: Counter[str] = Counter()
    read: Counter[tuple[str, str]] = Counter()
    folders, contents = LocalStore.folders, Registry.artifact_contents

    def count_folders(store: LocalStore, path: str) -> Any:
        listed[path] += 1
        return folders(store, path)

    def count_rows(
        registry: Registry, stage: str, snapshot: str | None
    ) -> Iterator[tuple[str, str]]:
        for row in contents(registry, stage, snapshot):
            read[stage, row[0]] += 1
            yield row

    monkeypatch.setattr(LocalStore, "folders", count_folders)
    monkeypatch.setattr(Registry, "artifact_contents", count_rows)
    assert main(["plan", str(small_build.recipe), "--home", str(small_build.home)]) == 0
    assert listed["artifacts/documents"]
    # Once for the plan, once for what a fresh lock would resolve.
    assert max(listed.values()) <= 2
    assert max(read.values()) <= 2
