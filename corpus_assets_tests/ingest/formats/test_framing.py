"""Members are opened in one go where that is certain, and step by step otherwise, to one result."""

import io
import random
import struct
import zlib
from typing import BinaryIO

import pytest

from corpus_assets.ingest.formats.framing import CHUNK_BYTES, GZIP, READ_BYTES, ArchiveFile
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.records import RawRecord
from corpus_assets_tests.ingest.warc_bytes import member, page, response

LIMIT = 1_000_000


class ShortReads(io.BytesIO):
    """A stream that hands out fewer bytes than asked for, as one from afar may."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(max(1, (size or 0) // 7))


def read(stream: BinaryIO) -> list[RawRecord]:
    return list(read_warc(stream, "a.warc.gz", LIMIT))


def packed(raw: bytes, flags: int = 0, fields: bytes = b"", level: int = 6) -> bytes:
    """A gzip member with a head of our choice."""
    deflater = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = deflater.compress(raw) + deflater.flush()
    head = GZIP + bytes([flags]) + b"\0\0\0\0\0\xff" + fields
    return head + body + struct.pack("<II", zlib.crc32(raw), len(raw))


ONE, TWO, THREE = (response(f"http://example.com/{n}", page(title=f"Page {n}")) for n in "123")
BAIT = response("http://example.com/bait", b"<p>" + GZIP * 20 + b"\0\0\0\0\0\xff" + GZIP)
NOISE = random.Random(5).randbytes(3 * READ_BYTES)
LARGE = response("http://example.com/large", b"<p>" + NOISE)
SIZE = struct.pack("<I", len(ONE))

FILES = {
    "plain": member(ONE) + member(TWO) + member(THREE),
    "false starts": member(ONE) + packed(BAIT, level=0) + member(TWO),
    "a false start with a size before it": packed(
        response("http://example.com/size", b"<p>" + struct.pack("<I", 500) + GZIP), level=0
    )
    + member(TWO),
    "larger than a window": member(ONE) + member(LARGE) + member(TWO),
    "twice the same around bytes of no member": member(ONE) + b"nothing" + member(ONE),
    "zeros between": member(ONE) + bytes(700) + member(TWO),
    "zeros at the end": member(ONE) + member(TWO) + bytes(700),
    "an empty member": member(ONE) + packed(b"") + member(TWO),
    "name, comment and more in the head": packed(ONE, 0b11100, b"\x02\x00ab" b"name\0why\0")
    + member(TWO),
    "a start in the head": packed(ONE, 0b01000, b"a" + GZIP + b"\0") + member(TWO),
    "a checksum of the head that is wrong": packed(ONE, 0b00010, b"\0\0") + member(TWO),
    "flags of no meaning": packed(ONE, 0b100000) + member(TWO),
    "a size too small": member(ONE)[:-4] + struct.pack("<I", 5) + member(TWO),
    "a size too large": member(ONE)[:-4] + struct.pack("<I", len(ONE) + 5) + member(TWO),
    "a size beyond all limits": member(ONE)[:-4] + b"\xff\xff\xff\xff" + member(TWO),
    "a wrong checksum": member(ONE)[:-8] + b"\0\0\0\0" + SIZE + member(TWO),
    "cut off": member(ONE) + member(TWO)[:-1],
    "cut off inside": member(ONE) + member(TWO)[:-9] + member(THREE),
    "cut off after its head": member(ONE) + member(TWO)[:10] + member(THREE),
    "no more than a start": member(ONE) + GZIP,
    "all in one": member(ONE + TWO + THREE),
    "a large one at the end": member(ONE) + member(LARGE),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_members_opened_in_one_go_are_what_step_by_step_finds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = read(io.BytesIO(FILES[name]))
    assert read(ShortReads(FILES[name])) == quick
    monkeypatch.setattr(ArchiveFile, "whole_member", lambda self, most_bytes: None)
    assert read(io.BytesIO(FILES[name])) == quick


def test_sound_members_are_opened_in_one_go() -> None:
    """Else the comparison above compares one way with itself."""
    for name in ("plain", "larger than a window", "name, comment and more in the head"):
        file = ArchiveFile(io.BytesIO(FILES[name]))
        while file.position < file.size:
            assert file.whole_member(LIMIT) is not None, (name, file.position)


@pytest.mark.parametrize("seed", range(5))
def test_members_in_any_company(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    data = b"".join(draw.choices(list(FILES.values()), k=30))
    quick = read(io.BytesIO(data))
    assert read(ShortReads(data)) == quick
    monkeypatch.setattr(ArchiveFile, "whole_member", lambda self, most_bytes: None)
    assert read(io.BytesIO(data)) == quick


def test_bytes_after_a_member_that_end_with_its_size_pass_for_part_of_it() -> None:
    """Somebody must have meant it, and it costs nobody a record."""
    stored = member(ONE) + b"nothing" + SIZE
    found = read(io.BytesIO(stored + member(TWO)))
    assert [(each.url, each.damage, each.offset, each.length) for each in found] == [
        ("http://example.com/1", None, 0, len(stored)),
        ("http://example.com/2", None, len(stored), len(member(TWO))),
    ]


def test_a_position_can_be_taken_up_again_inside_and_outside_of_what_was_read() -> None:
    data = NOISE
    file = ArchiveFile(io.BytesIO(data))
    assert file.take() == data[:CHUNK_BYTES]
    file.give_back(100)
    assert file.position == CHUNK_BYTES - 100
    assert file.peek(200) == data[CHUNK_BYTES - 100 :][:200]
    for place in (CHUNK_BYTES - 50, 7, 2 * READ_BYTES + 1, len(data), 0):
        file.seek(place)
        assert file.position == place
        rest = b"".join(iter(file.take, b""))
        assert rest == data[place:]
        assert file.position == len(data)


def test_a_member_that_inflates_to_more_than_allowed_is_left_where_it_is() -> None:
    file = ArchiveFile(io.BytesIO(member(bytes(50_000)) + member(ONE)))
    assert file.whole_member(49_999) is None
    assert file.position == 0
    assert file.whole_member(50_000) == bytes(50_000)
    assert file.whole_member(LIMIT) == ONE
    assert file.whole_member(LIMIT) is None
