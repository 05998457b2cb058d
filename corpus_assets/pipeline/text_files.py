"""Training texts from JSONL files, plain or compressed."""

import gzip
import io
import json
import zlib
from collections.abc import Sequence

import zstandard

from corpus_assets.errors import SourceError


def read_texts(paths: Sequence[str]) -> list[str]:
    """The `text` field of every line; a line without one is an error, training data is curated."""
    texts: list[str] = []
    for path in paths:
        number = 0
        try:
            with _open(path) as handle:
                for number, line in enumerate(handle, 1):
                    if line.strip():
                        texts.append(_text(line, path, number))
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


def _text(line: str, path: str, number: int) -> str:
    try:
        text = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{path} line {number}: expected a JSON object with `text`") from error
    if not isinstance(text, str):
        raise SourceError(f"{path} line {number}: `text` is not a string")
    return text
