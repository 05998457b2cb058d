"""NFKC of most texts that need it, character by character.

Unicode's normal form looks at neighbours, and a library that does so takes 30 ns a byte. In nearly
all texts that are not in that form, what has to change stands alone (a ligature, a fraction, a
trade mark): each becomes what NFKC makes of it by itself, and that is NFKC of the text. It holds
where the replacement begins with a character that joins nothing before it, and the character after
it joins nothing before it either.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.text.codepoints import code_points, each_of, text_buffers
from textkernels.byte_search import byte_kernel, copy_bytes
from textkernels.utf8 import decode

SAME, JOINED = -1, -2

_ASSIGNED = ((0, 0xD800), (0xE000, 0x40000), (0xE0000, 0xE1000))
"""Where Unicode has characters. Planes 4 to 13 are empty, 15 and 16 are for private use: there is
nothing there that would make a word, fold, or change its form."""


def assigned_codes() -> npt.NDArray[np.uint32]:
    """Return the code points that tables are built from; all others are as tables begin."""
    return np.concatenate([np.arange(*span, dtype=np.uint32) for span in _ASSIGNED])


class Replacements(NamedTuple):
    """What NFKC makes of single characters."""

    numbers: npt.NDArray[np.int32]  # by code point: which replacement, SAME, or JOINED: not alone
    starts: npt.NDArray[np.int64]  # replacements + 1
    data: npt.NDArray[np.uint8]


def replacements_of(order: npt.NDArray[np.uint8]) -> Replacements:
    """Return the table, from the combining classes of `char_tables`: 0 of whatever joins nothing."""
    codes = assigned_codes()
    chars = each_of(codes)
    composed = pc.utf8_normalize(chars, "NFKC")
    is_changed = pc.not_equal(chars, composed)
    changed = codes[is_changed.to_numpy(zero_copy_only=False)]
    became = pa.concat_arrays([composed.filter(is_changed)])
    lengths = pc.utf8_length(became).to_numpy()
    firsts = code_points(became)[np.cumsum(lengths) - lengths]
    numbers = np.full(0x110000, SAME, np.int32)
    places = np.arange(len(changed), dtype=np.int32)
    numbers[changed] = np.where(order[firsts] == 0, places, np.int32(JOINED))
    data, starts = text_buffers(became)
    numbers.flags.writeable = False
    return Replacements(numbers, starts, data)


def replace_alone(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    which: npt.NDArray[np.bool_],
    table: Replacements,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the texts with the characters of those chosen by `which` replaced, all others as they
    are."""
    ends = np.zeros(len(offsets), np.int64)
    nothing = np.empty(0, np.uint8)
    size = _replace(data, offsets, which, table, nothing, ends)
    out = np.empty(size, np.uint8)
    _replace(data, offsets, which, table, out, ends)
    return out, ends


@byte_kernel
def _replace(data: Any, offsets: Any, which: Any, table: Any, out: Any, ends: Any) -> int:
    """Write the texts to `out`, or nothing where it has no room; their size."""
    numbers, starts, spelled = table.numbers, table.starts, table.data
    writes = len(out) > 0
    size = 0
    for text in range(len(offsets) - 1):
        at, end = offsets[text], offsets[text + 1]
        begin = at  # of what is copied as it is
        while which[text] and at < end:
            if data[at] < 0x80:
                at += 1
                continue
            code, width = decode(data, at, end)
            number = numbers[code]
            if number >= 0:
                first, last = starts[number], starts[number + 1]
                if writes:
                    copy_bytes(data, begin, at, out, size)
                    copy_bytes(spelled, first, last, out, size + at - begin)
                size += at - begin + last - first
                begin = at + width
            at += width
        if writes:
            copy_bytes(data, begin, end, out, size)
        size += end - begin
        ends[text + 1] = size
    return int(size)
