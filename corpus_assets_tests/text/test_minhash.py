import numpy as np
import pyarrow as pa
import pytest
from datasketch import MinHash

from corpus_assets.dedup.compared_rows import similarity
from corpus_assets.dedup.kernels.buckets import compare_sketches
from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.minhash import (
    BINS,
    affine32_permutations,
    lower_bins,
    lower_minima,
    minhash_texts,
    mix32,
    sign_texts,
    store_bins,
)
from corpus_assets_tests.text.word_reference import (
    NASTY,
    fold,
    gram_hash,
    is_invisible,
    ngrams_of,
    words_of,
)


def of_datasketch(hashes: list[int], permutations: int, seed: int) -> list[int]:
    sketch = MinHash(num_perm=permutations, seed=seed, hashfunc=lambda value: value)
    if hashes:
        sketch.update_batch(hashes)
    return [int(value) for value in sketch.hashvalues]


def minhash_of_hashes(hashes: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Signature of a set of uint32 hashes; all ones when empty."""
    minima = np.full(a.size, 0xFFFFFFFF, np.uint32)
    lower_minima(mix32.py_func(hashes), a, b, minima)
    return minima


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


def naive_sketch(grams: list[tuple[str, ...]]) -> list[int]:
    bins: dict[int, int] = {}
    for gram in grams:
        value = gram_hash(list(gram))
        place, rest = value >> 55, value % 2**55
        bins[place] = min(bins.get(place, rest), rest)
    return [bins[i] % 255 + 1 if i in bins else 0 for i in range(BINS)]


def test_sketches_of_texts_equal_the_definition_and_leave_signatures_as_they_are() -> None:
    texts = [*NASTY, " ".join(f"w{i}" for i in range(1500)), "a b c d", "a b c d e f"]
    data, offsets = text_buffers(nfkc(pa.array(texts, pa.large_string())))
    a, b = affine32_permutations(16, 1)
    signatures, sketches, counts = sign_texts(data, offsets, char_tables(), 5, a, b, False)
    plain, plain_counts = minhash_texts(data, offsets, char_tables(), 5, a, b)
    assert np.array_equal(signatures, plain)
    assert np.array_equal(counts, plain_counts)
    for text, sketch in zip(texts, sketches, strict=True):
        words = words_of(text)
        grams = ngrams_of(words, min(5, len(words))) if words else []
        assert sketch.tolist() == naive_sketch(grams)


def test_shingles_of_characters_are_runs_of_folded_characters_in_every_script() -> None:
    texts = ["", "ab", "One, two!  THREE\nfour", "字\u200b句 é 😀😀", "-" * 700, "x y " * 400]
    data, offsets = text_buffers(nfkc(pa.array(texts, pa.large_string())))
    a, b = affine32_permutations(16, 1)
    signatures, sketches, counts = sign_texts(data, offsets, char_tables(), 4, a, b, True)
    for i, text in enumerate(texts):
        characters = [fold(char) for char in text if not is_invisible(char)]
        grams = ngrams_of(characters, min(4, len(characters))) if characters else []
        assert counts[i] == len(grams)
        assert sketches[i].tolist() == naive_sketch(grams)
        hashes = [gram_hash(list(gram)) >> 32 for gram in grams]
        assert signatures[i].tolist() == of_datasketch(hashes, 16, 1)


def random_sets(
    random: np.random.Generator, size: int, shared: int
) -> tuple["np.ndarray[tuple[int], np.dtype[np.uint64]]", ...]:
    """Two sets of `size` hashes with `shared` in common."""
    pool = random.integers(0, 2**64, 2 * size - shared, dtype=np.uint64)
    return pool[:size], pool[size - shared :]


@pytest.mark.parametrize("permutations", [64, 112, 256])
def test_the_mean_error_of_minhash_is_that_of_independent_draws(permutations: int) -> None:
    """Theory: the number of equal minima is binomial, so for similarity s and k permutations the
    mean absolute error is close to sqrt(2 s (1 - s) / (pi k))."""
    random = np.random.default_rng(11)
    a, b = affine32_permutations(permutations, 1)
    errors, floors = [], []
    for _ in range(1500):
        size = int(random.integers(150, 600))
        shared = int(size * random.uniform(0.2, 0.98))
        left, right = random_sets(random, size, shared)
        exact = shared / (2 * size - shared)
        low = np.uint64(0xFFFFFFFF)
        found = [minhash_of_hashes((s & low).astype(np.uint32), a, b) for s in (left, right)]
        errors.append(abs(float(np.mean(found[0] == found[1])) - exact))
        floors.append(np.sqrt(2 / np.pi * exact * (1 - exact) / permutations))
    assert np.mean(errors) < 1.04 * np.mean(floors)


def test_the_mean_error_of_sketches_is_at_most_that_of_as_many_permutations_and_unbiased() -> None:
    random = np.random.default_rng(12)
    for low, high in ((5, 60), (200, 600), (3000, 6000)):
        errors, floors = [], []
        for _ in range(600):
            size = int(random.integers(low, high))
            shared = int(size * random.uniform(0.3, 0.98))
            exact = shared / (2 * size - shared)
            pair = np.zeros((2, BINS), np.uint8)
            for i, hashes in enumerate(random_sets(random, size, shared)):
                bins = np.full(BINS, 1 << 63, np.uint64)
                lower_bins(hashes, bins)
                store_bins(bins, pair[i])
            rows = np.array([0], np.int32), np.array([1], np.int32)
            found = float(similarity(*compare_sketches(pair.view(np.uint64), *rows))[0])
            errors.append(found - exact)
            floors.append(np.sqrt(2 / np.pi * exact * (1 - exact) / BINS))
        assert np.mean(np.abs(errors)) < 1.06 * np.mean(floors)
        assert abs(np.mean(errors)) < 0.003
