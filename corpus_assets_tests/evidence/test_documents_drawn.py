"""A/A: arms that are random parts of one pool are seldom decided, though their documents differ.

The instrument is a unigram model, which has no noise of its own: all that differs between seeds is
which documents they drew.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from corpus_assets.evidence.arms import Document, choose, start_of
from corpus_assets.evidence.compare import (
    NOT_DECIDED,
    DecisionRule,
    Floats,
    HeldOut,
    Hosts,
    Scores,
    compare_arms,
    even_places,
)

SYMBOLS, TOPICS, LENGTH, HOSTS = 64, 12, 150, 150
SEEDS = (1, 2, 3, 4)
RULE = DecisionRule(must_not_regress=())


class World:
    """A pool whose documents are about one topic or two, and a held-out set like it."""

    def __init__(self, rng: np.random.Generator, documents: int) -> None:
        self._rng = rng
        topics = rng.dirichlet(np.full(SYMBOLS, 0.3), TOPICS)

        def counts(texts: int) -> Floats:
            mixes = rng.dirichlet(np.full(TOPICS, 0.05), texts) @ topics
            return rng.multinomial(LENGTH, mixes / mixes.sum(axis=1, keepdims=True)).astype(float)

        ids = [rng.bytes(16) for _ in range(documents)]
        self._counts = dict(zip(ids, counts(documents), strict=True))
        tokens = np.zeros(LENGTH, np.int32)  # how many there are is all that is asked of them
        self.pool = [Document(doc_id, "s/text/all", tokens) for doc_id in ids]
        self._held = counts(2 * HOSTS)
        hosts = [f"host{k // 2}" for k in range(2 * HOSTS)]
        self.held_out = HeldOut(np.full(len(hosts), LENGTH), ["prose"] * len(hosts), hosts)

    def nats(self, documents: Sequence[Document]) -> Floats:
        """What a unigram model of some documents loses on the held-out ones."""
        counts = 1 + np.sum([self._counts[one.doc_id] for one in documents], axis=0)
        lost: Floats = -self._held @ np.log(counts / counts.sum())
        return lost

    def scores(self, arm: Sequence[Document], share: float, draws_anew: bool = True) -> Scores:
        """One model a seed, on so large a share of an arm."""
        tokens = int(share * LENGTH * len(arm))
        starts = [start_of(seed, SEEDS) if draws_anew else 0 for seed in SEEDS]
        nats = np.stack([self.nats(choose(arm, start, tokens, None)) for start in starts])
        if draws_anew:
            return Scores(SEEDS, nats, share, even_places(len(SEEDS)))
        nats = nats * (1 + 1e-5 * self._rng.standard_normal((len(SEEDS), 1)))
        return Scores(SEEDS, nats)


def decided(worlds: int, share: float, draws_anew: bool = True, seed: int = 1) -> float:
    """The share of comparisons of disjoint quarters, three with the first of them, that are
    decided."""
    rng = np.random.default_rng([seed, int(100 * share)])
    hits = 0
    for _ in range(worlds):
        world = World(rng, 4 * 48)
        scores = {}
        for number in range(4):
            own = world.scores(world.pool[number::4], share, draws_anew)
            scores[f"p{number}"] = (own, own)
        found = compare_arms(world.held_out, "p0", scores, RULE, Hosts(world.held_out))
        hits += sum(one.verdict != NOT_DECIDED for one in found)
    return hits / (3 * worlds)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_quarters_of_one_pool_are_seldom_decided(share: float) -> None:
    assert decided(25, share) <= 0.06  # Holm over three arms: less than 5% each


def test_with_the_same_documents_for_every_seed_they_would_be() -> None:
    assert decided(15, 0.5, draws_anew=False) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.25, 0.4, 0.5, 0.7])
def test_quarters_of_one_pool_are_decided_at_the_nominal_rate(share: float) -> None:
    assert 0.0 <= decided(400, share, seed=2) <= 0.05


@pytest.mark.parametrize(("share", "least"), [(0.25, 0.9), (0.5, 0.9)])
def test_intervals_hold_the_difference_of_equal_arms(share: float, least: float) -> None:
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(60):
        world = World(rng, 160)
        one, two = (world.scores(world.pool[k::2], share) for k in range(2))
        (found,) = compare_arms(
            world.held_out, "a", {"a": (one, one), "b": (two, two)}, RULE,
            Hosts(world.held_out),
        )  # fmt: skip
        inside += found.macro.low <= 0 <= found.macro.high
    assert inside / 60 >= least
