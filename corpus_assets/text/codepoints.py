"""Texts of Arrow as bytes and as code points."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def text_buffers(texts: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """UTF-8 bytes and offsets of a large_string array without nulls, shared and read-only."""
    _, offsets, data = texts.buffers()
    if offsets is None or len(texts) == 0:
        none = np.zeros(1, np.int64)
        none.flags.writeable = False
        return np.frombuffer(b"", np.uint8), none
    at = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if data is None:
        return np.frombuffer(b"", np.uint8), at
    start, stop = int(at[0]), int(at[-1])
    if start == 0:
        return np.frombuffer(data, np.uint8)[:stop], at
    moved = at - start
    moved.flags.writeable = False
    return np.frombuffer(data, np.uint8)[start:stop], moved


def each_of(codes: npt.NDArray[np.uint32]) -> pa.Array:
    """Strings of one character each."""
    widths = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    ends = np.concatenate([[0], np.cumsum(widths)])
    data = codes.astype("<u4").tobytes().decode("utf-32-le").encode()
    return pa.LargeStringArray.from_buffers(len(codes), pa.py_buffer(ends), pa.py_buffer(data))


def code_points(texts: pa.Array) -> npt.NDArray[np.uint32]:
    data, _ = text_buffers(texts)
    return np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
