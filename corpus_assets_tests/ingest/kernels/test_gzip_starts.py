import random
import re

import pytest

from corpus_assets.ingest.kernels.gzip_starts import find_gzip_starts
from textkernels.bytes import BLOCK_BYTES

START = b"\x1f\x8b\x08"
PIECES = [START, b"\x1f", b"\x8b", b"\x08", b"\x1f\x8b", b"\x8b\x08", b"\x1f\x1f\x8b\x08", b"\0",
          b"x" * 61]  # fmt: skip


def reference(data: bytes) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(START), data)]


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_have_the_starts_that_a_plain_search_finds(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(50):
        data = b"".join(draw.choices(PIECES, k=draw.randrange(60)))
        assert find_gzip_starts(data) == reference(data), data


@pytest.mark.parametrize("size", range(2 * BLOCK_BYTES + 3))
def test_a_start_may_lie_anywhere_and_be_cut_off(size: int) -> None:
    for start in (START, START[:2], START[:1]):
        data = b"x" * size + start
        assert find_gzip_starts(data) == reference(data)
        assert find_gzip_starts(data + b"x" * size) == reference(data + b"x" * size)


@pytest.mark.parametrize("data", [b"", START, START * 10_000])
def test_none_and_very_many(data: bytes) -> None:
    assert find_gzip_starts(data) == reference(data)
