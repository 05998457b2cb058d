"""Eight bytes at once, from and to any place of a byte array, and the ones of a number.

numba reads an array element by element, and its compiler may not join the reads where arrays
could overlap. These are single machine instructions on every usual processor. Little-endian: byte
`at` is the lowest of the number. Nothing is checked: the caller says that eight bytes are there.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

_WORD = ir.IntType(64)
_view: Any = make_array


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    first = _view(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(first, [at], inbounds=True), _WORD.as_pointer())


def _load64(typing: Any, data: Any, at: Any) -> Any:
    """The eight bytes of uint8 `data` from `at` on, as uint64."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load(_place(context, builder, signature.args[0], *values), align=1)

    return types.uint64(data, types.uint64), generate


def _store64(typing: Any, data: Any, at: Any, value: Any) -> Any:
    """Write uint64 `value` to the eight bytes of uint8 `data` from `at` on."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _place(context, builder, signature.args[0], *values[:2])
        builder.store(values[2], place, align=1)
        return context.get_dummy_value()

    return types.void(data, types.uint64, types.uint64), generate


def _zeros_below(typing: Any, value: Any) -> Any:
    """How many bits of uint64 `value` are zero below its lowest one; 64 for zero."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), generate


def _ones_in(typing: Any, value: Any) -> Any:
    """How many bits of uint64 `value` are one."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.uint64(types.uint64), generate


load64: Any = intrinsic(_load64)
store64: Any = intrinsic(_store64)
zeros_below: Any = intrinsic(_zeros_below)
ones_in: Any = intrinsic(_ones_in)
