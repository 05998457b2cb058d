import gzip
import random
import re
import zlib

import brotli
import pytest
import zstandard

from corpus_assets.ingest.formats.http import BadHttp, BodyTooLarge, decode_body, parse_head

BODY = b"<html><body>" + b"words and more words " * 400 + b"</body></html>"
LIMIT = 1_000_000


def chunk(*pieces: bytes) -> bytes:
    return b"".join(b"%x;ext=1\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def test_a_head_gives_status_headers_and_where_the_body_begins() -> None:
    block = b"HTTP/1.1 404 Not Found\r\nX-A: 1\r\nFolded: a\r\n b\r\nx-a: 2\r\n\r\nBODY"
    head = parse_head(block)
    assert head is not None
    assert head.status == 404
    assert head.headers == (("x-a", "1"), ("folded", "a b"), ("x-a", "2"))
    assert block[head.body_start :] == b"BODY"


def test_a_head_with_bare_line_feeds_and_odd_bytes_is_read() -> None:
    block = b"HTTP/1.0 200 OK\nServer: caf\xe9\nname: caf\xc3\xa9\n\nbody"
    head = parse_head(block)
    assert head is not None
    assert head.headers == (("server", "caf\xe9"), ("name", "caf\xe9"))
    assert block[head.body_start :] == b"body"


def test_the_first_empty_line_ends_a_head_whatever_its_line_ends_are() -> None:
    draw = random.Random(3)
    pieces = [b"\r\n", b"\r\n", b"\n", b"\r", b"a: b", b"c", b" d", b"x" * 1500]
    for _ in range(2000):
        block = b"HTTP/1.1 200 OK" + b"".join(draw.choices(pieces, k=draw.randrange(12)))
        empty = re.search(rb"\r?\n\r?\n", block)
        for given in (block, memoryview(block)):
            head = parse_head(given)
            assert head is not None
            assert head.body_start == (empty.end() if empty else len(block)), block


def test_what_does_not_begin_like_http_has_no_head() -> None:
    assert parse_head(b"") is None
    assert parse_head(b"<html>") is None


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(BODY, mtime=0)),
        ("x-gzip", gzip.compress(BODY[:50], mtime=0) + gzip.compress(BODY[50:], mtime=0)),
        ("deflate", zlib.compress(BODY)),
        ("deflate", raw_deflate(BODY)),
        ("br", brotli.compress(BODY)),
        ("zstd", zstandard.compress(BODY)),
        ("identity", BODY),
        ("gzip, br", brotli.compress(gzip.compress(BODY, mtime=0))),
    ],
)
def test_content_codings_are_undone(coding: str, packed: bytes) -> None:
    assert decode_body(packed, "", coding, LIMIT) == BODY
    assert decode_body(chunk(packed[:7], packed[7:]), "chunked", coding, LIMIT) == BODY


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_the_crawler_has_decoded_already_is_taken_as_it_is(coding: str) -> None:
    assert decode_body(BODY, "chunked", coding, LIMIT) == BODY


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(BODY, mtime=0)),
        ("deflate", zlib.compress(BODY)),
        ("br", brotli.compress(BODY)),
    ],
)
def test_a_body_cut_short_is_bad(coding: str, packed: bytes) -> None:
    with pytest.raises(BadHttp, match=coding):
        decode_body(packed[:-12], "", coding, LIMIT)


def test_broken_chunks_are_bad() -> None:
    with pytest.raises(BadHttp, match="chunked"):
        decode_body(chunk(b"one", b"two")[:-9], "chunked", "", LIMIT)


@pytest.mark.timeout(60)
def test_very_many_members_or_codings_are_bad_and_few_are_read() -> None:
    word, nothing = (gzip.compress(raw, mtime=0) for raw in (b"word ", b""))
    assert decode_body(word * 500, "", "gzip", LIMIT) == b"word " * 500
    with pytest.raises(BadHttp, match="gzip"):
        decode_body(nothing * 400_000, "", "gzip", LIMIT)
    body = word
    for _ in range(3):
        body = gzip.compress(body, mtime=0)
    assert decode_body(body, "", "gzip, gzip,gzip, x-gzip", LIMIT) == b"word "
    with pytest.raises(BadHttp, match="codings"):
        decode_body(b"<p>" + b"x" * 1_900_000, "", ", ".join(["br"] * 15_000), LIMIT)


@pytest.mark.parametrize(
    ("coding", "bomb"),
    [
        ("gzip", gzip.compress(b"\0" * 50_000_000, mtime=0)),
        ("deflate", zlib.compress(b"\0" * 50_000_000)),
        ("br", brotli.compress(b"\0" * 50_000_000, quality=4)),
        ("zstd", zstandard.compress(b"\0" * 50_000_000)),
    ],
)
def test_a_body_that_would_grow_past_the_limit_is_stopped(coding: str, bomb: bytes) -> None:
    with pytest.raises(BodyTooLarge):
        decode_body(bomb, "", coding, LIMIT)
