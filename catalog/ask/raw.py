"""The original of a document: its record, fetched again from the file that it came from.

A WARC record by its byte range, a line of JSON lines, a row of Parquet (as JSON), or a file of a
folder. What a takedown covers is refused, also before the takedown was carried out.
"""

import base64
import gzip
import hashlib
import io
import itertools
import json
import unicodedata
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from catalog.db.rows import FileRow
from catalog.errors import SourceUnavailable, TakedownRefused, UnknownName
from catalog.formats.ranges import open_source
from catalog.formats.records import shared_records
from catalog.formats.urls import current_key
from catalog.lineage.lookups import records_of
from catalog.lineage.tables import Lineage, Row
from catalog.takedown.near_copies import KIND as NEAR_TEXT
from catalog.takedown.near_copies import MIN_AGREEING, PREFIX

MAX_INFLATED_BYTES = 1 << 30
MAX_FETCHED_BYTES = 64 << 20  # for one record, where it has no range of its own
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Original:
    """A record as its file has it (`stored`), and in the open (`data`)."""

    doc_id: bytes
    snapshot: str
    file: str
    uri: str
    offset: int
    length: int
    kind: str
    captures: int  # records of the version with this id
    stored: bytes
    data: bytes

    def described(self, data: bytes, with_record: bool) -> dict[str, Any]:
        """As plain values; `data` is what was asked for, in base64 where it is wanted."""
        body: dict[str, Any] = {
            "doc_id": self.doc_id.hex(),
            "snapshot": self.snapshot,
            "file": self.file,
            "uri": self.uri,
            "offset": self.offset,
            "length": self.length,
            "format": self.kind,
            "captures": self.captures,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        if with_record:
            body["record"] = base64.b64encode(data).decode("ascii")
        return body


def fetch_original(lineage: Lineage, doc_id: bytes, capture: int = 0) -> Original:
    """Fetch a document's record again; `capture` counts its records from 0, where it has several."""
    records = records_of(lineage, doc_id)
    if not 0 <= capture < len(records):
        raise UnknownName(
            f"document {doc_id.hex()} has {len(records)} records in version "
            f"{lineage.version.name}; --capture counts them from 0"
        )
    record = records[capture]
    refuse_suppressed(lineage, doc_id, record)
    file = _file(lineage, record)
    kind = {s.name: s.kind for s in lineage.registry.sources()}.get(record["source"], "")
    stored, data = _read(kind, file, record)
    return Original(
        doc_id,
        record["snapshot"],
        record["file"],
        file.uri,
        record["offset"],
        record["length"],
        kind,
        len(records),
        stored,
        data,
    )


def refuse_suppressed(lineage: Lineage, doc_id: bytes, record: Row) -> None:
    """Standing orders hold for originals as well."""
    if record["reason"] == "suppressed" or _is_covered(lineage, doc_id, record):
        raise TakedownRefused(
            f"document {doc_id.hex()} is under a takedown: its original is not shown "
            "(`catalog takedown list` names the requests)"
        )


def _is_covered(lineage: Lineage, doc_id: bytes, record: Row) -> bool:
    texts = lineage.documents_in("texts", [doc_id], record["snapshot"], [record["part"]])
    key, host = current_key(str(record["url_key"] or "")), str(record["host"] or "")
    labels = host.split(".")
    hosts = {".".join(labels[i:]) for i in range(len(labels))} if host else set()
    text_ids = {bytes(row["text_id"]).hex() for row in texts}
    sketches = [bytes(row["sketch"]) for row in texts if row.get("sketch") is not None]
    for order in lineage.registry.suppressions():
        value = order.value
        if (
            (order.kind == "doc_id" and value == doc_id.hex())
            or (order.kind == "url_key" and current_key(value) == key)
            or (order.kind == "url_prefix" and key.startswith(current_key(value, is_prefix=True)))
            or (order.kind == "host" and value in hosts)
            or (order.kind == "text_id" and value in text_ids)
            or (order.kind == NEAR_TEXT and any(_agree(value, each) for each in sketches))
        ):
            return True
    return False


def _agree(value: str, sketch: bytes) -> bool:
    """Whether a sketch is as close to an ordered one as near copies are, bands aside."""
    ordered = bytes.fromhex(value.removeprefix(PREFIX)) if value.startswith(PREFIX) else b""
    pairs = zip(ordered[::2], ordered[1::2], sketch[::2], sketch[1::2], strict=False)
    return sum(a == c and b == d for a, b, c, d in pairs) >= MIN_AGREEING


def _file(lineage: Lineage, record: Row) -> FileRow:
    for file in lineage.registry.source_files(record["snapshot"]):
        if file.part == record["part"]:
            return file
    raise UnknownName(
        f"the catalog has no file for part {record['part']} of {record['snapshot']}; pin the "
        "snapshot again (`corpus build`)"
    )


def _read(kind: str, file: FileRow, record: Row) -> tuple[bytes, bytes]:
    if kind in ("text", "code"):
        data = _member(file, str(record["file"]))
        return data, data
    with open_source(file.uri, file.bytes, file.digest) as stream:
        if kind == "jsonl":
            line = _line(stream, file.name, record["offset"])
            return line, line
        if kind == "parquet":
            row = _row(stream, record["offset"])
            return row, row
        return _archived(stream, file, record)


def _archived(stream: BinaryIO, file: FileRow, record: Row) -> tuple[bytes, bytes]:
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


def _shared(stream: BinaryIO, file: FileRow, record: Row) -> bytes:
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


def _line(stream: BinaryIO, name: str, number: int) -> bytes:
    """Line `number`, counted from 1, of a file that may be compressed."""
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
            return bytes(line)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceUnavailable(f"{name} is damaged before line {number}") from error
    raise SourceUnavailable(f"{name} has no line {number}: it was changed since; restore it")


def _row(stream: BinaryIO, number: int) -> bytes:
    """Row `number`, counted from 0, of a Parquet file, as a line of JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(stream)
        first = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if number < first + rows:
                found = file.read_row_group(group).slice(number - first, 1).to_pylist()[0]
                return (json.dumps(found, default=str, ensure_ascii=False) + "\n").encode()
            first += rows
    except (pa.ArrowException, OSError) as error:
        raise SourceUnavailable(f"the Parquet file is damaged ({type(error).__name__})") from error
    raise SourceUnavailable(f"the Parquet file has no row {number}: it was changed since")


def _member(file: FileRow, name: str) -> bytes:
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
