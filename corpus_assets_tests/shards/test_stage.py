"""From final text to slices and back: nothing lost, and each shard's identity its own."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.schemas import FINAL_TEXT
from corpus_assets.shards.pack import shards_of
from corpus_assets.shards.route import (
    join_slices,
    read_slice,
    route_tokens,
    shard_counts,
    slice_bytes,
)
from corpus_assets.shards.tokens import Encoder, TokenBatch
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer
from corpus_assets_tests.small_corpus import prose

SEED = 7
COUNTS = {"web/high": 3, "web/low": 1, "books/high": 2}


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    texts = [prose("shards", i) for i in range(5)]
    return Encoder(train_tokenizer(texts, TokenizerSettings(vocab_size=300, special_slots=2)))


def doc_id(name: object) -> bytes:
    return hashlib.blake2b(str(name).encode(), digest_size=16).digest()


def row(name: object, group: str, text: str | None = None) -> dict[str, object]:
    domain, tier = group.split("/")
    words = prose("shards", name, sentences=2) if text is None else text
    return {"doc_id": doc_id(name), "domain": domain, "tier": tier, "text": words}


def final(rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=FINAL_TEXT)


ROWS = [row(i, ("web/high", "web/low", "books/high")[i % 3]) for i in range(30)]


def routed(encoder: Encoder, rows: list[dict[str, object]]) -> dict[str, bytes]:
    table = final(rows)
    batch = encoder.encode_batch(table["text"].to_pylist())
    return dict(route_tokens(table, batch, COUNTS, SEED))


def held(slices: dict[str, bytes]) -> dict[str, dict[bytes, list[int]]]:
    found = {}
    for name, data in slices.items():
        ids, batch = read_slice(data)
        found[name] = {doc: batch[i].tolist() for i, doc in enumerate(ids)}
    return found


def test_every_document_is_in_the_slice_of_its_shard_with_its_tokens(encoder: Encoder) -> None:
    found = held(routed(encoder, ROWS))
    for each in ROWS:
        group = f"{each['domain']}/{each['tier']}"
        [place] = shards_of(SEED, [each["doc_id"]], COUNTS[group]).tolist()  # type: ignore[list-item]
        tokens = found[f"{group}/{place:05d}"][each["doc_id"]]  # type: ignore[index]
        assert tokens[-1] == encoder.eod_id
        assert encoder.decode(tokens[:-1]) == each["text"]
    assert sum(len(documents) for documents in found.values()) == len(ROWS)


def test_the_same_documents_give_the_same_bytes(encoder: Encoder) -> None:
    table = pa.concat_tables([final(ROWS[:7]), final(ROWS[7:])])
    batch = encoder.encode_batch(table["text"].to_pylist())
    assert dict(route_tokens(table, batch, COUNTS, SEED)) == routed(encoder, ROWS)


def test_removing_a_document_changes_its_own_slice_only(encoder: Encoder) -> None:
    before = routed(encoder, ROWS)
    gone = ROWS[12]
    after = routed(encoder, [r for r in ROWS if r is not gone])
    changed = {name for name in before if before[name] != after.get(name)}
    group = f"{gone['domain']}/{gone['tier']}"
    [place] = shards_of(SEED, [gone["doc_id"]], COUNTS[group]).tolist()  # type: ignore[list-item]
    assert changed == {f"{group}/{place:05d}"}


@pytest.mark.parametrize(
    "other",
    [
        ([b"b" * 16, b"a" * 16], [[1, 2], [3]]),
        ([b"a" * 16, b"b" * 16], [[1], [2, 3]]),
        ([b"a" * 16, b"b" * 16], [[1, 2], [4]]),
        ([b"a" * 16], [[1, 2]]),
        ([b"a" * 16, b"b" * 16], [[1, 2, 3], []]),
    ],
)
def test_other_documents_or_tokens_are_another_slice(
    other: tuple[list[bytes], list[list[int]]],
) -> None:
    base = slice_bytes([b"a" * 16, b"b" * 16], TokenBatch.of([[1, 2], [3]]))
    assert slice_bytes(other[0], TokenBatch.of(other[1])) != base
    assert slice_bytes([b"a" * 16, b"b" * 16], TokenBatch.of([np.array([1, 2]), [3]])) == base


def test_a_group_that_the_counts_do_not_know_has_one_shard(encoder: Encoder) -> None:
    slices = held(routed(encoder, [row(i, "math/mid") for i in range(9)]))
    assert list(slices) == ["math/mid/00000"]
    assert len(slices["math/mid/00000"]) == 9


def test_an_empty_text_is_its_end_alone(encoder: Encoder) -> None:
    slices = routed(encoder, [row("e", "web/low", "")])
    assert held(slices) == {"web/low/00000": {doc_id("e"): [encoder.eod_id]}}


def test_a_part_without_documents_has_no_slices(encoder: Encoder) -> None:
    assert routed(encoder, []) == {}


def test_slices_of_several_parts_are_joined_in_their_order(encoder: Encoder) -> None:
    rows = [row(i, "web/low") for i in range(6)]
    chunks = (rows[:2], rows[2:5], rows[5:])
    doc_ids, batch = join_slices(routed(encoder, chunk)["web/low/00000"] for chunk in chunks)
    assert doc_ids == [r["doc_id"] for r in rows]
    texts = [encoder.decode(batch[i][:-1].tolist()) for i in range(len(batch))]
    assert texts == [r["text"] for r in rows]


def test_no_slices_are_an_empty_batch() -> None:
    doc_ids, batch = join_slices(iter([]))
    assert doc_ids == []
    assert len(batch) == 0


@pytest.mark.parametrize(
    ("chars", "expected"), [(0, 1), (1, 1), (4096, 1), (4097, 2), (8192, 2), (8193, 3)]
)
def test_a_group_has_as_many_shards_as_its_characters_fill(chars: int, expected: int) -> None:
    assert shard_counts({"web/high": chars}, 1024) == {"web/high": expected}
