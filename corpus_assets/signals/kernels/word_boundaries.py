"""Words as DCLM counts them: between Unicode's word boundaries, or between ASCII white space; those
that begin with a letter or a numeral.

The boundaries are those of Unicode's annex 29 (rules WB4 to WB13b) without the two about Hebrew
quotation marks. Characters of Han, Hiragana and the scripts of South-East Asia are words by
themselves, as the annex has them without a dictionary.
"""

from functools import lru_cache

import numpy as np

from corpus_assets.text.split import Bytes, Ints
from corpus_assets.text.unicode import (
    ALPHANUMERIC,
    DIGIT,
    LETTER,
    OTHER,
    SCRIPTS,
    class_table,
    code_points,
    script_table,
)
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space

# Values of the property Word_Break that rules tell apart; 0 is any other.
LETTERS, DIGITS, KATAKANA, JOINER, MID_LETTER, MID_NUMBER, MID_EITHER, MARK = range(1, 9)
_ALONE = ("han", "hiragana", "thai", "lao", "khmer", "myanmar")  # letters that do not join
_ALSO_ALONE = """
1950-196D 1970-1974 1980-19AB 19B0-19C9 1A20-1A54 1AA7 3006 AA80-AAC2 AADB-AADD 11700-11746
17000-18D08 1B170-1B2FB
"""
_ALSO_LETTERS = """
2C2-2C5 2D2-2D7 2DE-2DF 2E5-2EB 2ED 2EF-2FF 55A-55C 55E 58A 5F3 70F 16EE-16F0 2160-2182 2185-2188
24B6-24E9 3005 303B A6E6-A6EF A708-A716 A720-A721 A789-A78A AB5B 10140-10174 10341 1034A 103D1-103D5
12400-1246E 16FE3 1F130-1F149 1F150-1F169 1F170-1F189
"""
_ALSO_DIGITS = "600-605 66B 6DD 890-891 8E2 19DA 110BD 110CD"
_ALSO_KATAKANA = "3031-3035 309B-309C 30A0 30FC 32D0-32FE 3300-3357 FF70"
_LISTED = {
    JOINER: "5F 202F 203F-2040 2054 FE33-FE34 FE4D-FE4F FF3F",
    MID_LETTER: "3A B7 387 55F 5F4 2027 FE13 FE55 FF1A",
    MID_NUMBER: "2C 3B 37E 589 60C-60D 66C 7F8 2044 FE50 FE54 FF0C FF1B",
    MID_EITHER: "27 2E 2018-2019 2024 FE52 FF07 FF0E",
    # Extend, Format and ZWJ, as Unicode 14 assigns them.
    MARK: """
AD 300-36F 483-489 591-5BD 5BF 5C1-5C2 5C4-5C5 5C7 610-61A 61C 64B-65F 670 6D6-6DC 6DF-6E4 6E7-6E8
6EA-6ED 711 730-74A 7A6-7B0 7EB-7F3 7FD 816-819 81B-823 825-827 829-82D 859-85B 898-89F 8CA-8E1
8E3-903 93A-93C 93E-94F 951-957 962-963 981-983 9BC 9BE-9C4 9C7-9C8 9CB-9CD 9D7 9E2-9E3 9FE A01-A03
A3C A3E-A42 A47-A48 A4B-A4D A51 A70-A71 A75 A81-A83 ABC ABE-AC5 AC7-AC9 ACB-ACD AE2-AE3 AFA-AFF
B01-B03 B3C B3E-B44 B47-B48 B4B-B4D B55-B57 B62-B63 B82 BBE-BC2 BC6-BC8 BCA-BCD BD7 C00-C04 C3C
C3E-C44 C46-C48 C4A-C4D C55-C56 C62-C63 C81-C83 CBC CBE-CC4 CC6-CC8 CCA-CCD CD5-CD6 CE2-CE3 D00-D03
D3B-D3C D3E-D44 D46-D48 D4A-D4D D57 D62-D63 D81-D83 DCA DCF-DD4 DD6 DD8-DDF DF2-DF3 E31 E34-E3A
E47-E4E EB1 EB4-EBC EC8-ECD F18-F19 F35 F37 F39 F3E-F3F F71-F84 F86-F87 F8D-F97 F99-FBC FC6
102B-103E 1056-1059 105E-1060 1062-1064 1067-106D 1071-1074 1082-108D 108F 109A-109D 135D-135F
1712-1715 1732-1734 1752-1753 1772-1773 17B4-17D3 17DD 180B-180F 1885-1886 18A9 1920-192B 1930-193B
1A17-1A1B 1A55-1A5E 1A60-1A7C 1A7F 1AB0-1ACE 1B00-1B04 1B34-1B44 1B6B-1B73 1B80-1B82 1BA1-1BAD
1BE6-1BF3 1C24-1C37 1CD0-1CD2 1CD4-1CE8 1CED 1CF4 1CF7-1CF9 1DC0-1DFF 200C-200F 202A-202E 2060-2064
2066-206F 20D0-20F0 2CEF-2CF1 2D7F 2DE0-2DFF 302A-302F 3099-309A A66F-A672 A674-A67D A69E-A69F
A6F0-A6F1 A802 A806 A80B A823-A827 A82C A880-A881 A8B4-A8C5 A8E0-A8F1 A8FF A926-A92D A947-A953
A980-A983 A9B3-A9C0 A9E5 AA29-AA36 AA43 AA4C-AA4D AA7B-AA7D AAB0 AAB2-AAB4 AAB7-AAB8 AABE-AABF AAC1
AAEB-AAEF AAF5-AAF6 ABE3-ABEA ABEC-ABED FB1E FE00-FE0F FE20-FE2F FEFF FF9E-FF9F FFF9-FFFB 101FD
102E0 10376-1037A 10A01-10A03 10A05-10A06 10A0C-10A0F 10A38-10A3A 10A3F 10AE5-10AE6 10D24-10D27
10EAB-10EAC 10F46-10F50 10F82-10F85 11000-11002 11038-11046 11070 11073-11074 1107F-11082
110B0-110BA 110C2 11100-11102 11127-11134 11145-11146 11173 11180-11182 111B3-111C0 111C9-111CC
111CE-111CF 1122C-11237 1123E 112DF-112EA 11300-11303 1133B-1133C 1133E-11344 11347-11348
1134B-1134D 11357 11362-11363 11366-1136C 11370-11374 11435-11446 1145E 114B0-114C3 115AF-115B5
115B8-115C0 115DC-115DD 11630-11640 116AB-116B7 1171D-1172B 1182C-1183A 11930-11935 11937-11938
1193B-1193E 11940 11942-11943 119D1-119D7 119DA-119E0 119E4 11A01-11A0A 11A33-11A39 11A3B-11A3E
11A47 11A51-11A5B 11A8A-11A99 11C2F-11C36 11C38-11C3F 11C92-11CA7 11CA9-11CB6 11D31-11D36 11D3A
11D3C-11D3D 11D3F-11D45 11D47 11D8A-11D8E 11D90-11D91 11D93-11D97 11EF3-11EF6 13430-13438
16AF0-16AF4 16B30-16B36 16F4F 16F51-16F87 16F8F-16F92 16FE4 16FF0-16FF1 1BC9D-1BC9E 1BCA0-1BCA3
1CF00-1CF2D 1CF30-1CF46 1D165-1D169 1D16D-1D182 1D185-1D18B 1D1AA-1D1AD 1D242-1D244 1DA00-1DA36
1DA3B-1DA6C 1DA75 1DA84 1DA9B-1DA9F 1DAA1-1DAAF 1E000-1E006 1E008-1E018 1E01B-1E021 1E023-1E024
1E026-1E02A 1E130-1E136 1E2AE 1E2EC-1E2EF 1E8D0-1E8D6 1E944-1E94A 1F3FB-1F3FF E0001 E0020-E007F
E0100-E01EF
""",
}


