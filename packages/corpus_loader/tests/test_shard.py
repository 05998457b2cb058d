"""Opening shards: views, boundaries, and refusal of what is not whole."""

from pathlib import Path

import numpy as np
import pytest
from by_hand import (
    HAS_PYARROW,
    SEQ_LEN,
    TOKENIZER_SHA256,
    lay,
    make_documents,
    paths_of,
    write_shard,
)

from corpus_loader import LoaderError, Shard
from corpus_loader.segments import PADDING
from corpus_loader.shard import ShardPaths


@pytest.fixture
def paths(tmp_path: Path) -> ShardPaths:
    write_shard(tmp_path, make_documents(1, 60, 120))
    return paths_of(tmp_path)


def test_samples_are_read_only_views_of_the_file(paths: ShardPaths) -> None:
    shard = Shard.open(paths, tokenizer_sha256=TOKENIZER_SHA256, seq_len=64)
    content = np.fromfile(paths.bin, dtype="<i4").reshape(-1, 64)
    assert len(shard) == len(content)
    for number in range(len(shard)):
        sample = shard.sample(number)
        assert np.array_equal(sample, content[number])
        assert not sample.flags.writeable
        assert not sample.flags.owndata
        assert np.shares_memory(sample, shard.samples)


def test_a_shard_of_two_bytes_a_token_has_views_of_that_type(tmp_path: Path) -> None:
    documents = make_documents(1, 20, 120)
    write_shard(tmp_path, documents, dtype="uint16")
    write_shard(tmp_path, documents, number=1)
    narrow, wide = (Shard.open(paths_of(tmp_path, number=number)) for number in (0, 1))
    assert (narrow.samples.dtype, wide.samples.dtype) == (np.uint16, np.int32)
    assert np.array_equal(narrow.samples, wide.samples)


@pytest.mark.skipif(not HAS_PYARROW, reason="spans need pyarrow")
def test_spans_lead_to_the_documents_and_segments_agree_with_them(tmp_path: Path) -> None:
    documents = make_documents(2, 70, 150)
    label = "S/web/high/language=de"  # which is no column of the spans
    write_shard(tmp_path, documents, label)
    shard = Shard.open(paths_of(tmp_path, label))
    assert [span for number in range(len(shard)) for span in shard.spans(number)] == lay(documents)
    for number in range(len(shard)):
        tokens, expected = shard.sample(number), np.full(SEQ_LEN, PADDING)
        for segment, span in enumerate(shard.spans(number)):
            inside = slice(span.offset, span.offset + span.length)
            begin = span.doc_token_offset
            whole = documents[span.doc_id]
            assert tokens[inside].tolist() == whole[begin : begin + span.length]
            expected[inside] = segment
        assert np.array_equal(shard.segments(number).ids, expected)


@pytest.mark.skipif(HAS_PYARROW, reason="pyarrow is there")
def test_spans_without_pyarrow_say_what_to_install(paths: ShardPaths) -> None:
    shard = Shard.open(paths)
    with pytest.raises(LoaderError, match=r"pip install 'corpus-loader\[spans\]'"):
        shard.spans(0)


def test_an_empty_shard_opens_and_has_no_samples(tmp_path: Path) -> None:
    write_shard(tmp_path, {})
    shard = Shard.open(paths_of(tmp_path))
    assert len(shard) == 0
    assert shard.samples.shape == (0, 64)
    shard.verify()
    with pytest.raises(LoaderError, match="not 0"):
        shard.sample(0)


@pytest.mark.parametrize("kind", ["bin", "idx", "spans", "header"])
def test_a_missing_file_is_refused_by_name(paths: ShardPaths, kind: str) -> None:
    path: Path = getattr(paths, kind)
    path.unlink()
    with pytest.raises(LoaderError, match=path.name):
        Shard.open(paths)


@pytest.mark.parametrize("kind", ["bin", "idx", "spans", "header"])
def test_a_truncated_file_is_refused_by_name(paths: ShardPaths, kind: str) -> None:
    path: Path = getattr(paths, kind)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(LoaderError, match=path.name):
        Shard.open(paths)


@pytest.mark.parametrize("kind", ["bin", "idx", "spans"])
def test_a_file_that_is_too_long_is_refused_by_name(paths: ShardPaths, kind: str) -> None:
    path: Path = getattr(paths, kind)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(LoaderError, match=f"{path.name} is too long"):
        Shard.open(paths)


@pytest.mark.parametrize("kind", ["idx", "spans"])
def test_a_file_that_begins_wrong_is_refused_by_name(paths: ShardPaths, kind: str) -> None:
    path: Path = getattr(paths, kind)
    path.write_bytes(b"XXXX" + path.read_bytes()[4:])
    with pytest.raises(LoaderError, match=path.name):
        Shard.open(paths)


def test_an_index_of_other_counts_is_refused(paths: ShardPaths) -> None:
    content = bytearray(paths.idx.read_bytes())
    content[26] ^= 1  # document count
    paths.idx.write_bytes(bytes(content))
    with pytest.raises(LoaderError, match="does not fit its header"):
        Shard.open(paths)


def test_shards_of_another_tokenizer_length_or_manifest_are_refused(paths: ShardPaths) -> None:
    with pytest.raises(LoaderError, match="made with tokenizer"):
        Shard.open(paths, tokenizer_sha256="0" * 64)
    with pytest.raises(LoaderError, match="samples of 64"):
        Shard.open(paths, seq_len=128)
    with pytest.raises(LoaderError, match="not the header"):
        Shard.open(paths, header_sha256="0" * 64)


@pytest.mark.parametrize("kind", ["bin", "idx", "spans"])
def test_one_flipped_bit_is_found_by_verification(paths: ShardPaths, kind: str) -> None:
    Shard.open(paths).verify()
    path: Path = getattr(paths, kind)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))
    with pytest.raises(LoaderError, match=path.name):
        Shard.open(paths).verify()


def test_views_outlive_a_closed_shard(paths: ShardPaths) -> None:
    shard = Shard.open(paths)
    sample = shard.sample(0)
    before = sample.tolist()
    shard.close()
    assert sample.tolist() == before == shard.sample(0).tolist()
