"""Find mixture weights instead of guessing them; the result is a proposal, never applied by itself.

    mixmin    one model a group: weights of the mixture of their predictions with the least loss
              (Thudi et al. 2025, arXiv 2502.10510); convex
    swarm     models of many mixtures: a log-linear law of the loss over a floor, and its minimum
              (Olmix, arXiv 2602.12237; the law is that of Ye et al. 2024, arXiv 2403.16952)

Both keep to upper bounds of the weights: a group is not repeated more often than
`max_epochs` in a run of `budget` tokens.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import yaml
from scipy.optimize import least_squares

from catalog.answers import in_json
from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.compare import Floats
from corpus_assets.evidence.gate import Results
from corpus_assets.evidence.results import Run
from corpus_assets.recipe import LEARNING_RATES

SEEDS = 4  # of a validating comparison
EPOCHS = 4.0  # up to four repetitions count as fresh text (Muennighoff et al., arXiv 2305.16264)


@dataclass(frozen=True)
class Proposal:
    """Weights by group, and the loss that they are expected to have."""

    method: str
    weights: Mapping[str, float]
    loss: float  # expected, in bits per byte
    proportional: Mapping[str, float]  # weights by available tokens
    proportional_loss: float
    limits: Mapping[str, float]

    @property
    @in_json
    def gain(self) -> float:
        """The expected change of the loss in percent of that of proportional weights."""
        return 100 * (self.loss / self.proportional_loss - 1)

    @property
    @in_json
    def recipe(self) -> str:
        """The `mixture` section of a recipe with these weights."""
        domains = {group: round(weight, 4) for group, weight in self.weights.items()}
        return yaml.safe_dump({"mixture": {"shares": {"domain": domains}}}, sort_keys=False)


@dataclass(frozen=True, kw_only=True)
class ProposedMix(Proposal):
    """A proposal for a version: the version to build with it, and the comparison that would
    validate it where one was written."""

    version: str
    arm: str
    comparison: str | None


def comparison_text(results: Results, version: str, arm: str, heldout: str) -> str:
    """What `corpus evidence plan` reads to validate a proposal: the search's models, other seeds.

    `arm` is the version with the proposed weights, `heldout` the file of a held-out set.
    """
    seeds, rates = results.plan["seeds"], results.plan["learning_rates"]
    body = {
        "baseline": version,
        "arms": [arm],
        "heldout": heldout,
        "proxy": dict(results.plan["proxy"]),
        "learning_rates": list(rates if len(rates) > 1 else LEARNING_RATES),
        "seeds": list(range(max(seeds) + 1, max(seeds) + 1 + SEEDS)),
    }
    return yaml.safe_dump(body, sort_keys=False)


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


@dataclass(frozen=True)
class Predictions:
    """What one model a group says of the same text."""

    nats: Floats  # [group, token]
    shares: Floats  # of each token in the loss

    def loss(self, weights: Floats) -> float:
        """Return the loss of a mixture of predictions: -log sum_g w_g exp(-nats[g]), by shares."""
        least = self.nats.min(axis=0)
        return float((least - np.log(weights @ np.exp(least - self.nats))) @ self.shares)


def mixmin(given: Predictions, limits: Floats, tolerance: float = 1e-6) -> Floats:
    """Return the weights of the mixture of predictions with the least loss.

    Expectation maximisation, whose maximisation step keeps to the limits: the loss never rises, and
    it is within `tolerance` of the least one when it stops.
    """
    nats = given.nats
    likelihood = np.exp(nats.min(axis=0) - nats)  # [group, token]; a token's scale cancels out
    weights = _within(np.ones(len(nats)), limits)
    for _ in range(20_000):
        slope = (likelihood / (weights @ likelihood)) @ given.shares  # of -loss
        if _gap(slope, weights, limits) <= tolerance:
            break
        weights = _within(weights * slope, limits)
    return weights


@dataclass(frozen=True)
class LogLinear:
    """Expected losses of a mixture: floor + exp(slopes @ weights), one a target."""

    floors: Floats  # [target]
    slopes: Floats  # [target, group]

    def over_floor(self, weights: Floats) -> Floats:
        return np.exp(self.slopes @ weights)

    def loss(self, weights: Floats) -> float:
        return float((self.floors + self.over_floor(weights)).mean())


FLOORS = (0.0, 0.3, 0.6, 0.9, 0.99)
"""Where searches for a floor begin, as shares of the least loss seen."""
HUBER = 0.02  # beyond so many bits per byte a residual counts linearly, as in Olmix


def fit_swarm(weights: Floats, losses: Floats) -> LogLinear:
    """Fit losses[run, target] = c + exp(t . weights[run]) for every target, with Huber's loss.

    Weights of a run sum to 1, so a constant in the exponent would say nothing new. Needs more runs
    than groups: the floor is one number more.
    """
    if len(weights) <= weights.shape[1]:
        raise ValueError(
            f"{len(weights)} runs cannot tell {weights.shape[1]} groups and a floor apart: run "
            "more mixtures than groups, ideally three times as many"
        )
    found = [_fit_target(weights, target) for target in losses.T]
    return LogLinear(np.array([c for c, _ in found]), np.array([t for _, t in found]))


def _fit_target(weights: Floats, losses: Floats) -> tuple[float, Floats]:
    """Return floor and slopes: the best of searches from several floors."""
    least = float(losses.min())

    def residuals(given: Floats) -> Floats:
        miss: Floats = given[0] + np.exp(weights @ given[1:]) - losses
        return miss

    def slopes(given: Floats) -> Floats:
        over = np.exp(weights @ given[1:])
        return np.column_stack([np.ones(len(losses)), over[:, None] * weights])

    groups = weights.shape[1]
    bounds = (np.r_[0.0, np.full(groups, -np.inf)], np.r_[least, np.full(groups, np.inf)])
    searches = []
    for share in FLOORS:
        start, *_ = np.linalg.lstsq(weights, np.log(losses - share * least), rcond=None)
        first = np.r_[share * least, start]
        searches.append(
            least_squares(residuals, first, slopes, bounds, loss="huber", f_scale=HUBER, xtol=1e-12,
                          ftol=1e-12, gtol=1e-12)
        )  # fmt: skip
    best = min(searches, key=lambda search: float(search.cost))
    return float(best.x[0]), best.x[1:]


def swarm(fitted: LogLinear, limits: Floats, tolerance: float = 1e-7) -> Floats:
    """Return the weights with the least mean loss of a log-linear fit: exponentiated gradient with
    steps that are halved until they go down; convex, so what it finds is the minimum."""
    weights, step = _within(np.ones(len(limits)), limits), 1.0
    for _ in range(20_000):
        loss = fitted.loss(weights)
        slope = -(fitted.over_floor(weights)[:, None] * fitted.slopes).mean(axis=0)
        if _gap(slope, weights, limits) <= tolerance:
            break
        step *= 2
        while step > 1e-12:
            tried = _within(weights * np.exp(step * (slope - slope.max())), limits)
            if fitted.loss(tried) < loss:
                weights = tried
                break
            step /= 2
        else:
            break
    return weights


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


def search_mixture(
    results: Results, tokens: Mapping[str, int], budget: int, max_epochs: float = EPOCHS,
    weights: Mapping[str, Mapping[str, float]] | None = None,
) -> Proposal:  # fmt: skip
    """Propose weights of the groups of `tokens`: by MixMin, from runs of one arm per group, or by a
    swarm, from arms whose `weights` are given."""
    groups = sorted(tokens)
    try:
        given: Predictions | LogLinear
        if weights is None:
            given = group_predictions(results.runs, groups)
        else:
            given = fit_swarm(*swarm_losses(results, weights, groups))
        return propose_mixture(groups, tokens, budget, given, max_epochs)
    except ValueError as error:
        raise EvidenceError(str(error)) from error


def propose_mixture(
    groups: Sequence[str], tokens: Mapping[str, int], budget: int, given: Predictions | LogLinear,
    max_epochs: float = EPOCHS,
) -> Proposal:  # fmt: skip
    """Return the proposal of MixMin from predictions of the groups' models, or of a swarm's fit."""
    limits = weight_limits({group: tokens[group] for group in groups}, budget, max_epochs)
    bounds = np.array([limits[group] for group in groups])
    share = np.array([tokens[group] for group in groups], dtype=np.float64)
    base = share / share.sum()
    is_swarm = isinstance(given, LogLinear)
    weights = swarm(given, bounds) if isinstance(given, LogLinear) else mixmin(given, bounds)
    named = [dict(zip(groups, map(float, row), strict=True)) for row in (weights, base)]
    method = "swarm" if is_swarm else "mixmin"
    return Proposal(method, named[0], given.loss(weights), named[1], given.loss(base), limits)


def group_predictions(runs: Sequence[Run], groups: Sequence[str]) -> Predictions:
    """Return what one run of each group says, whose arm has the group's name.

    Tokens have the shares that make the loss bits per byte as `compare` has them: documents of a
    domain count equally, and so do domains.
    """
    rows, table = [], None
    for group in groups:
        own = min((run for run in runs if run.arm == group), key=lambda run: run.seed, default=None)
        nats = None if own is None else own.token_nats()
        if own is None or nats is None:
            raise EvidenceError(
                f"no run of an arm {group} has nats of single tokens: plan one arm per group, and run "
                "the pack with --token-nats"
            )
        rows.append(nats.astype(np.float64))
        columns = own.table().select(["domain", "bytes", "tokens"])
        table = table or columns
        if not columns.equals(table) or len(nats) != np.sum(columns["tokens"].to_numpy()):
            raise EvidenceError(
                "the groups' runs were scored on different tokens: use one held-out set"
            )
    return Predictions(np.stack(rows), _token_shares(table))


def _token_shares(table: pa.Table) -> Floats:
    """Return each token's share of the macro average of bits per byte."""
    names, domain = np.unique(table["domain"].to_numpy(zero_copy_only=False), return_inverse=True)
    documents = np.bincount(domain)[domain]
    bits = 1 / (math.log(2) * table["bytes"].to_numpy() * documents * len(names))
    shares: Floats = np.repeat(bits, table["tokens"].to_numpy())
    return shares


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
    bits = [results.nats(run) / (np.log(2) * held.bytes) for run in runs]
    losses = [[row[domain == name].mean() for name in held.domains] for row in bits]
    if not runs:
        raise EvidenceError("none of the arms with weights has a run at the main learning rate")
    return rows / rows.sum(axis=1, keepdims=True), np.array(losses)
