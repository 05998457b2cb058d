"""Compare arms by what small models trained on them lose on held-out documents.

Everything here is a function of plain arrays: nats[seed, document] of each arm at each learning
rate, and the bytes, domain and host of each document. docs/explanation/evidence.md gives the definitions in the
order of this file, exact enough for another program to come to the same intervals.

    estimate     difference in percent of bits per byte, of each domain and of the macro average
    noise        of training and of the documents drawn (t over seeds), of evaluation (hosts and
                 their documents), added
    verdict      better, worse or not decided, by a rule that is fixed before the runs
    compute      how much more compute the baseline needs for the same loss
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from catalog.answers import Shown, in_json

Floats = np.ndarray[Any, np.dtype[np.float64]]

MACRO = "macro"  # the mean of the domains; no domain may have its name
ALL_DOMAINS = "all"
POWER = 0.8
MAX_SEEDS = 1000
MAX_TIMES = 1000  # as many held-out documents
BETTER, WORSE, NOT_DECIDED = "better", "worse", "not decided"


@dataclass(frozen=True)
class HeldOut:
    """The documents that arms are compared on: one value each."""

    bytes: np.ndarray[Any, np.dtype[np.int64]]
    domain: Sequence[str]
    host: Sequence[str]

    def __post_init__(self) -> None:
        if not len(self.bytes) == len(self.domain) == len(self.host) or not len(self.bytes):
            raise ValueError("held-out documents need one of bytes, domain and host each")
        if np.min(self.bytes) < 1:
            raise ValueError("a held-out document has no bytes: leave it out of the set")
        if {MACRO, ALL_DOMAINS} & set(self.domain):
            raise ValueError(f"no domain can be called {MACRO} or {ALL_DOMAINS}: rename it")

    @property
    def domains(self) -> list[str]:
        return sorted(set(self.domain))


@dataclass(frozen=True)
class Scores:
    """What the models of one arm at one learning rate lost: nats[seed, document]."""

    seeds: tuple[int, ...]
    nats: Floats
    share: float = 0.0  # of the arm's documents that one seed was trained on
    places: tuple[float, ...] = ()  # where each seed's documents begin; none: all are different

    def __post_init__(self) -> None:
        if len(set(self.seeds)) != len(self.seeds) or len(self.seeds) != len(self.nats):
            raise ValueError("scores need one row per seed, and each seed once")

    def of(self, seeds: Sequence[int]) -> "Scores":
        rows = [self.seeds.index(seed) for seed in seeds]
        places = tuple(self.places[row] for row in rows) if self.places else ()
        return Scores(tuple(seeds), self.nats[rows], self.share, places)


@dataclass(frozen=True)
class DecisionRule:
    """When a comparison is decided. Margins are shares of bits per byte: 0.005 is half a percent."""

    margin: float = 0.005
    confidence: float = 0.95
    must_not_regress: tuple[str, ...] = (ALL_DOMAINS,)
    unless: Mapping[str, float] = field(default_factory=dict)
    min_signal: float = 0.0

    def margins(self, domains: Sequence[str]) -> dict[str, float]:
        """Return by how many percent each guarded domain may get worse."""
        guarded = domains if ALL_DOMAINS in self.must_not_regress else self.must_not_regress
        return {
            name: 100 * self.unless.get(name, self.margin) for name in domains if name in guarded
        }


@dataclass(frozen=True)
class Difference:
    """Of one domain, or of the macro average: percent of the baseline's bits per byte."""

    domain: str
    baseline_bpb: Annotated[float, Shown("baseline bpb", "{:.4f}".format)]
    bpb: Annotated[float, Shown(form="{:.4f}".format)]
    percent: Annotated[float, Shown(form="{:+.2f}".format)]
    low: float
    high: float
    training_variance: float
    evaluation_variance: float
    degrees: float  # of freedom, of the two together
    p: float  # two-sided, of no difference
    seeds: int  # pairs; the smaller number where they are not paired
    is_paired: bool
    training_degrees: float
    evaluation_degrees: float
    share: float = 0.0  # of an arm's documents that one seed was trained on
    common: float = 0.0  # of these, in common with another seed
    documents: int = 0  # held-out ones

    def at(self, confidence: float) -> "Difference":
        """Return it with an interval of that confidence."""
        half = _quantile(0.5 + confidence / 2, self.degrees) * self.error
        return replace(self, low=self.percent - half, high=self.percent + half)

    @property
    def interval(self) -> str:
        return f"[{self.low:+.2f}, {self.high:+.2f}]"

    @property
    def error(self) -> float:
        """The standard error, in percent."""
        return math.sqrt(self.training_variance + self.evaluation_variance)

    def with_seeds(self, seeds: int) -> "Difference":
        """Return what it would be with so many seeds of the same spread."""
        common = even_overlap(seeds, self.share)
        factor = widening(seeds, common) / widening(self.seeds, self.common)
        training = self.training_variance * factor
        degrees = self.training_degrees * (seeds - 1) / (self.seeds - 1)
        return replace(
            self,
            seeds=seeds,
            training_variance=training,
            training_degrees=degrees,
            degrees=_together(
                (training, self.evaluation_variance), (degrees, self.evaluation_degrees)
            ),
        )

    def with_documents(self, documents: int) -> "Difference":
        """Return what it would be with so many held-out documents, of as many more hosts."""
        factor = self.documents / documents
        evaluation, degrees = self.evaluation_variance * factor, self.evaluation_degrees / factor
        return replace(
            self,
            documents=documents,
            evaluation_variance=evaluation,
            evaluation_degrees=degrees,
            degrees=_together(
                (self.training_variance, evaluation), (self.training_degrees, degrees)
            ),
        )

    def detects(self, percent: float, confidence: float) -> bool:
        """Whether a true difference of so many percent is decided with a power of 80%."""
        needed = _quantile(0.5 + confidence / 2, self.degrees) + _quantile(POWER, self.degrees)
        return percent >= needed * self.error


