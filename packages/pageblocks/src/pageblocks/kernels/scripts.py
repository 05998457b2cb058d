"""Scripts that are written without spaces: one table of their ranges, and the rules that ask it."""

import numpy as np
import numpy.typing as npt

from textkernels.byte_search import byte_kernel

Ranges = npt.NDArray[np.int64]

COUNTS_THRICE, IS_WIDE, IS_UNIT, HAS_ZERO_SPACES = 1, 2, 4, 8
"""Rules: a character weighs as much as three letters do; where a line of the source ends between two
such characters there is no space; it is a word by itself where texts are compared; a space of no
width may stand between words, and is kept."""

_RANGES = (
    # first, after the last, rules
    (0x0E00, 0x0E80, COUNTS_THRICE | IS_UNIT | HAS_ZERO_SPACES),  # Thai
    (0x0E80, 0x0F00, IS_UNIT | HAS_ZERO_SPACES),  # Lao
    (0x1000, 0x10A0, HAS_ZERO_SPACES),  # Burmese
    (0x1780, 0x1800, IS_UNIT | HAS_ZERO_SPACES),  # Khmer
    (0x2E80, 0x3000, COUNTS_THRICE | IS_WIDE | IS_UNIT),  # radicals of Han
    (0x3000, 0x3001, COUNTS_THRICE),  # the wide space
    (0x3001, 0x3040, COUNTS_THRICE | IS_WIDE),  # punctuation of Chinese and Japanese
    (0x3040, 0x3130, COUNTS_THRICE | IS_WIDE | IS_UNIT),  # kana, bopomofo
    (0x3130, 0x3190, COUNTS_THRICE | IS_UNIT),  # letters of Hangul by themselves
    (0x3190, 0xA000, COUNTS_THRICE | IS_WIDE | IS_UNIT),  # Han
    (0xA000, 0xA4D0, COUNTS_THRICE | IS_WIDE),  # Yi
    (0xA4D0, 0xAC00, COUNTS_THRICE),  # Lisu, Vai, Javanese ...
    (0xD7B0, 0xF900, COUNTS_THRICE),  # after the syllables of Hangul: private use
    (0xF900, 0xFB00, COUNTS_THRICE | IS_WIDE | IS_UNIT),  # Han for compatibility
    (0xFB00, 0xFE30, COUNTS_THRICE),  # ligatures, forms of Arabic
    (0xFE30, 0xFE50, COUNTS_THRICE | IS_WIDE),  # punctuation of vertical text
    (0xFE50, 0xFF00, COUNTS_THRICE),
    (0xFF01, 0xFFA0, IS_WIDE),  # wide forms of ASCII and of kana
    (0x20000, 0x40000, IS_WIDE),  # rare Han
)


def _ranges_of(rule: int) -> list[tuple[int, int]]:
    """The ranges of a rule, ascending, those joined that follow each other."""
    joined: list[tuple[int, int]] = []
    for first, stop, rules in _RANGES:
        if rules & rule and joined and joined[-1][1] == first:
            joined[-1] = joined[-1][0], stop
        elif rules & rule:
            joined.append((first, stop))
    return joined


_THRICE, _WIDE, _ZERO_SPACES = (
    np.array(_ranges_of(rule), dtype=np.int64) for rule in (COUNTS_THRICE, IS_WIDE, HAS_ZERO_SPACES)
)
UNITS = "".join(f"{chr(first)}-{chr(stop - 1)}" for first, stop in _ranges_of(IS_UNIT))
"""What is a word by itself, for a character class of `re`."""


@byte_kernel
def _is_in(code: int, ranges: Ranges) -> bool:
    for place in range(len(ranges)):
        if code < ranges[place, 0]:  # at once, for most scripts
            return False
        if code < ranges[place, 1]:
            return True
    return False


@byte_kernel
def weight(code: int) -> int:
    """How many letters a character weighs: 3 in scripts without spaces, else 1."""
    return 3 if _is_in(code, _THRICE) else 1


@byte_kernel
def is_wide(code: int) -> bool:
    """Wide characters of Chinese, Japanese and Yi and their punctuation, without Hangul and the
    wide space."""
    return bool(_is_in(code, _WIDE))


@byte_kernel
def is_southeast_asian(code: int) -> bool:
    """Thai, Lao, Burmese and Khmer, where a space of no width may stand between words."""
    return bool(_is_in(code, _ZERO_SPACES))
