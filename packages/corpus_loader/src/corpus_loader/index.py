"""The index of a shard, and how its tokens are written.

Megatron-LM's MMIDIDX index, little-endian: magic (9 bytes), version u64 = 1, dtype code u8,
sequence count u64 = n, document-index count u64 = m, lengths int32[n], byte pointers int64[n],
document indices int64[m]. Sequences are pieces of documents in document order; sequences
[d[i], d[i+1]) make document i.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corpus_loader.errors import LoaderError

MAGIC = b"MMIDIDX\x00\x00"
HEAD = struct.Struct("<9sQBQQ")
VERSION = 1

Dtype = Literal["int32", "uint16"]
CODES: Mapping[Dtype, int] = {"int32": 4, "uint16": 8}
"""Types of tokens as the index names them."""


def numpy_type(dtype: Dtype) -> "np.dtype[Any]":
    """Return the type of tokens in a `.bin` file."""
    return np.dtype("<u2" if dtype == "uint16" else "<i4")


Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Index:
    """The index of one shard; `pointers` are byte offsets into the `.bin` file."""

    lengths: NDArray[np.int32]
    pointers: NDArray[np.int64]
    documents: NDArray[np.int64]
    dtype: Dtype


def dump_index(lengths: Ints, pointers: Ints, documents: Ints, dtype: Dtype = "int32") -> bytes:
    """Write an index."""
    head = HEAD.pack(MAGIC, VERSION, CODES[dtype], len(pointers), len(documents))
    arrays = (lengths.astype("<i4"), pointers.astype("<i8"), documents.astype("<i8"))
    return head + b"".join(array.tobytes() for array in arrays)


def parse_index(data: bytes, name: str) -> Index:
    """Read an index; `LoaderError` says what is wrong with it."""
    if len(data) < HEAD.size:
        raise LoaderError(f"{name} has {len(data)} bytes, too few for an MMIDIDX header")
    magic, version, code, sequences, documents = HEAD.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise LoaderError(f"{name} is not an MMIDIDX index of version 1")
    dtype = next((name for name, known in CODES.items() if known == code), None)
    if dtype is None:
        raise LoaderError(f"{name} has token type {code}, expected one of {dict(CODES)}")
    expected = HEAD.size + 12 * sequences + 8 * documents
    if len(data) != expected:
        raise LoaderError(f"{name} has {len(data)} bytes, its header promises {expected}")
    at = HEAD.size
    lengths = np.frombuffer(data, "<i4", sequences, at)
    pointers = np.frombuffer(data, "<i8", sequences, at + 4 * sequences)
    bounds = np.frombuffer(data, "<i8", documents, at + 12 * sequences)
    return Index(lengths, pointers, bounds, dtype)