@dataclass(frozen=True)
class Comparison:
    """An arm against the baseline, and the word for it."""

    arm: str
    baseline: str
    main: Annotated[tuple[Difference, ...], Shown(key="differences")]
    """Domains by name, then the macro average."""
    other: Annotated[tuple[Difference, ...], Shown(key="other_rate")]
    """At the other learning rate; empty where nothing ran there."""
    verdict: str
    reasons: tuple[str, ...]
    more_seeds: int | None  # that would decide it, if what is seen is so; None: no number would
    regressed: tuple[str, ...]  # guarded domains that are worse by more than their margin
    confidence: Annotated[float, Shown(key="macro_confidence")]  # of the interval, after Holm
    unsafe: tuple[str, ...] = ()  # guarded domains that may be, for all that is known
    compute_factor: "ComputeFactor | None" = None  # None where too few budgets were run
    accuracy: tuple[Difference, ...] = ()
    """By task: points of the questions whose right answer is the likeliest; above 0 is better. No
    verdict reads them."""

    @property
    def macro(self) -> Difference:
        return self.main[-1]

    @property
    @in_json
    def words(self) -> str:
        """The verdict as it is shown."""
        if self.verdict != NOT_DECIDED or not self.more_seeds:
            return self.verdict
        return f"{NOT_DECIDED} ({self.more_seeds} more seeds)"


# The estimate and its noise.


def even_places(seeds: int) -> tuple[float, ...]:
    """Return where so many seeds begin to take documents, on a circle of length 1."""
    return tuple(number / seeds for number in range(seeds))


def overlap(places: Sequence[float], share: float) -> float:
    """Return the share of its documents that a seed has in common with another, on average: each
    takes the same share of all documents, from its place on."""
    if share <= 0 or len(places) < 2:
        return 0.0
    one, other = np.triu_indices(len(places), 1)
    gaps = np.abs(np.asarray(places)[one] - np.asarray(places)[other])
    return _common(gaps, share)


def even_overlap(seeds: int, share: float) -> float:
    """Return the overlap of seeds at even places, where each stands to the others as the first."""
    return _common(np.arange(1, seeds) / seeds, share) if share > 0 and seeds > 1 else 0.0


def _common(gaps: Floats, share: float) -> float:
    """Return the mean share that two windows on the circle have in common, by their distance."""
    both = np.maximum(share - gaps, 0) + np.maximum(share - (1 - gaps), 0)
    return float(np.minimum(both, share).mean() / share)


def widening(seeds: int, common: float) -> float:
    """Return by what the sample variance of seeds is multiplied for the variance of their mean.

    Seeds without a document in common are independent: 1/n. Documents that two seeds have in common
    move both, so they are missing from the spread and do not average out: where a share r of the
    noise is common, the spread holds 1 - r of it and the mean r + (1 - r)/n, which makes
    1/n + r/(1 - r). Noise of the training itself is counted as if it were common likewise: the
    interval is rather too wide.
    """
    return 1 / seeds + (common / (1 - common) if common < 1 else math.inf)


