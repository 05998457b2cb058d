"""Lists of hashes: what a line may hold, and what counts as the same text."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.scrub.text_hashes import HashList, normalized, text_digest

TEXT = "Straße  der\nEinheit №5"


def test_a_list_is_one_hash_a_line_with_comments(tmp_path: Path) -> None:
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    path = tmp_path / "list.txt"
    path.write_text(f"# a comment\n\n{digest.upper()}  file-name.txt\n{'0' * 64}\n")
    rows = HashList.from_file(path, "text").rows_of(pa.array(["other", TEXT, TEXT + " "]))
    assert list(rows) == [1]


@pytest.mark.parametrize("line", ["abc", "0" * 63, "0" * 65, "g" * 64])
def test_a_line_that_is_no_hash_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"{'0' * 64}\n{line}\n")
    with pytest.raises(SourceError, match="line 2: not a SHA-256"):
        HashList.from_file(path, "text")


def test_a_list_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        HashList.from_file(tmp_path / "none.txt", "text")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="cannot be read"):
        HashList.from_file(tmp_path / "bytes.txt", "text")


def test_case_width_and_white_space_do_not_matter_in_normalized_texts() -> None:
    assert normalized(TEXT) == "strasse der einheit no5"
    same = " STRASSE\u3000DER Einheit\tＮｏ5 "
    assert text_digest(same, "normalized") == text_digest(TEXT, "normalized")
    assert text_digest(same, "text") != text_digest(TEXT, "text")


def test_a_text_with_a_lone_surrogate_has_a_digest_too() -> None:
    assert text_digest("\ud800", "text") != text_digest("\ud801", "text")
