import gzip
import io
import zlib

import brotli
import pytest

from corpus_assets.ingest.formats.record_beginning import body_beginning
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets_tests.ingest.warc_bytes import http, members, record

URL = "http://example.com/robots.txt"
LINES = b"".join(b"Disallow: /%d\n" % n for n in range(5000))
LIMIT = 20_000


def beginning(body: bytes, headers: str = "") -> bytes:
    data = members(record(http(body, f"Content-Type: text/plain{headers}"), URL))
    [found] = read_warc(io.BytesIO(data), "a.warc.gz", 50_000)
    return body_beginning(io.BytesIO(data), found, LIMIT)


def chunks(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


CHUNKED = "\r\nTransfer-Encoding: chunked"
CASES = {
    "too large": (LINES, ""),
    "cut gzip": (gzip.compress(LINES)[:-9], "\r\nContent-Encoding: gzip"),
    "cut zlib": (zlib.compress(LINES)[:-5], "\r\nContent-Encoding: deflate"),
    "cut raw deflate": (zlib.compress(LINES)[2:-5], "\r\nContent-Encoding: deflate"),
    "chunks that break off": (chunks(LINES[:9000], LINES[9000:]) + b"zz\r\n", CHUNKED),
    "a last chunk that is short": (chunks(LINES[:30_000])[:-500], CHUNKED),
    "no chunks, whatever it says": (LINES, CHUNKED),
    "gzip in chunks": (
        chunks(gzip.compress(LINES)[:-9]) + b"zz",
        f"{CHUNKED}\r\nContent-Encoding: gzip",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_whole_lines_of_the_beginning_are_read(name: str) -> None:
    found = beginning(*CASES[name])
    assert LINES.startswith(found)
    assert found.endswith(b"\n")
    assert len(found) > LIMIT - 100
    assert len(found) <= LIMIT + 1


def test_nothing_is_had_of_codings_that_cannot_be_read_in_part() -> None:
    assert beginning(brotli.compress(LINES)[:-9], "\r\nContent-Encoding: br")[:9] != LINES[:9]
    data = members(record(b"no response at all" * 9000, URL))
    [found] = read_warc(io.BytesIO(data), "a.warc.gz", 50_000)
    assert body_beginning(io.BytesIO(data), found, LIMIT) == b""


@pytest.mark.timeout(60)
def test_very_many_chunks_are_joined() -> None:
    single = chunks(*(LINES[n : n + 1] for n in range(len(LINES))))
    found = beginning(single + b"zz", CHUNKED)
    assert LINES.startswith(found)
    assert len(found) > LIMIT - 100