class Hosts:
    """The hosts of a held-out set, by domain: documents of one host are not independent.

    A host in two domains is two. Where a domain has one host only, each of its documents stands for
    a host, and `notes` says so.
    """

    def __init__(self, held_out: HeldOut) -> None:
        self.held_out, self.domains, self.notes = held_out, held_out.domains, list[str]()
        self._documents: list[np.ndarray[Any, np.dtype[np.int64]]] = []  # by domain
        self._host_of: list[np.ndarray[Any, np.dtype[np.int64]]] = []  # of those documents
        domain, host = np.array(held_out.domain), np.array(held_out.host)
        for name in self.domains:
            own = np.flatnonzero(domain == name)
            _, number = np.unique(host[own], return_inverse=True)
            if number.max() == 0:
                number = np.arange(len(own))
                self.notes.append(f"{name} has one host: its documents count as independent")
            if number.max() == 0:
                raise ValueError(f"domain {name} has one document: add more, or remove the domain")
            self._documents.append(own)
            self._host_of.append(number)
        self.counts = [len(own) for own in self._documents]

    def means(self, bits: Floats) -> Floats:
        """Return means[seed, target] of bits[seed, document]: domains, then the macro average."""
        own = np.stack([bits[:, rows].mean(axis=1) for rows in self._documents], axis=1)
        return np.column_stack([own, own.mean(axis=1)])

    def variance(self, domain: int, values: Floats) -> tuple[float, float]:
        """Return the variance of the mean of a domain's values[document] over sets with other hosts
        of these sizes, and its degrees of freedom.

        Values vary between hosts and within them; both variances are estimated from the mean squares
        (Searle, Casella and McCulloch 1992, Variance Components, 3.6), degrees after Satterthwaite.
        A domain where one host has most documents so has the interval it deserves, where resampled
        hosts would show a fraction of the variance.
        """
        rows, number = self._documents[domain], self._host_of[domain]
        own, sizes = values[rows], np.bincount(number).astype(np.float64)
        documents, hosts = len(own), len(sizes)
        means = np.bincount(number, own) / sizes
        between = float(sizes @ (means - own.mean()) ** 2)
        within = float(((own - means[number]) ** 2).sum())
        squares = between / (hosts - 1), within / max(documents - hosts, 1)
        even = (documents - float(sizes @ sizes) / documents) / (hosts - 1)  # of a usual host
        of_hosts = (squares[0] - squares[1]) / even
        if of_hosts <= 0:
            return (between + within) / (documents - 1) / documents, float(documents - 1)
        share = float(sizes @ sizes) / documents**2
        first, second = share / even * squares[0], (1 / documents - share / even) * squares[1]
        spread: Floats = of_hosts + squares[1] / sizes  # the variance of each host's mean
        weighed = float(sizes**2 @ spread) / documents
        squared = float((sizes**2 * (1 - 2 * sizes / documents)) @ spread**2) + weighed**2
        inverse = first**2 * squared / (float(sizes @ spread) - weighed) ** 2
        inverse += second**2 / max(documents - hosts, 1)
        return first + second, (first + second) ** 2 / inverse


