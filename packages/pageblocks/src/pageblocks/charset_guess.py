"""A guess at the charset of a page that says nothing credible of it and is not UTF-8.

1. From the page's text the pieces with bytes beyond ASCII are taken, 4 KiB at most.
2. A detector names a charset for them, in the words of uchardet. Only other scripts than Latin
   count: short Western text uchardet mistakes for Central European one time in ten.
3. The page must decode in it but for a few characters, and most letters beyond ASCII must stand
   in runs, as they do in such scripts and do not in Western text.

Cost: a few milliseconds for each page that comes to this; the others pay nothing.
"""

import re
from collections.abc import Callable

from pageblocks.charset_labels import MULTI_BYTE

Detector = Callable[[bytes], str | None]
"""Names the charset of a sample, or nothing."""

SAMPLE_BYTES = 1 << 12
MIN_IN_RUNS = 0.6
GUESS_GOOD_PER_BAD = 50

# What uchardet calls them -> what they are read as: KOI8-U and windows-1255 hold the letters of
# their older kin, and Cyrillic of a Macintosh is hardly met while it is easily mistaken for.
NOT_LATIN = {
    "big5": "big5hkscs", "shift_jis": "cp932", "cp949": "cp949", "euc_kr": "cp949",
    "euc_jp": "euc_jp", "gb18030": "gb18030",
    "cp1251": "cp1251", "mac-cyrillic": "cp1251", "koi8-r": "koi8-u", "cp866": "cp866",
    "iso8859-5": "iso8859-5",
    "cp1253": "cp1253", "iso8859-7": "iso8859-7", "cp1255": "cp1255", "iso8859-8": "cp1255",
    "cp1256": "cp1256", "iso8859-6": "iso8859-6", "tis-620": "cp874",
}  # fmt: skip

# No trail byte of a two-byte charset is `<` or `>`, and a byte beyond ASCII that follows ASCII
# over such a distance is a lead byte: pieces begin and end between characters.
_PIECE = re.compile(rb"(?:[\x80-\xff][^\x80-\xff<>]{0,16})++")
_C1 = re.compile(rb"[\x80-\x9f]")
_RUN = re.compile(r"(?:[^\W\d_\x00-\x7f]|[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])+")  # or a mark of Thai


def guessed_text(payload: bytes, detect: Detector) -> tuple[str, str] | None:
    """Text and charset of a page in a script other than Latin; None when nothing is credible."""
    sample = _sample(payload)
    charset = NOT_LATIN.get(detect(sample) or "")
    if charset is None:
        return None
    if charset == "iso8859-7" and _C1.search(payload):
        charset = "cp1253"  # the same letters, and quotation marks where ISO 8859 has controls
    text = payload.decode(charset, "replace")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    bad = text.count("\ufffd")
    if (
        beyond_ascii - bad < GUESS_GOOD_PER_BAD * bad
        or _share_in_runs(sample, charset) < MIN_IN_RUNS
    ):
        return None
    return text, charset


def _share_in_runs(sample: bytes, charset: str) -> float:
    """Of all letters beyond ASCII those in runs of two, in single-byte charsets of three."""
    min_chars = 2 if charset in MULTI_BYTE else 3
    lengths = [len(run) for run in _RUN.findall(sample.decode(charset, "ignore"))]
    return sum(n for n in lengths if n >= min_chars) / max(1, sum(lengths))


def _sample(payload: bytes) -> bytes:
    pieces: list[bytes] = []
    left = SAMPLE_BYTES
    for found in _PIECE.finditer(payload):
        pieces.append(found[0][:left])
        left -= len(pieces[-1])
        if left <= 0:
            break
    return b"\n".join(pieces)
