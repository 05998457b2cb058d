"""Training texts from JSONL files, plain or compressed."""

import gzip
import io
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import zstandard

from corpus_assets.core.errors import SourceError


def read_texts(
    paths: Sequence[str], where: Mapping[str, str] | None = None, field: str = "text"
) -> list[str]:
    """The `text` field (or another) of every line; a line without one is an error, training data is curated.

    `where` names fields and the values that a line must have in them; others are left out.
    """
    texts: list[str] = []
    for path in paths:
        number = 0
        try:
            with _open(path) as handle:
                for number, line in enumerate(handle, 1):
                    row = _row(line, path, number) if line.strip() else None
                    if row is not None and all(row.get(k) == v for k, v in (where or {}).items()):
                        texts.append(_text(row, path, number, field))
        except (OSError, EOFError, UnicodeDecodeError, zlib.error, zstandard.ZstdError) as error:
            raise SourceError(
                f"{path} line {number + 1}: cannot be read ({error}); fetch the file again or "
                "correct the recipe"
            ) from error
    return texts


def _open(path: str) -> io.TextIOBase:
    if path.endswith(".gz"):
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8")
    if path.endswith(".zst"):
        return io.TextIOWrapper(zstandard.open(path, "rb"), encoding="utf-8")
    return open(path, encoding="utf-8")


def _row(line: str, path: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise SourceError(f"{path} line {number}: expected a JSON object with `text`")
    return row


def _text(row: dict[str, Any], path: str, number: int, field: str) -> str:
    if field not in row:
        raise SourceError(f"{path} line {number}: expected a JSON object with `{field}`")
    text = row[field]
    if not isinstance(text, str):
        raise SourceError(f"{path} line {number}: `{field}` is not a string")
    return text
