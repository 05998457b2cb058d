"""Ranks of scores, and the best of them."""

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.signals.base import TextBatch
from corpus_assets.signals.ensemble import Ensemble, rank_table

Row = tuple[float | None, float | None]


def ensemble(path: Path, rows: list[Row]) -> list[tuple[int | None, float | None]]:
    family = Ensemble(scores=("a_score", "b_score"))
    batch = TextBatch.from_arrow(pa.array(["text"] * len(rows), pa.large_string()))
    batch.columns = {
        name: pa.array([row[k] for row in rows], pa.float32())
        for k, name in enumerate(family.scores)
    }
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
        name: rank_table(np.array(values, dtype=np.float32), steps)
        for name, values in zip(("a_score", "b_score"), known, strict=True)
    }
    file = tmp_path / "ranks.json"
    file.write_text(json.dumps(tables), encoding="utf-8")
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


def test_ties_share_a_bucket() -> None:
    assert set(rank_table(np.array([0.5] * 9 + [np.nan], dtype=np.float32), 40)) == {0.5}
    assert rank_table(np.zeros(0, dtype=np.float32), 40) == []


def test_buckets_can_hold_equal_weight_in_place_of_equal_numbers() -> None:
    draw = random.Random(9)
    scores = [draw.random() for _ in range(400)]
    weights = [draw.randrange(1, 40) for _ in scores]
    steps = 30
    spread = sorted(score for score, n in zip(scores, weights, strict=True) for _ in range(n))
    expected = [spread[k * len(spread) // steps] for k in range(1, steps)]
    found = rank_table(np.float32(scores), steps, np.array(weights))
    assert np.array_equal(np.float32(found), np.float32(expected))
    assert found != rank_table(np.float32(scores), steps)
