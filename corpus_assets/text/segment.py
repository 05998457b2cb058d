"""Words of scripts that are written without spaces: Chinese, Japanese, Thai, Lao, Khmer, Burmese
by the dictionaries of ICU, Tibetan by its syllable marks.

Only words split at white space that hold such a character are looked at, so text with spaces costs
nothing. Marks stay with the word before them and opening marks with the word after, as they do in
text with spaces.
"""

from functools import lru_cache
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from corpus_assets.core.errors import MissingExtra
from corpus_assets.text.split import CHARS, END, START, Bytes, Ints
from corpus_assets.text.unicode import (
    ALPHANUMERIC,
    OTHER,
    SCRIPTS,
    class_table,
    code_points,
    script_table,
)
from textkernels.compiled import kernel
from textkernels.utf8 import decode

SEGMENTER = "ICU 78.3"
"""Whose dictionaries say what a word is. Another release has other words, so no other is used."""
DEFINITION = f"{SEGMENTER}/2"
"""Part of what a signal is: the dictionaries, and the version of how their words are used here."""

UNSPACED = ("han", "hiragana", "katakana", "thai", "lao", "khmer", "myanmar", "tibetan")
"""Scripts whose words are found so; a character of theirs takes three bytes or more."""

# General categories Ps and Pi: marks that open what follows.
_OPENING = """
28 5B 7B AB F3A F3C 169B 2018 201A-201C 201E-201F 2039 2045 207D 208D 2308 230A 2329 2768-2774/2
27C5 27E6-27EE/2 2983-2997/2 29D8 29DA 29FC 2E02 2E04 2E09 2E0C 2E1C 2E20 2E22-2E28/2 2E42
2E55-2E5B/2 3008-3010/2 3014-301A/2 301D FD3F FE17 FE35-FE43/2 FE47 FE59-FE5D/2 FF08 FF3B FF5B FF5F
FF62
"""
_IS_UNSPACED, _OPENS, _IS_WORD = 1, 2, 4


@lru_cache(maxsize=1)
def _kinds() -> Bytes:
    """uint8[0x110000]: which characters are unspaced, open what follows, make words."""
    table = ((class_table() & ALPHANUMERIC) > 0).astype(np.uint8) * np.uint8(_IS_WORD)
    numbers = [SCRIPTS.index(name) + OTHER for name in UNSPACED]
    table[np.isin(script_table(), numbers)] |= _IS_UNSPACED
    table[code_points(_OPENING)] |= _OPENS
    return table


@lru_cache(maxsize=1)
def _breaker() -> Any:
    """Return ICU's word breaker, in the one release that words are defined by."""
    try:
        icu, breakers = import_module("icu4py"), import_module("icu4py.breakers")
    except ImportError as error:
        raise MissingExtra(
            "words of Chinese, Japanese, Thai and other scripts without spaces are found by ICU, "
            "and icu4py is not installed: install the packages of requirements.lock, or set "
            "`word_breaks: white_space`"
        ) from error
    if f"ICU {icu.icu_version}" != SEGMENTER:
        raise MissingExtra(
            f"words are those of {SEGMENTER}, and icu4py brings ICU {icu.icu_version}, whose "
            f"dictionaries may differ: install the packages of requirements.lock"
        )
    return breakers.WordBreaker


