"""P1: the same bytes, whatever the workers and the home."""

from pathlib import Path

from corpus_assets_tests.demo_build import build_demo, hashes, version_files


def test_one_worker_in_another_home_gives_the_same_version_and_the_same_artifacts(
    demo_home: Path, tmp_path: Path
) -> None:
    build_demo(tmp_path / "other", workers=1)
    assert version_files(tmp_path / "other") == version_files(demo_home)
    ours = hashes(tmp_path / "other" / "store" / "artifacts")
    assert ours == hashes(demo_home / "store" / "artifacts")
