"""Which texts of a batch have no word: looks at each as far as its first character of one."""

import numpy as np
import numpy.typing as npt

from corpus_assets.text.split import Bytes, Ints
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space


@kernel
def blank_texts(data: Bytes, offsets: Ints) -> npt.NDArray[np.bool_]:
    """bool[n]: whether `text.split()` is empty."""
    blank = np.ones(len(offsets) - 1, dtype=np.bool_)
    for d in range(len(offsets) - 1):
        at, end = offsets[d], offsets[d + 1]
        while at < end:
            point, width = decode(data, at, end)
            if not is_space(point):
                blank[d] = False
                break
            at += width
    return blank
