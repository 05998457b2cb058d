import numpy as np
import pyarrow as pa
from datasketch import MinHash

from corpus_assets.kernels.characters import char_tables, nfkc, text_buffers
from corpus_assets.kernels.minhash import (
    affine32_permutations,
    lower_minima,
    minhash_of_hashes,
    minhash_texts,
    mix32,
)
from corpus_assets_tests.kernels.word_reference import NASTY, gram_hash, ngrams_of, words_of


def of_datasketch(hashes: list[int], permutations: int, seed: int) -> list[int]:
    sketch = MinHash(num_perm=permutations, seed=seed, hashfunc=lambda value: value)
    if hashes:
        sketch.update_batch(hashes)
    return [int(value) for value in sketch.hashvalues]


def shingles(text: str, length: int) -> list[int]:
    words = words_of(text)
    grams = ngrams_of(words, min(length, len(words))) if words else []
    return [gram_hash(list(gram)) >> 32 for gram in grams]


def test_minima_equal_datasketch_for_the_same_hashes() -> None:
    random = np.random.default_rng(3)
    for seed, count, permutations in ((1, 1, 112), (1, 777, 112), (42, 3000, 128), (7, 0, 16)):
        hashes = random.integers(0, 2**32, count, dtype=np.uint32)
        a, b = affine32_permutations(permutations, seed)
        found = minhash_of_hashes(hashes, a, b).tolist()
        assert found == of_datasketch([int(value) for value in hashes], permutations, seed)


def test_the_largest_values_wrap_modulo_2_to_the_32_and_nowhere_else() -> None:
    top = 2**32 - 1
    extremes = np.array([0, 1, 2**31 - 1, 2**31, top], np.uint32)
    for a in (1, 3, 2**31 + 1, top):
        for b in (0, 1, 2**31, top):
            for value in extremes:
                minima = np.full(1, top, np.uint32)
                one = np.array([value], np.uint32)
                lower_minima(one, np.array([a], np.uint32), np.array([b], np.uint32), minima)
                assert int(minima[0]) == (a * int(value) + b) % 2**32


def test_mixing_equals_python_integers() -> None:
    for value in (0, 1, 0xDEADBEEF, 2**32 - 1):
        expected = value
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            expected = ((expected ^ (expected >> shift)) * factor) % 2**32
        expected ^= expected >> 16
        assert int(mix32(np.uint32(value))) == expected


def test_signatures_of_texts_equal_datasketch_over_the_reference_shingles() -> None:
    texts = [*NASTY, " ".join(f"w{i}" for i in range(1500)), "a b c d", "a b c d e", "a b c d e f"]
    a, b = affine32_permutations(112, 1)
    for length in (1, 5):
        data, offsets = text_buffers(nfkc(pa.array(texts, pa.large_string())))
        signatures, counts = minhash_texts(data, offsets, char_tables(), length, a, b)
        for i, text in enumerate(texts):
            expected = shingles(text, length)
            assert counts[i] == len(expected)
            assert signatures[i].tolist() == of_datasketch(expected, 112, 1)
