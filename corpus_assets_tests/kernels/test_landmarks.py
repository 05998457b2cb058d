import random
import re

import pytest

from corpus_assets.kernels.landmarks import MAX_HOSTS, find_landmarks

PIECES = [b"<meta", b"<META", b"<MeTa ", b"<met", b"meta", b"<", b"<<meta", b"creativecommons.org",
          b"CreativeCommons.ORG", b"creativecommons.or", b"commons.org", b".", b"x", b"\xff",
          b"\0", b" "]  # fmt: skip


def reference(page: bytes) -> tuple[list[int], list[int]]:
    metas = [found.start() for found in re.finditer(rb"<meta", page, re.IGNORECASE)]
    hosts = [found.start() for found in re.finditer(rb"creativecommons\.org", page)]
    return metas, hosts[:MAX_HOSTS]


@pytest.mark.parametrize("seed", range(20))
def test_random_pages_have_the_landmarks_that_a_plain_search_finds(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(50):
        page = b"".join(draw.choices(PIECES, k=draw.randrange(40)))
        assert find_landmarks(page) == reference(page), page


@pytest.mark.parametrize(
    "page", [b"", b"<", b"<meta", b"<met", b".", b"creativecommons.org", b"<meta" * 10_000,
             b"creativecommons.org" * 1000, b"<\xcdeta", b"<m\x05ta"]
)  # fmt: skip
def test_edges_and_floods_are_found_too(page: bytes) -> None:
    assert find_landmarks(page) == reference(page)
