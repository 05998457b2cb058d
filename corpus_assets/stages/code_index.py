"""The code of benchmark items, ready to be searched for with names renamed (`kernels.code_tokens`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.kernels.code_grams import (
    CodeGrams,
    CodeTokens,
    code_hashes,
    code_places,
    find_code,
    make_code_grams,
    split_tokens,
)
from corpus_assets.kernels.code_tokens import name_table
from corpus_assets.kernels.unicode_text import text_buffers
from corpus_assets.stages.code_names import FIXED_NAMES, comment_style


@lru_cache(maxsize=1)
def fixed_names() -> npt.NDArray[np.uint64]:
    return name_table(FIXED_NAMES)


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
            data, offsets, self.style, fixed_names(), self.tokens, self.grams, self.ngram, min_share
        )
        return found[0], found[1], found[2]

    def places(
        self, data: npt.NDArray[np.uint8], wanted: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(place in `items`, start, stop) in bytes of one text."""
        found: tuple[npt.NDArray[np.int64], ...] = code_places(
            data, self.style, fixed_names(), self.tokens, self.grams, self.ngram, wanted
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
    return tuple(_build(style, code, items, ngram) for style, items in sorted(styles.items()))


def _build(style: int, code: pa.Array, items: list[int], ngram: int) -> CodeIndex:
    chosen = code.take(pa.array(items, pa.int64())).cast(pa.large_string())
    data, offsets = text_buffers(chosen)
    fixed = fixed_names()
    starts, stops, kinds, firsts = split_tokens(data, offsets, style, fixed)
    hashes, edges = code_hashes(data, offsets, style, fixed, ngram)
    owner = np.repeat(np.arange(len(items), dtype=np.int64), np.diff(edges))
    place = np.arange(hashes.size, dtype=np.int64) - edges[owner] + firsts[owner]
    tokens = CodeTokens(data.copy(), starts, stops, kinds, firsts)
    grams = make_code_grams(hashes, owner, place, len(items))
    return CodeIndex(style, ngram, np.array(items, np.int64), tokens, grams)