@lru_cache(maxsize=1)
def break_kinds() -> Bytes:
    """uint8[0x110000]: the value of each code point."""
    classes, scripts = class_table(), script_table()
    kinds = np.zeros(len(classes), dtype=np.uint8)
    kinds[(classes & LETTER) > 0] = LETTERS
    kinds[np.isin(scripts, [SCRIPTS.index(name) + OTHER for name in _ALONE])] = 0
    kinds[code_points(_ALSO_ALONE)] = 0
    kinds[code_points(_ALSO_LETTERS)] = LETTERS
    kinds[(classes & DIGIT) > 0] = DIGITS
    kinds[code_points(_ALSO_DIGITS)] = DIGITS
    kinds[scripts == SCRIPTS.index("katakana") + OTHER] = KATAKANA
    kinds[code_points(_ALSO_KATAKANA)] = KATAKANA
    for kind, ranges in _LISTED.items():
        kinds[code_points(ranges)] = kind
    return kinds


def boundary_words(data: Bytes, offsets: Ints) -> tuple[Ints, Ints]:
    """`spans: int64[k, 3]` of (start, end, characters) and `rows: int64[n + 1]`."""
    rows = np.zeros(len(offsets), dtype=np.int64)
    nothing = np.empty((0, 3), dtype=np.int64)
    _scan(data, offsets, break_kinds(), class_table(), rows, nothing, False)
    spans = np.empty((rows[-1], 3), dtype=np.int64)
    _scan(data, offsets, break_kinds(), class_table(), rows, spans, True)
    return spans, rows


