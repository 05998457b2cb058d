"""Find mixture weights instead of guessing them; the result is a proposal, never applied by itself.

    mixmin    one model a group: weights of the mixture of their predictions with the least loss
              (Thudi et al. 2025, arXiv 2502.10510); convex
    swarm     models of many mixtures: a log-linear law of the loss over a floor, and its minimum
              (Olmix, arXiv 2602.12237; the law is that of Ye et al. 2024, arXiv 2403.16952)

Both keep to upper bounds of the weights: a group is not repeated more often than
`max_epochs` in a run of `budget` tokens.

Groups are the values of one axis of the mixture (domain, source, tier, a label). Where only some of
them changed, the others keep their ratio to each other: they are one group more, whose model is the
mixture of theirs (mixtures are reused so in Olmix, 4.2).
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import yaml
from scipy.optimize import least_squares
from scipy.special import stdtrit

from catalog.answers import in_json
from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.compare import Floats, HeldOut, Hosts
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
    proportional: Mapping[str, float]
    """Weights by available tokens; where some groups are searched alone, those of the version."""
    proportional_loss: float
    limits: Mapping[str, float]
    axis: str = "domain"
    changed: tuple[str, ...] = ()  # groups that were searched; none: all were
    unseen: "UnseenGain | None" = None  # None: the method has no losses of single documents

    @property
    @in_json
    def gain(self) -> float:
        """The expected change of the loss in percent of that of proportional weights."""
        return 100 * (self.loss / self.proportional_loss - 1)

    @property
    @in_json
    def recipe(self) -> str:
        """The `mixture` section of a recipe with these weights."""
        key = "change" if self.changed else "shares"
        groups = self.changed or tuple(self.weights)
        values = {group: round(self.weights[group], 4) for group in groups}
        return yaml.safe_dump({"mixture": {key: {self.axis: values}}}, sort_keys=False)


@dataclass(frozen=True)
class UnseenGain:
    """The gain on documents of hosts that the weights were not fitted to, as `Proposal.gain`: weights
    of either half of the hosts, on the other half. Of predictions that are mixed, not of a model
    that was trained on the mixture."""

    percent: float
    low: float
    high: float

    @property
    @in_json
    def words(self) -> str:
        interval = f"{self.percent:+.2f}% [{self.low:+.2f}, {self.high:+.2f}] on unseen hosts"
        return interval if self.high < 0 else f"no gain is shown: {interval}"


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

    def gathered(self, rows: Floats) -> "Predictions":
        """Return what mixtures of the groups say: rows[mixture, group]."""
        least = self.nats.min(axis=0)
        return Predictions(least - np.log(rows @ np.exp(least - self.nats)), self.shares)

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

    def gathered(self, rows: Floats) -> "LogLinear":
        """Return the losses as functions of the weights of mixtures: rows[mixture, group]."""
        return LogLinear(self.floors, self.slopes @ rows.T)

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


@dataclass(frozen=True)
class Groups:
    """What is to be mixed: the values of an axis, their tokens, and their shares now."""

    tokens: Mapping[str, int]
    axis: str = "domain"
    present: Mapping[str, float] | None = None
    changed: tuple[str, ...] = ()  # to be searched; the others keep their ratio. None: all are

    def __post_init__(self) -> None:
        known = set(self.tokens)
        if unknown := sorted(set(self.changed) - known):
            raise EvidenceError(
                f"no {self.axis} is called {unknown[0]}; there are {', '.join(sorted(known))}"
            )
        if len(known) < 2:
            raise EvidenceError(f"there is one {self.axis}: nothing can be mixed")

    @property
    def names(self) -> list[str]:
        return sorted(self.tokens)

    @property
    def base(self) -> Floats:
        """Weights that a proposal is compared with: by tokens, or as they are now."""
        of = self.present if self.changed and self.present is not None else self.tokens
        found = np.array([of.get(name, 0) for name in self.names], dtype=np.float64)
        shares: Floats = found / found.sum()
        return shares

    @property
    def rows(self) -> Floats:
        """What is searched, as mixtures [searched, group]: groups, and all others as one."""
        names = self.names
        if not self.changed:
            return np.eye(len(names))
        rows = [[float(name == one) for name in names] for one in sorted(self.changed)]
        rest = np.where(np.isin(names, self.changed), 0.0, self.base)
        return np.array([*rows, *([rest / rest.sum()] if rest.sum() > 0 else [])])


def search_mixture(
    results: Results, groups: Groups, budget: int, max_epochs: float = EPOCHS,
    weights: Mapping[str, Mapping[str, float]] | None = None,
) -> Proposal:  # fmt: skip
    """Propose weights of groups: by MixMin, from runs of one arm per group, or by a swarm, from arms
    whose `weights` are given."""
    try:
        if weights is not None:
            fitted = fit_swarm(*swarm_losses(results, weights, groups.names))
            return propose_mixture(groups, budget, fitted, max_epochs)
        given = group_predictions(results.runs, groups.names)
        found = propose_mixture(groups, budget, given, max_epochs)
        table = next(run for run in results.runs if run.arm == groups.names[0]).table()
        return replace(found, unseen=unseen_gain(given, table, groups, budget, max_epochs))
    except ValueError as error:
        raise EvidenceError(str(error)) from error


def propose_mixture(
    groups: Groups, budget: int, given: Predictions | LogLinear, max_epochs: float = EPOCHS
) -> Proposal:
    """Return the proposal of MixMin from predictions of the groups' models, or of a swarm's fit."""
    names, base = groups.names, groups.base
    limits = weight_limits(groups.tokens, budget, max_epochs)
    weights = _best(groups, given, np.array([limits[name] for name in names]))
    named = [dict(zip(names, map(float, row), strict=True)) for row in (weights, base)]
    method = "swarm" if isinstance(given, LogLinear) else "mixmin"
    return Proposal(method, named[0], given.loss(weights), named[1], given.loss(base), limits,
                    groups.axis, tuple(sorted(groups.changed)))  # fmt: skip


def _best(groups: Groups, given: Predictions | LogLinear, limits: Floats) -> Floats:
    rows = groups.rows
    # A mixture of groups is at its limit where the first of them is.
    with np.errstate(divide="ignore"):
        bounds = np.minimum(1.0, np.where(rows > 0, limits / rows, np.inf).min(axis=1))
    if bounds.sum() < 1:
        raise ValueError(
            "the groups that keep their ratio would repeat more often than is allowed: allow more "
            "epochs, or let more groups change"
        )
    own = given.gathered(rows)
    found = swarm(own, bounds) if isinstance(own, LogLinear) else mixmin(own, bounds)
    weights: Floats = found @ rows
    return weights


def unseen_gain(
    given: Predictions, table: pa.Table, groups: Groups, budget: int, max_epochs: float
) -> UnseenGain | None:
    """Return the gain on unseen hosts; None where a half would lack a domain."""
    names = groups.names
    limit = weight_limits(groups.tokens, budget, max_epochs)
    limits = np.array([limit[name] for name in names])
    hosts = table["host"].to_numpy(zero_copy_only=False)
    domains = table["domain"].to_numpy(zero_copy_only=False)
    counts = table["tokens"].to_numpy()
    sizes = table["bytes"].to_numpy().astype(np.int64)
    half = np.array([_half(str(host)) for host in hosts])
    if any(set(domains[half == side]) != set(domains) for side in (0, 1)):
        return None
    of_token = np.repeat(np.arange(len(counts)), counts)
    bits = np.zeros((2, len(counts)))  # of the base and of the weights found on the other half
    for side in (0, 1):
        fitted = np.repeat(half != side, counts)
        part = table.filter(pa.array(half != side))
        weights = _best(groups, Predictions(given.nats[:, fitted], _token_shares(part)), limits)
        for row, mixed in enumerate((groups.base, weights)):
            least = given.nats.min(axis=0)
            nats = least - np.log(np.maximum(mixed @ np.exp(least - given.nats), 1e-300))
            summed = np.bincount(of_token, nats, minlength=len(counts)) / (math.log(2) * sizes)
            bits[row] = np.where(half == side, summed, bits[row])
    try:
        held = Hosts(HeldOut(sizes, domains.tolist(), hosts.tolist()))
    except ValueError:  # a domain with one document
        return None
    old, new = held.means(bits)[:, -1]
    effects = 100 * (bits[1] - new / old * bits[0]) / old
    found = [held.variance(number, effects) for number in range(len(held.domains))]
    variances = np.array([variance for variance, _ in found]) / len(found) ** 2
    total = float(variances.sum())
    inverse = sum(v**2 / degrees for v, (_, degrees) in zip(variances, found, strict=True))
    degrees = total**2 / inverse if inverse > 0 else float(len(counts) - 1)
    error = float(stdtrit(degrees, 0.975)) * math.sqrt(total)
    percent = float(100 * (new / old - 1))
    return UnseenGain(percent, percent - error, percent + error)


def _half(host: str) -> int:
    return hashlib.blake2b(f"half of hosts/{host}".encode(), digest_size=1).digest()[0] % 2


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
