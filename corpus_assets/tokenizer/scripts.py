"""Scripts that a sample is written in, and what in its texts is of no such script.

A page in English may quote Russian, and a tokenizer that learns from it would spend ids on words
that the corpus hardly has. So letters of scripts that the sample is not written in are left out of
what merges are counted on; they stay bytes.

The script of a letter is Unicode's (`text.unicode`). Marks, digits and punctuation that stand in
the block of a script count as its own here: they come and go with its letters.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from corpus_assets.text.unicode import OTHER, SCRIPTS, code_points, script_table

NO_SCRIPT = 0

_BLOCKS = {
    "greek": "370-3FF 1F00-1FFF",
    "cyrillic": "400-52F 1C80-1C8F 2DE0-2DFF A640-A69F",
    "armenian": "530-58F",
    "hebrew": "590-5FF FB1D-FB4F",
    "arabic": "600-6FF 750-77F 870-8FF FB50-FDFF FE70-FEFE 1EE00-1EEFF",
    "devanagari": "900-963 966-97F A8E0-A8FF",  # the danda between them serves many scripts
    "bengali": "980-9FF",
    "gurmukhi": "A00-A7F",
    "gujarati": "A80-AFF",
    "oriya": "B00-B7F",
    "tamil": "B80-BFF",
    "telugu": "C00-C7F",
    "kannada": "C80-CFF",
    "malayalam": "D00-D7F",
    "sinhala": "D80-DFF",
    "thai": "E00-E3E E40-E7F",  # without the currency sign
    "lao": "E80-EFF",
    "tibetan": "F00-FFF",
    "myanmar": "1000-109F A9E0-A9FF AA60-AA7F",
    "georgian": "10A0-10FF 1C90-1CBF 2D00-2D2F",
    "hangul": "1100-11FF 3130-318F A960-A97F AC00-D7FF",
    "ethiopic": "1200-139F 2D80-2DDF AB00-AB2F",
    "khmer": "1780-17FF 19E0-19FF",
    "mongolian": "1800-18AF",
    "hiragana": "3040-309F",
    "katakana": "30A0-30FF",
    "han": "2E80-2FDF 3000-303F 31C0-31EF 3200-33FF FE30-FE4F FF00-FFEF",
    "other": "700-74F 780-86F 13A0-177F 18B0-19DF 1A00-1AAF 1B00-1C7F 1CC0-1CFF 2C00-2C5F "
    "2C80-2CFF 2D30-2D7F 3100-312F 31A0-31BF A000-A63F A6A0-A6FF A800-A8DF A900-A95F A980-A9DF "
    "AA00-AA5F AA80-AAFF AB70-ABFF 10000-1CFFF 1E000-1EDFF",
}
"""Blocks of Unicode 14 by the script that they are named for."""


@lru_cache(maxsize=1)
def character_scripts() -> npt.NDArray[np.uint8]:
    """uint8[0x110000]: 0 for what is of no script, else 1 + the place in SCRIPTS."""
    table = script_table().copy()
    for name, ranges in _BLOCKS.items():
        points = code_points(ranges)
        points = points[table[points] <= OTHER]
        table[points] = 1 + SCRIPTS.index(name)
    return table


def scripts_of(text: str) -> npt.NDArray[np.uint8]:
    """Return the number of each character's script."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return character_scripts()[points]


def names_of(numbers: Iterable[int]) -> list[str]:
    """Names of scripts, in the order of SCRIPTS."""
    return [SCRIPTS[number - 1] for number in sorted(set(numbers) - {NO_SCRIPT})]


def own_scripts(
    texts: Iterable[tuple[str, str, str]], min_share: float, min_texts: int
) -> tuple[str, ...]:
    """Return the scripts that (text, domain, language) are written in.

    Texts are looked at by domain and language, and all together. A script is a group's own where

    * it makes `min_share` or more of the letters in at least half of its texts: so Japanese has
      Han, hiragana and katakana, and mathematics may have Greek; or
    * most letters of `min_share` or more of its texts, and `min_texts` at least, are in it: so a
      language written in two scripts has both.

    What some texts quote is neither, however long. Groups of fewer than `min_texts` say nothing.
    """
    usual: dict[tuple[str, ...], npt.NDArray[np.int64]] = defaultdict(_zeros)
    main: dict[tuple[str, ...], npt.NDArray[np.int64]] = defaultdict(_zeros)
    sizes: dict[tuple[str, ...], int] = defaultdict(int)
    for text, *group in texts:
        letters = np.bincount(scripts_of(text), minlength=len(SCRIPTS) + 1)
        letters[NO_SCRIPT] = 0
        if letters.any():
            for key in (tuple(group), ()):
                usual[key] += letters >= min_share * letters.sum()
                main[key][letters.argmax()] += 1
                sizes[key] += 1
    own: set[int] = set()
    for key, size in sizes.items():
        if size >= min_texts:
            often = 2 * usual[key] >= size
            own |= set(np.flatnonzero(often | (main[key] >= max(min_texts, min_share * size))))
    return tuple(names_of(own))


def _zeros() -> npt.NDArray[np.int64]:
    return np.zeros(len(SCRIPTS) + 1, np.int64)


def pieces_in(text: str, scripts: Collection[str]) -> Iterator[str]:
    """Yield what is left of a text without the characters of scripts that are not named."""
    if text.isascii() and "latin" in scripts:
        yield text
        return
    known = np.array([True, *(name in scripts for name in SCRIPTS)])[scripts_of(text)]
    edges = np.flatnonzero(np.diff(known, prepend=False, append=False)).tolist()
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        yield text[start:end]
