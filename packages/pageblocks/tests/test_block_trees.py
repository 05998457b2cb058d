import numpy as np
import pytest

from pageblocks.kernels.block_trees import (
    DEPTH,
    NEVER,
    NODES,
    SCALE,
    SHARED,
    UNIT,
    Trees,
    chances_of,
    grow,
    keep,
    scores_of,
)


def test_a_score_is_the_sum_of_the_leaves_that_the_questions_lead_to() -> None:
    random = np.random.default_rng(1)
    trees = Trees(
        random.integers(0, 5, (7, NODES)).astype(np.int16),
        random.integers(-50, 50, (7, NODES)).astype(np.int32),
        random.integers(-900, 900, (7, NODES + 1)).astype(np.int32),
        -300,
    )
    trees.thresholds[2, 3] = NEVER
    rows = random.integers(-60, 60, (200, 5)).astype(np.int32)
    expected = []
    for row in rows.tolist():
        score = trees.start
        for tree in range(7):
            node = 0
            for _ in range(DEPTH):
                asked = row[trees.features[tree, node]] > trees.thresholds[tree, node]
                node = 2 * node + (2 if asked else 1)
            score += int(trees.leaves[tree, node - NODES])
        expected.append(score)
    assert scores_of(trees, rows).tolist() == expected


def test_chances_follow_the_curve_and_stop_at_its_ends() -> None:
    curve = np.array([0, 250, 500, 750, 1000], dtype=np.int32)
    scores = np.array([-99 * UNIT, -8 * UNIT, 0, 4 * UNIT, 99 * UNIT], dtype=np.int32)
    assert chances_of(scores, curve).tolist() == [0, 0, 500, 750, 1000]


@pytest.mark.parametrize("seed", range(30))
def test_kept_blocks_are_the_likeliest_with_the_highest_expected_f1(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 40))
    chances = random.integers(1, SCALE + 1, n).astype(np.int32)
    words = random.integers(1, 40, n).astype(np.int32)
    kept = keep(chances, words)
    order = np.argsort(-chances, kind="stable")
    all_right = (chances * words).sum() / SCALE

    def expected(size: int) -> float:
        taken = words[order[:size]].sum()
        right = (chances * words)[order[:size]].sum() / SCALE
        alone = 2 * right / (taken + all_right)
        held = [words[chances * 50 > level * SCALE].sum() for level in range(50)]
        together = np.mean([2 * min(taken, its) / (taken + its) for its in held])
        return float(alone * (100 - SHARED) + together * SHARED)

    assert kept[order].tolist() == sorted(kept.tolist(), reverse=True)
    assert expected(int(kept.sum())) == pytest.approx(max(map(expected, range(1, n + 1))), abs=1e-3)


def test_a_page_of_teasers_does_not_swallow_its_story() -> None:
    """A hundred sure words beside a thousand that are main content all or none, likely none."""
    chances = np.array([950] * 4 + [300] * 20, dtype=np.int32)
    words = np.array([25] * 4 + [50] * 20, dtype=np.int32)
    assert keep(chances, words).tolist() == [True] * 4 + [False] * 20


def test_nothing_is_kept_of_a_page_without_chances() -> None:
    assert not keep(np.zeros(3, dtype=np.int32), np.full(3, 9, dtype=np.int32)).any()
    assert keep(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)).tolist() == []


def test_trees_learn_a_rule_and_the_same_seed_grows_the_same() -> None:
    random = np.random.default_rng(3)
    rows = random.integers(0, 1000, (4000, 6)).astype(np.int32)
    labels = ((rows[:, 1] > 400) & (rows[:, 4] < 700)).astype(np.float64)
    weights = np.ones(len(rows))
    trees = grow(rows, labels, weights, 20, 5, feature_share=1.0)
    assert ((scores_of(trees, rows) > 0) == (labels > 0.5)).mean() > 0.97
    again = grow(rows, labels, weights, 20, 5, feature_share=1.0)
    assert all(np.array_equal(one, other) for one, other in zip(trees, again, strict=True))


def test_the_first_question_is_the_one_with_the_highest_gain() -> None:
    random = np.random.default_rng(4)
    rows = random.integers(0, 30, (500, 3)).astype(np.int32)
    labels = random.random(500) * (rows[:, 2] > 11)
    trees = grow(
        rows,
        labels,
        np.ones(500),
        1,
        1,
        feature_share=1.0,
        row_share=1.1,
        min_weight=0.0,
        shrink=5.0,
    )
    chance = 1 / (1 + np.exp(-trees.start / UNIT))
    gradient, curvature = chance - labels, chance * (1 - chance)

    def gain(feature: int, cut: int) -> float:
        left = rows[:, feature] <= cut
        return sum(
            float(gradient[side].sum() ** 2 / (curvature * side.sum() + 5.0))
            for side in (left, ~left)
        )

    best = max((gain(feature, cut), feature, cut) for feature in range(3) for cut in range(29))
    assert (int(trees.features[0, 0]), int(trees.thresholds[0, 0])) == best[1:] == (2, 11)
