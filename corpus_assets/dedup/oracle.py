"""Hold stored signatures against datasketch, for a sample of a snapshot.

A part stores band keys and sketches, not minima. Both are made again here from the text, without
the kernels that made them, and compared:

1. Shingle hashes follow their definition in NumPy and plain Python: FNV-1a over the folded code
   points of a word (or one character), a polynomial over the words of a shingle, MurmurHash3's
   finalizer after each. Their number is compared with `n_shingles`.
2. datasketch makes the minima of those hashes. The keys of their bands are compared bit by bit.
   A key is a hash of its band, so documents of a part also share a stored key in just those bands
   in which datasketch's minima are all equal: keys neither part equal bands nor join others.
3. datasketch has no sketch of this kind. The 512 bytes are made by their definition
   (`text.minhash`) and compared bit by bit.
4. For pairs that share a band, the stored similarity equals `MinHash.jaccard` over the bins that
   are not empty in both, less the bytes that agree by chance. That both estimate the same
   quantity is shown by a MinHash of 512 other permutations, which did not make the pair a
   candidate and so does not favour it: the two differ by no more than six standard errors and
   twelve bins, so short texts are held to little here and to all of the above.

Cost: at most 8 parts of a snapshot are read, and of each at most 24 texts recomputed: 8 documents
and 8 pairs. Documents of more than 100,000 shingles are not drawn.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core import files
from corpus_assets.core.parquet_rows import read_rows
from corpus_assets.core.sample import Sample
from corpus_assets.core.store import Output, Result, Store, local_checked, read_output
from corpus_assets.core.task import read_table
from corpus_assets.dedup.candidate_keys import CandidateKeys
from corpus_assets.dedup.compared_rows import HeldRows
from corpus_assets.dedup.kernels.buckets import band_keys
from corpus_assets.dedup.planner import DedupPlanner
from corpus_assets.dedup.settings import SignatureSettings
from corpus_assets.dedup.signatures import SEED, parse_sketches
from corpus_assets.text.characters import IGNORED, char_tables, nfkc
from corpus_assets.text.codepoints import code_points, text_buffers
from corpus_assets.text.minhash import BINS
from corpus_assets.text.words import spell_words

PARTS, DOCUMENTS, PAIRS = 8, 8, 8
"""Parts of a snapshot, and documents and candidate pairs of a part, that are compared."""
MAX_SHINGLES = 100_000

_SAMPLE = Sample(b"corpus-assets/datasketch")
_ROOM = 1 << 22  # values that datasketch permutes at once: 16 MB
_MASK = 2**64 - 1

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


@dataclass
class SignatureComparison:
    """What was compared, and the documents whose signatures are not what they should be."""

    documents: int = 0
    pairs: int = 0
    differing: set[str] = field(default_factory=set)  # document ids in hex


@dataclass(frozen=True)
class _Part:
    """What a part stored, of all its rows."""

    doc_ids: list[bytes]
    n_shingles: Numbers
    keys: Hashes  # [rows, bands]
    sketches: npt.NDArray[np.uint8]  # [rows, BINS]


@dataclass(frozen=True)
class _Expected:
    """What a text should have led to."""

    hashes: Hashes
    minima: npt.NDArray[np.uint32]
    sketch: npt.NDArray[np.uint8]


def compare_with_datasketch(pipeline: DedupPlanner, snapshot: str) -> SignatureComparison:
    """Compare a sample of a snapshot's signatures and candidate pairs; see the module."""
    found = SignatureComparison()
    parts = zip(
        pipeline.parts(files.DOCUMENTS, snapshot),
        pipeline.results("signatures", snapshot),
        strict=True,
    )
    drawn = _SAMPLE.ordered(parts, lambda part: part[0].sha256.encode())
    for documents, signed in drawn[:PARTS]:
        _compare_part(pipeline.store, documents, signed, pipeline.recipe.signatures, found)
    return found


