"""What kernels call that is no kernel: machine instructions by way of LLVM, and the C library's.

Importing this imports numba, so kernels name these by `compiled.InCode`, and it is imported when
the first kernel is used. The symbols of the C library are found by name when a kernel is loaded, so
kernels that use them can be cached.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

_WORD = ir.IntType(64)
_BYTE = ir.IntType(8)
_BLOCK = ir.VectorType(_BYTE, _WORD.width)  # a bit of a word for each byte
_view: Any = make_array


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any, what: Any = _WORD) -> Any:
    first = _view(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(first, [at], inbounds=True), what.as_pointer())


def _load64(typing: Any, data: Any, at: Any) -> Any:
    """Return the eight bytes of uint8 `data` from `at` on, as uint64."""

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


def _compared(operator: str) -> Any:
    def compare(typing: Any, data: Any, at: Any, byte: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            array, at, byte = values
            place = _place(context, builder, signature.args[0], array, at, _BLOCK)
            block = builder.load(place, align=1)
            one = builder.insert_element(_BLOCK(ir.Undefined), byte, ir.IntType(32)(0))
            all_same = ir.Constant(ir.VectorType(ir.IntType(32), _WORD.width), [0] * _WORD.width)
            bytes_of_it = builder.shuffle_vector(one, _BLOCK(ir.Undefined), all_same)
            return builder.bitcast(builder.icmp_unsigned(operator, block, bytes_of_it), _WORD)

        return types.uint64(data, types.uint64, types.uint8), generate

    return compare


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
equal64: Any = intrinsic(_compared("=="))
"""Which of the 64 bytes of uint8 `data` from `at` on are `byte`, a bit each."""
above64: Any = intrinsic(_compared(">"))
"""Which of them are greater."""
zeros_below: Any = intrinsic(_zeros_below)
ones_in: Any = intrinsic(_ones_in)

memchr: Any = types.ExternalFunction("memchr", types.uintp(types.uintp, types.int32, types.uintp))
memcpy: Any = types.ExternalFunction("memcpy", types.uintp(types.uintp, types.uintp, types.uintp))
