"""The C library's search for a byte, and its copy of many, from inside of kernels.

A loop over bytes takes about a nanosecond a byte in compiled code, `memchr` a tenth of it and a
few nanoseconds a call. Pages are mostly what a scan wants to pass over: text up to the next '<',
an attribute's value up to its quote.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from textkernels.bytes import BLOCK_BYTES, equal64, zeros_below
from textkernels.compiled import InCode, kernel

Bytes = npt.NDArray[np.uint8]
Function = TypeVar("Function", bound=Callable[..., Any])

_memchr: Any = InCode("memchr")
_memcpy: Any = InCode("memcpy")


def byte_kernel(function: Function) -> Function:
    """Compile one of many small functions over bytes, which allocates nothing.

    Without numba's reference counting: to count arrays up and down, atomically and at every call,
    takes longer than what most of these calls do (twice the time of a scan in all).
    """
    return kernel(_nrt=False)(function)


def inlined_kernel(function: Function) -> Function:
    """Compile a function as `byte_kernel` does, into those that call it.

    For a piece of a large loop: to hand over five arrays takes longer than what most of them do.
    """
    return kernel(_nrt=False, inline="always")(function)


@byte_kernel
def copy_bytes(data: Bytes, start: int, end: int, out: Bytes, at: int) -> int:
    """Copy `data[start:end]` to where `at` is in `out`, which has room for it; the place after."""
    if end > start:
        source = data.ctypes.data + np.uint64(start)
        _memcpy(out.ctypes.data + np.uint64(at), source, np.uint64(end - start))
    return at + end - start


@byte_kernel
def find_byte(data: Bytes, byte: int, at: int) -> int:
    """First place from `at` on (0 or more) that holds `byte`; the length of `data` if none."""
    n = len(data)
    if at >= n:
        return n
    base = data.ctypes.data
    found = _memchr(base + np.uint64(at), byte, np.uint64(n - at))
    return int(np.int64(found - base)) if found != 0 else n


@byte_kernel
def find_near_byte(data: Bytes, byte: int, at: int) -> int:
    """As `find_byte`, quicker where it is one of the next 64."""
    if at + BLOCK_BYTES <= len(data):
        found = equal64(data, at, byte)
        if found:
            return at + int(zeros_below(found))
        at += BLOCK_BYTES
    return find_byte(data, byte, at)
