"""JSON lines, plain, gzip or zstd. A record's offset is its line number, from 1.

Memory: one line of at most six times the largest text (JSON may write a byte as `\\u0000`); a
longer one is read past and counted. Blank lines are no records.
"""

import io
import json
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from corpus_assets.ingest.formats.base import FileFormat, Original, Place
from corpus_assets.ingest.formats.inflate import inflated
from corpus_assets.ingest.formats.rows import record_of_row
from corpus_assets.ingest.records import RawRecord, SourceFile, damaged
from corpus_assets.ingest.source import SourceSpec

JSON_BYTES_PER_BYTE = 6
SLACK_BYTES = 1 << 20
BUFFER_BYTES = 1 << 16


def read_jsonl(
    stream: BinaryIO, name: str, spec: SourceSpec, max_text_bytes: int
) -> Iterator[RawRecord]:
    """All lines of a seekable file; its name says how it is compressed."""
    limit = JSON_BYTES_PER_BYTE * max_text_bytes + SLACK_BYTES
    is_plain = not name.endswith((".gz", ".zst"))
    raw = inflated(stream, name)
    lines = io.BufferedReader(raw, BUFFER_BYTES)
    number = 0
    while line := lines.readline(limit):
        number += 1
        length = len(line)
        is_whole = line.endswith(b"\n") or length < limit
        while not line.endswith(b"\n") and (line_end := lines.readline(limit)):
            line = line_end if not is_whole else line + line_end
            length += len(line_end)
        length = length if is_plain else 0
        if raw.failure is not None and not line.endswith(b"\n"):
            yield damaged(name, number, length, raw.failure)
            return
        if not is_whole:
            yield RawRecord(
                url=None, key=f"{name}@{number}", offset=number, length=length, damage="too_large"
            )
        elif line.strip():
            yield _parse(line, name, spec, number, length)
    if raw.failure is not None:
        yield damaged(name, number + 1, 0, raw.failure)


def _parse(line: bytes, name: str, spec: SourceSpec, number: int, length: int) -> RawRecord:
    try:
        row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        return damaged(name, number, length, "not_utf8")
    except (ValueError, RecursionError):
        return damaged(name, number, length, "not_json")
    if not isinstance(row, dict):
        return damaged(name, number, length, "not_an_object")
    return record_of_row(row, name, spec, number, length)


def line_at(stream: BinaryIO, part: SourceFile, place: Place) -> Original:
    """Read a line again; those before it are read past."""
    lines = io.BufferedReader(inflated(stream, part.name), BUFFER_BYTES)
    for line in islice(lines, place.offset - 1, place.offset):
        return Original(line, line)
    raise place.missing(part)


JSONL = FileFormat(
    "jsonl",
    (
        ".jsonl", ".jsonl.gz", ".jsonl.zst", ".json.gz", ".json.zst",
        ".ndjson", ".ndjson.gz", ".ndjson.zst",
    ),
    read_jsonl,
    line_at,
)  # fmt: skip
