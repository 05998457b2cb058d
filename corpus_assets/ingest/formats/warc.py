"""Web archives (WARC 1.0 and 1.1, gzip by record or plain), read so that nothing is lost unsaid.

fastwarc reads records; the gzip members around them are opened here, one at a time. Left to
itself fastwarc ends at the first corrupt member, says nothing of a file that stops in the middle
of one, and with a wrong Content-Length reads on through the records that follow. With members
walled off from each other a fault costs its own member, and the next one is found again.
Nearly all members hold one plain record, which is read without fastwarc.

What comes out, in file order:

1. each `response`, `resource`, `conversion` and `revisit` record;
2. one `damaged_record` for each stretch that could not be read, whatever it once was.

Requests, metadata, warcinfo and records of types that the standard does not know are not documents
and stay out. Memory: one record's block, at
most `max_payload_bytes` and a head's worth, its member as it is stored, and 256 KiB of the file. A
larger block is passed over.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from fastwarc.warc import ArchiveIterator, WarcRecord

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.formats.archive_formats import MAGIC_BYTES, refuse_formats
from corpus_assets.ingest.formats.archived_record import HEAD_BYTES, archived_at
from corpus_assets.ingest.formats.base import FileFormat
from corpus_assets.ingest.formats.framing import GZIP, WARC, ArchiveFile, GzipMember, PlainView
from corpus_assets.ingest.formats.http import (
    BadHttp,
    BodyTooLarge,
    Headers,
    decode_body,
    parse_head,
)
from corpus_assets.ingest.records import RawRecord, damaged

WARC_FORMAT = FileFormat(
    "warc",
    (".warc", ".warc.gz", ".wet", ".wet.gz"),
    lambda stream, name, _spec, max_bytes: read_warc(stream, name, max_bytes),
    archived_at,
    is_web_archive=True,
)


DOCUMENT_TYPES = ("response", "resource", "conversion", "revisit")
OTHER_TYPES = ("request", "metadata", "warcinfo")
UNKNOWN_TYPE = "unknown"  # as fastwarc calls them all

_REQUEST, _METADATA, _WARCINFO = (b"\r\nwarc-type: %s\r\n" % kind.encode() for kind in OTHER_TYPES)

_RESPONSE = b"\r\nWARC-Type: response\r\n"
_HEAD = re.compile(rb"WARC/1\.[01]\r\n(?:[A-Za-z0-9-]{1,64}: [\t\x20-\x7e]*\r\n)+\r\n")
VERSION_BYTES = len(b"WARC/1.0")
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")


def read_warc(stream: BinaryIO, name: str, max_payload_bytes: int) -> Iterator[RawRecord]:
    """All document records of a seekable file; `name` is the file's name in its source."""
    file = ArchiveFile(stream)
    magic = file.peek(len(WARC))
    if not magic:
        return
    refuse_formats([name], file.peek(MAGIC_BYTES))
    is_gzip = magic[:3] == GZIP or (magic != WARC and file.next_member(0) is not None)
    if not is_gzip and magic != WARC and file.next_plain(0) is None:
        raise SourceError(f"{name}: has no WARC record; check the source's format and its files")
    file.seek(0)
    yield from (_read_members if is_gzip else _read_plain)(file, name, max_payload_bytes)


@dataclass(slots=True)
class _Found:
    """A record's headers and block, as far as they could be read."""

    kind: str
    url: str | None
    record_id: str | None
    fetched_at: str
    content_type: str
    identified_type: str
    payload_digest: str
    language: str
    refers_to: str | None
    block: bytes | memoryview
    at: int  # position in its view
    too_large: bool
    fault: str | None


_NO_DOCUMENT = _Found("", None, None, "", "", "", "", "", None, b"", 0, False, None)
"""A sound record that is none."""


