"""Boosted regression trees over small integers: grown here, and evaluated in integers only.

A tree is perfect: `DEPTH` questions, each whether a feature is above a threshold, lead to a leaf. A
node that is not worth a question asks one that is never true. A model's score is the sum of its
leaves, int32, in units of 1/`UNIT` of log odds: no floating point decides at run time, so every
processor gives the same.

Growing takes, level by level, the question that lowers the second-order loss most (Friedman 2001;
Chen and Guestrin 2016), over features in at most `BINS` bins.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from textkernels.compiled import kernel

Ints = npt.NDArray[np.int32]

DEPTH = 5
NODES = 2**DEPTH - 1
UNIT = 1024
BINS = 64
NEVER = np.iinfo(np.int32).max
SCALE = 1000
THRESHOLDS = 50
SHARED = 75  # percent
_PARTS = 1 << 20


class Trees(NamedTuple):
    """Of n trees: features int16 (n, NODES), thresholds int32 (n, NODES), leaves int32
    (n, NODES + 1), and the score they start from."""

    features: npt.NDArray[np.int16]
    thresholds: Ints
    leaves: Ints
    start: int


def scores_of(trees: Trees, rows: Ints) -> Ints:
    """Return the score of each row of int32 features, in units of 1/UNIT of log odds."""
    scores = np.full(len(rows), trees.start, dtype=np.int32)
    _score(trees.features, trees.thresholds, trees.leaves, np.ascontiguousarray(rows), scores)
    return scores


def chances_of(scores: Ints, curve: Ints) -> Ints:
    """Scores as chances of 0 to SCALE, by a curve over scores from -8 to 8 in log odds."""
    chances = np.empty_like(scores)
    _look_up(scores, curve, chances)
    return chances


def keep(chances: Ints, words: Ints) -> npt.NDArray[np.bool_]:
    """Choose the blocks whose expected F1 over words is the highest: those with the highest chances.

    How many is a matter of how the blocks' errors hang together. If each is wrong for itself, the
    best W words of which C are expected to be right have an F1 of about 2C / (W + E), E being the
    words expected in the whole page. But the teasers of a page are main content all or none: then
    the page has a threshold, any as likely as another, and main content are the T words of blocks
    above it, F1 is 2 min(W, T) / (W + T), and its mean over thresholds counts. Of both views the
    second weighs `SHARED`. Where they disagree, the first takes too much.
    """
    order = np.argsort(-chances, kind="stable")
    chosen = np.zeros(len(chances), dtype=np.bool_)
    _keep(chances.astype(np.int64), words.astype(np.int64), order, chosen)
    return chosen


@kernel
def _score(features: Any, thresholds: Any, leaves: Any, rows: Any, scores: Any) -> None:
    # Places are unsigned: of a signed one it is asked each time whether it counts from the end.
    for tree in range(len(features)):
        wanted, bounds, worth = features[tree], thresholds[tree], leaves[tree]
        for row in range(len(rows)):
            values, node = rows[row], np.uint64(0)
            for _ in range(DEPTH):
                is_above = values[np.uint64(wanted[node])] > bounds[node]
                node = np.uint64(2) * node + np.uint64(1) + np.uint64(is_above)
            scores[row] += worth[node - np.uint64(NODES)]


@kernel
def _look_up(scores: Any, curve: Any, chances: Any) -> None:
    last = len(curve) - 1
    for row in range(len(scores)):
        place = (np.int64(scores[row]) + 8 * UNIT) * last // (16 * UNIT)
        chances[row] = curve[min(max(place, 0), last)]


@kernel
def _keep(chances: Any, words: Any, order: Any, chosen: Any) -> None:
    above = np.zeros(THRESHOLDS, dtype=np.int64)  # words of blocks over each threshold
    expected = 0
    for b in range(len(order)):
        expected += chances[b] * words[b]
        for level in range(THRESHOLDS):
            if chances[b] * THRESHOLDS > level * SCALE:
                above[level] += words[b]
    right = taken = best = best_worth = 0
    for place in range(len(order)):
        b = order[place]
        right += chances[b] * words[b]
        taken += words[b]
        worth = (
            (100 - SHARED) * THRESHOLDS * (2 * right * _PARTS // max(SCALE * taken + expected, 1))
        )
        for level in range(THRESHOLDS):
            both = min(taken, above[level])
            worth += SHARED * (2 * both * _PARTS // max(taken + above[level], 1))
        if worth > best_worth:
            best_worth, best = worth, place + 1
    for place in range(best):
        chosen[order[place]] = chances[order[place]] > 0


def grow(
    rows: Ints,
    labels: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    n_trees: int,
    seed: int,
    rate: float = 0.1,
    feature_share: float = 0.35,
    row_share: float = 0.5,
    min_weight: float = 40.0,
    shrink: float = 5.0,
) -> Trees:
    """Fit trees to labels of 0 to 1 by cross entropy."""
    random = np.random.default_rng(seed)
    edges = [
        np.unique(np.quantile(rows[:, f], np.linspace(0, 1, BINS + 1)[1:-1], method="lower"))
        for f in range(rows.shape[1])
    ]
    bins = np.empty(rows.shape, dtype=np.uint8)
    for f, cuts in enumerate(edges):
        bins[:, f] = np.searchsorted(cuts, rows[:, f], side="left")
    mean = float(np.clip(np.average(labels, weights=weights), 1e-3, 1 - 1e-3))
    start = round(np.log(mean / (1 - mean)) * UNIT)
    scores = np.full(len(rows), start / UNIT)
    trees = Trees(
        np.zeros((n_trees, NODES), dtype=np.int16),
        np.full((n_trees, NODES), NEVER, dtype=np.int32),
        np.zeros((n_trees, NODES + 1), dtype=np.int32),
        start,
    )
    n_taken = max(1, int(rows.shape[1] * feature_share))
    for tree in range(n_trees):
        taken = np.sort(random.permutation(rows.shape[1])[:n_taken])
        used = weights * (random.random(len(rows)) < row_share)
        chance = 1 / (1 + np.exp(-scores))
        gradient, curvature = (
            (chance - labels) * used,
            np.maximum(chance * (1 - chance), 1e-6) * used,
        )
        at = np.zeros(len(rows), dtype=np.int64)
        for level in range(DEPTH):
            first, count = 2**level - 1, 2**level
            feature, cut = _split(
                bins, at, gradient, curvature, taken, first, count, min_weight / 4, shrink
            )
            for node in range(count):
                if feature[node] >= 0:
                    trees.features[tree, first + node] = feature[node]
                    trees.thresholds[tree, first + node] = edges[feature[node]][cut[node]]
            _descend(bins, at, feature, cut, first)
        leaf = at - NODES
        g = np.bincount(leaf, weights=gradient, minlength=NODES + 1)
        h = np.bincount(leaf, weights=curvature, minlength=NODES + 1)
        trees.leaves[tree] = np.round(-rate * g / (h + shrink) * UNIT)
        scores += trees.leaves[tree][leaf] / UNIT
    return trees


@kernel
def _split(
    bins: Any, at: Any, gradient: Any, curvature: Any, taken: Any, first: int, count: int,
    min_weight: float, shrink: float,
) -> Any:  # fmt: skip
    """For each node of a level the feature and bin that split it best; -1 for none."""
    sums = np.zeros((count, len(taken), BINS, 2))
    for row in range(len(bins)):
        if curvature[row] > 0:
            node = at[row] - first
            g, h = gradient[row], curvature[row]
            for place in range(len(taken)):
                cell = sums[node, place, bins[row, taken[place]]]
                cell[0] += g
                cell[1] += h
    feature = np.full(count, -1, dtype=np.int64)
    cut = np.zeros(count, dtype=np.int64)
    for node in range(count):
        total_g, total_h = sums[node, 0, :, 0].sum(), sums[node, 0, :, 1].sum()
        best = total_g * total_g / (total_h + shrink) + 1e-3
        for place in range(len(taken)):
            g = h = 0.0
            for value in range(BINS - 1):
                g += sums[node, place, value, 0]
                h += sums[node, place, value, 1]
                rest_g, rest_h = total_g - g, total_h - h
                if rest_h < min_weight:
                    break
                if h >= min_weight:
                    gain = g * g / (h + shrink) + rest_g * rest_g / (rest_h + shrink)
                    if gain > best:
                        best, feature[node], cut[node] = gain, taken[place], value
    return feature, cut


@kernel
def _descend(bins: Any, at: Any, feature: Any, cut: Any, first: int) -> None:
    for row in range(len(bins)):
        node = at[row] - first
        goes_right = feature[node] >= 0 and bins[row, feature[node]] > cut[node]
        at[row] = 2 * at[row] + 1 + goes_right
