"""Tables of importance weights: the buckets of words, and the file that holds a ratio for each."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from corpus_assets.core.errors import ModelError
from textkernels.hashing import mix_all

BUCKETS = 10_000  # places that words share, as there


STEPS = 1 << 24


Table = npt.NDArray[np.int64]


def word_places(
    hashes: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64], buckets: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Buckets of each word, and of each with the next one; whether that is of the same text."""
    size = np.uint64(buckets)
    following = np.append(hashes[1:], np.zeros(min(1, len(hashes)), np.uint64))
    pairs = mix_all(mix_all(hashes) + following) % size
    is_pair = np.ones(len(hashes), np.bool_)
    is_pair[rows[1:][np.diff(rows) > 0] - 1] = False
    return (hashes % size).astype(np.int64), pairs.astype(np.int64), is_pair


def load_weights(path: Path) -> Table:
    stat = path.stat()
    return _read(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _read(path: str, mtime_ns: int, n_bytes: int) -> Table:
    try:
        table: Table = np.load(path, allow_pickle=False)
    except (ValueError, OSError) as error:
        raise ModelError(
            f"{Path(path).name} holds no importance weights: name a classifier with `positives` "
            "and `negatives`, which no other family reads"
        ) from error
    return table