def _read_members(file: ArchiveFile, name: str, limit: int) -> Iterator[RawRecord]:
    while magic := file.peek(len(GZIP)):
        start = file.position
        if magic != GZIP:
            end = file.next_member(start + 1)
            file.seek(file.size if end is None else end)
            yield damaged(name, start, file.position - start, "not_gzip")
            continue
        whole = file.whole_member(limit + 2 * HEAD_BYTES)
        if whole is not None:
            found = _only_record(whole, limit)
            if found is not None:
                if found is not _NO_DOCUMENT:
                    length = file.position - start
                    yield from _finish(found, name, start, length, None, limit)
                continue
            file.seek(start)
        member = GzipMember(file)
        alone = True
        last: _Found | None = None
        for found, is_last in _walk(member, limit):
            if is_last:
                last = found
            else:  # several records in one member: offsets count inflated bytes from its start
                alone = False
                yield from _finish(found, name, start + found.at, 0, None, limit)
        member.drain()
        if member.failure is not None:
            end = file.next_member(start + 1)
            file.seek(file.size if end is None else end)
        length = file.position - start
        if last is not None:
            place = start + last.at
            yield from _finish(last, name, place, length if alone else 0, member.fault, limit)
        elif member.fault is not None:
            yield damaged(name, start, length, member.fault)


def _read_plain(file: ArchiveFile, name: str, limit: int) -> Iterator[RawRecord]:
    start = 0
    if file.peek(len(WARC)) != WARC:
        found_at = file.next_plain(0)
        start = file.size if found_at is None else found_at
        yield damaged(name, 0, start, "not_a_record")
    while start < file.size:
        file.seek(start)
        view = PlainView(file)
        waiting: _Found | None = None
        for found, _ in _walk(view, limit):
            if waiting is not None:
                length = found.at - waiting.at
                yield from _finish(waiting, name, start + waiting.at, length, None, limit)
            waiting = found
        place = start + (waiting.at if waiting is not None else 0)
        if view.fault is None and (waiting is None or waiting.fault is None):
            end: int | None = None
        else:  # a wrong length may have run over good records: look again from its first line
            end = file.next_plain(place + 1)
        after = file.size if end is None else end
        if waiting is not None:
            yield from _finish(waiting, name, place, after - place, view.fault, limit)
        elif view.fault is not None:
            yield damaged(name, place, after - place, view.fault)
        start = after


def _walk(view: PlainView, limit: int) -> Iterator[tuple[_Found, bool]]:
    """Yield records one after the other, each with whether it is the view's last.

    A record is handed out once it is known what follows it: bytes that are no record mean that
    its own length was wrong.
    """
    records = ArchiveIterator(view, parse_http=False, stream_detect=False)
    held: _Found | None = None
    while True:
        try:
            record = next(records)
        except StopIteration:
            break
        except OSError:
            view.has_stray_bytes = True
            break
        if held is not None:
            yield held, False
        view.begin_record()
        held = _read_block(record, limit)
        if held.fault is not None:
            break
    if held is not None:
        yield held, True


def _only_record(member: bytes | bytearray, limit: int) -> _Found | None:
    """Return the one record of a member that leaves nothing to doubt; None where a reader must
    look.

    Plain `Name: value` lines in ASCII, no name twice, a block as long as declared, and the two
    empty lines after it. Nearly every record there is, at a third of the cost.
    """
    found = _HEAD.match(member, 0, HEAD_BYTES)
    if found is None or not member.endswith(b"\r\n\r\n"):
        return None
    start = found.end()
    block_bytes = len(member) - start - 4
    head = member[VERSION_BYTES : start - 2]
    if not 0 <= block_bytes <= limit + HEAD_BYTES:
        return None
    if _RESPONSE not in head and _is_other(head.lower(), block_bytes):
        return _NO_DOCUMENT
    lines = [line.partition(": ") for line in head[2:-2].decode("ascii").split("\r\n")]
    values = {name.lower(): value for name, _, value in lines}
    declared = values.get("content-length", "").strip()
    kind = values.get("warc-type", "").strip()
    if (
        len(values) != len(lines)
        or not declared.isdigit()
        or int(declared) != block_bytes
        or kind not in (*DOCUMENT_TYPES, *OTHER_TYPES)
    ):
        return None
    block = memoryview(member)[start:-4]  # a page is copied once, without its heads
    return _found(kind, values.get, block, 0, False, None)


def _is_other(head: bytes | bytearray, block_bytes: int) -> bool:
    """Whether a head in lower case is that of a sound record which is no document.

    Two of three records in a crawl are, so no more is read of them than shows it.
    """
    return (
        b"\r\ncontent-length: %d\r\n" % block_bytes in head
        and head.count(b"\r\ncontent-length: ") == 1
        and head.count(b"\r\nwarc-type: ") == 1
        and (_REQUEST in head or _METADATA in head or _WARCINFO in head)
    )


