"""Web pages with other words in them: real markup, text of our own, as many as a benchmark wants.

A frame is a real page cut at its words. Filling it puts a drawn word where each word of the page
stood, so what a page costs to read and to extract stays what it was, and no two pages are alike.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from deflate import gzip_compress

from corpus_assets.ingest.formats.warc import read_warc

MAX_BYTES = 2_000_000
WORDS = (150, 6000)
"""Pages with fewer words have no text to speak of; with more, they are books."""
LATIN_SHARE = 0.95

_MARKUP = re.compile(rb"<(script|style|title)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.I | re.S)
_WORD = re.compile(rb"(?<![&#A-Za-z])[A-Za-z]{2,}")
_LETTER = re.compile(rb"[A-Za-z]")
_OTHER_LETTER = re.compile(rb"[\xc3-\xf4][\x80-\xbf]")


@dataclass(frozen=True)
class Frame:
    """`pieces` of a page: a word goes between each two of them."""

    pieces: tuple[bytes, ...]

    @property
    def n_words(self) -> int:
        return len(self.pieces) - 1

    def filled(self, words: list[bytes]) -> bytes:
        whole: list[bytes] = [b""] * (2 * len(self.pieces) - 1)
        whole[0::2] = self.pieces
        whole[1::2] = words
        return b"".join(whole)


def read_frames(archives: list[Path]) -> list[Frame]:
    """The pages of web archives that are mostly in Latin letters, as frames."""
    frames = []
    for path in archives:
        with open(path, "rb") as stream:
            for record in read_warc(stream, path.name, MAX_BYTES):
                is_page = record.payload is not None and b"<" in record.payload[:2000]
                frame = _frame(record.payload) if is_page else None
                if frame is not None:
                    frames.append(frame)
    return frames


def _frame(page: bytes) -> Frame | None:
    cuts = []
    text = bytearray()
    for start, end in _text_runs(page):
        cuts += [match.span() for match in _WORD.finditer(page, start, end)]
        text += page[start:end]
    latin, other = len(_LETTER.findall(text)), len(_OTHER_LETTER.findall(text))
    if not WORDS[0] <= len(cuts) <= WORDS[1] or latin < LATIN_SHARE * (latin + other):
        return None
    ends = [0, *(end for _, end in cuts)]
    starts = [*(start for start, _ in cuts), len(page)]
    return Frame(tuple(page[a:b] for a, b in zip(ends, starts, strict=True)))


def _text_runs(page: bytes) -> Iterator[tuple[int, int]]:
    place = 0
    for match in _MARKUP.finditer(page):
        if match.start() > place:
            yield place, match.start()
        place = match.end()


def response_record(url: str, page: bytes, number: int) -> bytes:
    """A page as one gzip member of a web archive."""
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012x}>\r\n"
        "WARC-Date: 2024-03-01T00:00:00Z\r\n"
        f"WARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return bytes(gzip_compress(head.encode() + body + b"\r\n\r\n", 1))


def drawn_words(
    random: np.random.Generator, words: np.ndarray, weights: np.ndarray, n: int
) -> list[bytes]:
    """`n` words by how often they stand in a library, some of them ending a sentence."""
    drawn = words[np.searchsorted(weights, random.random(n))].tolist()
    return [word.encode() for word in drawn]
