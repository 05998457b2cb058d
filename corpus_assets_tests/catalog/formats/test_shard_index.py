"""Shards as the pipeline writes them are whole in the catalog's eyes."""

import hashlib
import random
from pathlib import Path
from typing import Literal

import pytest

from catalog.db.rows import ShardRow
from catalog.formats.store import FileStore
from catalog.verify.shard_files import check_shard
from corpus_assets.shards.format import build_shard
from corpus_assets.shards.settings import PackSettings
from corpus_assets.shards.tokens import TokenBatch, TokenizerInfo
from corpus_loader.manifest import Manifest, RecipeRef, TokenizerRef


@pytest.mark.parametrize("packing", ["best_fit", "concat"])
@pytest.mark.parametrize("documents", [0, 1, 200])
def test_a_shard_of_the_pipeline_passes(
    tmp_path: Path, packing: Literal["best_fit", "concat"], documents: int
) -> None:
    chance = random.Random(documents)
    doc_ids = [hashlib.md5(bytes([n])).digest() for n in range(documents)]
    texts = [[chance.randint(2, 99) for _ in range(chance.randint(0, 90))] + [0] for _ in doc_ids]
    shard = build_shard(
        "S/web/high",
        0,
        doc_ids,
        TokenBatch.of(texts),
        seed=3,
        settings=PackSettings(seq_len=32, packing=packing),
        tokenizer=TokenizerInfo("aa", 100, 0, 1),
    )
    names = {}
    for name, data in shard.files.items():
        (tmp_path / name).write_bytes(data)
        names[name.split(".")[1]] = name
    row = ShardRow(
        "S/web/high", "S", "web", "high", "shard_00000", names["bin"], "", names["idx"], "",
        names["spans"], "", names["header"], "", shard.header.samples, shard.header.tokens,
        shard.header.documents,
    )  # fmt: skip
    manifest = Manifest(
        version="v1",
        recipe=RecipeRef(name="r", digest="d"),
        lock_digest="l",
        seed=3,
        seq_len=32,
        tokenizer=TokenizerRef(path="t", sha256="a" * 64, vocab_size=100, eod_id=0, pad_id=1),
        block_samples=1,
        groups=(),
        phases=(),
    )
    assert list(check_shard(FileStore(tmp_path), row, manifest)) == []