def _read_block(record: WarcRecord, limit: int) -> _Found:
    headers = record.headers
    kind = str(record.record_type)
    declared = (headers.get("Content-Length") or "").strip()
    fault: str | None = None
    block = b""
    expected = record.content_length
    too_large = False
    if kind == UNKNOWN_TYPE and not (headers.get("WARC-Type") or "").strip():
        fault = "no_type"
    elif not declared.isascii() or not declared.isdigit() or int(declared) != expected:
        fault = "content_length"
    else:
        too_large = expected > limit + HEAD_BYTES
        try:
            if kind in DOCUMENT_TYPES:
                block = record.reader.read(HEAD_BYTES) if too_large else record.reader.read()
            got = len(block) + record.reader.consume()
        except OSError:
            got = len(block)
        if got < expected:
            fault = "truncated_payload"

    return _found(kind, headers.get, block, record.stream_pos, too_large, fault)


def _found(
    kind: str,
    header: Callable[[str], str | None],
    block: bytes | memoryview,
    at: int,
    too_large: bool,
    fault: str | None,
) -> _Found:
    """Return a record's headers, asked for by name in lower case; those of no document are left
    off."""
    if kind not in DOCUMENT_TYPES:
        return _Found(kind, None, None, "", "", "", "", "", None, b"", at, too_large, fault)
    url = (header("warc-target-uri") or "").strip().removeprefix("<").removesuffix(">")
    date = (header("warc-date") or "").strip()
    return _Found(
        kind=kind,
        url=url or None,
        record_id=_id(header("warc-record-id")),
        fetched_at=date if _DATE.fullmatch(date) else "",
        content_type=(header("content-type") or "").strip(),
        identified_type=(header("warc-identified-payload-type") or "").strip(),
        payload_digest=(header("warc-payload-digest") or "").strip(),
        language=(header("warc-identified-content-language") or "").strip(),
        refers_to=_id(header("warc-refers-to")) if kind == "conversion" else None,
        block=block,
        at=at,
        too_large=too_large,
        fault=fault,
    )


def _finish(
    found: _Found, name: str, offset: int, length: int, failure: str | None, limit: int
) -> Iterator[RawRecord]:
    """Yield the record for the ledger; nothing for a sound record that is no document."""
    fault = failure or found.fault
    if found.kind not in DOCUMENT_TYPES:
        if fault is None and found.kind not in (*OTHER_TYPES, UNKNOWN_TYPE):
            fault = f"{found.kind}_record"
        if fault is not None:
            yield damaged(name, offset, length, fault)
        return
    damage, detail = None, None
    if found.too_large or failure == "too_large":
        damage = "too_large"
    elif fault is not None:
        damage, detail = "damaged_record", fault
    elif found.kind == "revisit":
        damage = "revisit_record"
    is_http = found.content_type.lower().startswith("application/http")
    head = parse_head(found.block) if is_http else None
    status: int | None = None
    headers: Headers = ()
    payload = bytes(found.block if head is None else found.block[head.body_start :])
    content_type = "" if is_http else found.content_type
    if head is not None:
        status, headers = head.status, head.headers
        values = dict(headers)
        content_type = values.get("content-type", "")
        if damage is None:
            codings = (values.get("transfer-encoding", ""), values.get("content-encoding", ""))
            try:
                payload = decode_body(payload, *codings, limit)
            except BadHttp as error:
                damage, detail = "bad_http", str(error)
            except BodyTooLarge:
                damage = "too_large"
    elif is_http and damage is None:
        damage, detail = "bad_http", "status_line"
    whole = damage is None or damage == "bad_http"
    yield RawRecord(
        url=found.url,
        key=found.record_id or f"{name}@{offset}",
        offset=offset,
        length=length,
        payload=payload if whole else b"",
        fetched_at=found.fetched_at,
        http_status=status,
        headers=headers,
        content_type=content_type or found.identified_type,
        payload_digest=found.payload_digest,
        language=_first_language(found.language) if found.kind == "conversion" else None,
        refers_to=found.refers_to,
        damage=damage,
        detail=detail,
    )


def _id(value: str | None) -> str | None:
    return (value or "").strip().strip("<>") or None


def _first_language(declared: str) -> str | None:
    """Return the most frequent of the languages a crawl found, `eng,deu`; None where it found none."""
    first = declared.partition(",")[0].strip()
    return first if first.isascii() and first.isalpha() and len(first) <= 8 else None
