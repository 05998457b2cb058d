"""Characters: which of them make words, how case folds, and what NFKC would change.

One definition of a word serves signatures and contamination:

1. The text is taken in Unicode form NFKC, and case is folded code point by code point.
2. Letters and digits make words; combining marks belong to the word they stand in.
3. In scripts that write no spaces (Han, kana, Thai ...) every character is a word of its own.
4. Format characters and variation selectors are invisible: they neither join nor split.
5. Everything else, the underscore and U+FFFD included, separates words.

NFKC is slow (about 30 MB/s), and nearly all text is in that form up to separators already. So
`in_nfkc` looks first, one table load a character, and only the other texts are converted.

All Unicode tables come from pyarrow (utf8proc and RE2), so a text has the same words under
every Python. Bytes that are not UTF-8 read as U+FFFD, one byte each, never beyond the text's
end; positions are int64.
"""

import functools
import unicodedata
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corpus_assets.kernels.byte_search import byte_kernel

SEPARATOR, WORD, OWN_WORD, MARK, IGNORED = 0, 1, 2, 3, 4

_SPACELESS = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Yi}\x{30FC}"
)
_INVISIBLE = r"\p{Cf}\x{34F}\x{180B}-\x{180D}\x{180F}\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}"
_NOT_NFKC = 255
_MAX_MARK_RUN = 30  # the Stream-Safe Text Format of UAX #15


class CharTables(NamedTuple):
    """One entry a code point, arrays of length 0x110000, except `ascii`.

    numba's caches on disk name this class: after moving or renaming it, delete them.
    """

    classes: npt.NDArray[np.uint8]  # SEPARATOR ... IGNORED
    folded: npt.NDArray[np.uint32]  # code point after NFKC (where 1:1) and case folding
    order: npt.NDArray[np.uint8]  # combining class, or 255: the text must be converted
    ascii: npt.NDArray[np.uint8]  # by byte: folded letter or digit, 0 separator, 255 not ASCII


@functools.lru_cache(maxsize=1)
def char_tables() -> CharTables:
    """Build the tables: about half a second and 7 MB, once a process."""
    codes = np.concatenate([np.arange(0xD800), np.arange(0xE000, 0x110000)]).astype(np.uint32)
    chars = _each_of(codes)
    marks = _matches(chars, r"\p{M}")
    lettered = _matches(chars, r"\p{L}\p{N}")

    classes = np.zeros(0x110000, np.uint8)
    classes[codes[lettered]] = WORD
    classes[codes[marks]] = MARK
    classes[codes[_matches(chars, _SPACELESS) & (lettered | marks)]] = OWN_WORD
    classes[codes[_matches(chars, _INVISIBLE)]] = IGNORED

    folded = np.arange(0x110000, dtype=np.uint32)
    folded[codes] = _code_points(pc.utf8_lower(pc.utf8_upper(chars)))

    # A character is safe without conversion when NFKC leaves it alone and it cannot compose
    # with what stands before it; those that can are the tails of canonical decompositions.
    order = np.zeros(0x110000, np.uint8)
    decomposed = pc.utf8_normalize(chars, "NFD")
    lengths = pc.utf8_length(decomposed).to_numpy()
    tails = np.ones(int(lengths.sum()), bool)
    tails[np.cumsum(lengths) - lengths] = False
    order[_code_points(decomposed)[tails]] = _NOT_NFKC
    for code in codes[marks].tolist():
        known = unicodedata.category(chr(code)) != "Cn"
        if order[code] != _NOT_NFKC:
            order[code] = unicodedata.combining(chr(code)) if known else _NOT_NFKC

    composed = pc.utf8_normalize(chars, "NFKC")
    lengths = pc.utf8_length(composed).to_numpy()
    targets = _code_points(composed)
    starts = np.cumsum(lengths) - lengths
    blank = np.add.reduceat((classes[targets] != SEPARATOR).astype(np.int64), starts) == 0
    first = targets[starts]
    changed = (lengths > 1) | (first != codes)
    alike = (lengths == 1) & np.isin(classes[first], (WORD, OWN_WORD)) & (order[first] == 0)
    order[codes[changed & ~blank & ~alike]] = _NOT_NFKC
    classes[codes[changed & blank]] = SEPARATOR
    same = changed & alike & ~blank
    classes[codes[same]] = classes[first[same]]
    folded[codes[same]] = folded[first[same]]
    ascii_fold = np.full(256, 255, np.uint8)
    ascii_fold[:128] = np.where(classes[:128] == WORD, folded[:128], 0)
    for table in (classes, folded, order, ascii_fold):
        table.flags.writeable = False
    return CharTables(classes, folded, order, ascii_fold)


@functools.lru_cache(maxsize=1)
def run_tables() -> CharTables:
    """The same tables for callers that take a run of Han, kana, Thai ... for one word."""
    tables = char_tables()
    classes = np.where(tables.classes == OWN_WORD, WORD, tables.classes).astype(np.uint8)
    classes.flags.writeable = False
    return tables._replace(classes=classes)


def _matches(chars: pa.Array, members: str) -> npt.NDArray[np.bool_]:
    found = pc.match_substring_regex(chars, f"^[{members}]$")
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _each_of(codes: npt.NDArray[np.uint32]) -> pa.Array:
    """Strings of one character each."""
    widths = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    ends = np.concatenate([[0], np.cumsum(widths)])
    data = codes.astype("<u4").tobytes().decode("utf-32-le").encode()
    return pa.LargeStringArray.from_buffers(len(codes), pa.py_buffer(ends), pa.py_buffer(data))


def _code_points(texts: pa.Array) -> npt.NDArray[np.uint32]:
    data, _ = text_buffers(texts)
    return np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)


