"""The index of a shard: bytes written by hand, and what is wrong with others."""

import struct

import numpy as np
import pytest

from corpus_loader.errors import LoaderError
from corpus_loader.index import dump_index, numpy_type, parse_index

LENGTHS, POINTERS, DOCUMENTS = [3, 2, 4], [0, 20, 12], [0, 2, 3]


def by_hand(code: int = 4, magic: bytes = b"MMIDIDX\0\0", version: int = 1) -> bytes:
    head = magic + struct.pack("<QBQQ", version, code, 3, 3)
    return head + struct.pack("<3i3q3q", *LENGTHS, *POINTERS, *DOCUMENTS)


def arrays() -> list[np.ndarray]:
    return [np.array(values, np.int64) for values in (LENGTHS, POINTERS, DOCUMENTS)]


def test_an_index_has_the_bytes_that_megatron_reads() -> None:
    assert dump_index(*arrays()) == by_hand()
    assert dump_index(*arrays(), "uint16") == by_hand(code=8)


def test_an_index_is_read_as_it_was_written() -> None:
    index = parse_index(by_hand(code=8), "a.idx")
    assert (index.lengths.tolist(), index.pointers.tolist(), index.documents.tolist()) == (
        LENGTHS,
        POINTERS,
        DOCUMENTS,
    )
    assert index.dtype == "uint16"
    assert numpy_type(index.dtype).str == "<u2"


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"MMIDIDX", "too few for an MMIDIDX header"),
        (by_hand(magic=b"MMIDIDY\0\0"), "is not an MMIDIDX index of version 1"),
        (by_hand(version=2), "is not an MMIDIDX index of version 1"),
        (by_hand(code=6), "has token type 6"),
        (by_hand()[:-1], "its header promises 94"),
        (by_hand() + b"\0", "has 95 bytes"),
    ],
)
def test_what_is_no_index_is_refused_by_name(data: bytes, fault: str) -> None:
    with pytest.raises(LoaderError, match=rf"a\.idx .*{fault}"):
        parse_index(data, "a.idx")
