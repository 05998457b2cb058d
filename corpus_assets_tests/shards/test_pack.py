"""Placement, order and packing of documents."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.core.errors import ShardError
from corpus_assets.core.identity import keyed_hash
from corpus_assets.core.schemas import SPANS
from corpus_assets.shards.pack import Packed, document_order, lay, pack, shards_of
from corpus_assets.shards.settings import Packing, PackSettings
from corpus_assets.shards.tokens import TokenBatch
from corpus_assets_tests.shards.small_corpus import (
    EOD,
    PAD,
    build,
    doc_id_of,
    make_documents,
    split,
)

lengths_of_documents = st.lists(st.integers(1, 200), max_size=40)


def documents_of(lengths: list[int]) -> tuple[list[bytes], TokenBatch]:
    """Documents whose tokens tell document and place: no two tokens are equal."""
    ids = [doc_id_of(str(number)) for number in range(len(lengths))]
    first = 2
    arrays = []
    for length in lengths:
        arrays.append([*range(first, first + length - 1), EOD])
        first += length
    return ids, TokenBatch.of(arrays)


def check_layout(packed: Packed, doc_ids: list[bytes], tokens: TokenBatch, seq_len: int) -> None:
    """Every token of every document lies exactly once where the spans say; the rest is padding."""
    spans = packed.spans(doc_ids)
    assert spans.schema.equals(SPANS)
    rows = spans.to_pylist()
    assert [(row["sample"], row["offset"]) for row in rows] == sorted(
        (row["sample"], row["offset"]) for row in rows
    )
    covered = np.zeros(packed.samples.shape, dtype=int)
    found = {doc_id: np.full(len(tokens[n]), -1) for n, doc_id in enumerate(doc_ids)}
    for row in rows:
        place = slice(row["offset"], row["offset"] + row["length"])
        assert place.stop <= seq_len
        covered[row["sample"], place] += 1
        begin = row["doc_token_offset"]
        piece = found[row["doc_id"]][begin : begin + row["length"]]
        assert (piece == -1).all()
        piece[:] = packed.samples[row["sample"], place]
    assert covered.max(initial=0) <= 1
    assert (packed.samples[covered == 0] == PAD).all()
    for number, doc_id in enumerate(doc_ids):
        assert found[doc_id].tolist() == tokens[number].tolist()


@settings(max_examples=80, deadline=None)
@given(lengths_of_documents, st.sampled_from([2, 7, 64]), st.sampled_from(["best_fit", "concat"]))
def test_no_token_is_lost_or_doubled_and_spans_say_where_each_lies(
    lengths: list[int], seq_len: int, packing: Packing
) -> None:
    doc_ids, tokens = documents_of(lengths)
    packed = pack(3, doc_ids, tokens, PackSettings(seq_len=seq_len, packing=packing), PAD)
    check_layout(packed, doc_ids, tokens, seq_len)


@settings(max_examples=80, deadline=None)
@given(lengths_of_documents)
def test_best_fit_cuts_a_document_only_where_it_is_longer_than_a_sample(lengths: list[int]) -> None:
    doc_ids, tokens = documents_of(lengths)
    packed = pack(3, doc_ids, tokens, PackSettings(seq_len=64), PAD)
    for row in range(len(lengths)):
        pieces = packed.length[packed.document == row]
        whole, rest = divmod(lengths[row], 64)
        assert pieces.tolist() == [64] * whole + [rest] * (rest > 0)
    used = (packed.samples != PAD).sum(axis=1)
    # Two samples at most half full would have become one.
    assert sum(2 * count <= 64 for count in used) <= 1


def test_concatenation_pads_only_the_last_sample_and_follows_the_keyed_order() -> None:
    doc_ids, tokens = documents_of([50, 1, 130, 64, 3])
    packed = pack(3, doc_ids, tokens, PackSettings(seq_len=32, packing="concat"), PAD)
    order = document_order(3, doc_ids, tokens)
    stream = np.concatenate([tokens[row] for row in order])
    flat = packed.samples.ravel()
    assert np.array_equal(flat[: len(stream)], stream)
    assert (flat[len(stream) :] == PAD).all()
    assert len(flat) - len(stream) < 32


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.permutations(range(12)))
def test_the_order_of_the_input_never_shows(seed: int, order: list[int]) -> None:
    documents = list(make_documents(seed, 12, 100).items())
    shuffled = dict(documents[number] for number in order)
    assert build(shuffled).files == build(dict(documents)).files


def test_two_captures_under_one_id_are_ordered_by_their_tokens() -> None:
    one, two, other = [5, 6, EOD], [5, 7, EOD], [9, EOD]
    ids = [doc_id_of("a"), doc_id_of("a"), doc_id_of("b")]
    settings_ = PackSettings(seq_len=8)
    straight = pack(1, ids, TokenBatch.of([one, two, other]), settings_, PAD)
    turned = pack(1, ids, TokenBatch.of([two, one, other]), settings_, PAD)
    assert np.array_equal(straight.samples, turned.samples)


def test_placement_of_many_equals_placement_of_each_and_depends_on_the_seed() -> None:
    doc_ids = [doc_id_of(str(number)) for number in range(3000)]
    placed = shards_of(5, doc_ids, 7)
    assert placed.tolist() == [
        keyed_hash(b"corpus-assets/shard/5", doc_id) % 7 for doc_id in doc_ids
    ]
    assert not np.array_equal(placed, shards_of(6, doc_ids, 7))
    assert np.bincount(placed, minlength=7).min() > 300


@pytest.mark.parametrize("packing", ["best_fit", "concat"])
def test_removing_a_document_changes_its_own_shard_and_no_other(packing: Packing) -> None:
    documents = make_documents(1, 120, 150)
    setting = PackSettings(seq_len=64, packing=packing)
    before = [build(part, number=n, settings=setting) for n, part in enumerate(split(documents, 5))]
    for victim in list(documents)[:15]:
        rest = {doc: ids for doc, ids in documents.items() if doc != victim}
        after = [build(part, number=n, settings=setting) for n, part in enumerate(split(rest, 5))]
        changed = [n for n in range(5) if before[n].files != after[n].files]
        assert changed == shards_of(7, [victim], 5).tolist()


def test_impossible_input_is_refused() -> None:
    tokens = TokenBatch.of([[5, EOD]])
    with pytest.raises(ShardError, match="2 document ids"):
        pack(1, [doc_id_of("a"), doc_id_of("b")], tokens, PackSettings(), PAD)
    with pytest.raises(ShardError, match="16 bytes"):
        pack(1, [b"short"], tokens, PackSettings(), PAD)
    with pytest.raises(ShardError, match="no tokens"):
        pack(1, [doc_id_of("a")], TokenBatch.of([[]]), PackSettings(), PAD)
    with pytest.raises(ShardError, match="one shard or more, not 0"):
        shards_of(1, [doc_id_of("a")], 0)


def test_utilisation_is_the_share_of_places_that_hold_tokens() -> None:
    best = lay(np.array([5, 3, 8, 12]), PackSettings(seq_len=8))
    assert (best.samples, best.utilisation) == (4, 28 / 32)
    concat = lay(np.array([5, 3, 8, 12]), PackSettings(seq_len=8, packing="concat"))
    assert (concat.samples, concat.utilisation) == (4, 28 / 32)
    wasteful = lay(np.array([5, 5, 5]), PackSettings(seq_len=8))
    assert (wasteful.samples, wasteful.utilisation) == (3, 15 / 24)
    assert lay(np.array([], dtype=np.int64), PackSettings()).utilisation == 1.0


def test_best_fit_cuts_only_what_is_longer_than_a_sample() -> None:
    lengths = np.random.default_rng(4).integers(1, 300, 500)
    laid = lay(lengths, PackSettings(seq_len=128))
    pieces = np.bincount(laid.document, minlength=500)
    assert np.array_equal(pieces, -(-lengths // 128))
    assert (laid.length[laid.doc_token_offset > 0] <= 128).all()
    assert (laid.doc_token_offset % 128 == 0).all()
