"""Records as source files have them: read one again, by the place where ingest found it.

A WARC or WET record by its byte range, a line of JSON lines, a row of Parquet (as JSON), or a file
of a folder.

A WARC record that shares its gzip member with others has no range of its own. Its offset is where
the member starts plus the inflated bytes before it, and where the member starts is not written
down. So members are walked from the file's beginning: it is read once, as far as the record.
Memory: one record.
"""

import gzip
import io
import itertools
import json
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from catalog.errors import SourceUnavailable
from catalog.formats.ranges import open_source

if TYPE_CHECKING:
    from catalog.db.rows import FileRow

MAX_INFLATED_BYTES = 1 << 30
MAX_FETCHED_BYTES = 64 << 20  # for one record, where it has no range of its own
GZIP = b"\x1f\x8b"
INPUT_BYTES = 1 << 16
OUTPUT_BYTES = 1 << 20
MAX_HEAD_BYTES = 1 << 16
RECORD_END = b"\r\n\r\n"

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.I)

Row = dict[str, Any]  # of the lineage table `documents`
Record = tuple[bytes, bytes]  # as its file has it, and in the open


def read_record(kind: str, file: "FileRow", record: Row) -> Record:
    """Fetch a record from a part of a source of format `kind`; an unknown format is refused."""
    if kind in ("text", "code"):
        data = _member(file, str(record["file"]))
        return data, data
    if kind not in READERS:
        raise SourceUnavailable(
            f"{file.name} has records of format {kind!r}, and this package fetches those of "
            f"{', '.join(sorted([*READERS, 'text', 'code']))}: use the corpus-assets that ingested it"
        )
    with open_source(file.uri, file.bytes, file.digest) as stream:
        return READERS[kind](stream, file, record)


def _archived(stream: BinaryIO, file: "FileRow", record: Row) -> Record:
    """A WARC record by its range."""
    if not record["length"]:
        data = _shared(stream, file, record)
        return data, data
    stream.seek(record["offset"])
    stored = stream.read(record["length"])
    data = _inflated(stored) if stored[:2] == GZIP else stored
    if not data.startswith(b"WARC/") or not _names(data, record["url"]):
        raise SourceUnavailable(
            f"{file.uri} does not hold the record of this document at byte {record['offset']}: it "
            "was changed since it was ingested; restore it"
        )
    return stored, data


def _shared(stream: BinaryIO, file: "FileRow", record: Row) -> bytes:
    """A record that has no range of its own; it has no stored form of its own either."""
    if "://" in file.uri.removeprefix("file://") and file.bytes > MAX_FETCHED_BYTES:
        raise SourceUnavailable(
            f"the record at {record['offset']} of {file.name} shares a gzip member with others, so "
            f"all of the file would have to be fetched; download {file.uri} and look into it"
        )
    for data in shared_records(stream, record["offset"], MAX_INFLATED_BYTES):
        if _names(data, record["url"]):
            return data
    raise SourceUnavailable(
        f"{file.uri} does not hold the record of this document at place {record['offset']}: it "
        "was changed since it was ingested; restore it"
    )


def _inflated(stored: bytes) -> bytes:
    inflater = zlib.decompressobj(31)
    try:
        return inflater.decompress(stored, MAX_INFLATED_BYTES)
    except zlib.error as error:
        raise SourceUnavailable(
            "the record's gzip member is damaged; --stored gives it as it is"
        ) from error


def _names(data: bytes, url: str | None) -> bool:
    """Whether a record is about an address, as far as both say one."""
    head = data.partition(b"\r\n\r\n")[0].decode("utf-8", "replace")
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "warc-target-uri" and url is not None:
            found = unicodedata.normalize("NFC", value.strip().strip("<>"))
            return found == url or "�" in found or "�" in url
    return True


def _line(stream: BinaryIO, file: "FileRow", record: Row) -> Record:
    """A line, counted from 1, of a file that may be compressed."""
    name, number = file.name, record["offset"]
    lines: Any = stream
    if name.endswith(".gz"):
        lines = gzip.GzipFile(fileobj=stream)
    elif name.endswith(".zst"):
        import zstandard

        lines = io.BufferedReader(
            zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        )
    try:
        for line in itertools.islice(lines, number - 1, number):
            return bytes(line), bytes(line)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceUnavailable(f"{name} is damaged before line {number}") from error
    raise SourceUnavailable(f"{name} has no line {number}: it was changed since; restore it")