def differences(
    hosts: Hosts,
    baseline: Scores,
    arm: Scores,
    confidence: float = 0.95,
    are_shares: bool = False,
) -> tuple[Difference, ...]:
    """Return the difference of every domain and of the macro average, with its interval.

    Seeds that both have are pairs; with fewer than two of those, all of either are taken, unpaired.
    Scores may be shares (of questions that were answered) in place of nats: their difference is in
    points, not in percent of the baseline's.
    """
    shared = [seed for seed in baseline.seeds if seed in arm.seeds]
    is_paired = len(shared) >= 2
    if is_paired:
        baseline, arm = baseline.of(shared), arm.of(shared)
    if min(len(baseline.seeds), len(arm.seeds)) < 2:
        raise ValueError("an interval needs at least two seeds per arm")
    scale = np.ones(1) if are_shares else math.log(2) * hosts.held_out.bytes
    old, new = baseline.nats / scale, arm.nats / scale  # bits per byte of [seed, document]
    old_means, new_means = hosts.means(old), hosts.means(new)
    old_bpb, new_bpb = old_means.mean(axis=0), new_means.mean(axis=0)
    # To first order, percent - E[percent] is the mean over seeds of new_effects - old_effects.
    if are_shares:
        percents = 100 * (new_bpb - old_bpb)
        old_scale = new_scale = np.full(len(percents), 100.0)
    else:
        ratio = new_bpb / old_bpb
        percents = 100 * (ratio - 1)
        old_scale, new_scale = 100 * ratio / old_bpb, 100 / old_bpb
    sides = [new_means * new_scale, old_means * old_scale]  # [seed, target]
    common = [overlap(scores.places, scores.share) for scores in (arm, baseline)]
    if is_paired:
        sides, common = [sides[0] - sides[1]], [max(common)]
    found = []
    for target, name in enumerate([*hosts.domains, MACRO]):
        strata = range(len(hosts.domains)) if name == MACRO else [target]
        effects = [new * new_scale[target], old * old_scale[target]]  # [seed, document]
        if is_paired:
            effects = [effects[0] - effects[1]]
        training, training_degrees = _training(sides, target, common)
        evaluation, evaluation_degrees = _evaluation(hosts, effects, strata)
        variances, degrees = (training, evaluation), (training_degrees, evaluation_degrees)
        percent = percents[target]
        total = _together(variances, degrees)
        error = math.sqrt(training + evaluation)
        found.append(
            Difference(
                domain=name,
                baseline_bpb=float(old_bpb[target]),
                bpb=float(new_bpb[target]),
                percent=float(percent),
                low=math.nan,
                high=math.nan,
                training_variance=training,
                evaluation_variance=evaluation,
                degrees=total,
                p=2 * float(stdtr(total, -abs(percent) / error)) if error else float(not percent),
                seeds=min(len(baseline.seeds), len(arm.seeds)),
                is_paired=is_paired,
                training_degrees=training_degrees,
                evaluation_degrees=evaluation_degrees,
                share=max(arm.share, baseline.share),
                common=max(common),
                documents=sum(hosts.counts[stratum] for stratum in strata),
            ).at(confidence)
        )
    return tuple(found)


def _training(sides: Sequence[Floats], target: int, common: Sequence[float]) -> tuple[float, float]:
    """Return the variance of the mean over seeds, and its degrees of freedom (Welch 1947)."""
    variances = [
        float(side[:, target].var(ddof=1)) * widening(len(side), part)
        for side, part in zip(sides, common, strict=True)
    ]
    return sum(variances), _satterthwaite(tuple(variances), tuple(len(side) - 1 for side in sides))


def _evaluation(
    hosts: Hosts, effects: Sequence[Floats], strata: Sequence[int]
) -> tuple[float, float]:
    """Return the variance of the mean over domains of effects[seed, document], each averaged over
    seeds, and its degrees of freedom.

    What of it is noise of single seeds is taken off: the training noise holds it already (two-way
    clustering: Cameron, Gelbach and Miller 2011, JBES 29:238).
    """
    means = [effect.mean(axis=0) for effect in effects]
    both = means[0] - means[1] if len(means) == 2 else means[0]
    found = [hosts.variance(stratum, both) for stratum in strata]
    single = 0.0
    for effect, mean in zip(effects, means, strict=True):
        seeds = len(effect)
        for own in effect - mean:
            parts = (hosts.variance(stratum, own)[0] for stratum in strata)
            single += sum(parts) / (seeds * (seeds - 1))
    variances = tuple(variance / len(strata) ** 2 for variance, _ in found)
    return (
        max(sum(variances) - single / len(strata) ** 2, 0.0),
        _satterthwaite(variances, tuple(degrees for _, degrees in found)),
    )


