"""P1: the same bytes, whatever the workers and the home."""

from pathlib import Path

import pytest

from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.demo_build import build_demo, hashes, run_corpus, version_files


def test_two_workers_in_another_home_give_the_same_version_and_the_same_artifacts(
    small_build: Place, tmp_path: Path
) -> None:
    home = tmp_path / "other"
    run_corpus(home, "build", str(small_build.recipe), "--version", VERSION, "--workers", "2")
    assert version_files(home, VERSION) == small_build.files()
    ours = hashes(home / "store" / "artifacts")
    assert ours == hashes(small_build.store / "artifacts")


@pytest.mark.slow
def test_one_worker_in_another_home_gives_the_demo_with_the_same_artifacts(
    demo_home: Path, tmp_path: Path
) -> None:
    build_demo(tmp_path / "other", workers=1)
    assert version_files(tmp_path / "other") == version_files(demo_home)
    ours = hashes(tmp_path / "other" / "store" / "artifacts")
    assert ours == hashes(demo_home / "store" / "artifacts")
