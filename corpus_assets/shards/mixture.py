"""Turn a recipe's mixture (ratios, multipliers, phases, epochs allowed) into samples per block."""

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, prod
from typing import Annotated, Any

from pydantic import Field, model_validator

from catalog.formats.manifest import Phase
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings, is_absent
from corpus_assets.shards.curve import CurveSettings

Epochs = Annotated[float, Field(gt=0)]
Temperature = Annotated[float, Field(ge=1)]
ONE = Fraction(1)


KEYS = {
    "domain": "domains",
    "source": "sources",
    "tier": "tiers",
    "language": "languages",
    "copies": "copies",
}
"""Axes of groups with a key of their own in the mixture; all others are `labels`."""
HELD_BACK = "held_back"
"""The axis with one value, and a weight in place of a mapping."""


class AxisWeights(Settings):
    """Multipliers by labels of groups, of a run or of a phase."""

    languages: dict[str, float] = Field(
        default={},
        exclude_if=is_absent,
        description="how often a token of a language of `shards.group_by` is seen, relative to "
        "the others of its domain; 1 where none is given, 0 leaves a language out",
    )
    labels: dict[str, dict[str, float]] = Field(
        default={},
        exclude_if=is_absent,
        description="the same for other labels: axis -> value -> multiplier",
    )

    held_back: float | None = Field(
        default=None,
        ge=0,
        exclude_if=is_absent,
        description="multiplier of documents with items of `eval_suites` whose `split` is `train`; "
        "0 leaves them out, null is 1",
    )
    curve: CurveSettings | None = Field(
        default=None,
        exclude_if=is_absent,
        description="multipliers of `selection.tiers.buckets` from few numbers; what `tiers` says "
        "of a bucket counts before it",
    )

    def weights(self, axis: str) -> dict[str, float]:
        """Return what is said of an axis: multipliers, ratios of domains, by value."""
        if axis in KEYS:
            found = getattr(self, KEYS[axis], None) or {}
            if axis == "tier" and self.curve is not None:
                found = self.curve.multipliers | found
            return {str(value): weight for value, weight in found.items()}
        if axis == HELD_BACK:
            return {} if self.held_back is None else {"true": self.held_back}
        return self.labels.get(axis, {})


class PhaseSettings(AxisWeights):
    """A stretch of the run, with its own weights where it differs. Those that it names replace
    those of the same name; 0 leaves a domain, source, tier or label out of the phase."""

    name: str
    share: float
    """Part of the run's tokens; shares of all phases sum to 1."""
    domains: dict[str, float] | None = None
    """Weights of domains."""
    sources: dict[str, float] | None = None
    """Multipliers of sources."""
    tiers: dict[str, float] | None = None
    """Multipliers of tiers."""


