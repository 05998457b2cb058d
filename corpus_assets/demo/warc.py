"""Write WARC/1.0 files in the way Common Crawl writes them.

A file is a row of gzip members, one a record: `warcinfo`, then for each capture a `request`, a
`response` and a `metadata` record. Record ids are name-based, dates are the capture's, and the
gzip header is written by hand (no time, no name, no system), so bytes depend on the captures
and on zlib only. zlib 1.2 and 1.3 compress alike at level 6; zlib-ng does not, and a Python
built on it gives files with other compressed bytes and the same records.
"""

import base64
import hashlib
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import urlsplit

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:corpus-assets:demo")
_CRLF = b"\r\n"
_REASONS = {200: "OK", 301: "Moved Permanently", 404: "Not Found", 500: "Internal Server Error"}

TRUNCATED = "truncated"
CORRUPT = "corrupt"


@dataclass(frozen=True)
class Exchange:
    """One fetched page, as it goes over the wire and into the archive."""

    url: str
    fetched: datetime
    status: int
    headers: tuple[tuple[str, str], ...]  # without Content-Length and Date
    body: bytes
    payload_type: str  # what the crawler took the payload for
    damage: str | None = None  # TRUNCATED or CORRUPT: what happens to the response's bytes


def write_warc(path: Path, snapshot: str, exchanges: Sequence[Exchange]) -> None:
    """Write one file. A truncated exchange must be the last: the file ends in its middle."""
    members: list[bytes] = []
    started = min((each.fetched for each in exchanges), default=datetime(2024, 1, 1, tzinfo=UTC))
    info_id = _record_id(snapshot, path.name, "warcinfo")
    members.append(gzip_member(_warcinfo(snapshot, path.name, info_id, started)))
    for number, exchange in enumerate(exchanges):
        request_id = _record_id(snapshot, path.name, number, "request")
        response_id = _record_id(snapshot, path.name, number, "response")
        metadata_id = _record_id(snapshot, path.name, number, "metadata")
        ids = (info_id, request_id, response_id, metadata_id)
        members.append(gzip_member(_request(exchange, ids)))
        response = gzip_member(_response(exchange, ids))
        if exchange.damage == TRUNCATED:
            members.append(response[: len(response) * 2 // 3])
            break
        members.append(_corrupt(response) if exchange.damage == CORRUPT else response)
        members.append(gzip_member(_metadata(exchange, ids)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(members))


def gzip_member(data: bytes) -> bytes:
    """Compress one gzip member without time, name or system in its header."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(data) + packer.flush()
    tail = zlib.crc32(data).to_bytes(4, "little") + (len(data) % 2**32).to_bytes(4, "little")
    return _GZIP_HEADER + packed + tail


def http_block(exchange: Exchange) -> bytes:
    """Return the response as captured: status line, headers, payload."""
    lines = [f"HTTP/1.1 {exchange.status} {_REASONS[exchange.status]}"]
    lines += [f"Date: {format_datetime(exchange.fetched, usegmt=True)}"]
    lines += [f"{name}: {value}" for name, value in exchange.headers]
    lines += [f"Content-Length: {len(exchange.body)}"]
    return _CRLF.join(line.encode("utf-8") for line in lines) + 2 * _CRLF + exchange.body


def _corrupt(member: bytes) -> bytes:
    """Return the member with 48 bytes of its middle overwritten; it can no longer be inflated."""
    middle = len(member) // 2
    return member[:middle] + b"\xff" * 48 + member[middle + 48 :]


def _record(kind: str, fields: list[tuple[str, str]], block: bytes) -> bytes:
    head = [("WARC-Type", kind), *fields, ("Content-Length", str(len(block)))]
    lines = ["WARC/1.0", *(f"{name}: {value}" for name, value in head)]
    return _CRLF.join(line.encode("utf-8") for line in lines) + 2 * _CRLF + block + 2 * _CRLF


def _warcinfo(snapshot: str, name: str, info_id: str, started: datetime) -> bytes:
    block = (
        f"isPartOf: {snapshot}\r\n"
        "publisher: corpus-assets demo\r\n"
        "description: Invented crawl of invented sites for a demo corpus\r\n"
        "operator: nobody@example.org\r\n"
        "hostname: crawler-01.example.org\r\n"
        "software: corpus-assets demo generator\r\n"
        "robots: checked via corpus-assets demo robots rules\r\n"
        "format: WARC File Format 1.0\r\n"
        "conformsTo: http://bibnum.bnf.fr/WARC/WARC_ISO_28500_version1_latestdraft.pdf\r\n"
    ).encode()
    fields = [
        ("WARC-Date", _stamp(started)),
        ("WARC-Record-ID", info_id),
        ("WARC-Filename", name),
        ("Content-Type", "application/warc-fields"),
        ("WARC-Block-Digest", sha1_digest(block)),
    ]
    return _record("warcinfo", fields, block)


def _request(exchange: Exchange, ids: tuple[str, str, str, str]) -> bytes:
    split = urlsplit(exchange.url)
    path = (split.path or "/") + (f"?{split.query}" if split.query else "")
    block = (
        f"GET {path} HTTP/1.1\r\n"
        "User-Agent: CorpusDemoBot/1.0 (https://crawler.example.org/bot.html)\r\n"
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
        "Accept-Language: en-US,en;q=0.5\r\n"
        "Accept-Encoding: br,gzip\r\n"
        f"Host: {split.netloc}\r\n"
        "Connection: Keep-Alive\r\n\r\n"
    ).encode()
    fields = [
        ("WARC-Date", _stamp(exchange.fetched)),
        ("WARC-Record-ID", ids[1]),
        ("Content-Type", "application/http; msgtype=request"),
        ("WARC-Warcinfo-ID", ids[0]),
        ("WARC-IP-Address", _address(split.netloc)),
        ("WARC-Target-URI", exchange.url),
        ("WARC-Block-Digest", sha1_digest(block)),
    ]
    return _record("request", fields, block)


def _response(exchange: Exchange, ids: tuple[str, str, str, str]) -> bytes:
    block = http_block(exchange)
    fields = [
        ("WARC-Date", _stamp(exchange.fetched)),
        ("WARC-Record-ID", ids[2]),
        ("Content-Type", "application/http; msgtype=response"),
        ("WARC-Warcinfo-ID", ids[0]),
        ("WARC-Concurrent-To", ids[1]),
        ("WARC-IP-Address", _address(urlsplit(exchange.url).netloc)),
        ("WARC-Target-URI", exchange.url),
        ("WARC-Payload-Digest", sha1_digest(exchange.body)),
        ("WARC-Block-Digest", sha1_digest(block)),
        ("WARC-Identified-Payload-Type", exchange.payload_type),
    ]
    return _record("response", fields, block)


def _metadata(exchange: Exchange, ids: tuple[str, str, str, str]) -> bytes:
    digest = hashlib.blake2b(exchange.url.encode("utf-8"), digest_size=2).digest()
    took = 40 + int.from_bytes(digest, "little") % 1800
    block = f"fetchTimeMs: {took}\r\n\r\n".encode()
    fields = [
        ("WARC-Date", _stamp(exchange.fetched + timedelta(seconds=1))),
        ("WARC-Record-ID", ids[3]),
        ("Content-Type", "application/warc-fields"),
        ("WARC-Warcinfo-ID", ids[0]),
        ("WARC-Concurrent-To", ids[2]),
        ("WARC-Target-URI", exchange.url),
        ("WARC-Block-Digest", sha1_digest(block)),
    ]
    return _record("metadata", fields, block)


def sha1_digest(data: bytes) -> str:
    """`sha1:` and the digest in base 32, as WARC headers write it."""
    raw = hashlib.sha1(data, usedforsecurity=False).digest()
    return "sha1:" + base64.b32encode(raw).decode("ascii")


def _record_id(*name: str | int) -> str:
    return f"<urn:uuid:{uuid.uuid5(_NAMESPACE, '/'.join(str(part) for part in name))}>"


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _address(host: str) -> str:
    """Return an address of the documentation range 192.0.2.0/24 (RFC 5737) for each host."""
    last = hashlib.blake2b(host.encode("utf-8"), digest_size=2).digest()
    return f"192.0.2.{1 + int.from_bytes(last, 'little') % 254}"