def _row(stream: BinaryIO, file: "FileRow", record: Row) -> Record:
    """A row, counted from 0, of a Parquet file, as a line of JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = record["offset"]
    try:
        table = pq.ParquetFile(stream)
        first = 0
        for group in range(table.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            if number < first + rows:
                found = table.read_row_group(group).slice(number - first, 1).to_pylist()[0]
                line = (json.dumps(found, default=str, ensure_ascii=False) + "\n").encode()
                return line, line
            first += rows
    except (pa.ArrowException, OSError) as error:
        raise SourceUnavailable(f"the Parquet file is damaged ({type(error).__name__})") from error
    raise SourceUnavailable(f"the Parquet file has no row {number}: it was changed since")


def _member(file: "FileRow", name: str) -> bytes:
    """A file of a folder, not outside it."""
    folder = Path(file.uri.removeprefix("file://")).resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise SourceUnavailable(f"{name} leads out of {folder}")
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceUnavailable(
            f"the source file {path} cannot be read ({error.strerror}); put it back where it was"
        ) from error


READERS: Mapping[str, Callable[[BinaryIO, "FileRow", Row], Record]] = {
    "warc": _archived,
    "wet": _archived,
    "jsonl": _line,
    "parquet": _row,
}
"""Formats of files whose records have a place in them."""


# -- records that share a gzip member --------------------------------------------------------------


def shared_records(stream: BinaryIO, offset: int, max_bytes: int) -> Iterator[bytes]:
    """The records that may be meant by an offset: one a member that has one at that place."""
    stream.seek(0)
    start, rest = 0, b""
    while start <= offset:
        member = _Member(stream, rest)
        taken = _Taken(offset - start, max_bytes)
        for piece in member.pieces():
            record = taken.add(piece)
            if record is not None:
                yield record
        if not member.bytes:
            return
        start, rest = start + member.bytes, member.rest


class _Member:
    """A gzip member, inflated piece by piece; then its length, and what was read behind it."""

    def __init__(self, stream: BinaryIO, rest: bytes) -> None:
        self._stream = stream
        self.rest = rest
        self.bytes = 0

    def pieces(self) -> Iterator[bytes]:
        inflater = zlib.decompressobj(31)
        while not inflater.eof:
            fresh = b""
            if not inflater.unconsumed_tail:
                fresh, self.rest = self.rest or self._stream.read(INPUT_BYTES), b""
                if not fresh and not self.bytes:
                    return
            try:
                piece = inflater.decompress(inflater.unconsumed_tail or fresh, OUTPUT_BYTES)
            except zlib.error as error:
                raise SourceUnavailable("the file is damaged before the record") from error
            self.bytes += len(fresh)
            if piece:
                yield piece
            elif not fresh and not inflater.unconsumed_tail and not inflater.eof:
                raise SourceUnavailable("the file ends before the record does")
        self.rest = inflater.unused_data
        self.bytes -= len(self.rest)


class _Taken:
    """The record that begins after `skip` bytes of a member, if one does."""

    def __init__(self, skip: int, max_bytes: int) -> None:
        self._skip = skip
        self._max_bytes = max_bytes
        self._data: bytearray | None = bytearray()
        self._end = 0  # 0: not known yet

    def add(self, piece: bytes) -> bytes | None:
        """Take more of the member in; gives the record once, when it is whole."""
        if self._data is None:
            return None
        self._data += piece[self._skip :]
        self._skip = max(0, self._skip - len(piece))
        if not self._end:
            self._end = self._find_end(self._data)
        if self._data is None or not self._end or len(self._data) < self._end:
            return None
        record, self._data = bytes(self._data[: self._end]) + RECORD_END, None
        return record

    def _find_end(self, data: bytearray) -> int:
        head_end = data.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
        is_record = b"WARC/".startswith(data[:5])
        if not is_record or (head_end < 0 and len(data) > MAX_HEAD_BYTES):
            self._data = None
            return 0
        if head_end < 0:
            return 0
        length = _LENGTH.search(data, 0, head_end + 2)
        if length is None or int(length.group(1)) > self._max_bytes:
            self._data = None
            return 0
        return head_end + 4 + int(length.group(1))