def text_buffers(texts: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """UTF-8 bytes and offsets of a large_string array without nulls, shared and read-only."""
    _, offsets, data = texts.buffers()
    if offsets is None or len(texts) == 0:
        none = np.zeros(1, np.int64)
        none.flags.writeable = False
        return np.frombuffer(b"", np.uint8), none
    at = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if data is None:
        return np.frombuffer(b"", np.uint8), at
    start, stop = int(at[0]), int(at[-1])
    if start == 0:
        return np.frombuffer(data, np.uint8)[:stop], at
    moved = at - start
    moved.flags.writeable = False
    return np.frombuffer(data, np.uint8)[start:stop], moved


def nfkc(texts: pa.Array) -> pa.Array:
    """The texts as large_string in a form whose words are those of NFKC; null becomes empty.

    Canonical reordering takes quadratic time in the length of a run of combining marks (a
    hostile megabyte would take hours), so runs in texts to convert are cut at 30 marks first.
    """
    plain = texts.cast(pa.large_string())
    if plain.null_count:  # filling copies all of it
        plain = plain.fill_null("")
    data, offsets = text_buffers(plain)
    state = in_nfkc(data, offsets, char_tables())
    if not state.any():
        return plain
    foreign = plain.filter(pa.array(state > 0))
    if (state == 2).any():
        foreign = _cut_mark_runs(foreign)
    return pc.replace_with_mask(plain, pa.array(state > 0), pc.utf8_normalize(foreign, "NFKC"))


def to_nfkc(texts: pa.Array) -> pa.Array:
    """Each text as `nfkc` converts those that need it, whether it needs it or not."""
    return pc.utf8_normalize(_cut_mark_runs(texts), "NFKC")


def _cut_mark_runs(texts: pa.Array) -> pa.Array:
    pattern = rf"(\p{{M}}{{{_MAX_MARK_RUN}}})\p{{M}}+"
    return pc.replace_substring_regex(texts, pattern=pattern, replacement=r"\1")


@byte_kernel
def code_point(data: Any, pos: int, end: int) -> tuple[Any, int]:
    """Code point and byte width at `pos` of uint8 `data`; (U+FFFD, 1) where it is not UTF-8."""
    lead = np.int64(data[pos])
    if lead < 0x80:
        return lead, 1
    if 0xC2 <= lead < 0xE0:
        width, code = 2, lead & 0x1F
    elif 0xE0 <= lead < 0xF0:
        width, code = 3, lead & 0x0F
    elif 0xF0 <= lead < 0xF5:
        width, code = 4, lead & 0x07
    else:
        return 0xFFFD, 1
    if pos + width > end:
        return 0xFFFD, 1
    for i in range(pos + 1, pos + width):
        tail = np.int64(data[i])
        if tail & 0xC0 != 0x80:
            return 0xFFFD, 1
        code = (code << 6) | (tail & 0x3F)
    if code > 0x10FFFF:
        return 0xFFFD, 1
    return code, width


@njit(cache=True, inline="always")
def is_pair(data: Any, pos: int, end: int) -> bool:
    """Whether a character of two bytes stands at `pos`. With `pair`, and the same for three, what
    `code_point` says in a fifth of the time: the next place does not wait for the decoding."""
    return 0xC2 <= data[pos] < 0xE0 and pos + 1 < end and data[pos + 1] & 0xC0 == 0x80


@njit(cache=True, inline="always")
def pair(data: Any, pos: int) -> Any:
    """The code point of two bytes."""
    return ((np.int64(data[pos]) & 0x1F) << 6) | (np.int64(data[pos + 1]) & 0x3F)


@njit(cache=True, inline="always")
def is_triple(data: Any, pos: int, end: int) -> bool:
    """Whether a character of three bytes stands at `pos`."""
    return (
        0xE0 <= data[pos] < 0xF0
        and pos + 2 < end
        and data[pos + 1] & 0xC0 == 0x80
        and data[pos + 2] & 0xC0 == 0x80
    )


@njit(cache=True, inline="always")
def triple(data: Any, pos: int) -> Any:
    """The code point of three bytes."""
    high = ((np.int64(data[pos]) & 0x0F) << 12) | ((np.int64(data[pos + 1]) & 0x3F) << 6)
    return high | (np.int64(data[pos + 2]) & 0x3F)


@njit(cache=True)
def _is_ascii(data: Any, pos: int) -> Any:
    """Whether the eight bytes at `pos` are; one load, as it is compiled."""
    bits = np.uint8(0)
    for i in range(8):
        bits |= data[pos + i]
    return bits < 0x80


@njit(cache=True)
def in_nfkc(data: Any, offsets: Any, tables: Any) -> Any:
    """uint8 a text: 0 its words need no conversion, 1 convert, 2 convert and cut mark runs."""
    state = np.zeros(offsets.size - 1, np.uint8)
    orders = tables.order  # taken out of the tuple once: each time counts a reference, atomically
    for text in range(offsets.size - 1):
        pos, end = offsets[text], offsets[text + 1]
        last = np.int64(0)
        run = 0
        while pos < end:
            if data[pos] < 0x80:
                last = np.int64(0)
                run = 0
                pos += 1
                while pos + 8 <= end and _is_ascii(data, pos):
                    pos += 8
                continue
            if is_pair(data, pos, end):
                code = pair(data, pos)
                pos += 2
            elif is_triple(data, pos, end):
                code = triple(data, pos)
                pos += 3
            else:
                code, width = code_point(data, pos, end)
                pos += width
            order = np.int64(orders[code])
            if order == _NOT_NFKC or 0 < order < last:
                state[text] = max(state[text], 1)
            last = order
            run = run + 1 if order != 0 else 0
            if run > _MAX_MARK_RUN:
                state[text] = 2
                break
    return state
