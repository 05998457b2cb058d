"""The code of benchmark items, ready to be searched for with names renamed (`kernels/code_tokens.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.decontam.bound_names import CONTROL, Code, reserved_words
from corpus_assets.decontam.code_names import FIXED_NAMES, comment_style
from corpus_assets.decontam.kernels.code_grams import (
    CodeGrams,
    CodeTokens,
    code_hashes,
    code_places,
    find_code,
    make_code_grams,
    split_tokens,
)
from corpus_assets.decontam.kernels.code_tokens import KEPT, NAME, name_table
from corpus_assets.text.codepoints import text_buffers


def code_shapes(
    texts: pa.Array, language: str, length: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return hashes of all n-grams of `length` tokens of code, which renaming leaves as they are, each
    text's first, and the share of names among a text's tokens: in prose most are."""
    data, offsets = text_buffers(texts.cast(pa.large_string()))
    style = comment_style(language)
    hashes, firsts = code_hashes(data, offsets, style, control_words(), length)
    _, _, kinds, edges = split_tokens(data, offsets, style, control_words())
    names = np.add.reduceat(np.append(kinds == NAME, 0).astype(np.int64), edges[:-1])
    sizes = np.diff(edges)
    return hashes, firsts, np.where(sizes > 0, names / np.maximum(sizes, 1), 0.0)


@lru_cache(maxsize=1)
def control_words() -> npt.NDArray[np.uint64]:
    return name_table(CONTROL)


@dataclass(frozen=True)
class CodeIndex:
    """All pieces of code whose comments begin alike; `items` are their ordinals in the index."""

    style: int
    ngram: int
    items: npt.NDArray[np.int64]
    tokens: CodeTokens
    grams: CodeGrams

    def find(
        self, texts: pa.Array, min_share: float
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(text, place in `items`, matched n-grams), by text."""
        data, offsets = text_buffers(texts)
        found: tuple[npt.NDArray[np.int64], ...] = find_code(
            data,
            offsets,
            self.style,
            control_words(),
            self.tokens,
            self.grams,
            self.ngram,
            min_share,
        )
        return found[0], found[1], found[2]

    def places(
        self, data: npt.NDArray[np.uint8], wanted: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(place in `items`, start, stop) in bytes of one text."""
        found: tuple[npt.NDArray[np.int64], ...] = code_places(
            data, self.style, control_words(), self.tokens, self.grams, self.ngram, wanted
        )
        return found[0], found[1], found[2]


def build_code_indexes(
    code: pa.Array, languages: Sequence[str], ngram: int
) -> tuple[CodeIndex, ...]:
    """One index for each way that comments begin; none where no item has code."""
    pieces = code.to_pylist()
    styles: dict[int, list[int]] = {}
    for item, (piece, language) in enumerate(zip(pieces, languages, strict=True)):
        if piece and piece.strip():
            styles.setdefault(comment_style(language), []).append(item)
    return tuple(
        _build(style, code, items, [languages[item] for item in items], ngram)
        for style, items in sorted(styles.items())
    )


def _build(
    style: int, code: pa.Array, items: list[int], languages: Sequence[str], ngram: int
) -> CodeIndex:
    chosen = code.take(pa.array(items, pa.int64())).cast(pa.large_string())
    data, offsets = text_buffers(chosen)
    starts, stops, kinds, firsts = split_tokens(data, offsets, style, control_words())
    hashes, edges = code_hashes(data, offsets, style, control_words(), ngram)
    owner = np.repeat(np.arange(len(items), dtype=np.int64), np.diff(edges))
    place = np.arange(hashes.size, dtype=np.int64) - edges[owner] + firsts[owner]
    reserved = frozenset().union(*map(reserved_words, languages))
    tokens = CodeTokens(data.copy(), starts, stops, kinds, firsts, name_table(reserved))
    _keep_names(tokens, languages)
    grams = make_code_grams(hashes, owner, place, len(items))
    return CodeIndex(style, ngram, np.array(items, np.int64), tokens, grams)


def _keep_names(tokens: CodeTokens, languages: Sequence[str]) -> None:
    """Mark the names that stand for themselves in each piece of code."""
    raw = tokens.data.tobytes()
    for piece, language in enumerate(languages):
        own = slice(int(tokens.firsts[piece]), int(tokens.firsts[piece + 1]))
        starts, stops = tokens.starts[own].tolist(), tokens.stops[own].tolist()
        spelled = [raw[a:b].decode("utf-8", "replace") for a, b in zip(starts, stops, strict=True)]
        is_name = (tokens.kinds[own] == NAME).tolist()
        is_first = [b"\n" in raw[a:b] for a, b in zip([0, *stops], starts, strict=False)]
        read = Code(spelled, is_name, [True, *is_first[1:]], language.lower())
        kept = (FIXED_NAMES | reserved_words(language)) - read.bound()
        for i, name in enumerate(spelled):
            if is_name[i] and name in kept:
                tokens.kinds[own.start + i] = KEPT
