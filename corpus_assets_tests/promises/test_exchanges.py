"""Exchanges in groups and ranges: the same bytes as reading every part directly, built or taken
down, at the cost of the groups and targets that a document touches."""

from pathlib import Path

from corpus_assets_tests.conftest import Place, as_if_many_parts
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.promises.test_erasable import (
    AFTER,
    lineage,
    lone_page,
    never_seen,
    take_out,
)

GROUPED = {"token_groups"}


def fingerprints(home: Path, stage: str) -> set[str]:
    return {folder.name for folder in (home / "store" / "artifacts" / stage).glob("*")}


def test_a_build_in_groups_equals_one_that_reads_every_part(
    small_build: Place, grouped_build: Place
) -> None:
    assert grouped_build.files() == small_build.files()
    for stage in GROUPED:
        assert fingerprints(grouped_build.home, stage)
        assert not fingerprints(small_build.home, stage)


def test_a_takedown_in_groups_equals_a_build_that_never_saw_the_document(
    small_build: Place, grouped_build: Place, tmp_path: Path
) -> None:
    orders = [("doc_id", lone_page(small_build.folder)["doc_id"])]
    with as_if_many_parts():
        home = take_out(grouped_build.folder, tmp_path, [orders])
    scratch = never_seen(small_build.folder, tmp_path, orders, AFTER)
    assert version_files(home, AFTER) == version_files(scratch, AFTER)
    assert lineage(home, AFTER) == lineage(scratch, AFTER)
    fresh = {
        stage: len(fingerprints(home, stage) - fingerprints(grouped_build.home, stage))
        for stage in ("documents", "token_groups", "shards")
    }
    assert fresh == {"documents": 1, "token_groups": 1, "shards": 1}
