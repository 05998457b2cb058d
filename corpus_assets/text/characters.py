"""Characters: which of them make words, how case folds, and what NFKC would change.

One definition of a word serves signatures and contamination:

1. The text is taken in Unicode form NFKC, and case is folded code point by code point.
2. Letters and digits make words; combining marks belong to the word they stand in.
3. In scripts that write no spaces (Han, kana, Thai ...) every character is a word of its own.
4. Format characters and variation selectors are invisible: they neither join nor split.
5. Everything else, the underscore and U+FFFD included, separates words.

NFKC is slow (about 30 MB/s), and nearly all text is in that form up to separators already. So
`in_nfkc` looks first, two table loads a character, and only the other texts are converted: by
`compatible` where single characters change, by the library where they join others.

All Unicode tables come from pyarrow (utf8proc and RE2), so a text has the same words under
every Python. Positions are int64.
"""

import functools
import unicodedata
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.text.codepoints import code_points, each_of, text_buffers
from corpus_assets.text.nfkc_alone import (
    JOINED,
    Replacements,
    assigned_codes,
    replace_alone,
    replacements_of,
)
from textkernels.byte_search import byte_kernel
from textkernels.bytes import BLOCK_BYTES, above64, load64, zeros_below
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_pair, is_triple, pair, triple

SEPARATOR, WORD, OWN_WORD, MARK, IGNORED = 0, 1, 2, 3, 4

_SPACELESS = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Yi}\x{30FC}"
)
_INVISIBLE = r"\p{Cf}\x{34F}\x{180B}-\x{180D}\x{180F}\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}"
_NOT_NFKC = 255
IN_FORM, ALONE, WHOLE, CUT = 0, 1, 2, 3  # what `in_nfkc` says
_TOP_BITS = np.uint64(0x8080808080808080)
_MAX_MARK_RUN = 30  # the Stream-Safe Text Format of UAX #15


class CharTables(NamedTuple):
    """One entry a code point, arrays of length 0x110000, except `ascii`."""

    classes: npt.NDArray[np.uint8]  # SEPARATOR ... IGNORED
    folded: npt.NDArray[np.uint32]  # code point after NFKC (where 1:1) and case folding
    order: npt.NDArray[np.uint8]  # combining class, or 255: the text must be converted
    ascii: npt.NDArray[np.uint8]  # by byte: folded letter or digit, 0 separator, 255 not ASCII


@functools.lru_cache(maxsize=1)
def char_tables() -> CharTables:
    """Build the tables: about a seventh of a second and 7 MB, once a process."""
    codes = assigned_codes()
    chars = each_of(codes)
    marks = _matches(chars, r"\p{M}")
    lettered = _matches(chars, r"\p{L}\p{N}")

    classes = np.zeros(0x110000, np.uint8)
    classes[codes[lettered]] = WORD
    classes[codes[marks]] = MARK
    classes[codes[_matches(chars, _SPACELESS) & (lettered | marks)]] = OWN_WORD
    classes[codes[_matches(chars, _INVISIBLE)]] = IGNORED

    folded = np.arange(0x110000, dtype=np.uint32)
    folded[codes] = code_points(pc.utf8_lower(pc.utf8_upper(chars)))

    # A character is safe without conversion when NFKC leaves it alone and it cannot compose
    # with what stands before it; those that can are the tails of canonical decompositions.
    order = np.zeros(0x110000, np.uint8)
    decomposed = pc.utf8_normalize(chars, "NFD")
    lengths = pc.utf8_length(decomposed).to_numpy()
    tails = np.ones(int(lengths.sum()), bool)
    tails[np.cumsum(lengths) - lengths] = False
    order[code_points(decomposed)[tails]] = _NOT_NFKC
    for code in codes[marks].tolist():
        known = unicodedata.category(chr(code)) != "Cn"
        if order[code] != _NOT_NFKC:
            order[code] = unicodedata.combining(chr(code)) if known else _NOT_NFKC

    composed = pc.utf8_normalize(chars, "NFKC")
    lengths = pc.utf8_length(composed).to_numpy()
    targets = code_points(composed)
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


