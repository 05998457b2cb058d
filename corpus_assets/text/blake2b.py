"""BLAKE2b with digests of 8 bytes (RFC 7693), over many short messages at once.

Equal to `hashlib.blake2b(message, digest_size=8)`, read as a little-endian number. A call of
hashlib costs about a microsecond before it hashes anything, and the message must be a Python
object first; here neither is needed. Arithmetic is modulo 2**64 by definition.
"""

import numpy as np
import numpy.typing as npt

from corpus_assets.text.split import END, START, Bytes, Hashes, Ints
from textkernels.compiled import kernel

_IV = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
)  # fmt: skip
_SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    dtype=np.int64,
)
_PARAMETERS = np.uint64(0x01010008)  # 8 bytes of digest, no key, fan-out and depth 1
_BLOCK = 128

_U = np.uint64
_R32, _L32, _R24, _L40 = _U(32), _U(32), _U(24), _U(40)
_R16, _L48, _R63, _L1 = _U(16), _U(48), _U(63), _U(1)

Words = npt.NDArray[np.uint64]


@kernel(inline="always")
def _mix(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, x: np.uint64, y: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a = a + b + x
    d = d ^ a
    d = (d >> _R32) | (d << _L32)
    c = c + d
    b = b ^ c
    b = (b >> _R24) | (b << _L40)
    a = a + b + y
    d = d ^ a
    d = (d >> _R16) | (d << _L48)
    c = c + d
    b = b ^ c
    b = (b >> _R63) | (b << _L1)
    return a, b, c, d


@kernel
def _compress(h: Words, m: Words, n_bytes: int, is_last: bool) -> None:
    """Take one block of 16 words into the state `h: uint64[8]`; `n_bytes` so far."""
    v0, v1, v2, v3, v4, v5, v6, v7 = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
    v8, v9, v10, v11 = _IV[0], _IV[1], _IV[2], _IV[3]
    v12, v13, v14, v15 = _IV[4] ^ _U(n_bytes), _IV[5], _IV[6], _IV[7]
    if is_last:
        v14 = ~v14
    for r in range(12):
        s = _SIGMA[r]
        v0, v4, v8, v12 = _mix(v0, v4, v8, v12, m[s[0]], m[s[1]])
        v1, v5, v9, v13 = _mix(v1, v5, v9, v13, m[s[2]], m[s[3]])
        v2, v6, v10, v14 = _mix(v2, v6, v10, v14, m[s[4]], m[s[5]])
        v3, v7, v11, v15 = _mix(v3, v7, v11, v15, m[s[6]], m[s[7]])
        v0, v5, v10, v15 = _mix(v0, v5, v10, v15, m[s[8]], m[s[9]])
        v1, v6, v11, v12 = _mix(v1, v6, v11, v12, m[s[10]], m[s[11]])
        v2, v7, v8, v13 = _mix(v2, v7, v8, v13, m[s[12]], m[s[13]])
        v3, v4, v9, v14 = _mix(v3, v4, v9, v14, m[s[14]], m[s[15]])
    h[0] ^= v0 ^ v8
    h[1] ^= v1 ^ v9
    h[2] ^= v2 ^ v10
    h[3] ^= v3 ^ v11
    h[4] ^= v4 ^ v12
    h[5] ^= v5 ^ v13
    h[6] ^= v6 ^ v14
    h[7] ^= v7 ^ v15


@kernel
def hash_with_prefix(
    data: Bytes, spans: Ints, rows: Ints, prefixes: Bytes, prefix_offsets: Ints
) -> Hashes:
    """uint64[k]: BLAKE2b-64 of each span's bytes behind its document's prefix.

    Document d has `spans[rows[d]:rows[d + 1]]` and the prefix
    `prefixes[prefix_offsets[d]:prefix_offsets[d + 1]]`.
    """
    out = np.empty(spans.shape[0], dtype=np.uint64)
    block = np.zeros(_BLOCK, dtype=np.uint8)
    words = block.view(np.uint64)
    h = np.empty(8, dtype=np.uint64)
    for d in range(rows.shape[0] - 1):
        low, high = prefix_offsets[d], prefix_offsets[d + 1]
        for k in range(rows[d], rows[d + 1]):
            h[:] = _IV
            h[0] ^= _PARAMETERS
            total = high - low + spans[k, END] - spans[k, START]
            done = 0
            place = 0
            for part in range(2):
                source = prefixes if part == 0 else data
                start = low if part == 0 else spans[k, START]
                end = high if part == 0 else spans[k, END]
                for at in range(start, end):
                    if place == _BLOCK:  # a full block waits until something follows it
                        done += _BLOCK
                        _compress(h, words, done, False)
                        place = 0
                    block[place] = source[at]
                    place += 1
            block[place:] = 0
            _compress(h, words, total, True)
            out[k] = h[0]
    return out


@kernel
def hash_numbers(numbers: Hashes, person: Words) -> Hashes:
    """uint64[k]: BLAKE2b-64 of each number's eight bytes, little-endian.

    `person: uint64[2]` is the personalization, hashlib's 16 bytes of that name.
    """
    out = np.empty(numbers.shape[0], dtype=np.uint64)
    words = np.zeros(_BLOCK // 8, dtype=np.uint64)
    h = np.empty(8, dtype=np.uint64)
    for k in range(numbers.shape[0]):
        h[:] = _IV
        h[0] ^= _PARAMETERS
        h[6] ^= person[0]
        h[7] ^= person[1]
        words[0] = numbers[k]
        _compress(h, words, 8, True)
        out[k] = h[0]
    return out