def _compare_part(
    store: Store,
    documents: Output,
    signed: Result,
    settings: SignatureSettings,
    found: SignatureComparison,
) -> None:
    part = _stored(store, signed)
    single, pairs = _draw(part)
    rows = sorted({*single, *(row for pair in pairs for row in pair)})
    path = local_checked(store, documents.path, documents.sha256)
    texts = read_rows(path, rows, ["text"])["text"].to_pylist()
    expected = {row: _expected(text, settings) for row, text in zip(rows, texts, strict=True)}
    wrong = {row for row, one in expected.items() if not _is_equal(part, row, one, settings)}
    wrong |= _wrongly_banded(part, expected, settings)
    for left, right in pairs:
        if not _is_as_alike(part, (left, right), (expected[left], expected[right]), settings):
            wrong |= {left, right}
    found.documents += len(rows)
    found.pairs += len(pairs)
    found.differing |= {part.doc_ids[row].hex() for row in wrong}


def _stored(store: Store, signed: Result) -> _Part:
    table = read_table(store, signed.outputs[files.SIGNATURES], ["doc_id", "n_shingles"])
    keys = signed.outputs[files.CANDIDATE_KEYS]
    return _Part(
        table["doc_id"].to_pylist(),
        table["n_shingles"].to_numpy(),
        CandidateKeys.open(local_checked(store, keys.path, keys.sha256)).band_keys(),
        parse_sketches(read_output(store, signed.outputs[files.SKETCHES])),
    )


def _draw(part: _Part) -> tuple[list[int], list[tuple[int, int]]]:
    """Draw documents and pairs that share a band, by the keyed hash of their ids."""
    order = _SAMPLE.places(part.doc_ids)
    able = np.flatnonzero(part.n_shingles <= MAX_SHINGLES)
    single = able[np.argsort(order[able], kind="stable")][:DOCUMENTS]
    able = able[part.n_shingles[able] > 0]
    pairs: set[tuple[int, int]] = set()
    for keys in part.keys.T:
        rows = able[np.lexsort([order[able], keys[able]])]
        starts = np.flatnonzero(keys[rows[1:]] == keys[rows[:-1]])
        first = starts[np.argsort(order[rows[starts]], kind="stable")][:PAIRS]
        pairs |= {(int(rows[i]), int(rows[i + 1])) for i in first}
    chosen = sorted(pairs, key=lambda pair: (int(order[pair[0]]), int(order[pair[1]]), pair))
    return single.tolist(), chosen[:PAIRS]


def _expected(text: str | None, settings: SignatureSettings) -> _Expected:
    hashes = shingle_hashes(text or "", settings)
    made = _minhash(hashes, settings.permutations, SEED)
    return _Expected(hashes, made.hashvalues, _sketch(hashes))


def shingle_hashes(text: str, settings: SignatureSettings) -> Hashes:
    """Return the 64-bit hash of every shingle, in the order of the text, by its definition."""
    tables = char_tables()
    normal = nfkc(pa.array([text], pa.large_string()))
    if settings.shingle_chars is not None:
        codes = code_points(normal)
        units = [
            _fnv([code]) for code in tables.folded[codes[tables.classes[codes] != IGNORED]].tolist()
        ]
    else:
        spelled, starts, _ = spell_words(*text_buffers(normal), tables)
        ends = starts[1:] - 1  # the space between two words
        ends[-1:] += 1
        units = [
            _fnv(spelled[start:end].tolist()) for start, end in zip(starts[:-1], ends, strict=True)
        ]
    words = _finish(np.array(units, np.uint64))
    length = min(settings.shingle_chars or settings.shingle_words, words.size)
    if length == 0:
        return words
    grams = np.zeros(words.size - length + 1, np.uint64)
    for place in range(length):
        grams = grams * np.uint64(0x9E3779B97F4A7C15) + words[place : place + grams.size]
    return _finish(grams + np.uint64(length * 0xD6E8FEB86659FD93 & _MASK))


