"""Memories of planted texts, on losses whose truth is known."""

import numpy as np
import pytest

from corpus_assets.evidence.canaries import memories, memory_curve


def losses(
    rng: np.random.Generator, mean: float, canaries: int = 64, tokens: int = 50
) -> list[np.ndarray]:
    """Texts that are easier and harder by themselves, with so many nats a token on average."""
    return [
        np.full(tokens, mean + 0.3 * rng.standard_normal()).clip(0.001) for _ in range(canaries)
    ]


def test_memories_rise_with_copies_and_are_gone_after_a_takedown() -> None:
    rng = np.random.default_rng(1)
    before = {0: losses(rng, 4.0), 1: losses(rng, 3.9), 16: losses(rng, 2.0), 64: losses(rng, 0.05)}
    after = {copies: losses(rng, 4.0) for copies in before}
    seen, gone = memories(before), memories(after)
    advantages = [row.advantage for row in seen]
    assert advantages == sorted(advantages)
    assert advantages[-1] == pytest.approx(3.9, abs=0.2)
    assert seen[-1].low > 3.5
    assert seen[-1].extracted > 0.5 > 0.1 > seen[1].extracted
    assert all(row.low <= 0 <= row.high for row in gone), "as if never seen"
    drawn = memory_curve({"v": seen, "v.td1": gone})
    assert drawn.count("<polyline") == 2


def test_the_probability_of_extraction_is_that_of_all_tokens_together() -> None:
    half = np.log(2) * np.ones(3)
    rows = memories({0: [half * 9, half * 9], 4: [half, half]})
    assert rows[1].extraction == pytest.approx(1 / 8)
    assert rows[1].extracted == 1.0, "1 - (7/8) ** 100"
    assert rows[0].advantage == 0


def test_there_is_no_memory_without_controls() -> None:
    with pytest.raises(ValueError, match="controls"):
        memories({1: [np.ones(3)]})
