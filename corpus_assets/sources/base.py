"""What a source is, and the one shape that every reader gives its records.

Readers (`warc`, `jsonl`, `parquet`) turn a file into `RawRecord`s and decide nothing: gates do.
What a reader cannot hand out whole it hands out with `damage`, the reason why, so that each
record of a file is counted once, whatever state it is in.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pydantic import Field

from corpus_assets.errors import SourceError
from corpus_assets.step import Settings

HASH_CHUNK_BYTES = 1 << 20


class FieldNames(Settings):
    """Which column of a JSONL or Parquet source holds what; None: the source has none."""

    key: str | None = Field(default=None, description="a name that stays when the file changes")
    url: str | None = None
    text: str = "text"
    licence: str | None = None
    language: str | None = None
    title: str | None = None
    derived_from: str | None = Field(default=None, description="URL or url_key, or a list of them")
    generator: str | None = Field(default=None, description="what wrote a synthetic text")


class SourceSpec(Settings):
    """One source: where its documents belong and how its files are read."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")
    format: Literal["warc", "jsonl", "parquet"]
    domain: str = Field(default="web", min_length=1, description="web, code, books, math ...")
    licence: str = Field(default="unknown", description="SPDX id of records that name none")
    fields: FieldNames = FieldNames()
    licence_in_text: bool = Field(
        default=False, description="take an SPDX-License-Identifier line in the text's first 4 KB"
    )


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One pinned file of a snapshot. `uri` says where it lies and is never identity."""

    name: str  # inside the source, with forward slashes
    uri: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One record as its file holds it: a page (`payload`) or ready text (`text`)."""

    url: str | None
    key: str | None  # what names it where there is no URL
    offset: int  # byte offset (WARC), line number from 1 (JSONL), row number from 0 (Parquet)
    length: int  # bytes it takes in the file, 0 where the format does not say
    payload: bytes = b""
    text: str | None = None
    fetched_at: str = ""
    http_status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()  # HTTP header names in lower case
    content_type: str = ""  # the header's value, parameters included
    licence: str | None = None
    language: str | None = None
    title: str | None = None
    derived_from: tuple[str, ...] = ()
    generator: str | None = None
    payload_digest: str = ""  # as the source declares it; empty when it does not
    damage: str | None = None  # the reason why it cannot be used, as far as its reader knows
    detail: str | None = None

    def header(self, name: str) -> str:
        """All values of an HTTP header joined by commas; empty when absent."""
        return ", ".join(value for key, value in self.headers if key == name)


def damaged(file: str, offset: int, length: int, detail: str) -> RawRecord:
    """A stretch of a file that no record could be read from: counted, never skipped."""
    return RawRecord(
        url=None,
        key=f"{file}@{offset}",
        offset=offset,
        length=length,
        damage="damaged_record",
        detail=detail,
    )


def record_of_row(
    row: Mapping[str, Any], file: str, fields: FieldNames, offset: int, length: int
) -> RawRecord:
    """A row of ready text. One that has no text at all stays, for `no_text` to be said of it."""
    text = row.get(fields.text)
    if text is not None and not isinstance(text, str):
        return damaged(file, offset, length, "text_is_not_a_string")
    licences = _strings(row, fields.licence)
    return RawRecord(
        url=_string(row, fields.url),
        key=_string(row, fields.key),
        offset=offset,
        length=length,
        text=text or "",
        licence=" AND ".join(sorted(set(licences))) or None,
        language=_string(row, fields.language),
        title=_string(row, fields.title),
        derived_from=_strings(row, fields.derived_from),
        generator=_string(row, fields.generator),
    )


def _string(row: Mapping[str, Any], column: str | None) -> str | None:
    value = row.get(column) if column is not None else None
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _strings(row: Mapping[str, Any], column: str | None) -> tuple[str, ...]:
    value = row.get(column) if column is not None else None
    if isinstance(value, str):
        return (value.strip(),) if value.strip() else ()
    if not isinstance(value, list):
        return ()
    return tuple(item.strip() for item in value if isinstance(item, str) and item.strip())


def open_source(uri: str) -> BinaryIO:
    """Open a source file for reading: the one place where a URI meets a file system."""
    path = local_path(uri)
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise SourceError(
            f"{uri}: the source file is missing; put it back or list the snapshot's files anew"
        ) from error
    except OSError as error:
        raise SourceError(f"{uri}: cannot be opened ({error.strerror}); check it") from error


def local_path(uri: str) -> Path:
    if uri.startswith("file://"):
        return Path(uri.removeprefix("file://"))
    if "://" in uri:
        raise SourceError(f"{uri}: only local paths and file:// can be read; copy the file here")
    return Path(uri)


def file_sha256(uri: str) -> tuple[int, str]:
    """Size and SHA-256 of a file, in one pass (about 1 GB/s) and constant memory."""
    hasher = hashlib.sha256()
    size = 0
    with open_source(uri) as stream:
        while chunk := stream.read(HASH_CHUNK_BYTES):
            hasher.update(chunk)
            size += len(chunk)
    return size, hasher.hexdigest()


def verify_file(file: SourceFile) -> None:
    """Refuse a file that is no longer what was pinned: its documents' origin would be a lie."""
    size, sha256 = file_sha256(file.uri)
    if sha256 != file.sha256:
        raise SourceError(
            f"{file.uri}: pinned as {file.sha256} ({file.size} bytes), is now {sha256} "
            f"({size} bytes); restore the file or pin the snapshot anew under another name"
        )
