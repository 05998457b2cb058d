"""Documents whose tokens are not in the order of their text: fill-in-the-middle.

Such a document begins with the prefix marker. Its pieces are in one of two orders (Bavarian et al.
2022), and both are read alike, as prefix and middle follow each other in the text:

    prefix, suffix, middle:  PRE prefix SUF suffix MID middle
    suffix, prefix, middle:  PRE SUF suffix MID prefix middle

Markers are special tokens, which no text gives, so tokens alone say how to read them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

TokenOrder = Literal["prefix, suffix, middle", "suffix, prefix, middle"]

MARKER_NAMES = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
"""Names of the three markers in tokenizers of our own."""

KNOWN_NAMES = (
    MARKER_NAMES,
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),  # StarCoder
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),  # DeepSeek-Coder
)


SEPARATORS = ("<|file_sep|>", "<file_sep>")
"""Names of the token between files of a repository; the first is that of our own."""


@dataclass(frozen=True, slots=True)
class Markers:
    """Ids of a tokenizer's markers."""

    prefix: int
    suffix: int
    middle: int
    file_separator: int | None = None  # which may end a document

    @property
    def ids(self) -> tuple[int, int, int]:
        return self.prefix, self.suffix, self.middle


def find_markers(added_tokens: Mapping[int, Any]) -> Markers | None:
    """Return the markers among a tokenizer's added tokens (id -> `AddedToken`); None where it lacks
    them. What is not special is no marker: text can spell it."""
    ids = {token.content: number for number, token in added_tokens.items() if token.special}
    for names in KNOWN_NAMES:
        if all(name in ids for name in names):
            prefix, suffix, middle = (ids[name] for name in names)
            return Markers(prefix, suffix, middle, find_separator(added_tokens))
    return None


def find_separator(added_tokens: Mapping[int, Any]) -> int | None:
    """Return the special token that ends a file which another one of its repository follows."""
    ids = {token.content: number for number, token in added_tokens.items() if token.special}
    return next((ids[name] for name in SEPARATORS if name in ids), None)


def text_places(
    tokens: npt.NDArray[Any],
    markers: Markers | None,
    eod_id: int,
    starts: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """Return the places of tokens in the order of the text: `tokens[text_places(tokens, ...)]`.

    `tokens` are documents end to end, or anything that has some; nothing moves across `starts`, and
    documents of which a piece is missing stay as they are. Each marker goes with the piece after it.
    The cost is linear.
    """
    places = np.arange(len(tokens), dtype=np.int64)
    first = np.flatnonzero(tokens == markers.prefix) if markers is not None else places[:0]
    if markers is None or not len(first):
        return places
    suffix = _next(np.flatnonzero(tokens == markers.suffix), first, len(tokens))
    middle = _next(np.flatnonzero(tokens == markers.middle), first, len(tokens))
    closing = [eod_id, markers.prefix]
    closing += [] if markers.file_separator is None else [markers.file_separator]
    ends = np.flatnonzero(np.isin(tokens, closing))
    ends = ends if starts is None else np.union1d(ends, starts)
    end = _next(ends, first, len(tokens))
    is_whole = (first < suffix) & (suffix < middle) & (middle < end)
    for s, m, e in zip(suffix[is_whole], middle[is_whole], end[is_whole], strict=True):
        places[s:e] = np.concatenate((np.arange(m, e), np.arange(s, m)))
    return places


def token_order(tokens: npt.NDArray[Any], markers: Markers | None) -> TokenOrder | None:
    """Return the order of a document's pieces; None where it is that of the text."""
    if markers is None or not len(tokens) or tokens[0] != markers.prefix:
        return None
    is_spm = len(tokens) > 1 and tokens[1] == markers.suffix
    return "suffix, prefix, middle" if is_spm else "prefix, suffix, middle"


def _next(
    among: npt.NDArray[np.int64], after: npt.NDArray[np.int64], otherwise: int
) -> npt.NDArray[np.int64]:
    """Return for each place the next one of `among` (ascending) after it."""
    padded = np.append(among, otherwise)
    return padded[np.searchsorted(among, after, side="right")]
