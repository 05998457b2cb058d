"""What a page's bytes are as UTF-8, without decoding them: asked of every page that comes in.

64 bytes are compared at once; only those that are not plain ASCII, few in markup, are looked at
one by one.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_assets.ingest.kernels.control_bytes import is_control
from corpus_assets.text.byte_search import byte_kernel
from corpus_assets.text.bytes import BLOCK_BYTES, above64, equal64, zeros_below

Bytes = npt.NDArray[np.uint8]


class Utf8Counts(NamedTuple):
    """Counts over a page; all but `chars` and `non_ascii` hold for invalid UTF-8 as well."""

    is_valid: bool  # as a strict decoder sees it: no surrogates, no long forms
    chars: int
    non_ascii: int  # characters beyond ASCII
    controls: int  # as `count_control_bytes` counts them
    replacements: int  # U+FFFD
    nuls: int


def utf8_counts(data: bytes) -> Utf8Counts:
    """About 0.1 ns a byte of ASCII, 1 to 2 ns where other characters stand."""
    valid, chars, non_ascii, controls, replacements, nuls = _count(
        np.frombuffer(data, dtype=np.uint8)
    )
    return Utf8Counts(
        bool(valid), int(chars), int(non_ascii), int(controls), int(replacements), int(nuls)
    )


@byte_kernel
def _odd(data: Bytes, at: int) -> np.uint64:
    """Which of 64 bytes are more than ASCII and the controls that lay text out."""
    laid_out = equal64(data, at, 9) | equal64(data, at, 10) | equal64(data, at, 13)
    odd: np.uint64 = above64(data, at, 127) | ~(above64(data, at, 31) | laid_out)
    return odd


@byte_kernel
def _sequence(data: Bytes, at: int) -> int:
    """Length of the sequence of two bytes or more that begins at `at`; 0 where it is not valid."""
    lead, left = data[at], len(data) - at
    if lead < 0xE0:
        is_valid = lead >= 0xC2 and left >= 2 and data[at + 1] & 0xC0 == 0x80
        return 2 if is_valid else 0
    if lead > 0xF4 or left < 3 or data[at + 2] & 0xC0 != 0x80:
        return 0
    second = data[at + 1]
    low = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
    high = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
    if second < low or second > high:
        return 0
    if lead < 0xF0:
        return 3
    return 4 if left >= 4 and data[at + 3] & 0xC0 == 0x80 else 0


@byte_kernel
def _count(data: Bytes) -> tuple[bool, int, int, int, int, int]:
    n = len(data)
    at = chars = non_ascii = controls = replacements = nuls = 0
    valid = True
    for base in range(0, n, BLOCK_BYTES):
        end = min(base + BLOCK_BYTES, n)
        odd = _odd(data, base) if base + BLOCK_BYTES <= n else ~np.uint64(0)
        while at < end:  # a sequence may have come over from the block before
            left = odd >> np.uint64(at - base)
            if left == 0:
                chars += end - at
                at = end
                break
            plain = int(zeros_below(left))
            chars += plain
            at += plain
            if at >= end:
                break
            byte = data[at]
            chars += 1
            if byte < 128:
                controls += is_control(byte)
                nuls += byte == 0
                at += 1
                continue
            non_ascii += 1
            length = _sequence(data, at)
            if length == 0:
                valid = False
                at += 1
                continue
            if byte == 0xEF and data[at + 1] == 0xBF and data[at + 2] == 0xBD:
                replacements += 1
            at += length
    return valid, chars, non_ascii, controls, replacements, nuls