def segmented(data: Bytes, spans: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return words split at white space, (`spans: int64[k, 3]`, `rows: int64[n + 1]`), with those
    of unspaced scripts taken apart. Each is looked at alone."""
    wide = np.flatnonzero(spans[:, END] - spans[:, START] >= spans[:, CHARS] + 2)
    chosen = wide[_hold_unspaced(data, spans, wide, _kinds())]
    if chosen.size == 0:
        return spans, rows
    codes, firsts = _code_points(data, spans[chosen])
    breaker = _breaker()(codes.tobytes().decode("utf-32-le", "replace"), "en")
    ends = np.fromiter(chain.from_iterable(breaker.segments()), np.int64)
    # ICU counts UTF-16 units: two for a character beyond the first plane.
    unit = np.repeat(np.arange(codes.shape[0]), 1 + (codes > 0xFFFF))
    is_cut = _cuts(codes, np.append(unit, codes.shape[0])[ends].reshape(-1, 2), _kinds())
    return _cut(data, spans, rows, chosen, firsts, is_cut)


@kernel
def _hold_unspaced(data: Bytes, spans: Ints, which: Ints, kinds: Bytes) -> npt.NDArray[np.bool_]:
    """bool[m]: whether the words of these numbers hold a character of an unspaced script."""
    found = np.zeros(which.shape[0], dtype=np.bool_)
    for k in range(which.shape[0]):
        at, end = spans[which[k], START], spans[which[k], END]
        while at < end:
            point, width = decode(data, at, end)
            if kinds[point] & _IS_UNSPACED:
                found[k] = True
                break
            at += width
    return found


@kernel
def _code_points(data: Bytes, spans: Ints) -> tuple[npt.NDArray[np.uint32], Ints]:
    """Return the words' characters with a line end after each, and where each begins."""
    firsts = np.zeros(spans.shape[0] + 1, dtype=np.int64)
    for k in range(spans.shape[0]):
        firsts[k + 1] = firsts[k] + spans[k, CHARS] + 1
    codes = np.full(firsts[-1], 10, dtype=np.uint32)
    for k in range(spans.shape[0]):
        at, put = spans[k, START], firsts[k]
        while at < spans[k, END]:
            point, width = decode(data, at, spans[k, END])
            codes[put] = point
            put += 1
            at += width
    return codes, firsts


@kernel
def _cuts(codes: npt.NDArray[np.uint32], segments: Ints, kinds: Bytes) -> npt.NDArray[np.bool_]:
    """bool[characters]: whether a word begins there, from ICU's `segments: int64[k, 2]`.

    A segment with a letter or numeral begins a word where it or the one before it in the same line
    is of an unspaced script; opening marks before it belong to it.
    """
    found = np.zeros(codes.shape[0], dtype=np.bool_)
    before = 0  # of the last segment with a word in it: 0 none in this line, else its kinds
    for s in range(segments.shape[0]):
        start, end = segments[s, 0], segments[s, 1]
        kind = 0
        for at in range(start, end):
            kind |= kinds[codes[at]]
            if codes[at] == 10:
                before = 0
        if not kind & _IS_WORD:
            continue
        if before and (kind | before) & _IS_UNSPACED:
            while kinds[codes[start - 1]] & _OPENS:
                start -= 1
            found[start] = True
        before = kind
    return found


@kernel
def _cut(
    data: Bytes,
    spans: Ints,
    rows: Ints,
    chosen: Ints,
    firsts: Ints,
    is_cut: npt.NDArray[np.bool_],
) -> tuple[Ints, Ints]:
    """Take the chosen words apart; all others stay as they are."""
    out = np.empty((spans.shape[0] + is_cut.sum(), 3), dtype=np.int64)
    new_rows = np.zeros_like(rows)
    put = c = 0
    for d in range(rows.shape[0] - 1):
        for w in range(rows[d], rows[d + 1]):
            if c == chosen.shape[0] or chosen[c] != w:
                out[put] = spans[w]
                put += 1
                continue
            at = begin = spans[w, START]
            chars = 0
            for k in range(firsts[c], firsts[c + 1] - 1):
                if is_cut[k]:
                    out[put, START], out[put, END], out[put, CHARS] = begin, at, chars
                    put += 1
                    begin, chars = at, 0
                at += decode(data, at, spans[w, END])[1]
                chars += 1
            out[put, START], out[put, END], out[put, CHARS] = begin, spans[w, END], chars
            put += 1
            c += 1
        new_rows[d + 1] = put
    return out, new_rows