@kernel
def _scan(
    data: Bytes, offsets: Ints, kinds: Bytes, classes: Bytes, rows: Ints, spans: Ints, fill: bool
) -> None:
    """Count words into `rows`, or write them to `spans`."""
    free = 0
    for d in range(offsets.shape[0] - 1):
        at, end = offsets[d], offsets[d + 1]
        while at < end:
            point, width = decode(data, at, end)
            start, is_word = at, (classes[point] & ALPHANUMERIC) > 0
            kind = kinds[point]
            at, chars = _past_marks(data, at + width, end, kinds)
            chars += 1
            if kind == MARK:
                continue
            while 1 <= kind <= JOINER and at < end:
                point, width = decode(data, at, end)
                follows = kinds[point]
                after, more = _past_marks(data, at + width, end, kinds)
                is_middle = follows == MID_EITHER or follows == (
                    MID_LETTER if kind == LETTERS else MID_NUMBER
                )
                if is_middle and kind <= DIGITS and after < end:
                    point, width = decode(data, after, end)
                    if kinds[point] != kind:
                        break
                    after, beyond = _past_marks(data, after + width, end, kinds)
                    more += 1 + beyond
                elif _joins(kind, follows):
                    kind = follows
                else:
                    break
                at = after
                chars += 1 + more
            if is_word:
                if fill:
                    spans[free, 0], spans[free, 1], spans[free, 2] = start, at, chars
                free += 1
        if not fill:
            rows[d + 1] = free


@kernel
def _past_marks(data: Bytes, at: int, end: int, kinds: Bytes) -> tuple[int, int]:
    """Where what stays with the character before ends, and how many characters it is."""
    chars = 0
    while at < end:
        point, width = decode(data, at, end)
        if kinds[point] != MARK:
            break
        at += width
        chars += 1
    return at, chars


@kernel
def _joins(kind: int, follows: int) -> bool:
    if follows == JOINER:
        return True
    if kind == JOINER:
        return 1 <= follows <= KATAKANA
    if kind == KATAKANA:
        return follows == KATAKANA  # type: ignore[no-any-return]
    return follows in (LETTERS, DIGITS)


@kernel
def plain_words(data: Bytes, offsets: Ints, classes: Bytes) -> Ints:
    """int64[n]: words between ASCII white space or NUL, which is where fastText splits."""
    counts = np.zeros(offsets.shape[0] - 1, dtype=np.int64)
    for d in range(offsets.shape[0] - 1):
        in_word = False
        for at in range(offsets[d], offsets[d + 1]):
            byte = data[at]
            if byte == 32 or 9 <= byte <= 13 or byte == 0:
                in_word = False
            elif not in_word:
                in_word = True
                point, _ = decode(data, at, offsets[d + 1])
                counts[d] += (classes[point] & ALPHANUMERIC) > 0
    return counts


@kernel
def stripped(data: Bytes, spans: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return spans without white space at their ends; those of nothing else are left out."""
    left = np.empty_like(spans)
    new_rows = np.zeros_like(rows)
    free = 0
    for d in range(rows.shape[0] - 1):
        for k in range(rows[d], rows[d + 1]):
            start, end, chars = -1, spans[k, 0], 0
            at, seen = spans[k, 0], 0
            while at < spans[k, 1]:
                point, width = decode(data, at, spans[k, 1])
                at += width
                if start >= 0:
                    seen += 1
                if not is_space(point):
                    if start < 0:
                        start, seen = at - width, 1
                    end, chars = at, seen
            if start >= 0:
                left[free, 0], left[free, 1], left[free, 2] = start, end, chars
                free += 1
        new_rows[d + 1] = free
    return left[:free], new_rows
