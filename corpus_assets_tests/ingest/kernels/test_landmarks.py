import random
import re

import pytest

from corpus_assets.ingest.kernels.landmarks import (
    BLOCK_BYTES,
    MAX_DATES,
    MAX_HOSTS,
    MAX_LONGER_TAGS,
    find_landmarks,
    quoted_tags_with,
    tags_with,
)

PIECES = [b"<meta", b"<META", b"<MeTa ", b"<met", b"meta", b"<", b"<<meta", b"creativecommons.org",
          b"CreativeCommons.ORG", b"CREATIVECOMMONS.org", b"creatiVecommons.or", b"commons.org", b".", b"x", b"\xff",
          b"\0", b" ", b'"datePublished"', b"datePublished", b"datepublished", b"pubdate", b"published", b"application/rsl+xml", b"Application/RSL+XML", b"/rsl+xml",
          b"x" * 61]  # fmt: skip


def reference(page: bytes) -> tuple[list[int], list[int], list[int], bool, bool]:
    metas = [found.start() for found in re.finditer(rb"<meta", page, re.IGNORECASE)]
    hosts = [found.start() for found in re.finditer(rb"creativecommons\.org", page, re.I)]
    dates = [found.start() for found in re.finditer(rb'(?="datePublished")', page)]
    is_dated = re.search(rb"date[Pp]ublished|pubdate", page) is not None
    return (
        metas,
        hosts[:MAX_HOSTS],
        dates[:MAX_DATES],
        is_dated,
        b"application/rsl+xml" in page,
    )


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


@pytest.mark.parametrize("size", range(BLOCK_BYTES - 20, BLOCK_BYTES + 3))
def test_landmarks_may_lie_across_blocks(size: int) -> None:
    for mark in (
        b"<meta",
        b"creativecommons.org",
        b"CREATIVECOMMONS.ORG",
        b'"datePublished"',
        b"datepublished",
        b"pubdate",
        b"application/rsl+xml",
    ):
        page = b"x" * size + mark
        assert find_landmarks(page) == reference(page)
        assert find_landmarks(page + b"y" * 200) == reference(page)


def selected(page: bytes, places: list[int], words: tuple[bytes, ...], longest: int) -> list[int]:
    found = []
    for at in places:
        end = page.find(b">", at, at + longest)
        end = end if end >= 0 else at + longest
        if any(word in page[at:end].lower() for word in words):
            found.append(at)
    return found


def tag_end(tag: bytes) -> int:
    """The first '>' outside of quotes that stand after '=' and are closed."""
    at = 0
    while True:
        end = tag.find(b">", at) % (len(tag) + 1)  # its length where there is none
        quote = re.compile(rb"=[\0-\x20]*([\"'])").search(tag, at, end)
        close = tag.find(quote[1], quote.end()) if quote else -1
        if close < 0:
            return end
        at = close + 1


def selected_quoted(
    page: bytes, places: list[int], words: tuple[bytes, ...], longest: int
) -> list[tuple[int, int]]:
    found, first = [], 0
    for at in places:
        if at < first:
            continue
        tag = page[at : at + longest]
        first = at + tag.find(b">") % (len(tag) + 1)
        end = tag_end(tag)
        if any(word in tag[:end].lower() for word in words):
            found.append((at, at + end))
    return found


@pytest.mark.parametrize("seed", range(10))
def test_tags_with_a_word_are_those_that_a_plain_search_selects(seed: int) -> None:
    draw = random.Random(seed)
    pieces = [b"<meta ", b"NoAi", b"noai", b"no", b">", b" content=", b"dat", b"x", b"\xce"]
    quoted = [b"='", b"'", b'= "', b'"', *pieces]
    for number in range(90):
        rare = [b"y" * 9, b"n" * 5, b"N-", *pieces] if number % 2 else quoted
        page = b"".join(draw.choices(rare, k=draw.randrange(40 if number % 3 else 400)))
        places = find_landmarks(page).metas
        for words in ((b"noai",), (b"noai", b"dat"), (b"n-", b"xx"), ()):
            for longest in (30, 200):
                expected = selected(page, places, words, longest)
                assert tags_with(page, places, words, longest) == expected, page
                spans = selected_quoted(page, places, words, longest)
                assert quoted_tags_with(page, places, words, longest) == spans, page


def test_tags_past_the_first_256_with_a_sign_in_quotes_end_at_their_first_sign() -> None:
    page = b"<meta a='>' noai>" * (MAX_LONGER_TAGS + 2)
    spans = quoted_tags_with(page, find_landmarks(page).metas, (b"noai",), 100)
    assert len(spans) == MAX_LONGER_TAGS
