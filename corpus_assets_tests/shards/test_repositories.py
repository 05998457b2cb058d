"""Files of a repository as one context: placed, ordered and packed as one document would be."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.shards.format import ShardFiles, build_shard
from corpus_assets.shards.imports import Place
from corpus_assets.shards.pack import lay, shards_of
from corpus_assets.shards.route import join_slices, places_of, route_tokens, slice_bytes
from corpus_assets.shards.settings import PackSettings
from corpus_assets.shards.tokens import TokenBatch
from corpus_assets_tests.shards.small_corpus import EOD, TOKENIZER, VOCABULARY, doc_id_of

SEPARATOR = 2
INFO = replace(TOKENIZER, file_separator=SEPARATOR)
Row = tuple[bytes, Place | None, list[int]]


def _rows(draw: random.Random, count: int) -> list[Row]:
    """Documents, most of them files of one of a few repositories."""
    rows: list[Row] = []
    for number in range(count):
        repository = draw.choice((None, b"a" * 16, b"b" * 16, b"c" * 16, b"d" * 16))
        place = repository and Place(repository, f"src/{draw.random():.6f}")
        tokens = [*draw.choices(range(3, VOCABULARY), k=draw.randrange(40)), EOD]
        rows.append((doc_id_of(str(number)), place, tokens))
    return rows


def _shard(rows: Sequence[Row], settings: PackSettings, info: Any = INFO) -> ShardFiles:
    return build_shard(
        "S/code/all",
        0,
        [row[0] for row in rows],
        TokenBatch.of(row[2] for row in rows),
        seed=7,
        settings=settings,
        tokenizer=info,
        places=[row[1] for row in rows],
    )


def _units(rows: Sequence[Row]) -> dict[bytes, list[Row]]:
    """What is laid as one: a repository's files by path, or a document of none."""
    found: dict[bytes, list[Row]] = {}
    for row in rows:
        found.setdefault(row[1].repository if row[1] else row[0], []).append(row)
    return {
        name: sorted(files, key=lambda row: row[1].path if row[1] else "")
        for name, files in found.items()
    }


def _written(rows: Sequence[Row]) -> list[int]:
    tokens = [token for row in rows for token in [*row[2][:-1], SEPARATOR]]
    return [*tokens[:-1], EOD]


@pytest.mark.parametrize("packing", ["best_fit", "concat"])
def test_a_repository_is_laid_as_one_document_and_each_file_is_found(packing: Any) -> None:
    draw = random.Random(packing)
    for _ in range(25):
        settings = PackSettings(seq_len=draw.choice((8, 32, 90)), packing=packing)
        rows = _rows(draw, draw.randrange(1, 25))
        units = _units(rows)
        shard = _shard(rows, settings)
        shuffled = _shard(draw.sample(rows, len(rows)), settings)
        assert shard.files == shuffled.files
        flat = np.frombuffer(shard.files["shard_00000.bin"], "<i4")
        spans = pq.read_table(pa.BufferReader(shard.files["shard_00000.spans.parquet"]))
        found: dict[bytes, list[tuple[int, int, int]]] = {}
        for span in spans.to_pylist():
            start = span["sample"] * settings.seq_len + span["offset"]
            piece = (span["doc_token_offset"], start, span["length"])
            found.setdefault(span["doc_id"], []).append(piece)
        for files in units.values():
            places: list[int] = []
            for doc_id, _, tokens in files:
                pieces = sorted(found.pop(doc_id))
                at = [p for _, start, length in pieces for p in range(start, start + length)]
                assert flat[at[:-1]].tolist() == tokens[:-1]
                places += at
            assert flat[places].tolist() == _written(files)
            cuts = sum(b != a + 1 for a, b in pairwise(places))
            assert cuts <= len(places) // settings.seq_len + (packing == "concat")
        assert not found
        lengths = np.array([len(_written(files)) for files in units.values()])
        assert shard.header.samples <= lay(np.sort(lengths), settings).samples + 1
        assert np.count_nonzero(flat == EOD) == len(units)


def test_without_a_file_a_shard_is_as_if_it_had_never_been_there() -> None:
    """And a shard of documents that are of no repository is a plain one."""
    draw = random.Random(5)
    rows, settings = _rows(draw, 20), PackSettings(seq_len=32)
    for gone in range(20):
        left = [row for number, row in enumerate(rows) if number != gone]
        slices = [
            slice_bytes(
                [r[0] for r in some], TokenBatch.of(r[2] for r in some), [r[1] for r in some]
            )
            for some in (left[:9], left[9:])
        ]
        doc_ids, batch = join_slices(slices)
        again = build_shard(
            "S/code/all", 0, doc_ids, batch, seed=7, settings=settings, tokenizer=INFO,
            places=places_of(slices),
        )  # fmt: skip
        assert again.files == _shard(left, settings).files
    plain = [(row[0], None, row[2]) for row in rows]
    same = build_shard(
        "S/code/all", 0, [r[0] for r in rows], TokenBatch.of(r[2] for r in rows), seed=7,
        settings=settings, tokenizer=INFO,
    )  # fmt: skip
    assert _shard(plain, settings).files == same.files


def test_files_of_a_repository_go_to_one_shard() -> None:
    draw = random.Random(8)
    rows = _rows(draw, 40)
    final = pa.table(
        {
            "doc_id": pa.array([row[0] for row in rows], pa.binary(16)),
            "domain": ["code"] * 40,
            "tier": ["all"] * 40,
        }
    )
    batch = TokenBatch.of(row[2] for row in rows)
    slices = dict(route_tokens(final, batch, {"code/all": 5}, 7, [row[1] for row in rows]))
    shard_of = {doc_id: name for name, data in slices.items() for doc_id in join_slices([data])[0]}
    for unit, files in _units(rows).items():
        (place,) = shards_of(7, [unit], 5).tolist()
        assert {shard_of[row[0]] for row in files} == {f"code/all/{place:05d}"}
