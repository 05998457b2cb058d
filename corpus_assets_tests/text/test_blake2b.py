"""BLAKE2b of many messages against hashlib."""

import hashlib
import random

import numpy as np
import pytest

from corpus_assets.text.blake2b import hash_numbers, hash_with_prefix


def keys_of(messages: list[list[bytes]], prefixes: list[bytes]) -> list[int]:
    flat = [message for group in messages for message in group]
    ends = np.cumsum([0, *map(len, flat)], dtype=np.int64)
    spans = np.stack([ends[:-1], ends[1:], np.zeros(len(flat), dtype=np.int64)], axis=1)
    rows = np.cumsum([0, *map(len, messages)], dtype=np.int64)
    places = np.cumsum([0, *map(len, prefixes)], dtype=np.int64)
    data = np.frombuffer(b"".join(flat), dtype=np.uint8)
    heads = np.frombuffer(b"".join(prefixes), dtype=np.uint8)
    found: list[int] = hash_with_prefix(data, spans, rows, heads, places).tolist()
    return found


def expected(message: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(message, digest_size=8).digest(), "little")


@pytest.mark.parametrize("prefix", [b"", b"example.org\0", b"h" * 127, b"h" * 128, b"h" * 300])
def test_every_length_around_the_block_size_is_hashed_as_hashlib_does(prefix: bytes) -> None:
    messages = [bytes(k % 251 for k in range(n)) for n in [*range(140), 255, 256, 257, 384, 1000]]
    assert keys_of([messages], [prefix]) == [expected(prefix + message) for message in messages]


def test_each_document_has_its_own_prefix() -> None:
    draw = random.Random(5)
    prefixes = [draw.randbytes(draw.randrange(40)) for _ in range(60)]
    messages = [
        [draw.randbytes(draw.randrange(400)) for _ in range(draw.randrange(5))] for _ in prefixes
    ]
    wanted = [
        expected(prefix + message)
        for prefix, group in zip(prefixes, messages, strict=True)
        for message in group
    ]
    assert keys_of(messages, prefixes) == wanted


def test_nothing_gives_nothing() -> None:
    assert keys_of([[], []], [b"a", b""]) == []


@pytest.mark.parametrize("person", [b"", b"takedown", b"sixteen letters."])
def test_numbers_are_hashed_as_hashlib_hashes_their_eight_bytes(person: bytes) -> None:
    draw = random.Random(6)
    numbers = [0, 1, 2**64 - 1, *(draw.getrandbits(64) for _ in range(500))]
    words = np.frombuffer(person.ljust(16, b"\0"), "<u8")
    wanted = [
        int.from_bytes(
            hashlib.blake2b(n.to_bytes(8, "little"), digest_size=8, person=person).digest(),
            "little",
        )
        for n in numbers
    ]
    assert hash_numbers(np.array(numbers, np.uint64), words).tolist() == wanted
    assert hash_numbers(np.array([], np.uint64), words).tolist() == []
