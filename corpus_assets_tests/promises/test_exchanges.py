"""Exchanges in groups and ranges: the same bytes as reading every part directly, built or taken
down, at the cost of the groups and targets that a document touches."""

import contextlib
from pathlib import Path

import pytest

from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.dedup.stage import CLUSTER_EXCHANGE
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets_tests.conftest import VERSION, Place, as_if_many_parts
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.promises.test_erasable import (
    AFTER,
    all_documents,
    lineage,
    lone_page,
    never_seen,
    take_out,
)
from corpus_assets_tests.small_corpus import make_small_corpus

CLUSTER_STEPS = {stage.name for stage in CLUSTER_EXCHANGE.stages}
GROUPED = {
    stage.name for stage in STAGES if stage.name.endswith(("_groups", "_ranges"))
} | CLUSTER_STEPS


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
        for stage in ("documents", "tokens_groups", "shards", *CLUSTER_STEPS, "clusters")
    }
    pairs = len(fingerprints(grouped_build.home, "cluster_pairs"))
    assert 0 < fresh.pop("cluster_pairs") < pairs  # the ranges that one of its keys is in
    assert fresh == {
        "documents": 1,
        "tokens_groups": 1,
        "shards": 1,
        "cluster_keys": 1,
        "cluster_labels": 0,  # no pair has gone
        "cluster_rows": 2,  # of its group, in both windows
        "cluster_batches": 0,  # and nothing that it sends
        "clusters": 1,  # rows of the part have moved up
    }


@pytest.mark.slow
def test_a_kept_document_of_a_cluster_taken_down_in_groups_gives_way_to_another(
    small_build: Place, grouped_build: Place, tmp_path: Path
) -> None:
    lead = next(row for row in all_documents(small_build.folder) if row["leads"] and row["kept"])
    orders = [("doc_id", lead["doc_id"])]
    with as_if_many_parts():
        home = take_out(grouped_build.folder, tmp_path, [orders])
    scratch = never_seen(small_build.folder, tmp_path, orders, AFTER)
    assert version_files(home, AFTER) == version_files(scratch, AFTER)
    assert lineage(home, AFTER) == lineage(scratch, AFTER)
    batches = fingerprints(home, "cluster_batches")
    fresh = batches - fingerprints(grouped_build.home, "cluster_batches")
    # Of each of the two windows it stands in: its own, and that of the label which follows its own.
    assert 0 < len(fresh) <= 4 < len(batches)


@pytest.mark.slow
def test_lines_of_one_bucket_are_counted_in_ranges_too(tmp_path: Path) -> None:
    versions = []
    for name, many in (("direct", contextlib.nullcontext), ("grouped", as_if_many_parts)):
        place = Place(tmp_path / name)
        make_small_corpus(place.folder / "corpus")
        asked = {"clean_text.boilerplate.bucket": "snapshot"}
        home = Home.resolve(str(place.home))
        with many(), open_session(str(place.recipe), home, overrides=asked) as session:
            build(session, VERSION)
        versions.append(place.files(VERSION))
    assert versions[0] == versions[1]
