"""What the pipeline writes is what `corpus_loader` reads."""

from pathlib import Path

import numpy as np
import pytest

from corpus_assets.shards.settings import Packing, PackSettings
from corpus_assets_tests.shards.small_corpus import (
    TOKENIZER,
    build,
    make_documents,
    make_store,
    write,
)
from corpus_loader import Loader, Shard
from corpus_loader.segments import PADDING
from corpus_loader.shard import ShardPaths


@pytest.mark.parametrize("packing", ["best_fit", "concat"])
def test_spans_lead_to_the_documents_and_segments_agree_with_them(
    tmp_path: Path, packing: Packing
) -> None:
    documents = make_documents(2, 70, 150)
    made = build(documents, settings=PackSettings(seq_len=64, packing=packing))
    write(tmp_path, made)
    shard = Shard.open(
        ShardPaths(*(tmp_path / name for name in made.files)),
        tokenizer_sha256=TOKENIZER.sha256,
        seq_len=64,
    )
    shard.verify()
    assert shard.header == made.header
    for number in range(len(shard)):
        tokens = shard.sample(number)
        spans = shard.spans(number)
        expected = np.full(64, PADDING)
        for segment, span in enumerate(spans):
            assert span.sample == number
            begin = span.doc_token_offset
            assert (
                tokens[span.offset : span.offset + span.length].tolist()
                == documents[span.doc_id][begin : begin + span.length]
            )
            expected[span.offset : span.offset + span.length] = segment
        segments = shard.segments(number)
        assert np.array_equal(segments.ids, expected)
        bounds = [span.offset for span in spans]
        filled = spans[-1].offset + spans[-1].length
        padded = filled < 64
        assert segments.cu_seqlens.tolist() == bounds + [filled] * padded + [64]
        assert segments.is_padding.tolist() == [False] * len(spans) + [True] * padded


def test_one_epoch_delivers_every_document_of_a_group(tmp_path: Path) -> None:
    groups = {"S1/web/high": make_documents(1, 80, 100), "S2/code/mid": make_documents(3, 40, 200)}
    phases = [(9, {"S1/web/high": 8, "S2/code/mid": 11})]
    loader = Loader(make_store(tmp_path, groups, phases), tmp_path, global_batch=1)
    seen: dict[bytes, set[int]] = {}
    for batch in loader:
        shard = loader.shard(int(batch.shards[0]))
        for span in shard.spans(int(batch.samples[0])):
            places = seen.setdefault(span.doc_id, set())
            places.update(range(span.doc_token_offset, span.doc_token_offset + span.length))
    documents = {doc_id: tokens for each in groups.values() for doc_id, tokens in each.items()}
    assert seen == {doc_id: set(range(len(tokens))) for doc_id, tokens in documents.items()}
