"""What confirming near duplicates looks at: band keys and sketches of rows, held or mapped.

Most rows are worked on in batches that are held in memory. A connected component that is larger
than a batch stays where it was spilled, mapped, and is read in the order in which it lies, a few
thousand rows between two releases. So what is resident never grows with the component.
"""

import mmap
from typing import Protocol

import numpy as np
import numpy.typing as npt

from corpus_assets.dedup.kernels.buckets import compare_sketches
from corpus_assets.text.minhash import BINS

_PAIRS_AT_ONCE = 2_048  # a fault maps up to 64 KB around a row: 128 MB between two releases
_WORDS = BINS // 8

Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.uint64]


class SketchedRows(Protocol):
    """Rows with band keys and sketches."""

    bands: int

    def band(self, number: int) -> Keys:
        """One band's key of every row."""
        ...

    def similarities(self, left: Rows, right: Rows) -> Floats:
        """How alike the sketches of pairs of rows are."""
        ...


class HeldRows:
    """Rows in memory."""

    def __init__(self, band_keys: Keys, sketches: npt.NDArray[np.uint8]) -> None:
        self.bands = band_keys.shape[1]
        self._keys = band_keys
        self._words = np.ascontiguousarray(sketches).view(np.uint64).reshape(-1, _WORDS)

    def band(self, number: int) -> Keys:
        return self._keys[:, number]

    def similarities(self, left: Rows, right: Rows) -> Floats:
        return similarity(*compare_sketches(self._words, left, right))


class MappedRows:
    """Rows in two mapped files: keys uint64[rows, bands] and sketches uint8[rows, BINS]."""

    def __init__(self, keys: mmap.mmap, sketches: mmap.mmap, rows: int, bands: int) -> None:
        self.bands = bands
        self._key_map, self._sketch_map = keys, sketches
        self._keys = np.frombuffer(keys, np.uint64, rows * bands).reshape(rows, bands)
        self._words = np.frombuffer(sketches, np.uint64, rows * _WORDS).reshape(rows, _WORDS)

    def band(self, number: int) -> Keys:
        """Return a copy, made in pieces of 16 MB."""
        found = np.empty(self._keys.shape[0], np.uint64)
        step = max(1, (16 << 20) // (8 * self.bands))
        for start in range(0, found.size, step):
            found[start : start + step] = self._keys[start : start + step, number]
            self._key_map.madvise(mmap.MADV_DONTNEED)
        return found

    def similarities(self, left: Rows, right: Rows) -> Floats:
        """In the order in which the right rows lie, so that reading runs through the file."""
        order = np.argsort(right, kind="stable")
        found = np.empty(left.size, np.float64)
        for start in range(0, order.size, _PAIRS_AT_ONCE):
            some = order[start : start + _PAIRS_AT_ONCE]
            found[some] = similarity(*compare_sketches(self._words, left[some], right[some]))
            self._sketch_map.madvise(mmap.MADV_DONTNEED)
        return found


def similarity(equal: npt.NDArray[np.int32], used: npt.NDArray[np.int32]) -> Floats:
    """Return the estimated Jaccard similarity, from bins with an equal byte and bins not empty in
    both.

    One of the 255 bytes agrees by chance: a share s of equal bytes stands for a similarity of
    (s - 1/255) / (1 - 1/255), at least 0, and 0 where there is no shingle at all.
    """
    share = equal / np.maximum(used, 1)
    found: Floats = np.maximum((255 * share - 1) / 254, 0.0)
    return found
