from pathlib import Path

import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.demo.library import (
    CORPUS_LANGUAGES,
    WRONG_LANGUAGES,
    Library,
    read_library,
)
from corpus_assets_tests.demo.tiny_library import write_tiny_library


def test_the_packaged_library_is_whole(library: Library) -> None:
    assert set(library.banks) == {*CORPUS_LANGUAGES, *WRONG_LANGUAGES}
    assert len(library.banks["en"]) >= 20
    assert set(library.snippets) == set(CORPUS_LANGUAGES)
    needed = {"cookie_banners", "footers", "nav_labels", "sidebar_teasers", "comments"}
    assert all(needed <= set(kinds) for kinds in library.snippets.values())
    for part in (library.math, library.book, library.programs, library.spam_frames):
        assert part
    assert all("{question}" in frame for frame in library.quote_frames)
    ids = [item.id for item in (*library.questions, *library.code_questions)]
    assert len(set(ids)) == len(ids)


def test_a_changed_file_changes_the_digest(tmp_path: Path) -> None:
    root = write_tiny_library(tmp_path)
    before = read_library(root).digest
    assert read_library(root).digest == before
    page = root / "articles/en/essay-0.md"
    page.write_text(page.read_text() + "\nOne more line.\n")
    assert read_library(root).digest != before


def test_line_ends_of_a_checkout_do_not_change_the_digest(tmp_path: Path) -> None:
    root = write_tiny_library(tmp_path)
    before = read_library(root).digest
    page = root / "articles/en/essay-0.md"
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    assert read_library(root).digest == before


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("spam/en.yaml", "frames: [", "not valid YAML"),
        ("spam/en.yaml", "- a list\n", "should hold a mapping"),
        ("banks/en/topic0.yaml", "topic: x\nregister: y\n", "lacks or misspells 'titles'"),
        ("articles/en/essay-0.md", "no title\n\ntext\n", "needs a '# Title' line"),
        ("evals/questions.jsonl", "{}\n", "line 1: 'text'"),
        ("code/sums0.py.txt", "print(1)\n", "SPDX-License-Identifier"),
    ],
)
def test_a_broken_file_is_named_with_its_fault(
    file: str, text: str, message: str, tmp_path: Path
) -> None:
    root = write_tiny_library(tmp_path)
    (root / file).write_text(text)
    with pytest.raises(SourceError, match=file) as caught:
        read_library(root)
    assert message in str(caught.value)


def test_an_empty_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="empty"):
        read_library(tmp_path)
