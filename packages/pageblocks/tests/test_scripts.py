"""Rules for scripts without spaces, against their ranges written out."""

import re

from pageblocks.kernels.scripts import UNITS, is_southeast_asian, is_wide, weight

CODES = range(0x110000)


def test_rules_are_those_of_their_ranges() -> None:
    for code in CODES:
        assert weight(code) == (
            3
            if (0x2E80 <= code < 0xFF00 and not 0xAC00 <= code < 0xD7B0) or 0xE00 <= code < 0xE80
            else 1
        )
        assert is_wide(code) == (
            0x2E80 <= code < 0x3000 or 0x3001 <= code < 0x3130 or 0x3190 <= code < 0xA4D0
            or 0xF900 <= code < 0xFB00 or 0xFE30 <= code < 0xFE50 or 0xFF01 <= code < 0xFFA0
            or 0x20000 <= code < 0x40000
        )  # fmt: skip
        assert is_southeast_asian(code) == (
            0xE00 <= code < 0xF00 or 0x1000 <= code < 0x10A0 or 0x1780 <= code < 0x1800
        )


def test_units_are_characters_that_are_words_by_themselves() -> None:
    assert re.findall(f"[{UNITS}]", "aä가ㄱแ漢かㄅꀀ€") == ["ㄱ", "แ", "漢", "か", "ㄅ"]
