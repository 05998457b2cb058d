import random

import pytest

from pageblocks.kernels.utf8_counts import Utf8Counts, utf8_counts
from textkernels.bytes import BLOCK_BYTES

PIECES = [b"a" * 70, b"<p>\r\n\t", "ä".encode(), "語".encode(), "𝄞".encode(), b"\0", b"\x01", b"\x1b",
          "\ufffd".encode(), b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\x80",
          b"\xc3", b"\xe8\xaa", b"\xf0\x9d\x84", b"\x80", b"\x7f", b"\xf0\x80\x80\x80"]  # fmt: skip


def reference(data: bytes) -> Utf8Counts | None:
    """What a decoder makes of it; None where it refuses."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return Utf8Counts(
        True,
        len(text),
        sum(char > "\x7f" for char in text),
        sum(char < " " and char not in "\t\n\f\r\x1b\0" for char in text),
        text.count("\ufffd"),
        text.count("\0"),
    )


def agrees(data: bytes) -> bool:
    found, expected = utf8_counts(data), reference(data)
    return not found.is_valid if expected is None else found == expected


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_are_counted_as_a_decoder_counts_them(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(60):
        valid = draw.random() < 0.5
        data = b"".join(draw.choices(PIECES[: 9 if valid else None], k=draw.randrange(12)))
        assert agrees(data), data


def test_every_short_sequence_is_valid_where_a_decoder_says_so() -> None:
    for lead in range(256):
        for second in (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0):
            for rest in (b"", b"\x80", b"\x80\x80", b"\xbf\xbf", b"a"):
                data = bytes([lead, second]) + rest
                assert agrees(data), data


def test_sequences_may_lie_across_blocks() -> None:
    for size in range(BLOCK_BYTES - 4, BLOCK_BYTES + 2):
        assert agrees(b"x" * size + "𝄞語ä".encode() + b"y" * 200)
        assert agrees(b"x" * size + "𝄞".encode()[:-1])


def test_control_bytes_and_nuls_of_invalid_pages_are_counted_too() -> None:
    found = utf8_counts(b"\xff\x01\x02\0" + b"x" * 100)
    assert (found.is_valid, found.controls, found.nuls) == (False, 2, 1)
