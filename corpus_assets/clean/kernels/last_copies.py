"""Which documents keep the last copy of a line."""

import numpy as np

from corpus_assets.text.split import Bytes, Ints
from textkernels.compiled import kernel


@kernel
def keep_last_copies(
    rows: Ints, lines: Ints, line_chars: Ints, chars: Ints, n_lines: int, min_chars: int
) -> Bytes:
    """uint8[k]: 1 where a document keeps a line that is cut out of others.

    Document d, in the order in which documents may keep, has `lines[rows[d]:rows[d + 1]]`
    (numbers below `n_lines`) of `line_chars` characters among its `chars`. Each line is kept by
    the first document that stays long enough with what it keeps. Lines that no document kept so
    are kept by the first that is long enough with all of its lines.
    """
    keeps = np.zeros(lines.shape[0], dtype=np.uint8)
    is_kept = np.zeros(n_lines, dtype=np.bool_)
    for whole in range(2):
        for d in range(rows.shape[0] - 1):
            left = chars[d]
            is_needed = False
            for k in range(rows[d], rows[d + 1]):
                if not is_kept[lines[k]]:
                    is_needed = True
                elif whole == 0:
                    left -= line_chars[k]
            if not is_needed or left < min_chars:
                continue
            for k in range(rows[d], rows[d + 1]):
                if whole == 1 or not is_kept[lines[k]]:
                    keeps[k] = 1
                    is_kept[lines[k]] = True
    return keeps
