"""Dagster's storage outlives documents that are taken down, so it holds none of their words."""

from pathlib import Path

from corpus_assets_tests.conftest import Place
from corpus_assets_tests.small_corpus import SLOTS


def test_no_word_of_a_document_is_in_dagsters_storage(small_build: Place) -> None:
    folder = small_build.home / "dagster"
    stored = {path: path.read_bytes().lower() for path in _files(folder)}
    assert any(b"holdout_positives" in data for data in stored.values()), "metrics are there"
    words = {word.lower() for slot in SLOTS.values() for text in slot for word in text.split()}
    named = {word for word in words if len(word) > 7 or word in ("marrick", "wexcombe", "pellow")}
    for path, data in stored.items():
        found = {word for word in named if word.encode() in data} - {"described", "painting"}
        assert not found, f"{path.name} holds {sorted(found)}"


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
