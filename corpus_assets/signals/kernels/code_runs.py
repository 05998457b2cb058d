"""Runs of encoded data in text: base 64, hexadecimal bytes, escaped characters.

The patterns are those that The Stack v2 was searched with (Lozhkov et al. 2024), with every
repetition bounded or linear. A character that two patterns cover counts once.
"""

import numpy as np

from corpus_assets.text.split import Bytes, Ints
from textkernels.compiled import kernel

CHARS, LONGEST = 0, 1
MIN_BASE64 = 64
MIN_PAIRS = 16
MIN_ESCAPES = 8
MAX_GAP = 4


@kernel
def _is_base64(byte: int) -> bool:
    return (
        97 <= byte <= 122
        or 65 <= byte <= 90
        or 48 <= byte <= 57
        or byte == 43
        or byte == 47
        or byte == 61
        or byte == 10
    )


@kernel
def _is_hex(byte: int) -> bool:
    return 48 <= byte <= 57 or 97 <= byte <= 102 or 65 <= byte <= 70


@kernel
def _base64_end(data: Bytes, at: int, end: int) -> int:
    """End of a run of `[A-Za-z0-9+/=\\n]{64,}` at `at`, or `at`."""
    stop = at
    while stop < end and _is_base64(data[stop]):
        stop += 1
    return stop if stop - at >= MIN_BASE64 else at


@kernel
def _pairs_end(data: Bytes, at: int, end: int) -> int:
    """End of `(?:(?:0x|\\\\x)?[0-9a-fA-F]{2}[, \\t\\n]{0,4}){16,}` at `at`, or `at`."""
    place = at
    pairs = 0
    while place < end:
        start = place
        if start + 1 < end and data[start + 1] == 120 and (data[start] == 48 or data[start] == 92):
            start += 2
        if start + 2 > end or not _is_hex(data[start]) or not _is_hex(data[start + 1]):
            break
        place = start + 2
        gap = 0
        while place < end and gap < MAX_GAP:
            byte = data[place]
            if not (byte == 44 or byte == 32 or byte == 9 or byte == 10):
                break
            place += 1
            gap += 1
        pairs += 1
    return place if pairs >= MIN_PAIRS else at


@kernel
def _escapes_end(data: Bytes, at: int, end: int) -> int:
    """End of `(?:\\\\u[0-9a-fA-F]{4}){8,}` at `at`, or `at`."""
    place = at
    while place + 6 <= end and data[place] == 92 and data[place + 1] == 117:
        is_escape = True
        for k in range(2, 6):
            is_escape = is_escape and _is_hex(data[place + k])
        if not is_escape:
            break
        place += 6
    return place if place - at >= 6 * MIN_ESCAPES else at


@kernel
def encoded_runs(data: Bytes, offsets: Ints) -> Ints:
    """int64[n, 2]: characters in encoded runs, and the characters of the longest run.

    Each pattern is searched from the left without overlap, as `re.finditer` does; all that they
    match is ASCII, so bytes are characters. Linear: a pair or escape run that is too short has
    a bounded length, and a base-64 run that is too short is passed over as a whole.
    """
    n = offsets.shape[0] - 1
    out = np.zeros((n, 2), dtype=np.int64)
    for d in range(n):
        end = offsets[d + 1]
        at = offsets[d]
        base64_end = pairs_end = escapes_end = covered = at
        base64_next = at  # below it no base-64 run can begin
        while at < end:
            if at >= base64_end and at >= base64_next and _is_base64(data[at]):
                base64_end = _base64_end(data, at, end)
                if base64_end > at:
                    out[d, LONGEST] = max(out[d, LONGEST], base64_end - at)
                else:
                    base64_next = at + 1
                    while base64_next < end and _is_base64(data[base64_next]):
                        base64_next += 1
            if at >= pairs_end:
                pairs_end = _pairs_end(data, at, end)
                out[d, LONGEST] = max(out[d, LONGEST], pairs_end - at)
            if at >= escapes_end and data[at] == 92:
                escapes_end = _escapes_end(data, at, end)
                out[d, LONGEST] = max(out[d, LONGEST], escapes_end - at)
            reach = max(base64_end, pairs_end, escapes_end)
            if reach > covered:
                out[d, CHARS] += reach - max(covered, at)
                covered = reach
            at += 1
    return out
