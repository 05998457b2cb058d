"""Eight or 64 bytes at once, from and to any place of a byte array, and the ones of a number.

numba reads an array element by element, and its compiler may not join the reads where arrays
could overlap. These are one or a few machine instructions on every usual processor. Little-endian:
byte `at` is the lowest of the number, or its lowest bit where bytes are compared. Nothing is
checked: the caller says that the bytes are there.
"""

from typing import Any

from textkernels.compiled import InCode

BLOCK_BYTES = 64

load64: Any = InCode("load64")
"""The eight bytes of uint8 `data` from `at` on, as uint64."""
store64: Any = InCode("store64")
"""Writes uint64 `value` to the eight bytes of uint8 `data` from `at` on."""
equal64: Any = InCode("equal64")
"""Which of the 64 bytes of uint8 `data` from `at` on are `byte`, a bit each."""
above64: Any = InCode("above64")
"""Which of them are greater."""
zeros_below: Any = InCode("zeros_below")
"""How many bits of uint64 `value` are zero below its lowest one; 64 for zero."""
ones_in: Any = InCode("ones_in")
"""How many bits of uint64 `value` are one."""
