"""The sketch of a text: a small MinHash that no recipe changes, and look-up by it.

Word 5-grams, 112 permutations with a fixed seed, the low 16 bits of each minimum: 224 bytes.
Minima that differ agree in 16 bits once in 65,536 times, so the share of places that agree
estimates the Jaccard similarity of two texts' 5-grams (Broder 1997) as whole minima would.

A sketch *covers* a text when

1. they agree in at least `MIN_AGREEING` of the 112 places, and
2. all 8 places of at least one of the 14 bands are equal, which makes it a matter of look-up.

Both look at nothing but the two texts, so it does not matter when an order came in. A text
with fewer than about `MIN_SHINGLES` distinct 5-grams has no sketch: a notice that thousands of
pages share is nobody's copy. Most of what stands on a page must be the same for a sketch to
cover it, so pages of one frame with texts of their own are left alone (ADR 56).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.formats.sketches import BANDS, MIN_AGREEING, PLACES, ROWS_PER_BAND, SKETCH_PREFIX
from corpus_assets.core.errors import RecipeError
from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.minhash import affine32_permutations, minhash_texts

SHINGLE_WORDS = 5
BYTES = 2 * PLACES
MIN_SHINGLES = 50

_SEED = 20_241
_TEXTS_AT_ONCE = 1_024
_PAIRS_AT_ONCE = 1 << 16  # 14 MB of sketches
_SLOTS_A_KEY = 16  # of the table that most look-ups end at
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)

Matrix = npt.NDArray[np.uint16]
Keys = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


def sketch_texts(texts: Sequence[str]) -> list[bytes | None]:
    """Return the sketch of each text; None where it is too short. About 0.06 ms a web page.

    The mean of the minima tells how many distinct 5-grams there are (one of n lies at 1/(n + 1)
    of the range), so nothing needs to be counted.
    """
    a, b = affine32_permutations(PLACES, _SEED)
    sketches: list[bytes | None] = []
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        some = pa.array(texts[start : start + _TEXTS_AT_ONCE], pa.large_string())
        data, offsets = text_buffers(nfkc(some))
        minima, _ = minhash_texts(data, offsets, char_tables(), SHINGLE_WORDS, a, b)
        total = minima.sum(axis=1, dtype=np.uint64)
        long_enough = total * np.uint64(MIN_SHINGLES + 1) <= PLACES << 32
        low = (minima & np.uint32(0xFFFF)).astype("<u2")
        sketches += [
            row.tobytes() if enough else None
            for row, enough in zip(low, long_enough.tolist(), strict=True)
        ]
    return sketches


def sketch_text(text: str) -> str | None:
    """Return the value of an order against near copies of a text; None where it is too short."""
    (sketch,) = sketch_texts([text])
    return None if sketch is None else SKETCH_PREFIX + sketch.hex()


class SketchIndex:
    """The sketches of orders, ready for look-up.

    A text costs one look-up a band in a table of bytes, however many orders there are; only
    what is found there is compared in full.
    """

    def __init__(self, values: Sequence[str] = ()) -> None:
        """From the values of orders, as `sketch_text` gives them."""
        self.values = tuple(values)
        raw = b"".join(_parsed(value) for value in self.values)
        self._sketches: Matrix = np.frombuffer(raw, "<u2").reshape(-1, PLACES)
        keys = _band_keys(self._sketches).ravel()
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        bits = max(6, int(_SLOTS_A_KEY * keys.size).bit_length())
        self._shift = np.uint64(64 - bits)
        self._table: Mask = np.zeros(1 << bits, np.bool_)
        self._table[keys >> self._shift] = True

    def __len__(self) -> int:
        return len(self.values)

    def match(self, sketches: pa.ChunkedArray | pa.Array) -> Mask:
        """Which rows of a column of sketches (null: none) an order covers."""
        rows, texts = _matrix(sketches)
        covered: Mask = np.zeros(len(sketches), np.bool_)
        for some, _ in self._found(texts):
            covered[rows[some]] = True
        return covered

    def covering(self, sketches: pa.ChunkedArray | pa.Array) -> set[str]:
        """Return the values of all orders that cover a row of the column."""
        _, texts = _matrix(sketches)
        found = [orders for _, orders in self._found(texts, every=True)]
        return {self.values[i] for i in np.unique(np.concatenate(found))} if found else set()

    def _found(self, texts: Matrix, every: bool = False) -> "list[tuple[Rows, Rows]]":
        """Covered texts with orders that cover them: one each, or every one."""
        found: list[tuple[Rows, Rows]] = []
        if not self.values or not len(texts):
            return found
        keys = _band_keys(texts)
        done: Mask = np.zeros(len(texts), np.bool_)
        for band in range(BANDS):
            likely = np.flatnonzero(self._table[keys[:, band] >> self._shift] & ~done)
            first = np.searchsorted(self._keys, keys[likely, band], "left")
            last = np.searchsorted(self._keys, keys[likely, band], "right")
            for some, orders in _pairs(likely, first, last, self._order):
                agree = texts[some] == self._sketches[orders]
                bands = agree.reshape(-1, BANDS, ROWS_PER_BAND).all(axis=2).any(axis=1)
                hit = bands & (agree.sum(axis=1) >= MIN_AGREEING)
                if hit.any():
                    found.append((some[hit], orders[hit]))
                    if not every:
                        done[some[hit]] = True
        return found


def _pairs(likely: Rows, first: Rows, last: Rows, order: Rows) -> "list[tuple[Rows, Rows]]":
    """Each text with each order between its two places, in pieces of bounded size.

    `order` holds places in the list of all orders' bands, so a place is of order place // BANDS.
    """
    counts = last - first
    pieces: list[tuple[Rows, Rows]] = []
    ends = np.cumsum(counts)
    start = 0
    while start < len(likely):
        limit = (ends[start - 1] if start else 0) + _PAIRS_AT_ONCE
        stop = max(start + 1, int(np.searchsorted(ends, limit, "right")))
        some = counts[start:stop]
        if some.any():
            texts = np.repeat(likely[start:stop], some)
            inside = np.arange(some.sum()) - np.repeat(np.cumsum(some) - some, some)
            pieces.append((texts, order[np.repeat(first[start:stop], some) + inside] // BANDS))
        start = stop
    return pieces


def _band_keys(sketches: Matrix) -> Keys:
    """Return a 64-bit key for each band of each sketch; equal bands have equal keys."""
    halves = np.ascontiguousarray(sketches, "<u2").view("<u8").reshape(-1, BANDS, 2)
    one, two = (np.uint64(factor) for factor in _MULTIPLIERS)
    bands = np.arange(BANDS, dtype=np.uint64)
    keys = (halves[:, :, 0] + bands) * one
    keys = ((keys ^ (keys >> np.uint64(32))) + halves[:, :, 1]) * two
    mixed: Keys = (keys ^ (keys >> np.uint64(29))) * one
    return mixed


def _matrix(column: pa.ChunkedArray | pa.Array) -> tuple[Rows, Matrix]:
    """Return the rows of a column that have a sketch, and their sketches."""
    there = column.is_valid().to_numpy(zero_copy_only=False)
    present = column.drop_null()
    chunks = present.chunks if isinstance(present, pa.ChunkedArray) else [present]
    parts = [
        np.frombuffer(chunk.buffers()[1], "<u2").reshape(-1, PLACES)[
            chunk.offset : chunk.offset + len(chunk)
        ]
        for chunk in chunks
        if len(chunk)
    ]
    matrix: Matrix = np.concatenate(parts) if parts else np.zeros((0, PLACES), "<u2")
    return np.flatnonzero(there), matrix


def _parsed(value: str) -> bytes:
    digits = value.removeprefix(SKETCH_PREFIX)
    try:
        raw = bytes.fromhex(digits) if digits != value else b""
    except ValueError:
        raw = b""
    if len(raw) != BYTES:
        raise RecipeError(
            f"the sketch {value[:12]!r}... of a takedown was not made by this version of "
            f"corpus-assets: it should be {SKETCH_PREFIX} and {2 * BYTES} hex digits; file the takedown "
            "again"
        )
    return raw
