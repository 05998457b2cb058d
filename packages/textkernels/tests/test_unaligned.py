"""Single instructions, against Python's own arithmetic."""

import numpy as np

from textkernels.bytes import (
    above64,
    equal64,
    load64,
    ones_in,
    store64,
    zeros_below,
)
from textkernels.compiled import kernel


@kernel
def loaded(data, at):  # type: ignore[no-untyped-def]
    return load64(data, at)


@kernel
def stored(data, at, value):  # type: ignore[no-untyped-def]
    store64(data, at, value)


@kernel
def counted(value):  # type: ignore[no-untyped-def]
    return zeros_below(value), ones_in(value)


@kernel
def compared(data, at, byte):  # type: ignore[no-untyped-def]
    return equal64(data, at, byte), above64(data, at, byte)


def test_64_bytes_are_compared_from_any_place() -> None:
    draw = np.random.default_rng(2)
    for at in range(70):
        data = draw.choice(np.array([0, 1, 60, 127, 128, 129, 254, 255], np.uint8), 134)
        data.flags.writeable = bool(at % 2)
        for byte in (0, 1, 60, 127, 128, 255):
            equal, above = compared(data, at, np.uint8(byte))
            block = data[at : at + 64].tolist()
            assert int(equal) == sum((each == byte) << place for place, each in enumerate(block))
            assert int(above) == sum((each > byte) << place for place, each in enumerate(block))


def test_eight_bytes_are_read_from_any_place() -> None:
    data = np.random.default_rng(1).integers(0, 256, 64).astype(np.uint8)
    for at in range(64 - 7):
        assert int(loaded(data, at)) == int.from_bytes(data[at : at + 8].tobytes(), "little")
    data.flags.writeable = False
    assert int(loaded(data, 3)) == int.from_bytes(data[3:11].tobytes(), "little")
    assert int(loaded(data[5:], 3)) == int.from_bytes(data[8:16].tobytes(), "little")


def test_eight_bytes_are_written_to_any_place_and_no_others() -> None:
    for at in range(64 - 7):
        data = np.full(64, 7, np.uint8)
        stored(data, at, np.uint64(0x0123456789ABCDEF))
        assert data[at : at + 8].tobytes() == bytes.fromhex("efcdab8967452301")
        assert (np.delete(data, np.s_[at : at + 8]) == 7).all()


def test_bits_are_counted_as_python_counts_them() -> None:
    numbers = [0, 1, 2, 3, 2**63, 2**64 - 1, *(3 << i for i in range(62))]
    for number in numbers:
        below = (number & -number).bit_length() - 1 if number else 64
        found = counted(np.uint64(number))
        assert (int(found[0]), int(found[1])) == (below, number.bit_count())