def _matches(chars: pa.Array, members: str) -> npt.NDArray[np.bool_]:
    found = pc.match_substring_regex(chars, f"^[{members}]$")
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def nfkc(texts: pa.Array) -> pa.Array:
    """Return the texts as large_string in a form whose words are those of NFKC; null becomes empty.

    Canonical reordering takes quadratic time in the length of a run of combining marks (a
    hostile megabyte would take hours), so runs in texts to convert are cut at 30 marks first.
    """
    plain = texts.cast(pa.large_string())
    if plain.null_count:  # filling copies all of it
        plain = plain.fill_null("")
    data, offsets = text_buffers(plain)
    state = in_nfkc(data, offsets, char_tables(), replacements().numbers)
    if (state == ALONE).any():
        data, offsets = replace_alone(data, offsets, state == ALONE, replacements())
        plain = pa.LargeStringArray.from_buffers(
            len(plain), pa.py_buffer(offsets), pa.py_buffer(data)
        )
    whole = pa.array(state >= WHOLE)
    if not (state >= WHOLE).any():
        return plain
    foreign = plain.filter(whole)
    if (state == CUT).any():
        foreign = _cut_mark_runs(foreign)
    return pc.replace_with_mask(plain, whole, pc.utf8_normalize(foreign, "NFKC"))


@functools.lru_cache(maxsize=1)
def replacements() -> Replacements:
    return replacements_of(char_tables().order)


def to_nfkc(texts: pa.Array) -> pa.Array:
    """Each text as `nfkc` converts those that need it, whether it needs it or not."""
    return pc.utf8_normalize(_cut_mark_runs(texts), "NFKC")


def _cut_mark_runs(texts: pa.Array) -> pa.Array:
    pattern = rf"(\p{{M}}{{{_MAX_MARK_RUN}}})\p{{M}}+"
    return pc.replace_substring_regex(texts, pattern=pattern, replacement=r"\1")


@byte_kernel
def _after_ascii(data: Any, pos: Any, end: Any) -> Any:
    """Place of the first byte from `pos` on that is not ASCII; `end` if none is."""
    while pos + BLOCK_BYTES <= end:
        others = above64(data, pos, 0x7F)
        if others:
            return pos + np.int64(zeros_below(others))
        pos += BLOCK_BYTES
    while pos + 8 <= end and load64(data, pos) & _TOP_BITS == 0:
        pos += 8
    while pos < end and data[pos] < 0x80:
        pos += 1
    return pos


@kernel
def in_nfkc(data: Any, offsets: Any, tables: Any, numbers: Any) -> Any:
    """Return what has to be done to each text for its words to be those of NFKC, uint8.

    IN_FORM, ALONE: characters replaced one by one, WHOLE: converted, or CUT: runs of marks cut
    before that. `numbers` are those of `Replacements`.
    """
    state = np.zeros(offsets.size - 1, np.uint8)
    orders = tables.order  # taken out of the tuple once: each time counts a reference, atomically
    for text in range(offsets.size - 1):
        pos, end = offsets[text], offsets[text + 1]
        last = np.int64(0)
        run = 0
        after_change = is_joined = False  # whether the last character changes alone; whether not
        while pos < end:
            if data[pos] < 0x80:
                last = np.int64(0)
                run = 0
                after_change = False
                pos = _after_ascii(data, pos, end)
                continue
            if is_pair(data, pos, end):
                code = pair(data, pos)
                pos += 2
            elif is_triple(data, pos, end):
                code = triple(data, pos)
                pos += 3
            else:
                code, width = decode(data, pos, end)
                pos += width
            order = np.int64(orders[code])
            number = numbers[code]
            if order == _NOT_NFKC or 0 < order < last:
                state[text] = max(state[text], ALONE)
                is_joined |= number < 0
            is_joined |= number == JOINED or (after_change and order != 0 and number < 0)
            after_change = number >= 0
            last = order
            run = run + 1 if order != 0 else 0
            if run > _MAX_MARK_RUN:
                state[text] = CUT
                break
        if state[text] == ALONE and is_joined:
            state[text] = WHOLE
    return state
