import gzip
import hashlib
import json

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.schemas import SIGNATURES
from corpus_assets.dedup.compared_rows import HeldRows
from corpus_assets.dedup.settings import SignatureSettings
from corpus_assets.dedup.signatures import (
    VERSION,
    Signatures,
    compute_signatures,
    parse_sketches,
    saturate_int32,
    sketch_bytes,
)
from corpus_assets_tests.shared_data import shared_data
from corpus_assets_tests.text.word_reference import NASTY, ngrams_of, words_of


def as_documents(texts: list[str | None]) -> pa.Table:
    ids = [hashlib.blake2b(str(i).encode(), digest_size=16).digest() for i in range(len(texts))]
    return pa.table(
        {"doc_id": pa.array(ids, pa.binary(16)), "text": pa.array(texts, pa.large_string())}
    )


def prose() -> list[str]:
    with gzip.open(shared_data("text/prose.jsonl.gz")) as lines:
        return [json.loads(line)["text"] for line in lines]


def sign(texts: list[str | None], **given: object) -> Signatures:
    return compute_signatures(as_documents(texts), SignatureSettings.model_validate(given))


def alike(signed: Signatures, left: int, right: int) -> float:
    rows = HeldRows(signed.band_keys, signed.sketches)
    found = rows.similarities(np.array([left], np.int32), np.array([right], np.int32))
    return float(found[0])


def equal(left: Signatures, right: Signatures) -> bool:
    return (
        left.table.equals(right.table)
        and np.array_equal(left.band_keys, right.band_keys)
        and np.array_equal(left.sketches, right.sketches)
    )


def test_signatures_are_row_aligned_and_of_the_schema() -> None:
    documents = as_documents(["one two three four five six", "", None])
    signed = compute_signatures(documents, SignatureSettings())
    assert signed.table.schema == SIGNATURES
    assert signed.table["doc_id"].to_pylist() == documents.column("doc_id").to_pylist()
    assert signed.table["n_shingles"].to_pylist() == [2, 0, 0]
    assert signed.band_keys.shape == (3, 14)
    assert np.count_nonzero(signed.sketches, axis=1).tolist() == [2, 0, 0]


def test_chunks_and_slices_do_not_change_a_signature() -> None:
    documents = as_documents([*NASTY, "a b c d e f g"])
    whole = compute_signatures(documents, SignatureSettings())
    pieces = pa.concat_tables([documents.slice(0, 3), documents.slice(3, 0), documents.slice(3)])
    assert equal(compute_signatures(pieces, SignatureSettings()), whole)
    tail = compute_signatures(documents.slice(5), SignatureSettings())
    assert np.array_equal(tail.sketches, whole.sketches[5:])
    assert np.array_equal(tail.band_keys, whole.band_keys[5:])
    assert compute_signatures(documents.slice(0, 0), SignatureSettings()).table.num_rows == 0


def test_a_known_text_keeps_its_signature_until_the_version_is_raised() -> None:
    signed = sign([*NASTY])
    assert VERSION == 2
    assert (
        hashlib.sha256(signed.band_keys.astype("<u8").tobytes()).hexdigest()
        == "57ed0f9edf937a2ef0f2cc7086e78cd95d2d5b76a521a709039d43e589a35b55"
    )
    assert (
        hashlib.sha256(signed.sketches.tobytes()).hexdigest()
        == "044e4e01d7768dce944329d77c074f580d20aca1fb74dacc66452072949e4144"
    )


def test_a_text_shorter_than_a_shingle_is_one_shingle_of_all_its_words() -> None:
    signed = sign(["only three words", "Only, three: WORDS!", "only three"])
    assert signed.table["n_shingles"].to_pylist() == [1, 1, 1]
    assert np.array_equal(signed.band_keys[0], signed.band_keys[1])
    assert alike(signed, 0, 1) == 1.0
    assert not (signed.band_keys[0] == signed.band_keys[2]).any()
    assert alike(signed, 0, 2) == 0.0


