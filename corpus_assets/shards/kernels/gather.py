"""Copy samples out of many mapped files into one batch, at the speed of memory.

Each file is known by the address of its first token, so one call serves a batch that is spread
over any number of files, and other threads run meanwhile. The caller keeps the mappings alive for
the time of the call and answers for the bounds: neither can be checked here.
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from corpus_assets.text.compiled import kernel


@intrinsic
def _copy_memory(typing_context: Any, target: Any, source: Any, size: Any) -> Any:
    """memcpy between two addresses; a loop over tokens takes half as long again."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [builder.inttoptr(place, cgutils.voidptr_t) for place in arguments[:2]]
        copy: Any = cgutils.raw_memcpy
        copy(builder, *pointers, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.int64), generate


_copy_bytes: Any = _copy_memory


@kernel(nogil=True)
def gather_rows(addresses: Any, files: Any, samples: Any, rows: Any, out: Any) -> None:
    """Copy sample `samples[k]` of file `files[k]` to `out[rows[k]]`, for every k.

    `addresses` uint64 [files]: first token of each mapped file of int32 samples as long as a row
    of `out` (int32, contiguous, [rows, seq_len]); `files`, `samples` and `rows` int64.
    """
    row_bytes = 4 * out.shape[1]
    target = np.uint64(out.ctypes.data)
    for k in range(len(files)):
        source = addresses[files[k]] + np.uint64(samples[k]) * np.uint64(row_bytes)
        place = target + np.uint64(rows[k]) * np.uint64(row_bytes)
        _copy_bytes(place, source, row_bytes)
