"""Where gzip members may begin: their first three bytes, looked for 64 places at once."""

import numpy as np
import numpy.typing as npt

from textkernels.byte_search import byte_kernel
from textkernels.bytes import BLOCK_BYTES, equal64, zeros_below

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

_FEW = 256


def find_gzip_starts(data: bytes) -> list[int]:
    """All places of `1f 8b 08`, ascending."""
    array = np.frombuffer(data, dtype=np.uint8)
    places = np.empty(_FEW, dtype=np.int64)
    n_found = _find(array, places)
    if n_found > _FEW:
        places = np.empty(n_found, dtype=np.int64)
        _find(array, places)
    found: list[int] = places[:n_found].tolist()
    return found


@byte_kernel
def _find(data: Bytes, places: Places) -> int:
    """How many there are; the first of them as `places` has room for."""
    n_found = 0
    last = len(data) - 2  # places from here on have too few bytes after them
    for base in range(0, last, BLOCK_BYTES):
        likely = ~np.uint64(0)
        if base + BLOCK_BYTES < len(data):
            likely = equal64(data, base, 0x1F) & equal64(data, base + 1, 0x8B)
        while likely:
            at = base + int(zeros_below(likely))
            likely &= likely - np.uint64(1)
            if at >= last:
                break
            if data[at] == 0x1F and data[at + 1] == 0x8B and data[at + 2] == 0x08:
                if n_found < len(places):
                    places[n_found] = at
                n_found += 1
    return n_found
