"""Documents that break near-duplicate search elsewhere: each gets a decision, in bounded memory."""

import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.dedup.candidate_keys import CandidateKeys, pack_candidate_keys
from corpus_assets.dedup.clusters import MEMBERS
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.signatures import Signatures, compute_signatures
from corpus_assets.dedup.window import cluster_window
from corpus_assets.text.minhash import BINS
from corpus_assets_tests.dedup.test_clusters import of_texts


class ArrayPart:
    """A part of rows that differ in nothing but their bands and sketches."""

    rank = number = 0

    def __init__(self, signed: Signatures, path: Path) -> None:
        self.n_rows = n = len(signed.sketches)
        ids = np.arange(2 * n, dtype=np.uint64).reshape(-1, 2) * np.uint64(0x9E3779B97F4A7C15)
        doc_ids = pa.Array.from_buffers(pa.binary(16), n, [None, pa.py_buffer(ids)])
        columns = {
            "doc_id": doc_ids,
            "snapshot_rank": pa.repeat(pa.scalar(0, pa.int32()), n),
            "part": pa.repeat(pa.scalar(0, pa.int32()), n),
            "row": pa.array(np.arange(n, dtype=np.int32)),
            "url_key": pa.nulls(n, pa.string()),
            "text_id": doc_ids,
            "fetched_at": pa.repeat(pa.scalar(""), n),
            "n_chars": pa.array(np.arange(n)),
            "quality": pa.nulls(n, pa.float32()),
            "n_shingles": signed.table["n_shingles"],
        }
        self._members = pa.table(columns).cast(MEMBERS)
        self._signed = signed
        self._path = path
        path.write_bytes(pack_candidate_keys(self._members, signed.band_keys))

    def kept(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        return np.ones(self.n_rows, np.bool_)

    def candidate_keys(self) -> CandidateKeys:
        return CandidateKeys.open(self._path)

    def members(self) -> pa.Table:
        return self._members

    def sketches(self) -> "np.ndarray[tuple[int, int], np.dtype[np.uint8]]":
        return self._signed.sketches


def made(band_keys: "np.ndarray[tuple[int, int], np.dtype[np.uint64]]", seed: int) -> Signatures:
    """Signatures with these bands and sketches of strangers."""
    random = np.random.default_rng(seed)
    sketches = random.integers(1, 256, (len(band_keys), BINS), dtype=np.uint8)
    n_shingles = pa.repeat(pa.scalar(9, pa.int32()), len(band_keys))
    return Signatures(pa.table({"n_shingles": n_shingles}), band_keys, sketches)


def members_of(part: ArrayPart, batch_rows: int, bands: int = 14) -> pa.Table:
    settings = SignatureSettings(bands=bands)
    with cluster_window([part], ["S"], ClusterSettings(), settings, batch_rows=batch_rows) as found:
        return next(found.parts())[1]


def test_a_hot_bucket_of_strangers_is_worked_through_on_disk_and_nothing_is_merged(
    tmp_path: Path,
) -> None:
    """A row of boilerplate that 100,000 pages share. Larger than a batch, so it is mapped: what
    is resident grows by far less than the 51 MB of its sketches a round."""
    size = 100_000
    keys = np.random.default_rng(1).integers(0, 2**64, (size, 2), dtype=np.uint64)
    keys[:, 1] = 7
    signed = made(keys, 2)
    signed.sketches[60_000] = signed.sketches[50]  # a copy that only a second centre could find
    part = ArrayPart(signed, tmp_path / "ties")
    assert members_of(part, batch_rows=1 << 12, bands=2).num_rows == 0
    signed.sketches[60_000] = signed.sketches[0]
    assert members_of(part, batch_rows=1 << 12, bands=2).num_rows == 2


def test_a_hundred_thousand_identical_documents_leave_one(tmp_path: Path) -> None:
    one = compute_signatures(
        pa.table({"doc_id": pa.nulls(1, pa.binary(16)), "text": ["please enable the script " * 9]}),
        SignatureSettings(),
    )
    size = 100_000
    signed = Signatures(
        pa.table({"n_shingles": pa.repeat(one.table["n_shingles"][0], size)}),
        np.repeat(one.band_keys, size, axis=0),
        np.repeat(one.sketches, size, axis=0),
    )
    for batch_rows in (1 << 12, 1 << 17):
        found = members_of(ArrayPart(signed, tmp_path / "ties"), batch_rows)
        assert found.num_rows == size
        assert set(found["cluster_size"].to_pylist()) == {size}
        assert sum(found["kept"].to_pylist()) == 1
        assert set(found["similarity"].to_pylist()) == {1.0}


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("", ""),
        ("...!?", "...!?"),
        ("word", "other"),
        ("\u200f\u200e", "\ufeff"),
    ],
    ids=["empty", "only punctuation", "one word each", "only invisible characters"],
)
def test_documents_with_next_to_nothing_in_them_are_no_near_duplicates(
    text: str, other: str
) -> None:
    assert of_texts([text, other], ClusterSettings(exact=False)).num_rows == 0


def test_one_word_documents_are_near_duplicates_when_the_word_is_the_same() -> None:
    found = of_texts(["Word", "word!", "other"], ClusterSettings(exact=False))
    assert found["row"].to_pylist() == [0, 1]


def test_right_to_left_text_is_compared_like_any_other() -> None:
    words = [f"كلمة{i} שלום{i}" for i in range(120)]
    edited = [*words[:60], "تغيير", *words[60:]]
    found = of_texts([" ".join(words), "\u200f" + " ".join(edited), " ".join(words[::-1])])
    assert found["row"].to_pylist() == [0, 1]


def test_lone_surrogates_separate_words_and_never_stop_a_part() -> None:
    """Arrow refuses them in text; bytes that encode one all the same are not UTF-8, and read as
    U+FFFD, byte by byte."""
    with pytest.raises(UnicodeEncodeError):
        pa.array(["\ud800"])
    spelled = [b"one two \xed\xa0\x80 three", b"one two three", b"\xed\xa0\x80"]
    texts = pa.array(spelled, pa.large_binary()).view(pa.large_string())
    table = pa.table({"doc_id": pa.nulls(3, pa.binary(16)), "text": texts})
    signed = compute_signatures(table, SignatureSettings())
    assert signed.table["n_shingles"].to_pylist() == [1, 1, 0]
    assert np.array_equal(signed.band_keys[0], signed.band_keys[1])


def test_a_document_of_fifty_megabytes_is_signed_in_memory_of_a_few_times_its_size() -> None:
    """Distinct words, so that nothing repeats. 16 bytes a word and copies of the text."""
    text = " ".join(map(str, range(10_000_000, 15_700_000)))
    assert len(text) > 50_000_000
    table = pa.table(
        {"doc_id": pa.nulls(1, pa.binary(16)), "text": pa.array([text], pa.large_string())}
    )
    del text
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signed = compute_signatures(table, SignatureSettings())
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert signed.table["n_shingles"].to_pylist() == [5_700_000 - 4]
    assert np.count_nonzero(signed.sketches) == BINS
    assert grown_kib < 600 * 1024
