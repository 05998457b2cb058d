"""Ranks of scores, and the best of them."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.signals.ensemble import Ensemble, places_of, rank_table
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.ties import tie_keys

Row = tuple[float | None, float | None]


def ids_of(n: int) -> pa.Array:
    return pa.array([k.to_bytes(16, "big") for k in range(n)], pa.binary(16))


def ranked(values: Any, steps: int, weights: Any = None) -> list[tuple[float, float]]:
    scores = np.array(values, dtype=np.float32)
    return rank_table(scores, tie_keys(ids_of(len(scores)), 7), steps, weights)


def ensemble(path: Path, rows: list[Row]) -> list[tuple[int | None, float | None]]:
    family = Ensemble(scores=("a_score", "b_score"))
    batch = TextBatch.from_arrow(pa.array(["text"] * len(rows), pa.large_string()))
    batch.columns = {
        name: pa.array([row[k] for row in rows], pa.float32())
        for k, name in enumerate(family.scores)
    }
    batch.columns["doc_id"] = ids_of(len(rows))
    found = family.compute(batch, {"score_ranks": path})
    columns = (found.column(name).to_pylist() for name in family.columns())
    return list(zip(*columns, strict=True))


@pytest.fixture
def known() -> tuple[list[float], list[float]]:
    """The scores that make the ranks: two scales that have nothing in common."""
    draw = random.Random(3)
    return [draw.random() ** 4 for _ in range(2_000)], [draw.gauss(40, 9) for _ in range(2_000)]


@pytest.fixture
def path(tmp_path: Path, known: tuple[list[float], list[float]]) -> Path:
    steps = Ensemble().steps
    tables = {
        name: ranked(values, steps)
        for name, values in zip(("a_score", "b_score"), known, strict=True)
    }
    file = tmp_path / "ranks.json"
    file.write_text(json.dumps({"seed": 7, "scores": tables}), encoding="utf-8")
    return file


def test_a_document_has_the_best_of_its_ranks(
    path: Path, known: tuple[list[float], list[float]]
) -> None:
    draw = random.Random(5)
    rows: list[Row] = [(draw.random() ** 4, draw.gauss(40, 9)) for _ in range(500)]
    for row, (bucket, rank) in zip(rows, ensemble(path, rows), strict=True):
        shares = [
            sum(value <= score for value in values) / len(values)
            for values, score in zip(known, row, strict=True)
            if score is not None
        ]
        assert bucket is not None
        assert rank is not None
        assert abs(rank - max(shares)) <= 2 / Ensemble().steps
        assert bucket == min(int(rank * 20 + 1e-6), 19)


def test_buckets_hold_equal_shares_of_the_documents_that_made_them(
    path: Path, known: tuple[list[float], list[float]]
) -> None:
    found = ensemble(path, [(score, None) for score in known[0]])
    counts = np.bincount([bucket for bucket, _ in found if bucket is not None])
    assert len(counts) == 20
    assert np.abs(counts - 100).max() <= 3


def test_scores_beyond_all_others_and_no_score_at_all(path: Path) -> None:
    found = ensemble(path, [(2.0, None), (-1.0, -1e9), (None, None), (-1.0, 1e9)])
    assert [bucket for bucket, _ in found] == [19, 0, None, 19]
    assert found[2] == (None, None)


@pytest.mark.parametrize("scores", [[0.5] * 2_000, [k % 7 / 7 for k in range(2_000)]])
def test_documents_of_equal_score_fill_buckets_equally(tmp_path: Path, scores: list[float]) -> None:
    assert ranked([], 40) == []
    file = tmp_path / "ranks.json"
    tables = dict.fromkeys(("a_score", "b_score"), ranked(scores, Ensemble().steps))
    file.write_text(json.dumps({"seed": 7, "scores": tables}), encoding="utf-8")
    found = ensemble(file, [(score, score) for score in scores])
    counts = np.bincount([bucket for bucket, _ in found if bucket is not None])
    assert len(counts) == 20
    assert np.abs(counts - 100).max() <= 3
    better = sorted((score, bucket) for score, (bucket, _) in zip(scores, found, strict=True))
    assert [bucket for _, bucket in better] == sorted(bucket for _, bucket in better)


def test_places_are_in_the_order_of_values_then_of_tie_keys() -> None:
    draw = np.random.default_rng(4)
    values = draw.choice(np.float32([-2.5, -1e-9, -0.0, 0.0, 1e-9, 3.25, 1e9]), 500)
    ties = (draw.integers(0, 2**24, 500) * 2.0**-24).astype(np.float32)
    by_place = np.argsort(places_of(values, ties), kind="stable")
    assert np.array_equal(by_place, np.lexsort((ties, values)))


def test_buckets_can_hold_equal_weight_in_place_of_equal_numbers() -> None:
    draw = random.Random(9)
    scores = [draw.random() for _ in range(400)]
    weights = [draw.randrange(1, 40) for _ in scores]
    steps = 30
    spread = sorted(score for score, n in zip(scores, weights, strict=True) for _ in range(n))
    expected = [spread[k * len(spread) // steps] for k in range(1, steps)]
    found = ranked(scores, steps, np.array(weights))
    assert np.array_equal(np.float32([value for value, _ in found]), np.float32(expected))
    assert found != ranked(scores, steps)
