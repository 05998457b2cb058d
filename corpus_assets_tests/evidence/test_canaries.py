"""Memories of planted texts, on losses whose truth is known."""

import numpy as np
import pytest

from corpus_assets.evidence.canaries import memories, memory_curve


def losses(
    rng: np.random.Generator, mean: float, canaries: int = 64, models: int = 3
) -> np.ndarray:
    """Nats of texts that are easier and harder by themselves, alike for all models."""
    own = 15 * rng.standard_normal((canaries, 1))
    return (mean + own + rng.standard_normal((canaries, models))).clip(0.05)


def test_memories_rise_with_copies_and_are_gone_after_a_takedown() -> None:
    rng = np.random.default_rng(1)
    before = {0: losses(rng, 200), 1: losses(rng, 195), 16: losses(rng, 100), 64: losses(rng, 2.5)}
    after = {copies: losses(rng, 200) for copies in before}
    seen, gone = memories(before), memories(after)
    advantages = [row.advantage for row in seen]
    assert advantages == sorted(advantages)
    assert advantages[-1] == pytest.approx(193, abs=5)
    assert seen[-1].low > 180
    assert seen[-1].extracted > 0.5 > 0.1 > seen[1].extracted
    assert all(row.low <= 0 <= row.high for row in gone), "as if never seen"
    drawn = memory_curve({"v": seen, "v.td1": gone})
    assert drawn.count("<polyline") == 2


def test_the_probability_of_extraction_is_that_of_the_whole_text() -> None:
    rows = memories({0: np.full((2, 1), 20.0), 4: np.full((2, 1), 3 * np.log(2))})
    assert rows[1].extraction == pytest.approx(1 / 8)
    assert rows[1].extracted == 1.0, "1 - (7/8) ** 100"
    assert rows[0].advantage == 0


def test_models_of_more_seeds_are_no_more_texts() -> None:
    rng = np.random.default_rng(2)
    few = {0: losses(rng, 50, 16, 1), 8: losses(rng, 40, 16, 1)}
    many = {copies: np.repeat(own, 9, axis=1) for copies, own in few.items()}
    assert memories(many)[1].low == pytest.approx(memories(few)[1].low)


def test_there_is_no_memory_without_controls() -> None:
    with pytest.raises(ValueError, match="controls"):
        memories({1: np.ones((3, 1))})