def _fnv(codes: list[int]) -> int:
    value = 0xCBF29CE484222325
    for code in codes:
        value = (value ^ code) * 0x100000001B3 & _MASK
    return value


def _finish(values: Hashes) -> Hashes:
    """MurmurHash3's 64-bit finalizer; products wrap."""
    shift = np.uint64(33)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        values = (values ^ (values >> shift)) * np.uint64(factor)
    return values ^ (values >> shift)


def _minhash(hashes: Hashes, permutations: int, seed: int) -> Any:
    """Return datasketch's MinHash of the upper halves of shingle hashes."""
    from datasketch import MinHash

    made = MinHash(permutations, seed, hashfunc=int, scheme="affine32")
    halves = (hashes >> np.uint64(32)).tolist()
    step = max(1, _ROOM // permutations)
    for start in range(0, len(halves), step):
        made.update_batch(halves[start : start + step])
    return made


def _sketch(hashes: Hashes) -> npt.NDArray[np.uint8]:
    bins = np.full(BINS, _MASK, np.uint64)
    np.minimum.at(bins, hashes >> np.uint64(55), hashes & np.uint64(2**55 - 1))
    return np.where(bins == _MASK, 0, bins % np.uint64(255) + np.uint64(1)).astype(np.uint8)


def _is_equal(part: _Part, row: int, expected: _Expected, settings: SignatureSettings) -> bool:
    keys = band_keys(expected.minima[np.newaxis], settings.bands, settings.rows_per_band)[0]
    is_empty = not expected.hashes.size  # its keys mean nothing and are not stored
    return bool(
        part.n_shingles[row] == expected.hashes.size
        and (is_empty or np.array_equal(part.keys[row], keys))
        and np.array_equal(part.sketches[row], expected.sketch)
    )


def _wrongly_banded(
    part: _Part, expected: dict[int, _Expected], settings: SignatureSettings
) -> set[int]:
    """Return the rows of pairs that share other bands than datasketch's minima do."""
    rows = np.array([row for row, one in expected.items() if one.hashes.size], np.int64)
    if not rows.size:
        return set()
    minima = np.stack([expected[row].minima for row in rows.tolist()])
    minima = minima.reshape(rows.size, settings.bands, settings.rows_per_band)
    keys = part.keys[rows]
    wrong: set[int] = set()
    for i, row in enumerate(rows.tolist()):
        shared = (minima == minima[i]).all(axis=2)
        others = rows[((keys == keys[i]) != shared).any(axis=1)]
        wrong |= {row, *others.tolist()} if others.size else set()
    return wrong


def _is_as_alike(
    part: _Part,
    pair: tuple[int, int],
    expected: tuple[_Expected, _Expected],
    settings: SignatureSettings,
) -> bool:
    """Whether the stored similarity of a pair is datasketch's, exactly over the bins and closely
    over other permutations."""
    from datasketch import LeanMinHash

    rows = HeldRows(part.keys[list(pair)], part.sketches[list(pair)])
    stored = float(rows.similarities(np.array([0], np.int32), np.array([1], np.int32))[0])
    used = (expected[0].sketch | expected[1].sketch) > 0
    left, right = (
        LeanMinHash(seed=SEED, hashvalues=one.sketch[used], scheme="affine32") for one in expected
    )
    of_bins = max((255 * left.jaccard(right) - 1) / 254, 0.0)
    one, other = (_minhash(side.hashes, BINS, SEED ^ 1) for side in expected)
    estimate = one.jaccard(other)
    middle = (stored + estimate) / 2
    bound = 6 * (2 * middle * (1 - middle) / BINS) ** 0.5 + 12 / np.count_nonzero(used)
    return bool(abs(stored - of_bins) < 1e-9 and abs(stored - estimate) <= bound)
