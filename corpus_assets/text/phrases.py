"""How often listed phrases stand in spans of text, ASCII case ignored.

Equal to counting the matches of one Python regular expression, the phrases as alternatives and
the longest first, over the text with its ASCII letters made small: matches do not overlap, and
at one place the longest phrase that fits is taken. With `whole_words` a match may touch no
letter, numeral or underscore on either side (the ends of the span are free).

Cost: one look-up a byte by the pair of bytes there; phrases are compared only where one of them
begins with that pair. Nothing overflows below 2**63 bytes a batch.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_assets.text.split import END, START, Bytes, Ints
from corpus_assets.text.unicode import ALPHANUMERIC
from textkernels.compiled import kernel
from textkernels.utf8 import decode, last_code_point

_UNDERSCORE = 0x5F


class Phrases(NamedTuple):
    """Phrases in the order in which they are tried: by first byte, then longest first."""

    data: Bytes
    offsets: Ints
    groups: Ints  # int64[257]: phrases whose first byte is b are groups[b]:groups[b + 1]
    pairs: Bytes  # uint8[65536]: 1 where some phrase can begin with these two bytes


@lru_cache(maxsize=64)
def phrase_table(phrases: tuple[str, ...]) -> Phrases:
    """Prepare phrases for `count_phrases`, once a process; empty ones and repeats go."""
    small = {bytes(_lower(b) for b in phrase.encode()) for phrase in phrases if phrase}
    ordered = sorted(small, key=lambda p: (p[0], -len(p), p))
    groups = np.zeros(257, dtype=np.int64)
    pairs = np.zeros(65536, dtype=np.uint8)
    for phrase in ordered:
        groups[phrase[0] + 1] += 1
        if len(phrase) == 1:
            pairs[phrase[0] << 8 : (phrase[0] + 1) << 8] = 1
        else:
            pairs[phrase[0] << 8 | phrase[1]] = 1
    return Phrases(
        np.frombuffer(b"".join(ordered), dtype=np.uint8).copy(),
        np.cumsum([0, *map(len, ordered)], dtype=np.int64),
        np.cumsum(groups, dtype=np.int64),
        pairs,
    )


def _lower(byte: int) -> int:
    return byte + 32 if 65 <= byte <= 90 else byte


@kernel
def lower(byte: int) -> int:
    """ASCII capital to small letter; all other bytes as they are."""
    return byte + 32 if 65 <= byte <= 90 else byte


@kernel
def is_word(classes: Bytes, point: int) -> bool:
    """What `\\w` of a regular expression matches."""
    return point == _UNDERSCORE or bool(classes[point] & ALPHANUMERIC)


@kernel
def may_begin(data: Bytes, at: int, high: int, pairs: Bytes) -> bool:
    """Whether some phrase begins with the two bytes at `at`."""
    second = lower(int(data[at + 1])) if at + 1 < high else 0
    return bool(pairs[lower(int(data[at])) << 8 | second])


@kernel
def match_at(
    data: Bytes, low: int, at: int, high: int, phrases: Phrases, whole: bool, classes: Bytes
) -> int:
    """Length in bytes of the phrase that stands at `at` inside [low, high), or 0.

    Ask `may_begin` before: handing over the table of phrases costs more than its answer.
    """
    first = lower(int(data[at]))
    if whole and at > low and is_word(classes, last_code_point(data, low, at)):
        return 0
    for p in range(phrases.groups[first], phrases.groups[first + 1]):
        begin = phrases.offsets[p]
        length = phrases.offsets[p + 1] - begin
        if at + length > high:
            continue
        same = True
        for k in range(1, length):
            if lower(int(data[at + k])) != phrases.data[begin + k]:
                same = False
                break
        if not same:
            continue
        if whole and at + length < high:
            point, _ = decode(data, at + length, high)
            if is_word(classes, point):
                continue
        return int(length)
    return 0


@kernel
def count_phrases(
    data: Bytes, spans: Ints, phrases: Phrases, whole: bool, classes: Bytes
) -> npt.NDArray[np.int64]:
    """int64[k]: matches in each span of `spans: int64[k, >= 2]`."""
    out = np.zeros(spans.shape[0], dtype=np.int64)
    pairs = phrases.pairs
    for s in range(spans.shape[0]):
        low, high = spans[s, START], spans[s, END]
        at = low
        while at < high:
            length = 0
            if may_begin(data, at, high, pairs):
                length = match_at(data, low, at, high, phrases, whole, classes)
            if length:
                out[s] += 1
                at += length
            else:
                at += 1
    return out