class MixtureSettings(AxisWeights):
    """How much of what, and when."""

    domains: dict[str, float] = Field(default={"web": 1.0})
    """Ratio of tokens by domain; normalised, so any positive numbers will do. Left out where
    `temperature` is given."""
    temperature: Temperature | None = None
    """Computes the ratios of domains: (tokens)^(1 / temperature). 1 is by size, more is more equal;
    weights of a phase stand beside shares that sum to 1."""
    source_temperature: Temperature = 1.0
    """Inside a domain a source counts with (tokens)^(1 / source_temperature), not with its tokens."""
    language_temperature: Temperature | None = Field(
        default=None,
        exclude_if=is_absent,
        description="inside a domain a language of `shards.group_by` counts with "
        "(tokens)^(1 / language_temperature); null is 1, by size",
    )
    sources: dict[str, float] = Field(default={})
    """How often a token of a source is seen, relative to the other sources of its domain; 1 where
    none is given, 0 leaves a source out. The domain's ratio stays as it is."""
    tiers: dict[str, float] = Field(default={"high": 2.0, "mid": 1.0, "low": 0.5})
    """How often a token of a tier is seen, relative to the other tiers of its domain."""
    copies: dict[int, float] = Field(
        default={},
        description="multipliers of `clean_text.tiers_by_copies`, on top of the tier's; 1 else",
    )
    phases: tuple[PhaseSettings, ...] = (PhaseSettings(name="main", share=1.0),)
    block_samples: int = Field(default=1024, ge=1)
    """Samples after which the mix is exact."""
    run_tokens: int | None = Field(default=None, ge=1)
    """Tokens of the whole run; null is as many as there are: one pass at natural weights."""
    max_epochs: float = Field(default=4.0, gt=0)
    """Most times that one group may be seen; about four repeats cost nothing (Muennighoff et al.
    2023, "Scaling Data-Constrained Language Models")."""
    max_epochs_by_domain: dict[str, Epochs] = Field(
        default={}, description="`max_epochs` of single domains"
    )
    max_epochs_by_source: dict[str, Epochs] = Field(
        default={}, description="`max_epochs` of single sources"
    )
    max_epochs_by_tier: dict[str, Epochs] = Field(
        default={},
        description="`max_epochs` of single tiers; the lowest one counts where domain, source, "
        "tier or label have their own",
    )
    max_epochs_by_language: dict[str, Epochs] = Field(
        default={}, exclude_if=is_absent, description="`max_epochs` of single languages"
    )
    max_epochs_by_label: dict[str, dict[str, Epochs]] = Field(
        default={},
        exclude_if=is_absent,
        description="`max_epochs` of other labels: axis -> value -> epochs",
    )
    max_epochs_by_group: dict[str, Epochs] = Field(
        default={}, description="`max_epochs` of `DOMAIN/TIER`, whatever the others say"
    )

    @model_validator(mode="before")
    @classmethod
    def _without_defaults(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        given = (("temperature", "domains"), ("curve", "tiers"))
        return {key: {} for by, key in given if raw.get(by) is not None} | raw

    @model_validator(mode="after")
    def _makes_sense(self) -> "MixtureSettings":
        for name, weight in self.domains.items():
            if not weight > 0:
                raise RecipeError(f"mixture.domains.{name} is {weight:g}; weights must be above 0")
        for axis in self._axes(self):
            _not_negative(f"mixture.{_key(axis)}", self.weights(axis))
        if self.domains and self.temperature is not None:
            raise RecipeError(
                "mixture.temperature computes the ratios of domains: leave mixture.domains out, "
                "or set it to {}"
            )
        if not (self.domains or self.temperature) or not self.phases:
            raise RecipeError("mixture needs at least one domain, or a temperature, and one phase")
        if len({phase.name for phase in self.phases}) != len(self.phases):
            raise RecipeError("mixture.phases names a phase twice; give each its own name")
        for phase in self.phases:
            where = f"mixture.phases.{phase.name}"
            if not phase.share > 0:
                raise RecipeError(f"{where}.share is {phase.share:g}; it must be above 0")
            for axis in self._axes(phase):
                _not_negative(f"{where}.{_key(axis)}", phase.weights(axis))
        total = sum(phase.share for phase in self.phases)
        if abs(total - 1) > 1e-6:
            raise RecipeError(f"shares of mixture.phases sum to {total:g}; make them sum to 1")
        self.check_axis("tier", self.weights("tier"))
        if self.domains:
            self.check_domains(self.domains)
        return self

    @staticmethod
    def _axes(said: AxisWeights) -> tuple[str, ...]:
        return (*KEYS, *said.labels)

    def check_domains(self, names: Collection[str]) -> None:
        """Refuse weights and limits of domains that there are not, and a phase without any."""
        self.check_axis("domain", names)
        groups = [f"{domain}/{tier}" for domain in names for tier in self.weights("tier")]
        _known("mixture.max_epochs_by_group", self.max_epochs_by_group, groups)

    def check_axis(self, axis: str, names: Collection[str]) -> None:
        """Refuse weights and limits of values that an axis has not, and a phase without any."""
        _known(f"mixture.{_key(axis)}", self.weights(axis), names)
        _known(f"mixture.{self._limit_key(axis)}", self._limits(axis), names)
        for phase in self.phases:
            where = f"mixture.phases.{phase.name}.{_key(axis)}"
            _known(where, phase.weights(axis), names)
            _some(where, {**dict.fromkeys(names, 1.0), **self.weights_in(phase, axis)})

    def check_labels(self, values: Mapping[str, Collection[str]]) -> None:
        """Refuse weights and limits of labels that divide no groups; `values` are those that do."""
        named = {*self.labels, *self.max_epochs_by_label}
        named |= {axis for phase in self.phases for axis in phase.labels}
        said = [phase.languages for phase in self.phases]
        if any((self.languages, self.max_epochs_by_language, self.language_temperature, *said)):
            named.add("language")
        for axis in sorted(named - set(values)):
            raise RecipeError(
                f"mixture.{_key(axis)}: groups are not divided by {axis}; "
                "list its values in shards.group_by"
            )
        for axis in sorted(values):
            self.check_axis(axis, values[axis])

    def check_held_back(self, is_anything: bool) -> None:
        """Refuse a weight for what is held back where nothing is, and the other way round."""
        said = [each.held_back for each in (self, *self.phases) if each.held_back is not None]
        if said and not is_anything:
            raise RecipeError(
                "mixture: `held_back` is a weight for nothing: no suite of eval_suites has "
                "`split: train`"
            )
        if is_anything and not said:
            raise RecipeError(
                "mixture: a suite of eval_suites has `split: train`, and no phase says what that "
                "means for it; write `held_back: 0` in the phases that must not see its items"
            )

    def weights_in(self, phase: PhaseSettings, axis: str) -> dict[str, float]:
        """Return the weights of an axis as a phase has them."""
        return self.weights(axis) | phase.weights(axis)

    def with_weight(self, axis: str, value: str, weight: float) -> "MixtureSettings":
        """Return a mixture with one other weight."""
        if axis in KEYS:
            name: str | int = int(value) if axis == "copies" else value
            return self.model_copy(update={KEYS[axis]: {**getattr(self, KEYS[axis]), name: weight}})
        if axis == HELD_BACK:
            return self.model_copy(update={"held_back": weight})
        changed = {**self.labels.get(axis, {}), value: weight}
        return self.model_copy(update={"labels": {**self.labels, axis: changed}})

    def _limits(self, axis: str) -> Mapping[str, float]:
        own: Mapping[str, float] | None = getattr(self, f"max_epochs_by_{axis}", None)
        return own if own is not None else self.max_epochs_by_label.get(axis, {})

    def _limit_key(self, axis: str) -> str:
        own = f"max_epochs_by_{axis}"
        return own if hasattr(self, own) else f"max_epochs_by_label.{axis}"

    def limit(self, group: "MixedGroup") -> tuple[float, str]:
        """Return how often a group may be seen, and the key that says so."""
        name = f"{group.domain}/{group.tier}"
        if name in self.max_epochs_by_group:
            return self.max_epochs_by_group[name], f"max_epochs_by_group.{name}"
        named = [
            (self._limits(axis)[value], f"{self._limit_key(axis)}.{value}")
            for axis, value in group.axes.items()
            if value in self._limits(axis)
        ]
        return min(named, default=(self.max_epochs, "max_epochs"))


def _key(axis: str) -> str:
    """Return where the mixture says what an axis weighs."""
    return HELD_BACK if axis == HELD_BACK else KEYS.get(axis, f"labels.{axis}")


def exact(number: float) -> Fraction:
    """Return the decimal that a person wrote, not the nearest binary fraction."""
    return Fraction(repr(number))


def _not_negative(where: str, weights: Mapping[str, float]) -> None:
    for name, weight in weights.items():
        if not 0 <= weight < float("inf"):
            raise RecipeError(f"{where}.{name} is {weight:g}; it must be 0 or more")


def _some(where: str, weights: Mapping[str, float | Fraction]) -> None:
    if not any(weights.values()):
        raise RecipeError(f"{where}: the phase has no weight at all; give one more than 0")


def _known(where: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise RecipeError(f"{where} names {name!r}, which is unknown; use {sorted(known)}")


#
# 1. A phase gives each domain its share of tokens: as the recipe says, or by size (`tempered`).
# 2. Inside a domain, groups (snapshot x tier x labels) share by tokens x the multipliers of what
#    they are on each axis: tier, source, language, other labels, copies.
# 3. Token shares become sample shares by each group's fill (tokens per sample).
# 4. Samples per block are whole numbers by largest remainder, of domains first, then of the tiers
#    of each, then of the labels of those, the sources, and their groups; the same in every block.
#
# All of it in exact fractions, so that ties are ties on every machine; they go by name.
#
# A domain of which nothing is there, from the start or after a takedown, gives its share to the
# others, and a phase without anything is left out. Where the limits on epochs cannot be held, a
# version's run is shortened until they are (`fitted`): neither blocks a version.

__all__ = [
    "MixedGroup",
    "MixtureSettings",
    "PhaseSettings",
    "Wish",
    "fitted",
    "phases_from",
    "tempered",
    "wish_of",
]


@dataclass(frozen=True)
class MixedGroup:
    """What the mixture must know of a group."""

    id: str
    source: str
    domain: str
    tier: str
    samples: int
    tokens: int
    labels: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def axes(self) -> dict[str, str]:
        """What it is on each axis, in the order in which weights are lowered."""
        own = {"domain": self.domain, "source": self.source, "tier": self.tier}
        return {**own, **dict(sorted(self.labels.items()))}


@dataclass(frozen=True)
class Wish:
    """What a recipe asks of the groups there are, before anything is rounded or refused."""

    groups: tuple[MixedGroup, ...]  # those with samples, by id
    run_tokens: int
    phases: tuple[str, ...]
    ideals: tuple[dict[str, Fraction], ...]  # by phase: samples of each group in a block
    blocks: tuple[int, ...]  # by phase
    rates: tuple[Fraction, ...]  # by phase: blocks for each token of the run

    def draws(self, group: MixedGroup) -> Fraction:
        """Count the samples of a group that the whole run draws."""
        pairs = zip(self.blocks, self.ideals, strict=True)
        return sum((n * ideal[group.id] for n, ideal in pairs), Fraction(0))

    def epochs(self, group: MixedGroup) -> Fraction:
        """Return how often the whole run sees a group."""
        return self.draws(group) / group.samples

    def longest_run(self, settings: MixtureSettings) -> int | None:
        """Tokens of the longest run inside all limits, with room for blocks that are rounded up;
        None where not even one block of each phase is."""
        longest: list[Fraction] = []
        for group in self.groups:
            limit = exact(settings.limit(group)[0]) * group.samples
            each = [ideal[group.id] for ideal in self.ideals]
            if any(each):
                rate = sum((r * n for r, n in zip(self.rates, each, strict=True)), Fraction(0))
                longest.append((limit - sum(each, Fraction(0)) / 2) / rate)
        found = floor(min(longest, default=Fraction(0)))
        enough = all(found * rate >= Fraction(1, 2) for rate in self.rates)
        return found if found > 0 and enough else None


def fitted(
    groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int
) -> tuple[list[Phase], str | None]:
    """Plan the phases of a version; also return which wish could not be met, if any.

    A mix that asks for more epochs than are allowed gets the longest run within the limits; where
    not even a block of each phase is, groups are repeated as often as the weights ask.
    """
    wish = wish_of(groups, settings, seq_len)
    try:
        return phases_from(groups, settings, seq_len), None
    except RecipeError as error:
        problem = str(error)
    longest = wish.longest_run(settings)
    if longest is not None:
        shorter = settings.model_copy(update={"run_tokens": longest})
        with contextlib.suppress(RecipeError):
            phases = phases_from(groups, shorter, seq_len)
            return phases, f"the run is shortened to {longest:,} tokens: {problem}"
    draws = Fraction(sum(wish.blocks) * settings.block_samples)
    phases = _phases(wish, {group.id: draws for group in wish.groups}, settings.block_samples)
    return phases, f"groups are repeated more often than is allowed: {problem}"


def phases_from(
    groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int
) -> list[Phase]:
    """Blocks of each phase and samples of each group in a block; `RecipeError` says what to
    change where the limits cannot be held.

    A group whose share is too small for one sample in a block may get none; `mixture_table`
    shows it with 0 epochs, and a larger `block_samples` brings it in.
    """
    wish = wish_of(groups, settings, seq_len)
    limits = {group.id: exact(settings.limit(group)[0]) * group.samples for group in wish.groups}
    _check_epochs(wish, settings, seq_len)
    return _phases(wish, limits, settings.block_samples)


def wish_of(groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int) -> Wish:
    """Compute the samples that weights and phases ask of each group; refuse groups without a weight."""
    present = sorted((group for group in groups if group.samples), key=lambda group: group.id)
    _check_groups(present, settings, seq_len)
    run_tokens = settings.run_tokens or sum(group.tokens for group in present)
    names: list[str] = []
    ideals: list[dict[str, Fraction]] = []
    rates: list[Fraction] = []
    for phase in settings.phases:
        ideal = _ideal_counts(present, settings, phase)
        if not ideal:
            continue
        tokens = sum(
            (ideal[group.id] * Fraction(group.tokens, group.samples) for group in present),
            Fraction(0),
        )
        names.append(phase.name)
        ideals.append(ideal)
        rates.append(exact(phase.share) / tokens)
    blocks = tuple(max(1, round(run_tokens * rate)) for rate in rates)
    return Wish(tuple(present), run_tokens, tuple(names), tuple(ideals), blocks, tuple(rates))


def _phases(wish: Wish, limits: Mapping[str, Fraction], block_samples: int) -> list[Phase]:
    drawn = {group.id: 0 for group in wish.groups}
    phases = []
    for name, blocks, ideal in zip(wish.phases, wish.blocks, wish.ideals, strict=True):
        counts = _whole_counts(wish.groups, ideal, blocks, drawn, limits, block_samples)
        phases.append(Phase(name=name, blocks=blocks, counts=counts))
    return phases


def _check_groups(groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int) -> None:
    tiers = settings.weights("tier")
    for group in groups:
        if settings.domains and group.domain not in settings.domains:
            raise RecipeError(
                f"domain {group.domain!r} of group {group.id} has no weight; "
                "add it to mixture.domains or leave its source out of the recipe"
            )
        if group.tier not in tiers:
            raise RecipeError(
                f"tier {group.tier!r} of group {group.id} has no multiplier; "
                "add it to mixture.tiers"
            )
        if not 0 < group.tokens <= group.samples * seq_len:
            raise RecipeError(
                f"group {group.id} claims {group.tokens} tokens in {group.samples} samples "
                f"of {seq_len}; rebuild its shards with the recipe's seq_len"
            )


def _ideal_counts(
    groups: Sequence[MixedGroup], settings: MixtureSettings, phase: PhaseSettings
) -> dict[str, Fraction]:
    """Compute samples of each group in a block, before rounding; none for empty groups.

    A group's token share is ratio x tokens x multipliers / (sum of tokens x multipliers in its
    domain); divided by its fill, the tokens cancel and samples remain.
    """
    weights_of = {
        axis: {value: exact(w) for value, w in settings.weights_in(phase, axis).items()}
        for axis in {axis for group in groups for axis in group.axes} - {"domain"}
    }
    multipliers = {
        group.id: prod(
            (
                weights_of[axis].get(value, ONE)
                for axis, value in group.axes.items()
                if axis != "domain"
            ),
            start=ONE,
        )
        for group in groups
    }
    drawn = [group for group in groups if multipliers[group.id]]
    for axis, temperature in (
        ("source", settings.source_temperature),
        ("language", settings.language_temperature or 1.0),
    ):
        if temperature == 1:
            continue
        for domain in {group.domain for group in drawn}:
            members = [group for group in drawn if group.domain == domain]
            sizes = _sizes(members, axis)
            shares = tempered(sizes, temperature)
            for group in members:
                value = group.axes.get(axis, "")
                multipliers[group.id] *= shares[value] / sizes[value]
    ratios = {
        name: exact(weight)
        for name, weight in {**settings.domains, **(phase.domains or {})}.items()
    }
    if settings.temperature is not None:
        ratios = tempered(_sizes(drawn, "domain"), settings.temperature) | ratios
    weights: dict[str, Fraction] = {}
    for domain in sorted(ratios):
        members = [group for group in groups if group.domain == domain]
        pool = sum((group.tokens * multipliers[group.id] for group in members), Fraction(0))
        for group in members:
            weight = ratios[domain] * multipliers[group.id] * group.samples
            weights[group.id] = weight / pool if weight else Fraction(0)
    total = sum(weights.values(), Fraction(0))
    if not total:
        return {}
    return {group: weight * settings.block_samples / total for group, weight in weights.items()}


def tempered(sizes: Mapping[str, int], temperature: float) -> dict[str, Fraction]:
    """Return shares by size ^ (1 / temperature), which sum to 1.

    Arivazhagan et al. 2019, "Massively Multilingual Neural Machine Translation in the Wild"
    (temperature 5); alpha = 1 / temperature in XLM-R (Conneau et al. 2020) and mT5 (Xue et al.
    2021), 0.3 in both. Powers have 30 digits of decimal arithmetic, whose logarithm and exponential
    are correctly rounded: the same on every machine, and exact at temperature 1.
    """
    precise, written = Context(prec=50), Context(prec=30)
    divisor = Decimal(repr(temperature))
    powers = {
        name: Fraction(
            written.plus(precise.exp(precise.divide(precise.ln(Decimal(size)), divisor)))
        )
        for name, size in sizes.items()
    }
    total = sum(powers.values(), Fraction(0))
    return {name: power / total for name, power in powers.items()}


def _sizes(groups: Iterable[MixedGroup], kind: str) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for group in groups:
        sizes[group.axes.get(kind, "")] += group.tokens
    return sizes


def _check_epochs(wish: Wish, settings: MixtureSettings, seq_len: int) -> None:
    """Refuse a mix that asks for more than may be repeated, and say three ways out."""
    over = [group for group in wish.groups if _excess(wish, settings, group) > 1]
    if not over:
        return
    group = min(over, key=lambda each: (-_excess(wish, settings, each), each.id))
    allowed, key = settings.limit(group)
    more = f" (and too many of {len(over) - 1} other groups)" if len(over) > 1 else ""
    longest = wish.longest_run(settings)
    shorter = (
        f"lower run_tokens to {longest:,}"
        if longest is not None
        else "lower block_samples, since the corpus is smaller than a block of each phase"
    )
    raise RecipeError(
        f"the mixture asks for {float(wish.epochs(group)):.2f} epochs of group {group.id}, allowed "
        f"are {allowed:g} by mixture.{key}{more}; {_lower_weight(wish, settings, group, seq_len)}, "
        f"{_raised_limits(wish, settings, over)}, or {shorter}"
    )


def _excess(wish: Wish, settings: MixtureSettings, group: MixedGroup) -> Fraction:
    """Return epochs asked for each one allowed."""
    return wish.epochs(group) / exact(settings.limit(group)[0])


def _lower_weight(wish: Wish, settings: MixtureSettings, group: MixedGroup, seq_len: int) -> str:
    """Name the one weight to lower, in whole percents of what it is, with which all limits hold."""
    for axis, value in group.axes.items():
        weights = settings.weights(axis)
        if axis == "domain" and value not in weights:
            continue  # by size
        was = exact(weights.get(value, 1.0))

        def lowered(
            percent: int, axis: str = axis, value: str = value, was: Fraction = was
        ) -> tuple[float, Wish]:
            weight = float(was * percent / 100)
            other = settings.with_weight(axis, value, weight)
            other = other.model_copy(update={"run_tokens": wish.run_tokens})
            return weight, wish_of(wish.groups, other, seq_len)

        low, high = 0, 100  # with `low` percent the group's limit holds, with `high` it does not
        while high - low > 1:
            middle = (low + high) // 2
            fits = _excess(lowered(middle)[1], settings, group) <= 1
            low, high = (middle, high) if fits else (low, middle)
        if low:
            weight, found = lowered(low)
            if all(_excess(found, settings, each) <= 1 for each in wish.groups):
                key = _key(axis) if axis == HELD_BACK else f"{_key(axis)}.{value}"
                return f"lower mixture.{key} to {weight:.4g}"
    return f"lower the weight of domain {group.domain!r} or tier {group.tier!r} and others with it"


def _raised_limits(wish: Wish, settings: MixtureSettings, over: Sequence[MixedGroup]) -> str:
    """Name the limits to raise, with room for a sample more in every block."""
    needed: dict[str, Fraction] = {}
    for group in over:
        key = settings.limit(group)[1]
        epochs = (wish.draws(group) + sum(wish.blocks)) / group.samples
        needed[key] = max(needed.get(key, epochs), epochs)
    return "raise " + " and ".join(
        f"{key} to {ceil(epochs * 10) / 10:g}" for key, epochs in sorted(needed.items())
    )


def _whole_counts(
    groups: Sequence[MixedGroup],
    ideal: Mapping[str, Fraction],
    blocks: int,
    drawn: dict[str, int],
    limits: Mapping[str, Fraction],
    block_samples: int,
) -> dict[str, int]:
    """Compute samples of each group in a block of one phase, within the epochs allowed.

    `drawn` counts what all phases draw so far, and is carried on. What a source cannot take within
    its limits goes to the others of its labels and tier, then to its domain, and then to the
    others.
    """
    counts = {name: floor(value) for name, value in ideal.items()}
    for name, count in counts.items():
        drawn[name] += blocks * count
    wanting = sorted(
        (group for group in groups if ideal[group.id]),
        key=lambda group: (floor(ideal[group.id]) - ideal[group.id], group.id),
    )

    def hand_out(missing: int, names: Sequence[str]) -> int:
        while missing:
            before = missing
            for name in names:
                if missing and drawn[name] + blocks <= limits[name]:
                    counts[name] += 1
                    drawn[name] += blocks
                    missing -= 1
            if missing == before:
                break
        return missing

    def settle(total: int, members: Sequence[MixedGroup], kinds: Sequence[str]) -> int:
        """Hand out what lacks to `total` in some groups, kind by kind; return what was left."""
        for kind in kinds[:1]:
            for name, wanted in _apportioned(total, members, ideal, kind).items():
                chosen = [group for group in members if group.axes.get(kind, "") == name]
                settle(wanted, chosen, kinds[1:])
        names = [group.id for group in members]
        return hand_out(total - sum(counts[name] for name in names), names)

    labels = sorted({name for group in wanting for name in group.labels})
    if settle(block_samples, wanting, ("domain", "tier", *labels, "source")):
        raise RecipeError(
            "no group can take the last samples of a block within max_epochs; "
            "raise block_samples or max_epochs, or lower run_tokens"
        )
    return {name: count for name, count in sorted(counts.items()) if count}


def _apportioned(
    total: int,
    groups: Sequence[MixedGroup],
    ideal: Mapping[str, Fraction],
    kind: str,
) -> dict[str, int]:
    """`total` samples among the values of an axis, by largest remainder of what their groups ask."""
    asked: dict[str, Fraction] = {}
    for group in groups:
        value = group.axes.get(kind, "")
        asked[value] = asked.get(value, Fraction(0)) + ideal[group.id]
    shares = {name: floor(value) for name, value in asked.items()}
    order = sorted(asked, key=lambda name: (floor(asked[name]) - asked[name], name))
    for name in order[: total - sum(shares.values())]:
        shares[name] += 1
    return dict(sorted(shares.items()))