def test_the_error_against_exact_jaccard_is_near_the_binomial_floor() -> None:
    random = np.random.default_rng(8)
    texts: list[str | None] = []
    pairs = []
    for text in [text for text in prose() if len(text) > 3000][:150]:
        words = text.split()[:600]
        other = list(words)
        for place in random.integers(0, len(words), random.integers(1, 60)):
            other[place] = f"changed{place}"
        texts += [" ".join(words), " ".join(other)]
        left, right = (set(ngrams_of(words_of(" ".join(w)), 5)) for w in (words, other))
        pairs.append(len(left & right) / len(left | right))
    signed = sign(texts)
    errors = [abs(alike(signed, 2 * i, 2 * i + 1) - exact) for i, exact in enumerate(pairs)]
    floors = [np.sqrt(2 / np.pi * exact * (1 - exact) / 512) for exact in pairs]
    assert np.mean(errors) < 1.15 * np.mean(floors)


HAN = "敏捷的棕色狐狸跳过了懒惰的狗而且每天早晨都会在河边喝水然后回到山里的洞穴睡觉直到黄昏才再次出来寻找食物"
KANA = "吾輩は猫である名前はまだ無いどこで生れたかとんと見当がつかぬ何でも薄暗いじめじめした所で泣いていた事だけは記憶している"
THAI = "วันนี้อากาศดีมากเราจึงไปเดินเล่นที่สวนสาธารณะใกล้บ้านและพบเพื่อนเก่าหลายคนที่ไม่ได้เจอกันมานาน"


@pytest.mark.parametrize("text", [HAN, KANA, THAI], ids=["Han", "kana", "Thai"])
def test_scripts_without_spaces_get_shingles_of_characters(
    text: str,
) -> None:
    middle = len(text) // 2
    edited = text[:middle] + "山" + text[middle + 1 :]
    other = text[::-1]
    by_characters = sign([text, edited, other])
    assert min(by_characters.table["n_shingles"].to_pylist()) > 40
    assert alike(by_characters, 0, 1) > 0.7
    assert alike(by_characters, 0, 2) < 0.1


def test_runs_of_characters_see_what_words_do_not() -> None:
    base = (
        "The committee met on Tuesday and agreed to repair the old stone bridge before winter. " * 3
    )
    texts: list[str | None] = [base, base.replace("bridge", "bridges"), base.replace(" ", " - ")]
    words, characters = sign(texts), sign(texts, shingle_chars=24)
    assert alike(words, 0, 2) == 1.0
    assert alike(characters, 0, 2) < 0.1
    assert alike(characters, 0, 1) > alike(words, 0, 1)
    assert sign(["ab"], shingle_chars=24).table["n_shingles"].to_pylist() == [1]


def test_signatures_are_the_same_work_as_before_unless_they_are_of_characters() -> None:
    assert "shingle_chars" not in SignatureSettings().identity()
    by_characters = SignatureSettings(shingle_chars=24, bands=20, rows_per_band=13)
    assert by_characters.identity()["shingle_chars"] == 24
    assert SignatureSettings.model_validate(by_characters.identity()) == by_characters


def test_sketches_survive_their_file_and_anything_else_is_refused() -> None:
    sketches = sign([*NASTY]).sketches
    assert np.array_equal(parse_sketches(sketch_bytes(sketches)), sketches)
    assert parse_sketches(sketch_bytes(sketches[:0])).shape == (0, 512)
    for wrong in (b"no array", sketch_bytes(sketches[:, :8])):
        with pytest.raises(CorruptArtifact):
            parse_sketches(wrong)


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
    signed = sign(texts)
    assert signed.table.num_rows == len(texts)
    assert signed.table["n_shingles"][len(NASTY) + 1].as_py() == 1


def test_settings_out_of_range_are_refused() -> None:
    assert SignatureSettings().permutations == 112
    for wrong in ({"bands": 0}, {"shingle_words": 0}, {"seed": -1}, {"unknown": 1}):
        with pytest.raises(ValidationError):
            SignatureSettings.model_validate(wrong)
