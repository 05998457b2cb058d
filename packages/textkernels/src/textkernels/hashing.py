"""Hashes of 64 bits, for tables, samples and n-grams; none of them is for secrets.

All arithmetic is uint64 and wraps modulo 2**64 on purpose.
"""

from typing import Any

import numpy as np

from textkernels.byte_search import byte_kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio, odd: multiples of it spread over all words."""

FNV_OFFSET = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
"""FNV-1a (Fowler, Noll, Vo): begin with the offset, then `(value ^ unit) * FNV_PRIME` a unit."""

_MIX_A, _MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_S27, _S30, _S31, _S33 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(33)


def mix_all(values: Any) -> Any:
    """Apply the finalizer of splitmix64 (Steele et al. 2014), a bijection, to uint64 `values`."""
    values = (values ^ (values >> _S30)) * _MIX_A
    values = (values ^ (values >> _S27)) * _MIX_B
    return values ^ (values >> _S31)


splitmix64 = byte_kernel(mix_all)
"""`mix_all` of one value, for kernels."""


@byte_kernel
def murmur64(value: Any) -> Any:
    """Apply the finalizer of MurmurHash3, a bijection."""
    value = (value ^ (value >> _S33)) * _MIX_1
    value = (value ^ (value >> _S33)) * _MIX_2
    return value ^ (value >> _S33)


def fnv1a(data: bytes) -> int:
    """FNV-1a of bytes: what kernels compute, to make the tables they look into."""
    value = int(FNV_OFFSET)
    for byte in data:
        value = ((value ^ byte) * int(FNV_PRIME)) % 2**64
    return value
