"""Unicode's normal forms of any text, in time that follows its length.

To put the combining marks behind a letter into their order, the library moves each past the others
one by one: a page of nothing but marks takes minutes to hours, in C code that nothing stops. Text
written by people has few marks in a row. So texts are looked through for long runs of them, and
these put into order before the library sees them, which changes nothing in the result.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from textkernels.mark_runs import has_run

Apart = Literal["NFD", "NFKD"]

LONG_RUN = 64  # marks; shorter runs cost the library little
_FIRST, _AFTER_LAST = 0x300, 0x1F000  # there are no marks outside of these


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", _with_ordered_runs(text, "NFD"))


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", _with_ordered_runs(text, "NFD"))


def nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", _with_ordered_runs(text, "NFKD"))


def _with_ordered_runs(text: str, apart: Apart) -> str:
    """Long runs of marks taken apart and sorted as the forms demand: stable, by their class."""

    def ordered(run: re.Match[str]) -> str:
        marks = "".join(unicodedata.normalize(apart, mark) for mark in run[0])
        return "".join(sorted(marks, key=unicodedata.combining))

    if text.isascii() or not has_run(text.encode("utf-8", "replace"), _is_mark(apart), LONG_RUN):
        return text
    any_mark = f"[{''.join(map(chr, np.flatnonzero(_is_mark(apart)).tolist()))}]"
    return re.sub(f"{any_mark}{{{LONG_RUN},}}", ordered, text)


@lru_cache(maxsize=2)
def _is_mark(apart: Apart) -> npt.NDArray[np.uint8]:
    """By code point: whether it is a mark, or begins with one when taken apart."""
    table = np.zeros(0x110000, np.uint8)
    for code in range(_FIRST, _AFTER_LAST):
        first = unicodedata.normalize(apart, chr(code))[0]
        table[code] = unicodedata.combining(first) != 0
    return table
