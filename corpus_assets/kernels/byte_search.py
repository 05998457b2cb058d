"""The C library's search for a byte, from inside of kernels.

A loop over bytes takes about a nanosecond a byte in compiled code, `memchr` a tenth of it and a
few nanoseconds a call. Pages are mostly what a scan wants to pass over: text up to the next '<',
an attribute's value up to its quote. The symbol is found by name when a kernel is loaded, so
kernels that use it can be cached.
"""

import numpy as np
import numpy.typing as npt
from numba import njit, types

Bytes = npt.NDArray[np.uint8]

_memchr = types.ExternalFunction("memchr", types.uintp(types.uintp, types.int32, types.uintp))


@njit(cache=True)
def find_byte(data: Bytes, byte: int, at: int) -> int:
    """First place from `at` on (0 or more) that holds `byte`; the length of `data` if none."""
    n = len(data)
    if at >= n:
        return n
    base = data.ctypes.data
    found = _memchr(base + np.uint64(at), byte, np.uint64(n - at))
    return np.int64(found - base) if found != 0 else n
