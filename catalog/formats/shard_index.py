"""Megatron-LM's MMIDIDX index, by its bytes.

Layout, little-endian: magic (9 bytes), version u64 = 1, dtype code u8, sequence count u64 = n,
document-index count u64 = m, lengths int32[n], byte pointers int64[n], document indices int64[m].
Sequences are pieces of documents in document order; sequences [d[i], d[i+1]) make document i.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalog.errors import StoreFileError

MAGIC = b"MMIDIDX\x00\x00"
HEAD = struct.Struct("<9sQBQQ")
VERSION = 1
INT32 = 4  # dtype code

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Index:
    """The index of one shard; `pointers` are byte offsets into the `.bin` file."""

    lengths: NDArray[np.int32]
    pointers: NDArray[np.int64]
    documents: NDArray[np.int64]


def dump_index(lengths: Ints, pointers: Ints, documents: Ints) -> bytes:
    """Write an index."""
    head = HEAD.pack(MAGIC, VERSION, INT32, len(pointers), len(documents))
    arrays = (lengths.astype("<i4"), pointers.astype("<i8"), documents.astype("<i8"))
    return head + b"".join(array.tobytes() for array in arrays)


def parse_index(data: bytes, name: str) -> Index:
    """Read an index; `StoreFileError` says what is wrong with it."""
    if len(data) < HEAD.size:
        raise StoreFileError(f"{name} has {len(data)} bytes, too few for an MMIDIDX header")
    magic, version, dtype, sequences, documents = HEAD.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise StoreFileError(f"{name} is not an MMIDIDX index of version 1")
    if dtype != INT32:
        raise StoreFileError(f"{name} has token type {dtype}, expected {INT32} (int32)")
    expected = HEAD.size + 12 * sequences + 8 * documents
    if len(data) != expected:
        raise StoreFileError(f"{name} has {len(data)} bytes, its header promises {expected}")
    at = HEAD.size
    lengths = np.frombuffer(data, "<i4", sequences, at)
    pointers = np.frombuffer(data, "<i8", sequences, at + 4 * sequences)
    return Index(lengths, pointers, np.frombuffer(data, "<i8", documents, at + 12 * sequences))
