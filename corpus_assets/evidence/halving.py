"""Successive halving over seeds: which values of a recipe key are decided against, and which is best.

    looks      after each round of seeds, the values of a key that are left are compared with each
               other; intervals hold together over all looks and values
    against    a value is decided against where its interval lies above another value's, at the main
               learning rate, and the sign is the same at the other one; it gets no more seeds
    chosen     at the end, the best of the values that are better than the present one, if any is

The chance of a mistake, 1 - confidence, is spent over the looks by the square of the share of seeds
that they have (Lan and DeMets 1983, Biometrika 70:659; Kim and DeMets 1987, Biometrika 74:149), and
in a look in equal parts over all pairs of values of a key. So of values that are all alike none is
decided against with that confidence, and the best one of unlike values is never lost (Bonferroni:
nothing is supposed of how looks and pairs depend on each other).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from corpus_assets.evidence.compare import DecisionRule, Difference, Hosts, Scores, differences

LEAST_SEEDS = 3  # of a look: two pairs decide next to nothing
BETTER, KEPT, NOT_DECIDED = "better", "kept", "not decided"

Rates = Sequence[Scores | None]
"""What the models of one arm lost: at the main learning rate, then at the other one."""


def rounds_of(seeds: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Divide seeds into rounds, each as many as all before it. Those of a round are spread evenly:
    seeds next to each other draw documents next to each other."""
    stride = 1
    while -(-len(seeds) // (2 * stride)) >= LEAST_SEEDS:
        stride *= 2
    rounds, seen = [], set[int]()
    while stride:
        own = tuple(seed for seed in seeds[::stride] if seed not in seen)
        seen.update(own)
        rounds.append(own)
        stride //= 2
    return tuple(rounds)


def look_errors(rounds: Sequence[Sequence[int]], pairs: int, confidence: float) -> list[float]:
    """Return the error of one interval at each look of a sweep with so many pairs of arms."""
    total, done, spent = sum(map(len, rounds)), 0, 0.0
    found = []
    for own in rounds:
        done += len(own)
        until = (1 - confidence) * (done / total) ** 2
        found.append((until - spent) / max(pairs, 1))
        spent = until
    return found


@dataclass(frozen=True)
class Point:
    """What the looks say of one value of a key."""

    arm: str
    against_present: tuple[Difference, ...]
    """By domain, then the macro average, at the last look that both had; empty where there was
    none, and for the present value itself."""
    beaten_by: str | None = None
    look: int | None = None  # at which it was decided against

    @property
    def is_left(self) -> bool:
        return self.beaten_by is None


@dataclass(frozen=True)
class Outcome:
    """What the looks say of a key."""

    points: tuple[Point, ...]  # the present value first
    verdict: str
    chosen: str  # another arm than the present one only where the verdict is `better`
    reasons: tuple[str, ...]

    @property
    def left(self) -> list[str]:
        return [point.arm for point in self.points if point.is_left]


@dataclass(frozen=True)
class Standing:
    """Where a sweep is."""

    looks: int  # made so far
    wanted: Mapping[str, tuple[int, ...]]
    """The seeds that each arm needs for the next look, done ones included; empty at the end."""
    outcomes: Mapping[str, Outcome]  # by key


def standing(
    hosts: Hosts | None,
    scores: Mapping[str, Rates],
    families: Mapping[str, Sequence[str]],
    rounds: Sequence[Sequence[int]],
    rule: DecisionRule,
) -> Standing:
    """Make all looks that the results allow. `families` has the arms of each key, the present value
    first: one arm for all keys. A look sees its own seeds alone, whatever else was run. `hosts` are
    known from the first run on."""
    pairs = sum(math.comb(len(family), 2) for family in families.values())
    errors = look_errors(rounds, pairs, rule.confidence)
    keys = {key: _Key(family) for key, family in families.items()}
    looks, seeds = 0, list[int]()
    wanted: dict[str, tuple[int, ...]] = {}
    for own, error in zip(rounds, errors, strict=True):
        contested = [key for key in keys.values() if len(key.left) > 1]
        runs = dict.fromkeys(arm for key in contested for arm in key.left)
        seeds += own
        if hosts is None or not all(_has(scores.get(arm, ()), seeds) for arm in runs):
            wanted = dict.fromkeys(runs, tuple(seeds))
            break
        if not runs:
            break
        looks += 1
        own_scores = {arm: [s.of(seeds) for s in scores[arm] if s is not None] for arm in runs}
        for key in contested:
            key.look(looks, hosts, own_scores, 1 - error)
    confidence = 1 - (1 - rule.confidence) / max(pairs, 1)
    return Standing(
        looks,
        wanted,
        {name: key.outcome(not wanted, rule, confidence) for name, key in keys.items()},
    )


def _has(rates: Rates, seeds: Sequence[int]) -> bool:
    return len(rates) > 1 and all(s is not None and set(seeds) <= set(s.seeds) for s in rates)


class _Key:
    """The arms of one key over the looks."""

    def __init__(self, family: Sequence[str]) -> None:
        self.family, self.present = list(family), family[0]
        self.left = list(family)
        self.beaten: dict[str, tuple[str, int]] = {}  # the arm that it lost to first, at which look
        self.won: set[tuple[str, str]] = set()  # (better, worse)
        self.last: dict[str, tuple[Difference, ...]] = {}  # against the present value

    def look(
        self,
        number: int,
        hosts: Hosts,
        scores: Mapping[str, Sequence[Scores]],
        confidence: float,
    ) -> None:
        """Compare all that are left with each other; who lost leaves after the look."""
        for base, arm in combinations(self.left, 2):
            (old, old_other), (new, new_other) = scores[base], scores[arm]
            found = differences(hosts, old, new, confidence)
            if base == self.present:
                self.last[arm] = found
            if found[-1].percent * _percent(hosts, old_other, new_other) <= 0:
                continue
            if found[-1].low > 0:
                self._lost(number, base, arm)
            elif found[-1].high < 0:
                self._lost(number, arm, base)
        self.left = [arm for arm in self.left if arm not in self.beaten]

    def _lost(self, number: int, better: str, worse: str) -> None:
        self.won.add((better, worse))
        self.beaten.setdefault(worse, (better, number))

    def outcome(self, is_finished: bool, rule: DecisionRule, confidence: float) -> Outcome:
        points = tuple(
            Point(arm, self.last.get(arm, ()), *self.beaten.get(arm, (None, None)))
            for arm in self.family
        )
        verdict, chosen, reasons = NOT_DECIDED, self.present, ["not all rounds have been run"]
        if is_finished:
            verdict, chosen, reasons = self._choice(rule, confidence)
        return Outcome(points, verdict, chosen, tuple(reasons))

    def _choice(self, rule: DecisionRule, confidence: float) -> tuple[str, str, list[str]]:
        """Return verdict, chosen arm and reasons at the end."""
        if self.present in self.left:
            others = [arm for arm in self.left if arm != self.present]
            if not others:
                return KEPT, self.present, ["every other value is worse"]
            same = f"the present value is not told apart from {', '.join(others)}"
            return KEPT, self.present, ["no value is shown to be better", same]
        reasons: list[str] = []
        above = self._above(self.present)
        better = [arm for arm in self.left if arm in above]
        for arm in sorted(better, key=lambda one: self.last[one][-1].percent):
            unsafe = list(_unsafe(self.last[arm], rule, confidence))
            if not unsafe:
                others = [one for one in self.left if one != arm]
                told = (
                    f"not told apart from {', '.join(others)}" if others else "all others are worse"
                )
                return BETTER, arm, [told, *reasons]
            reasons.append(f"{arm} is better in the mean, but {'; '.join(unsafe)}")
        return NOT_DECIDED, self.present, reasons

    def _above(self, arm: str) -> set[str]:
        """Return all that are shown to be better than an arm: by themselves, or through others."""
        found, waiting = set[str](), [arm]
        while waiting:
            worse = waiting.pop()
            new = {better for better, other in self.won if other == worse} - found
            found |= new
            waiting += new
        return found


def _percent(hosts: Hosts, baseline: Scores, arm: Scores) -> float:
    """Return the macro difference alone."""
    scale = np.log(2) * hosts.held_out.bytes
    old, new = (hosts.means(one.nats / scale)[:, -1].mean() for one in (baseline, arm))
    return float(100 * (new / old - 1))


def _unsafe(found: Sequence[Difference], rule: DecisionRule, confidence: float) -> Iterator[str]:
    """Say which guarded domains are not shown to stay within their margins."""
    *domains, _ = found
    margins = rule.margins([one.domain for one in domains])
    for one in (one.at(confidence) for one in domains if one.domain in margins):
        if one.high > margins[one.domain]:
            yield (
                f"{one.domain} is not shown to stay within +{margins[one.domain]:.2f}%: "
                f"{one.percent:+.2f}% {one.interval}"
            )