def _satterthwaite(variances: Sequence[float], degrees: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of variances (Satterthwaite 1946)."""
    total = sum(variances)
    if total == 0:
        return float(min(degrees))
    parts = zip(variances, degrees, strict=True)
    return float(total**2 / sum(variance**2 / degree for variance, degree in parts))


def _together(variances: Sequence[float], degrees: Sequence[float]) -> float:
    """Return the degrees of freedom of training and evaluation noise together.

    Satterthwaite weighs 1/degrees by squared shares of the variance, Cochran and Cox (1957) by the
    shares themselves. With 3 seeds the first covers 92.3% where it says 95, the second 97.1%; the
    power between them keeps 93.3 to 96.1% (benchmarks/evidence_coverage.py).
    """
    total = sum(variances)
    if total == 0:
        return float(min(degrees))
    parts = zip(variances, degrees, strict=True)
    return float(1 / sum((variance / total) ** 1.5 / degree for variance, degree in parts))


def _quantile(probability: float, degrees: float) -> float:
    """The quantile of Student's t."""
    return float(stdtrit(degrees, probability))


# The verdict.


def compare_arms(
    held_out: HeldOut,
    baseline: str,
    scores: Mapping[str, Sequence[Scores | None]],
    rule: DecisionRule,
    hosts: Hosts | None = None,
    absent: int = 0,
) -> list[Comparison]:
    """Compare every arm with the baseline; `scores` has each arm's at the main learning rate, then
    at the other one (None where nothing ran there). So many planned arms are `absent`: they count
    as the last.

    The macro intervals are those of Holm (1979) over the arms: the arm with the j-th smallest p of
    k has a confidence of 1 - a/(k - j + 1), up to the first whose interval holds 0; the arms after
    it have its confidence.
    """
    own = hosts or Hosts(held_out)

    def found(arm: str, rate: int) -> tuple[Difference, ...]:
        old, new = scores[baseline][rate], scores[arm][rate]
        return () if old is None or new is None else differences(own, old, new, rule.confidence)

    rates = {arm: (found(arm, 0), found(arm, 1)) for arm in scores if arm != baseline}
    for arm, (main, _) in rates.items():
        if not main:
            raise ValueError(f"{arm} or {baseline} has no runs at the main learning rate")
    by_p = sorted(rates, key=lambda arm: (rates[arm][0][-1].p, arm))
    confidence, done = {}, False
    level = 0.0
    for place, arm in enumerate(by_p):
        level = level if done else (1 - rule.confidence) / (len(by_p) + absent - place)
        confidence[arm] = 1 - level
        done = done or rates[arm][0][-1].p > level
    return [
        _decide(arm, baseline, main, other, rule, confidence[arm])
        for arm, (main, other) in rates.items()
    ]


def _decide(
    arm: str,
    baseline: str,
    main: tuple[Difference, ...],
    other: tuple[Difference, ...],
    rule: DecisionRule,
    confidence: float,
) -> Comparison:
    main = (*main[:-1], main[-1].at(confidence))
    macro = main[-1]
    margins = rule.margins([found.domain for found in main[:-1]])
    guarded = [d for d in main[:-1] if d.domain in margins]
    regressed = tuple(d.domain for d in guarded if d.low > margins[d.domain])
    unsafe = [d for d in guarded if d.low <= margins[d.domain] <= d.high]
    reasons, more = [], None
    is_decided = macro.low > 0 or macro.high < 0
    if not is_decided:
        more = seeds_needed(macro, abs(macro.percent), confidence)
        reasons.append(f"the macro interval {_shown(macro)} contains 0")
    if not other:
        reasons.append("there is no run at the other learning rate")
    elif other[-1].percent * macro.percent <= 0:
        reasons.append(f"the sign differs at the other learning rate: {other[-1].percent:+.2f}%")
        is_decided = False
    is_decided = is_decided and bool(other)
    for domain in main[:-1]:
        if domain.domain in regressed:
            reasons.append(
                f"{domain.domain} must not regress: {_shown(domain)} lies above "
                f"+{margins[domain.domain]:.2f}%"
            )
    for domain in unsafe:
        margin = margins[domain.domain]
        reasons.append(
            f"{domain.domain} is not shown to stay within +{margin:.2f}%: {_shown(domain)}; "
            f"{needed(domain, abs(margin - domain.percent), rule.confidence)}"
        )
    verdict = WORSE if macro.percent > 0 else NOT_DECIDED if regressed or unsafe else BETTER
    return Comparison(
        arm,
        baseline,
        main,
        other,
        verdict if is_decided else NOT_DECIDED,
        tuple(reasons),
        more,
        regressed,
        confidence,
        tuple(domain.domain for domain in unsafe),
    )


def _shown(difference: Difference) -> str:
    return f"{difference.percent:+.2f}% [{difference.low:+.2f}, {difference.high:+.2f}]"


def seeds_needed(macro: Difference, percent: float, confidence: float) -> int | None:
    """Return how many more seeds decide a true difference of so many percent with a power of 80%,
    if the spread stays as it is; None where no number up to 1,000 does: the difference is too
    small, or the held-out set is."""
    if not macro.with_seeds(MAX_SEEDS).detects(percent, confidence):
        return None
    low, high = macro.seeds, MAX_SEEDS
    while low < high:
        middle = (low + high) // 2
        if macro.with_seeds(middle).detects(percent, confidence):
            high = middle
        else:
            low = middle + 1
    return max(low - macro.seeds, 1)


def documents_needed(found: Difference, percent: float, confidence: float) -> int | None:
    """Return how many more held-out documents, of as many more hosts, decide as `seeds_needed`."""
    if not found.documents or not found.with_documents(MAX_TIMES * found.documents).detects(
        percent, confidence
    ):
        return None
    low, high = found.documents, MAX_TIMES * found.documents
    while low < high:
        middle = (low + high) // 2
        if found.with_documents(middle).detects(percent, confidence):
            high = middle
        else:
            low = middle + 1
    return max(low - found.documents, 1)


def needed(found: Difference, percent: float, confidence: float) -> str:
    """Say what would decide a true distance of so many percent."""
    seeds = seeds_needed(found, percent, confidence)
    documents = documents_needed(found, percent, confidence)
    ways = [f"{seeds:,} more seed{'' if seeds == 1 else 's'}"] if seeds is not None else []
    ways += [f"{documents:,} more held-out documents"] if documents is not None else []
    if ways:
        return f"{' or '.join(ways)} would decide it"
    return "neither more seeds nor more held-out documents alone would decide it"


# How much compute a difference is worth.


@dataclass(frozen=True)
class LossCurve:
    """Bits per byte after T tokens: floor + scale * T ** -power."""

    floor: float
    scale: float
    power: float
    smallest: float  # budgets that it was measured at
    largest: float

    def at(self, tokens: float) -> float:
        return float(self.floor + self.scale * tokens**-self.power)

    def tokens_for(self, loss: float) -> float | None:
        """Return the budget with that loss; None where the curve never comes so low."""
        gain = loss - self.floor
        return float((self.scale / gain) ** (1 / self.power)) if gain > 0 else None


def fit_curve(tokens: Sequence[float], losses: Sequence[float]) -> LossCurve:
    """Fit a baseline's loss at three or more budgets by least squares (the form of Hestness et al.
    2017, arXiv 1712.00409): for each power the other two are linear, the power is searched."""
    budget, loss = np.asarray(tokens, np.float64), np.asarray(losses, np.float64)
    if len(np.unique(budget)) < 3:
        raise ValueError("a loss curve needs runs of the baseline at three or more budgets")

    def fitted(power: float) -> tuple[float, float, float]:
        """Squared error, floor and scale."""
        design = np.column_stack([np.ones(len(budget)), (budget / budget.max()) ** -power])
        (floor, scale), *_ = np.linalg.lstsq(design, loss, rcond=None)
        if floor < 0:  # no loss is: the best without a floor
            floor, scale = 0.0, float(design[:, 1] @ loss / (design[:, 1] @ design[:, 1]))
        error = float(np.sum((loss - design @ (floor, scale)) ** 2))
        return error, float(floor), float(scale)

    powers = np.geomspace(0.01, 4, 400)
    for _ in range(6):  # each round looks between the neighbours of the best
        best = int(np.argmin([fitted(power)[0] for power in powers]))
        power = float(powers[best])
        powers = np.linspace(powers[max(best - 1, 0)], powers[min(best + 1, len(powers) - 1)], 41)
    _, floor, scale = fitted(power)
    if scale <= 0:
        raise ValueError("the baseline's loss does not fall with its budget: no curve fits")
    largest = float(budget.max())
    return LossCurve(floor, scale * largest**power, power, float(budget.min()), largest)


@dataclass(frozen=True)
class ComputeFactor:
    """How many times the tokens the baseline needs to come to the arm's loss; `low` and `high` from
    the macro interval, None where that end is outside of what was measured."""

    factor: float
    low: float | None
    high: float | None


BEYOND = 2.0


def compute_factor(curve: LossCurve, macro: Difference, tokens: float) -> ComputeFactor | None:
    """Return what a difference at a budget is worth in compute; None where the budget that the
    baseline would need is more than twice outside of those measured."""

    def factor(percent: float) -> float | None:
        needed = curve.tokens_for(curve.at(tokens) * (1 + percent / 100))
        if needed is None or not curve.smallest / BEYOND <= needed <= curve.largest * BEYOND:
            return None
        return needed / tokens

    best = factor(macro.percent)
    return None if best is None else ComputeFactor(best, factor(macro.high), factor(macro.low))
