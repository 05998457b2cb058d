"""Records as their files hold them: the one shape that every reader gives.

Readers (`ingest.formats`) turn a file into `RawRecord`s and decide nothing: gates do. What a reader
cannot hand out whole it hands out with `damage`, the reason why, so that each record of a file is
counted once, whatever state it is in.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from corpus_assets.core.errors import SourceError

HASH_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceMember:
    """One of the files that a part of a folder is made of."""

    name: str  # inside the source, with forward slashes
    size: int
    sha256: str
    licence: str | None = None  # of the nearest licence file above it, code only


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One pinned file of a snapshot, or a group of small ones. `uri` says where it lies (of a
    group: the folder its members' names begin at) and is never identity."""

    name: str  # inside the source, with forward slashes
    uri: str
    size: int
    sha256: str  # of a group: over its members' names, digests and licences
    members: tuple[SourceMember, ...] = ()

    def __post_init__(self) -> None:
        members = tuple(
            m if isinstance(m, SourceMember) else SourceMember(**m) for m in self.members
        )
        object.__setattr__(self, "members", members)  # as plain JSON they come back as mappings

    def plain(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        own = {"name": self.name, "uri": self.uri, "size": self.size, "sha256": self.sha256}
        return own | {"members": tuple(asdict(member) for member in self.members)}


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One record as its file holds it: a page (`payload`) or ready text (`text`)."""

    url: str | None
    key: str | None  # what names it where there is no URL
    offset: int  # byte offset (WARC), line from 1 (JSONL), row (Parquet) or file (folders) from 0
    length: int  # bytes it takes in the file, 0 where the format does not say
    payload: bytes = b""
    text: str | None = None
    raw_text: str | None = None  # as the file holds it, where `text` is made from it
    fetched_at: str = ""
    http_status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()  # HTTP header names in lower case
    content_type: str = ""  # the header's value, parameters included
    licence: str | None = None
    language: str | None = None
    title: str | None = None
    derived_from: tuple[str, ...] = ()
    generator: str | None = None
    file: str | None = None  # the member of a group it is; None: the part's one file
    path: str | None = None  # of a source file in its repository
    labels: Mapping[str, str | float | None] | None = None  # where the source maps some
    refers_to: str | None = None  # id of the web archive record it was made from
    payload_digest: str = ""  # as the source declares it; empty when it does not
    damage: str | None = None  # the reason why it cannot be used, as far as its reader knows
    detail: str | None = None

    def header(self, name: str) -> str:
        """Return all values of an HTTP header joined by commas; empty when absent."""
        return ", ".join(value for key, value in self.headers if key == name)


class Refusal(NamedTuple):
    """Why a record goes no further. `detail` never holds text of the document."""

    reason: str
    detail: str | None = None


def damaged(file: str, offset: int, length: int, detail: str) -> RawRecord:
    """Stand in for a stretch that no record could be read from: counted, never skipped."""
    return RawRecord(
        url=None,
        key=f"{file}@{offset}",
        offset=offset,
        length=length,
        damage="damaged_record",
        detail=detail,
    )


def open_source(uri: str) -> BinaryIO:
    """Open a source file for reading: the one place where a URI meets a file system."""
    path = local_path(uri)
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise SourceError(
            f"{uri}: the source file is missing; restore it or list the snapshot's files again"
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
    """Return size and SHA-256 of a file, in one pass (about 1 GB/s) and constant memory."""
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
            f"({size} bytes); restore the file or pin a new snapshot under another name"
        )
