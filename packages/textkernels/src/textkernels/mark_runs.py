"""Whether many characters of a kind follow each other in a text."""

from typing import Any

import numpy as np
import numpy.typing as npt

from textkernels.byte_search import byte_kernel
from textkernels.bytes import BLOCK_BYTES, above64, zeros_below
from textkernels.utf8 import decode

Bytes = npt.NDArray[np.uint8]


def has_run(utf8: bytes, is_member: Bytes, length: int) -> bool:
    """Whether `length` characters in a row are members, 1 in the table at their code point.

    ASCII is none. Bytes that are not UTF-8 count as U+FFFD.
    """
    return bool(_has_run(np.frombuffer(utf8, dtype=np.uint8), is_member, length))


@byte_kernel
def _has_run(data: Any, is_member: Any, length: int) -> bool:
    pos: Any = 0
    end = len(data)
    run = 0
    while pos < end:
        if data[pos] < 0x80:
            run = 0
            if pos + BLOCK_BYTES <= end:
                pos += np.int64(zeros_below(above64(data, pos, 0x7F)))
            else:
                pos += 1
            continue
        code, width = decode(data, pos, end)
        pos += width
        run = run + 1 if is_member[code] else 0
        if run >= length:
            return True
    return False
