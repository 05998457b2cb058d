"""The columnar URL index of a crawl: where each capture lies, and what is known of it beforehand.

`index_rows` takes the rows of some files out of the index's Parquet files, once, when a snapshot
is pinned. `read_indexed` then fetches from a file only the records that some rule could keep.
Each of the others is a record too, with its place and address from the index and a reason:

| reason | what the index says |
|---|---|
| `index_http_status` | not a success |
| `index_content_type` | not a kind of page we extract |
| `index_language` | none of the languages in `crawl.index.languages` |
| `index_truncated` | the crawler cut the payload off, and `crawl.index.truncated` is `skip` |

A value that the index does not have rules nothing out. A media type is unknown where the index
says so (`unk`) or says nothing: then the detected one counts, if there is one.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.crawl.settings import IndexSettings
from corpus_assets.ingest.formats import read_warc
from corpus_assets.ingest.gates import CONTENT_TYPES, HTTP_STATUSES, GateSettings
from corpus_assets.ingest.records import RawRecord, damaged

NEAR_BYTES = 1 << 16  # a gap so small is cheaper to read than to ask past
SPAN_BYTES = 8 << 20

ROWS = pa.schema(
    [
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("url", pa.string()),
        ("fetched_at", pa.string()),
        ("http_status", pa.int32()),
        ("content_type", pa.string()),  # as the server declared it, else as it was detected
        ("languages", pa.string()),
        ("truncated", pa.string()),
        ("payload_digest", pa.string()),
    ]
)
"""What is kept of the index for one file, in the order of the file."""

FILE = "warc_filename"
COLUMNS = {
    "warc_record_offset": pa.int64(),
    "warc_record_length": pa.int64(),
    "url": pa.string(),
    "fetch_time": None,  # a time, in one of several units
    "fetch_status": pa.int32(),
    "content_mime_type": pa.string(),
    "content_mime_detected": pa.string(),
    "content_languages": pa.string(),
    "content_truncated": pa.string(),
    "content_digest": pa.string(),
}
UNKNOWN_TYPES = ("unk", "-", "")  # Common Crawl writes `unk` where a server declared no type
REQUIRED = (FILE, "warc_record_offset", "warc_record_length", "url")


def index_rows(
    streams: Iterable[tuple[str, BinaryIO]], names: Sequence[str]
) -> dict[str, pa.Table]:
    """Return the index's rows of some files, by file. `streams` are its Parquet files with their
    names.

    Reads the column of file names of every row group, the others only where one of ours is in it.
    Memory: one row group's columns, and the rows found. A file without rows is an error: all it
    holds would be lost without a word.
    """
    wanted = pa.array(names, pa.string())
    found: list[pa.Table] = []
    for name, stream in streams:
        try:
            found += _rows_of(pq.ParquetFile(stream), name, wanted)
        except (pa.ArrowException, OSError) as error:
            raise SourceError(
                f"{name}: not a readable part of the URL index ({type(error).__name__}); fetch "
                "it again, or remove `crawl.index`"
            ) from error
    table = pa.concat_tables(found) if found else None
    result: dict[str, pa.Table] = {}
    for name in names:
        rows = None if table is None else table.filter(pc.equal(table[FILE], name)).drop([FILE])
        if rows is None or rows.num_rows == 0:
            raise SourceError(
                f"{name}: the URL index has no row of this file; use the complete index of the "
                "same crawl, or remove `crawl.index`"
            )
        result[name] = _once(rows)
    return result


def read_indexed(
    stream: BinaryIO,
    name: str,
    size: int,
    rows: pa.Table,
    settings: IndexSettings,
    gates: GateSettings,
) -> Iterator[RawRecord]:
    """Every capture of a file that the index lists: those worth it are read, the others carry the
    reason why not."""
    kept: list[tuple[int, int]] = []
    for row in rows.to_pylist():
        ruled_out = rule_out(row, settings)
        if ruled_out is None:
            kept.append((row["offset"], row["length"]))
            continue
        reason, detail = ruled_out
        yield RawRecord(
            url=row["url"],
            key=None,
            offset=row["offset"],
            length=row["length"],
            fetched_at=row["fetched_at"] or "",
            http_status=row["http_status"],
            content_type=row["content_type"] or "",
            payload_digest=row["payload_digest"] or "",
            damage=reason,
            detail=detail,
        )
    strange = 0
    for start, end, members in spans(kept):
        stream.seek(start)
        data = _read(stream, min(end, size) - start)
        for offset, length in members:
            piece = data[offset - start : offset - start + length]
            records = list(_members(piece, name, offset, gates.max_bytes))
            if not records:
                strange += 1
                records = [damaged(name, offset, length, "index_names_no_record")]
            yield from records
    if kept and strange == len(kept):
        raise SourceError(
            f"{name}: no record is at the offsets of the URL index; use the index of the same "
            "crawl, or remove `crawl.index`"
        )


def rule_out(row: dict[str, object], settings: IndexSettings) -> tuple[str, str] | None:
    """Reason and detail where no rule could keep a capture; None where one could."""
    status = row["http_status"]
    if status is not None and status not in HTTP_STATUSES:
        return "index_http_status", str(status)
    declared = str(row["content_type"] or "").partition(";")[0].strip().lower()[:100]
    if declared and declared not in CONTENT_TYPES:
        return "index_content_type", declared
    languages = str(row["languages"] or "")
    wanted = settings.languages
    if wanted is not None and languages and not set(languages.split(",")) & set(wanted):
        return "index_language", languages[:100]
    if settings.truncated == "skip" and row["truncated"]:
        return "index_truncated", str(row["truncated"])[:100]
    return None


def spans(
    kept: Sequence[tuple[int, int]],
) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """(start, end, members) of stretches to read at once: near ones together, none too long."""
    members: list[tuple[int, int]] = []
    start = end = 0
    for offset, length in sorted(kept):
        near = offset <= end + NEAR_BYTES and max(end, offset + length) - start <= SPAN_BYTES
        if members and not near:
            yield start, end, members
            members = []
        if not members:
            start = end = offset
        members.append((offset, length))
        end = max(end, offset + length)
    if members:
        yield start, end, members


def _members(piece: bytes, name: str, offset: int, max_bytes: int) -> Iterator[RawRecord]:
    """Yield the records of a member, at their place in the file."""
    try:
        for record in read_warc(io.BytesIO(piece), name, max_bytes):
            key = record.key
            if key == f"{name}@{record.offset}":
                key = f"{name}@{offset + record.offset}"
            yield replace(record, offset=offset + record.offset, key=key)
    except SourceError:
        return  # no record begins here


def _read(stream: BinaryIO, size: int) -> bytes:
    pieces = []
    while size > 0:
        piece = stream.read(size)
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _rows_of(file: pq.ParquetFile, name: str, wanted: pa.Array) -> Iterator[pa.Table]:
    known = set(file.schema_arrow.names)
    missing = [column for column in REQUIRED if column not in known]
    if missing:
        raise SourceError(f"{name}: is not a URL index, it has no column {missing[0]!r}")
    others = [column for column in COLUMNS if column in known]
    for group in range(file.num_row_groups):
        files = file.read_row_group(group, columns=[FILE], use_threads=False)[FILE]
        ours = pc.is_in(files.cast(pa.string()), wanted)
        if not pc.any(ours).as_py():
            continue
        table = file.read_row_group(group, columns=others, use_threads=False).filter(ours)
        columns = {FILE: files.cast(pa.string()).filter(ours)} | {
            column: table[column] if column in others else pa.nulls(table.num_rows, pa.string())
            for column in COLUMNS
        }
        yield _plain(columns)


def _plain(columns: dict[str, pa.ChunkedArray]) -> pa.Table:
    """Rows of the index in our own terms."""
    values = {
        name: column if COLUMNS.get(name) is None else column.cast(COLUMNS[name])
        for name, column in columns.items()
    }
    times = values["fetch_time"]
    if pa.types.is_timestamp(times.type):
        times = pc.strftime(times.cast(pa.timestamp("s"), safe=False), "%Y-%m-%dT%H:%M:%SZ")
    digests = values["content_digest"]
    prefixed = pc.if_else(
        pc.match_substring(digests, ":"), digests, pc.binary_join_element_wise("sha1", digests, ":")
    )
    return pa.table(
        {
            FILE: values[FILE],
            "offset": values["warc_record_offset"],
            "length": values["warc_record_length"],
            "url": values["url"],
            "fetched_at": times.cast(pa.string()),
            "http_status": values["fetch_status"],
            "content_type": pc.coalesce(
                _known(values["content_mime_type"]), _known(values["content_mime_detected"])
            ),
            "languages": values["content_languages"],
            "truncated": values["content_truncated"],
            "payload_digest": prefixed.cast(pa.string()),
        }
    )


def _known(types: pa.ChunkedArray) -> pa.ChunkedArray:
    """Media types, null where one is unknown."""
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(types))
    unknown = pc.is_in(plain, pa.array(UNKNOWN_TYPES, pa.string()))
    return pc.if_else(unknown, pa.scalar(None, pa.string()), types)


def _once(rows: pa.Table) -> pa.Table:
    """In the order of the file, each place once."""
    if pc.any(pc.or_(pc.less(rows["offset"], 0), pc.less(rows["length"], 1))).as_py():
        raise SourceError("the URL index has an impossible offset; fetch it again")
    ordered = rows.sort_by([("offset", "ascending"), ("length", "ascending"), ("url", "ascending")])
    offsets = ordered["offset"].combine_chunks()
    fresh = pa.concat_arrays([pa.array([True]), pc.not_equal(offsets[1:], offsets[:-1])])
    return ordered.filter(fresh).cast(ROWS)
