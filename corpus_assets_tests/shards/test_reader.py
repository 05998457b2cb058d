"""Opening shards: views, boundaries, and refusal of what is not whole."""

from pathlib import Path

import numpy as np
import pytest

from corpus_assets.core.errors import CorruptArtifact, ShardError
from corpus_assets.shards.reader import PADDING, Shard, ShardPaths, segments_of
from corpus_assets.shards.settings import Packing, PackSettings
from corpus_assets_tests.shards.small_corpus import (
    EOD,
    PAD,
    TOKENIZER,
    build,
    make_documents,
    write,
)

NAME = "shard_00000"


def beside(folder: Path, name: str) -> ShardPaths:
    """Files of a shard, all in one folder."""
    ends = ("bin", "idx", "spans.parquet", "header.json")
    return ShardPaths(*(folder / f"{name}.{end}" for end in ends))


@pytest.fixture
def paths(tmp_path: Path) -> ShardPaths:
    write(tmp_path, build(make_documents(1, 60, 120)))
    return beside(tmp_path, NAME)


def test_samples_are_read_only_views_of_the_file(paths: ShardPaths) -> None:
    shard = Shard.open(paths, tokenizer_sha256=TOKENIZER.sha256, seq_len=64)
    content = np.fromfile(paths.bin, dtype="<i4").reshape(-1, 64)
    assert len(shard) == len(content)
    for number in range(len(shard)):
        sample = shard.sample(number)
        assert np.array_equal(sample, content[number])
        assert not sample.flags.writeable
        assert not sample.flags.owndata
        assert np.shares_memory(sample, shard.samples)


@pytest.mark.parametrize("packing", ["best_fit", "concat"])
def test_spans_lead_to_the_documents_and_segments_agree_with_them(
    tmp_path: Path, packing: Packing
) -> None:
    documents = make_documents(2, 70, 150)
    write(tmp_path, build(documents, settings=PackSettings(seq_len=64, packing=packing)))
    shard = Shard.open(beside(tmp_path, NAME))
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


def test_segments_of_a_batch_never_cross_samples() -> None:
    tokens = np.array([[5, EOD, 6, 7], [8, 9, EOD, PAD], [4, EOD, PAD, PAD]], dtype=np.int32)
    segments = segments_of(tokens, EOD, PAD)
    assert segments.ids.tolist() == [[0, 0, 1, 1], [0, 0, 0, -1], [0, 0, -1, -1]]
    assert segments.cu_seqlens.tolist() == [0, 2, 4, 7, 8, 10, 12]
    assert segments.is_padding.tolist() == [False, False, False, True, False, True]
    assert segments.max_seqlen == 3


def test_an_empty_shard_opens_and_has_no_samples(tmp_path: Path) -> None:
    write(tmp_path, build({}))
    shard = Shard.open(beside(tmp_path, NAME))
    assert len(shard) == 0
    assert shard.samples.shape == (0, 64)
    shard.verify()
    with pytest.raises(ShardError, match="not 0"):
        shard.sample(0)


@pytest.mark.parametrize("kind", ["bin", "idx", "spans", "header"])
def test_a_missing_file_is_refused_by_name(paths: ShardPaths, kind: str) -> None:
    path: Path = getattr(paths, kind)
    path.unlink()
    with pytest.raises(ShardError, match=path.name):
        Shard.open(paths)


@pytest.mark.parametrize("kind", ["bin", "idx", "spans", "header"])
def test_a_truncated_file_is_refused_by_name(paths: ShardPaths, kind: str) -> None:
    path: Path = getattr(paths, kind)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ShardError, match=path.name):
        Shard.open(paths)


@pytest.mark.parametrize("kind", ["bin", "idx", "spans"])
def test_a_file_that_is_too_long_is_refused_by_name(paths: ShardPaths, kind: str) -> None:
    path: Path = getattr(paths, kind)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ShardError, match=f"{path.name} is too long"):
        Shard.open(paths)


@pytest.mark.parametrize("kind", ["idx", "spans"])
def test_a_file_that_begins_wrong_is_refused_by_name(paths: ShardPaths, kind: str) -> None:
    path: Path = getattr(paths, kind)
    path.write_bytes(b"XXXX" + path.read_bytes()[4:])
    with pytest.raises(ShardError, match=path.name):
        Shard.open(paths)


def test_an_index_of_other_counts_is_refused(paths: ShardPaths) -> None:
    content = bytearray(paths.idx.read_bytes())
    content[26] ^= 1  # document count
    paths.idx.write_bytes(bytes(content))
    with pytest.raises(ShardError, match="does not fit its header"):
        Shard.open(paths)


def test_shards_of_another_tokenizer_length_or_manifest_are_refused(paths: ShardPaths) -> None:
    with pytest.raises(ShardError, match="made with tokenizer"):
        Shard.open(paths, tokenizer_sha256="0" * 64)
    with pytest.raises(ShardError, match="samples of 64"):
        Shard.open(paths, seq_len=128)
    with pytest.raises(ShardError, match="not the header"):
        Shard.open(paths, header_sha256="0" * 64)


@pytest.mark.parametrize("kind", ["bin", "idx", "spans"])
def test_one_flipped_bit_is_found_by_verification(paths: ShardPaths, kind: str) -> None:
    Shard.open(paths).verify()
    path: Path = getattr(paths, kind)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))
    with pytest.raises(CorruptArtifact, match=path.name):
        Shard.open(paths).verify()


def test_views_outlive_a_closed_shard(paths: ShardPaths) -> None:
    shard = Shard.open(paths)
    sample = shard.sample(0)
    before = sample.tolist()
    shard.close()
    assert sample.tolist() == before == shard.sample(0).tolist()
