"""Text to tokens and back without loss."""

import functools
import json
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.core.errors import ModelError, ShardError
from corpus_assets.shards.tokenizer_file import unicode_of_bytes
from corpus_assets.shards.tokens import ROUND_TRIP_PROBES, Encoder, FastEncode, Flat, TokenBatch
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer


@functools.cache
def encoder() -> Encoder:
    texts = [
        "the quick brown fox, end_of_document pad 123 456",
        "naïve 中文 def f(x): return x",
    ] * 4
    return Encoder(train_tokenizer(texts, TokenizerSettings(vocab_size=600, special_slots=18)))


texts_of_all_kinds = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@settings(max_examples=200, deadline=None)
@given(st.lists(texts_of_all_kinds, max_size=5))
def test_decoding_gives_back_every_text_exactly(texts: list[str]) -> None:
    batch = encoder().encode_batch(texts)
    assert [encoder().decode(batch[number]) for number in range(len(batch))] == texts
    assert len(batch) == len(texts)


@pytest.mark.parametrize("text", ROUND_TRIP_PROBES)
def test_nasty_strings_round_trip_token_by_token(text: str) -> None:
    ids = encoder().encode_batch([text])[0]
    assert b"".join(encoder().token_bytes(token) for token in ids) == text.encode()


@pytest.mark.parametrize(
    "text",
    ["<|end_of_document|>", "a<|end_of_document|>b", "<|pad|>" * 9, "x <|reserved_3|>\n"],
)
def test_text_that_spells_a_special_token_stays_text(text: str) -> None:
    ids = encoder().encode_batch([text])[0]
    assert ids[-1] == encoder().eod_id
    assert ids[:-1].min() >= 18  # two special tokens and sixteen reserved slots come first
    assert encoder().decode(ids) == text


def test_every_document_ends_with_the_end_of_document_id_and_holds_no_other() -> None:
    batch = encoder().encode_batch(["", "fox", "", "the fox"])
    assert batch[0].tolist() == [encoder().eod_id]
    for number in range(4):
        assert np.flatnonzero(batch[number] == encoder().eod_id).tolist() == [
            len(batch[number]) - 1
        ]
    assert batch.flat.dtype == np.int32
    assert batch.offsets.dtype == np.int64


def test_a_batch_larger_than_the_internal_chunk_equals_single_encodings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [f"the quick fox {number} " * (number % 5) for number in range(50)]
    whole = encoder().encode_batch(texts)
    monkeypatch.setattr("corpus_assets.shards.tokens._BATCH_CHARS", 40)
    cut = encoder().encode_batch(texts)
    assert np.array_equal(whole.flat, cut.flat)
    assert np.array_equal(whole.offsets, cut.offsets)


def test_special_tokens_have_no_bytes_and_byte_symbols_have_their_own() -> None:
    assert encoder().token_bytes(encoder().eod_id) == b""
    assert encoder().token_bytes(encoder().pad_id) == b""
    table = {encoder().token_bytes(number) for number in range(encoder().vocab_size)}
    assert {bytes([byte]) for byte in range(256)} <= table
    assert len(set(unicode_of_bytes())) == 256


def test_a_text_that_is_no_unicode_is_refused_and_not_changed() -> None:
    with pytest.raises(ShardError, match="not Unicode"):
        encoder().encode_batch(["a", "b\ud800c"])


def test_a_vocabulary_with_ids_out_of_reach_is_refused() -> None:
    definition = json.loads(_tokenizer_json())
    definition["model"]["vocab"]["far"] = 2**31
    with pytest.raises(ModelError, match="ids below 2\\^31"):
        Encoder(json.dumps(definition).encode())


def test_a_missing_text_is_refused_by_its_number() -> None:
    with pytest.raises(ShardError, match="document 1"):
        encoder().encode_batch(["a", None])  # type: ignore[list-item]


def test_padding_must_not_share_an_id_with_the_end_of_document() -> None:
    content = train_tokenizer([], TokenizerSettings(vocab_size=600))
    with pytest.raises(ModelError, match="share id"):
        Encoder(content, pad_token="<|end_of_document|>")


def test_token_arrays_join_to_one_batch() -> None:
    batch = TokenBatch.of([[1, 2], [], np.array([3], dtype=np.int32)])
    assert batch.flat.tolist() == [1, 2, 3]
    assert batch.offsets.tolist() == [0, 2, 2, 3]
    assert len(TokenBatch.of([])) == 0


@functools.cache
def _oracle() -> Encoder:
    return Encoder(_tokenizer_json(), fast=False)


@functools.cache
def _fast() -> Encoder:
    return Encoder(_tokenizer_json())


@functools.cache
def _tokenizer_json() -> bytes:
    texts = ["the quick brown fox 123 456 don't", "naïve 中文 def f(x): return x  # 'LL"] * 4
    return train_tokenizer(texts, TokenizerSettings(vocab_size=640))


@settings(max_examples=200, deadline=None)
@given(st.lists(texts_of_all_kinds, max_size=5))
def test_the_fast_engine_gives_the_ids_of_the_oracle(texts: list[str]) -> None:
    fast, oracle = _fast(), _oracle()
    assert fast.has_fast_engine
    assert not oracle.has_fast_engine
    got, wanted = fast.encode_batch(texts), oracle.encode_batch(texts)
    assert got.flat.tolist() == wanted.flat.tolist()
    assert got.offsets.tolist() == wanted.offsets.tolist()


def test_long_runs_and_many_chunks_give_the_same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpus_assets.shards.tokens._BATCH_CHARS", 5_000)
    texts = ["a" * 4_000, "1" * 4_000, " " * 4_000, "\n" * 4_000, "é!" * 2_000, ""] * 3
    got, wanted = Encoder(_tokenizer_json()).encode_batch(texts), _oracle().encode_batch(texts)
    assert got.flat.tolist() == wanted.flat.tolist()
    assert got.offsets.tolist() == wanted.offsets.tolist()


def test_an_engine_that_differs_on_a_sampled_text_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = Encoder(_tokenizer_json())
    real = encoder._fast
    assert real is not None

    def wrong(texts: Sequence[str]) -> Flat:
        ids, starts = real(texts)
        return ids + 1, starts

    monkeypatch.setattr(encoder, "_fast", wrong)
    got = encoder.encode_batch(["the fox", "brown 123"])
    assert not encoder.has_fast_engine
    assert got.flat.tolist() == _oracle().encode_batch(["the fox", "brown 123"]).flat.tolist()


def test_an_engine_that_differs_on_a_probe_is_never_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(definition: dict[str, object]) -> FastEncode:
        return lambda texts: (np.zeros(len(texts), np.int32), np.arange(len(texts) + 1))

    monkeypatch.setattr("corpus_assets.shards.tokens.load_fast_engine", load)
    assert not Encoder(_tokenizer_json()).has_fast_engine


def test_without_the_fast_library_the_oracle_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastokens", None)
    encoder = Encoder(_tokenizer_json())
    assert not encoder.has_fast_engine
    assert encoder.decode(encoder.encode_batch(["fox"])[0]) == "fox"
