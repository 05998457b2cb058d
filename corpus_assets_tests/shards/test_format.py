"""A shard's files, read back by independent means."""

import hashlib
import io
import itertools
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from corpus_assets.core.errors import ShardError
from corpus_assets.shards.format import VERSION, build_shard
from corpus_assets.shards.settings import Packing, PackSettings
from corpus_assets.shards.tokens import TokenBatch
from corpus_assets_tests.shards.small_corpus import (
    EOD,
    PAD,
    TOKENIZER,
    build,
    doc_id_of,
    make_documents,
)
from corpus_loader.header import ShardHeader


def read_megatron(idx: bytes, tokens: bytes) -> list[list[int]]:
    """Every document's tokens, the index parsed byte by byte as Megatron-LM lays it out."""
    assert idx[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, boundaries = struct.unpack_from("<QBQQ", idx, 9)
    assert (version, code) == (1, 4)
    at = 34
    lengths = struct.unpack_from(f"<{sequences}i", idx, at)
    at += 4 * sequences
    pointers = struct.unpack_from(f"<{sequences}q", idx, at)
    at += 8 * sequences
    documents = struct.unpack_from(f"<{boundaries}q", idx, at)
    assert at + 8 * boundaries == len(idx)
    assert documents[0] == 0
    assert documents[-1] == sequences
    pieces = [
        list(struct.unpack_from(f"<{length}i", tokens, pointer))
        for pointer, length in zip(pointers, lengths, strict=True)
    ]
    return [
        [token for piece in pieces[first:last] for token in piece]
        for first, last in itertools.pairwise(documents)
    ]


@pytest.mark.parametrize("packing", ["best_fit", "concat"])
def test_the_megatron_index_gives_back_every_document(packing: Packing) -> None:
    documents = make_documents(2, 80, 300)
    files = build(documents, settings=PackSettings(seq_len=64, packing=packing)).files
    read = read_megatron(files["shard_00000.idx"], files["shard_00000.bin"])
    assert sorted(read) == sorted(documents.values())


def test_the_bin_holds_samples_of_equal_length_as_little_endian_int32() -> None:
    documents = make_documents(3, 30, 100)
    shard = build(documents)
    tokens = np.frombuffer(shard.files["shard_00000.bin"], dtype="<i4").reshape(-1, 64)
    assert len(tokens) == shard.header.samples
    assert np.count_nonzero(tokens != PAD) == shard.header.tokens
    assert np.count_nonzero(tokens == EOD) == shard.header.documents == 30


def test_the_header_names_the_other_files_with_size_and_hash() -> None:
    shard = build(make_documents(4, 10, 50), number=42)
    assert list(shard.files) == [
        "shard_00042.bin",
        "shard_00042.idx",
        "shard_00042.spans.parquet",
        "shard_00042.header.json",
    ]
    header = json.loads(shard.files["shard_00042.header.json"])
    for kind in ("bin", "idx", "spans"):
        content = shard.files[header[kind]["name"]]
        assert header[kind]["bytes"] == len(content)
        assert header[kind]["sha256"] == hashlib.sha256(content).hexdigest()
    assert header["group"] == "S/web/high"
    assert header["packing"] == "best_fit"
    assert header["tokenizer_sha256"] == TOKENIZER.sha256
    assert ShardHeader.parse(shard.files["shard_00042.header.json"], "h") == shard.header


def test_an_empty_shard_is_a_shard() -> None:
    shard = build({})
    assert shard.header.samples == shard.header.tokens == shard.header.documents == 0
    assert shard.files["shard_00000.bin"] == b""
    assert read_megatron(shard.files["shard_00000.idx"], b"") == []
    assert pq.read_table(io.BytesIO(shard.files["shard_00000.spans.parquet"])).num_rows == 0


@pytest.mark.parametrize(
    ("packing", "bin_start", "idx_start"),
    [
        ("best_fit", "1636f36cfe1e53a2", "854cbd9a268c7cd5"),
        ("concat", "69e3c069700b25cb", "7646e897ee011e86"),
    ],
)
def test_bytes_change_only_together_with_the_version(
    packing: Packing, bin_start: str, idx_start: str
) -> None:
    documents = {
        doc_id_of(str(number)): [*(2 + (number * 31 + place) % 900 for place in range(number)), EOD]
        for number in range(150)
    }
    header = build(documents, settings=PackSettings(seq_len=64, packing=packing)).header
    assert VERSION == 1
    assert (header.bin.sha256[:16], header.idx.sha256[:16]) == (bin_start, idx_start)


BUILD_AND_HASH = """
import hashlib
from corpus_assets_tests.shards.small_corpus import build, make_documents
files = build(make_documents(5, 200, 90)).files
print(hashlib.sha256(b"".join(files[name] for name in sorted(files))).hexdigest())
"""


def test_a_shard_has_the_same_bytes_in_every_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", BUILD_AND_HASH],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("ids", "word"),
    [
        ([5, 6], "end with"),
        ([EOD, 5, EOD], "only end-of-document"),
        ([5, PAD, EOD], "padding token"),
        ([5, 1000, EOD], "outside"),
        ([-1, EOD], "outside"),
        ([], "no tokens"),
    ],
)
def test_tokens_that_would_break_boundaries_are_refused(ids: list[int], word: str) -> None:
    with pytest.raises(ShardError, match=word):
        build_shard(
            "S/web/high",
            0,
            [doc_id_of("a")],
            TokenBatch.of([ids]),
            seed=1,
            settings=PackSettings(seq_len=8),
            tokenizer=TOKENIZER,
        )
