"""Training texts: every line has its text, or the file and line are named."""

import gzip
from pathlib import Path

import pytest
import zstandard

from corpus_assets.core.errors import SourceError
from corpus_assets.signals.stages.training_sample import read_texts

LINES = b'{"text": "one"}\n\n{"text": "zw\xc3\xb6lf", "more": 1}\n'


def written(folder: Path, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.jsonl", LINES),
        ("t.jsonl.gz", gzip.compress(LINES, mtime=0)),
        ("t.jsonl.zst", zstandard.compress(LINES)),
    ],
)
def test_plain_and_compressed_files_are_read(tmp_path: Path, name: str, data: bytes) -> None:
    assert read_texts([written(tmp_path, name, data)]) == ["one", "zwölf"]


def test_files_are_read_in_the_order_given(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"{n}", f'{{"text": "{n}"}}'.encode()) for n in "cab"]
    assert read_texts(paths) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("t", b'{"text": "a"}\n{"txet": "b"}\n', "line 2: expected a JSON object with `text`"),
        ("t", b'{"text": "a"}\nnot json\n', "line 2: expected a JSON object with `text`"),
        ("t", b"[1]\n", "line 1: expected a JSON object with `text`"),
        ("t", b'{"text": 3}\n', "line 1: `text` is not a string"),
        ("t", b'{"text": "\xff"}\n', "line 1: cannot be read ('utf-8' codec"),
        ("t.gz", b"no gzip", "line 1: cannot be read (zlib inflate failed"),
        (
            "t.gz",
            gzip.compress(LINES, mtime=0)[:-9],
            "cannot be read (Truncated compressed stream",
        ),
        (
            "t.gz",
            gzip.compress(LINES, mtime=0)[:-6] + bytes(6),
            "cannot be read (zlib inflate failed",
        ),
        ("t.zst", b"no zstandard frame", "line 1: cannot be read (ZSTD decompress"),
    ],
)
def test_a_bad_file_is_one_line_with_its_place(
    tmp_path: Path, name: str, data: bytes, expected: str
) -> None:
    path = written(tmp_path, name, data)
    with pytest.raises(SourceError) as caught:
        read_texts([path])
    message = str(caught.value)
    assert message.startswith(f"{path} line ")
    assert expected in message
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"none\.jsonl line 1: cannot be read .*No such file"):
        read_texts([str(tmp_path / "none.jsonl")])
