"""Find mixture weights instead of guessing them; the result is a proposal, never applied by itself.

    mixmin    one model a group: weights of the mixture of their predictions with the least loss
              (Thudi et al. 2025, arXiv 2502.10510); convex
    swarm     models of many mixtures: a log-linear regression of the loss on the weights, and its
              minimum (the form of Ye et al. 2024, arXiv 2403.16952, without a floor)
    doremi    weights that follow the excess loss of a proxy over a reference, step by step, averaged
              (Xie et al. 2023, arXiv 2305.10429, algorithm 1)

All of them keep to upper bounds of the weights: a group is not repeated more often than
`max_epochs` in a run of `budget` tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import yaml

from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.compare import Floats
from corpus_assets.evidence.gate import Results
from corpus_assets.evidence.results import Run

EPOCHS = 4.0  # up to four repetitions count as fresh text (Muennighoff et al., arXiv 2305.16264)


@dataclass(frozen=True)
class Proposal:
    """Weights by group, and the loss that they are expected to have."""

    method: str
    weights: Mapping[str, float]
    loss: float  # expected, in the unit of the input
    proportional: Mapping[str, float]  # weights by available tokens
    proportional_loss: float
    limits: Mapping[str, float]

    @property
    def gain(self) -> float:
        """The expected change of the loss in percent of that of proportional weights."""
        return 100 * (self.loss / self.proportional_loss - 1)

    def recipe_text(self) -> str:
        """The `mixture` section of a recipe with these weights."""
        domains = {group: round(weight, 4) for group, weight in self.weights.items()}
        return yaml.safe_dump({"mixture": {"domains": domains}}, sort_keys=False)


def weight_limits(
    tokens: Mapping[str, int], budget: int, max_epochs: float = EPOCHS
) -> dict[str, float]:
    """Return the largest weight of each group: w <= max_epochs * tokens / budget."""
    limits = {group: min(1.0, max_epochs * n / budget) for group, n in tokens.items()}
    if sum(limits.values()) < 1:
        raise ValueError(
            f"{max_epochs:g} epochs of {sum(tokens.values()):,} tokens do not fill a budget of "
            f"{budget:,}: allow more epochs, or plan fewer tokens"
        )
    return limits


def mixmin(nats: Floats, limits: Floats, tolerance: float = 1e-6, rounds: int = 20_000) -> Floats:
    """Return the weights w that minimise the mean over tokens of -log sum_g w_g exp(-nats[g, token]).

    Expectation maximisation, whose maximisation step keeps to the limits: the loss never rises, and
    it is within `tolerance` nats of the least one when it stops.
    """
    likelihood = np.exp(nats.min(axis=0) - nats)  # [group, token]; a token's scale cancels out
    weights = _within(np.ones(len(nats)), limits)
    for _ in range(rounds):
        slope = (likelihood / (weights @ likelihood)).mean(axis=1)  # of -loss
        if _gap(slope, weights, limits) <= tolerance:
            break
        weights = _within(weights * slope, limits)
    return weights


def mixture_loss(nats: Floats, weights: Floats) -> float:
    """Return the loss of a mixture of predictions, in nats per token."""
    least = nats.min(axis=0)
    return float((least - np.log(weights @ np.exp(least - nats))).mean())


@dataclass(frozen=True)
class LogLinear:
    """Expected losses of a mixture: exp(slopes @ weights), one a target."""

    slopes: Floats  # [target, group]

    def losses(self, weights: Floats) -> Floats:
        return np.exp(self.slopes @ weights)

    def loss(self, weights: Floats) -> float:
        return float(self.losses(weights).mean())


def fit_swarm(weights: Floats, losses: Floats, ridge: float = 1e-6) -> LogLinear:
    """Fit log losses[run, target] linearly to weights[run, group]; weights of a run sum to 1, so
    there is no intercept. Needs as many runs as groups at least."""
    if len(weights) < weights.shape[1]:
        raise ValueError(
            f"{len(weights)} runs cannot tell {weights.shape[1]} groups apart: run as many mixtures "
            "as there are groups at least, better three times as many"
        )
    square = weights.T @ weights + ridge * np.eye(weights.shape[1])
    slopes: Floats = np.linalg.solve(square, weights.T @ np.log(losses)).T.astype(np.float64)
    return LogLinear(slopes)


def swarm(fitted: LogLinear, limits: Floats, tolerance: float = 1e-7) -> Floats:
    """Return the weights with the least mean loss of a log-linear fit: exponentiated gradient with
    steps that are halved until they go down; convex, so what it finds is the minimum."""
    weights, step = _within(np.ones(len(limits)), limits), 1.0
    for _ in range(20_000):
        losses = fitted.losses(weights)
        slope = -(losses[:, None] * fitted.slopes).mean(axis=0)
        if _gap(slope, weights, limits) <= tolerance:
            break
        step *= 2
        while step > 1e-12:
            tried = _within(weights * np.exp(step * (slope - slope.max())), limits)
            if fitted.loss(tried) < losses.mean():
                weights = tried
                break
            step /= 2
        else:
            break
    return weights


def doremi(
    excess: Floats, limits: Floats, step_size: float = 1.0, smoothing: float = 1e-3
) -> Floats:
    """Return the mean of the weights over steps: at each they are multiplied by
    exp(step_size * excess[step, group]) (below 0: not at all), and mixed with a little of all."""
    groups = excess.shape[1]
    weights, total = np.full(groups, 1 / groups), np.zeros(groups)
    for row in np.maximum(excess, 0):
        weights = weights * np.exp(step_size * (row - row.max()))
        weights = (1 - smoothing) * weights / weights.sum() + smoothing / groups
        total += weights
    return _within(total, limits)


def _within(weights: Floats, limits: Floats) -> Floats:
    """Scale positive weights so that they sum to 1, none above its limit: min(limit, c * weight).
    That is the nearest such mixture in relative entropy."""
    full = np.zeros(len(weights), dtype=bool)
    while True:
        scaled = np.where(full, limits, 0.0)
        free = weights[~full].sum()
        if free > 0:
            scaled[~full] = weights[~full] * (1 - limits[full].sum()) / free
        over = ~full & (scaled > limits)
        if not over.any():
            return scaled
        full |= over


def _gap(slope: Floats, weights: Floats, limits: Floats) -> float:
    """How much lower a convex loss can be at most: the best mixture against this one, by `slope`."""
    left, best = 1.0, 0.0
    for group in np.argsort(-slope):
        share = min(left, float(limits[group]))
        best, left = best + share * float(slope[group]), left - share
    return best - float(slope @ weights)


def propose(
    groups: Sequence[str], tokens: Mapping[str, int], budget: int, given: Floats | LogLinear,
    max_epochs: float = EPOCHS,
) -> Proposal:  # fmt: skip
    """Return the proposal of MixMin from nats[group, token], or of a swarm from its fit."""
    limits = weight_limits({group: tokens[group] for group in groups}, budget, max_epochs)
    bounds = np.array([limits[group] for group in groups])
    share = np.array([tokens[group] for group in groups], dtype=np.float64)
    base = share / share.sum()
    if not isinstance(given, LogLinear):
        weights = mixmin(given, bounds)
        losses = mixture_loss(given, weights), mixture_loss(given, base)
    else:
        weights = swarm(given, bounds)
        losses = given.loss(weights), given.loss(base)
    named = [dict(zip(groups, map(float, row), strict=True)) for row in (weights, base)]
    method = "swarm" if isinstance(given, LogLinear) else "mixmin"
    return Proposal(method, named[0], losses[0], named[1], losses[1], limits)


def group_nats(runs: Sequence[Run], groups: Sequence[str]) -> Floats:
    """Return nats[group, token] from one run of each group, whose arm has the group's name."""
    rows = []
    for group in groups:
        own = min((run for run in runs if run.arm == group), key=lambda run: run.seed, default=None)
        nats = None if own is None else own.token_nats()
        if nats is None:
            raise EvidenceError(
                f"no run of an arm {group} has nats of single tokens: plan one arm a group, and run "
                "the pack with --token-nats"
            )
        rows.append(nats.astype(np.float64))
    if len({len(row) for row in rows}) != 1:
        raise EvidenceError(
            "the groups' runs were scored on different tokens: use one held-out set"
        )
    return np.stack(rows)


def swarm_losses(
    results: Results, weights: Mapping[str, Mapping[str, float]], groups: Sequence[str]
) -> tuple[Floats, Floats]:
    """Return weights[run, group] and bits per byte[run, domain] of the arms whose weights are given."""
    main, tokens = results.plan["learning_rates"][0], results.plan["proxy"]["tokens"]
    runs = [
        run
        for run in results.runs
        if (run.learning_rate, run.tokens) == (main, tokens) and run.arm in weights
    ]
    rows = np.array([[weights[run.arm].get(group, 0.0) for group in groups] for run in runs])
    held = results.held_out
    domain = np.array(held.domain)
    bits = [run.table()["nats"].to_numpy() / (np.log(2) * held.bytes) for run in runs]
    losses = [[row[domain == name].mean() for name in held.domains] for row in bits]
    if not runs:
        raise EvidenceError("none of the arms with weights has a run at the main learning rate")
    return rows / rows.sum(axis=1, keepdims=True), np.array(losses)
