import gzip
import hashlib
import json
import time

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.documents import SIGNATURES
from corpus_assets.stages.signatures import (
    SignatureSettings,
    compute_signatures,
    saturate_int32,
)
from corpus_assets_tests.kernels.word_reference import NASTY, ngrams_of, words_of
from corpus_assets_tests.shared_data import shared_data


def as_documents(texts: list[str | None]) -> pa.Table:
    ids = [hashlib.blake2b(str(i).encode(), digest_size=16).digest() for i in range(len(texts))]
    return pa.table(
        {"doc_id": pa.array(ids, pa.binary(16)), "text": pa.array(texts, pa.large_string())}
    )


def as_matrix(table: pa.Table) -> npt.NDArray[np.uint32]:
    rows = [np.frombuffer(value, "<u4") for value in table.column("signature").to_pylist()]
    return np.stack(rows)


def prose() -> list[str]:
    with gzip.open(shared_data("text/prose.jsonl.gz")) as lines:
        return [json.loads(line)["text"] for line in lines]


def test_signatures_are_row_aligned_and_of_the_schema() -> None:
    documents = as_documents(["one two three four five six", "", None])
    table = compute_signatures(documents, SignatureSettings())
    assert table.schema == SIGNATURES
    assert table.column("doc_id").to_pylist() == documents.column("doc_id").to_pylist()
    assert table.column("n_shingles").to_pylist() == [2, 0, 0]
    assert {len(value) for value in table.column("signature").to_pylist()} == {448}
    assert (as_matrix(table)[1:] == 2**32 - 1).all()


def test_chunks_and_slices_do_not_change_a_signature() -> None:
    documents = as_documents([*NASTY, "a b c d e f g"])
    whole = compute_signatures(documents, SignatureSettings())
    pieces = pa.concat_tables([documents.slice(0, 3), documents.slice(3, 0), documents.slice(3)])
    assert compute_signatures(pieces, SignatureSettings()).equals(whole)
    assert compute_signatures(documents.slice(5), SignatureSettings()).equals(whole.slice(5))
    assert compute_signatures(documents.slice(0, 0), SignatureSettings()).num_rows == 0


def test_a_known_text_keeps_its_signature_until_the_version_is_raised() -> None:
    table = compute_signatures(as_documents([*NASTY]), SignatureSettings())
    assert (
        hashlib.sha256(as_matrix(table).tobytes()).hexdigest()
        == "112a9b3be81baec3524a362951877e45cf92011ab24818fe4ec41db9ed0df8f1"
    )


def test_a_text_shorter_than_a_shingle_is_one_shingle_of_all_its_words() -> None:
    table = compute_signatures(
        as_documents(["only three words", "Only, three: WORDS!", "only three"]), SignatureSettings()
    )
    assert table.column("n_shingles").to_pylist() == [1, 1, 1]
    signatures = as_matrix(table)
    assert np.array_equal(signatures[0], signatures[1])
    assert not (signatures[0] == signatures[2]).any()


def test_the_error_against_exact_jaccard_is_near_the_binomial_floor() -> None:
    random = np.random.default_rng(8)
    texts: list[str] = []
    for text in [text for text in prose() if len(text) > 3000][:150]:
        words = text.split()[:600]
        other = list(words)
        for place in random.integers(0, len(words), random.integers(1, 60)):
            other[place] = f"changed{place}"
        texts += [" ".join(words), " ".join(other)]
    signatures = as_matrix(compute_signatures(as_documents([*texts]), SignatureSettings()))
    errors, floors = [], []
    for i in range(0, len(texts), 2):
        left, right = (set(ngrams_of(words_of(text), 5)) for text in texts[i : i + 2])
        exact = len(left & right) / len(left | right)
        errors.append(abs(float(np.mean(signatures[i] == signatures[i + 1])) - exact))
        floors.append(np.sqrt(2 / np.pi * exact * (1 - exact) / 112))
    assert np.mean(errors) < 1.25 * np.mean(floors)


def test_counts_beyond_int32_are_cut_off_and_never_wrap() -> None:
    counts = np.array([0, 2**31 - 1, 2**31, 2**40], np.int64)
    assert saturate_int32(counts).tolist() == [0, 2**31 - 1, 2**31 - 1, 2**31 - 1]


@pytest.mark.timeout(120)
def test_hostile_documents_each_get_a_result_in_bounded_time() -> None:
    line = "lorem ipsum dolor sit amet " * 200_000
    texts: list[str | None] = [*NASTY, line[:5_000_000], "x" * 5_000_000, "漢" * 1_600_000]
    texts += [
        "\ufdfa" * 300_000,
        "a\u0301\u0323" * 600_000,
        *["the same text again and again"] * 50_000,
    ]
    compute_signatures(as_documents(["warm"]), SignatureSettings())
    began = time.perf_counter()
    table = compute_signatures(as_documents(texts), SignatureSettings())
    assert time.perf_counter() - began < 60
    assert table.num_rows == len(texts)
    assert table.column("n_shingles")[len(NASTY) + 1].as_py() == 1


def test_settings_out_of_range_are_refused() -> None:
    assert SignatureSettings().permutations == 112
    for wrong in ({"bands": 0}, {"shingle_words": 0}, {"seed": -1}, {"unknown": 1}):
        with pytest.raises(ValidationError):
            SignatureSettings.model_validate(wrong)
