"""Exchanges in groups and ranges: the same bytes as reading every part directly, built or taken
down, at the cost of the groups and targets that a document touches."""

import contextlib
from pathlib import Path

import pytest

from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets_tests.conftest import VERSION, Place, as_if_many_parts
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.promises.test_erasable import (
    AFTER,
    lineage,
    lone_page,
    never_seen,
    take_out,
)
from corpus_assets_tests.small_corpus import make_small_corpus

GROUPED = {stage.name for stage in STAGES if stage.name.endswith(("_groups", "_ranges"))}


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
