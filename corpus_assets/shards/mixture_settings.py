"""What a recipe says of a mixture: ratios, multipliers, phases, epochs allowed; checked here.

A group is something on each axis (domain, source, tier, each of its labels), and weights and
limits are looked up by axis.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, model_validator

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings, is_absent
from corpus_assets.shards.curve import CurveSettings

Epochs = Annotated[float, Field(gt=0)]
Temperature = Annotated[float, Field(ge=1)]

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
        description="multipliers by language of `shards.group_by`, within a domain; default 1, 0 "
        "leaves a language out",
    )
    labels: dict[str, dict[str, float]] = Field(
        default={},
        exclude_if=is_absent,
        description="the same for other labels: label -> value -> multiplier",
    )
    held_back: float | None = Field(
        default=None,
        ge=0,
        exclude_if=is_absent,
        description="multiplier of documents with items of `split: train` suites; 0 leaves them "
        "out, null is 1",
    )
    curve: CurveSettings | None = Field(
        default=None,
        exclude_if=is_absent,
        description="multipliers for `selection.tiers.buckets`; `tiers` overrides single buckets",
    )

    def weights(self, axis: str) -> dict[str, float]:
        """Return the weights of an axis: multipliers, ratios of domains, by value."""
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
    """Share of the run's tokens; all phases sum to 1."""
    domains: dict[str, float] | None = None
    """Weights of domains."""
    sources: dict[str, float] | None = None
    """Multipliers of sources."""
    tiers: dict[str, float] | None = None
    """Multipliers of tiers."""


class MixtureSettings(AxisWeights):
    """How much of what, and when."""

    domains: dict[str, float] = Field(default={"web": 1.0})
    """Ratio of tokens by domain, in any unit; excludes `temperature`."""
    temperature: Temperature | None = None
    """Computes the ratios of domains as (tokens)^(1 / temperature): 1 is by size, larger is
    more equal. Weights of a phase are relative to shares that sum to 1."""
    source_temperature: Temperature = 1.0
    """The same for the sources within a domain."""
    language_temperature: Temperature | None = Field(
        default=None,
        exclude_if=is_absent,
        description="the same for the languages of `shards.group_by` within a domain; null is 1",
    )
    sources: dict[str, float] = Field(default={})
    """Multipliers by source, within a domain; default 1, 0 leaves a source out."""
    tiers: dict[str, float] = Field(default={"high": 2.0, "mid": 1.0, "low": 0.5})
    """Multipliers by tier, within a domain."""
    copies: dict[int, float] = Field(
        default={},
        description="multipliers of `clean_text.tiers_by_copies`, in addition to the tier's; "
        "default 1",
    )
    phases: tuple[PhaseSettings, ...] = (PhaseSettings(name="main", share=1.0),)
    block_samples: int = Field(default=1024, ge=1)
    """Samples after which the mix is exact."""
    run_tokens: int | None = Field(default=None, ge=1)
    """Tokens of the whole run; null: all tokens, seen once at natural weights."""
    max_epochs: float = Field(default=4.0, gt=0)
    """Most times that a group may be seen; about four cost little (Muennighoff et al. 2023)."""
    max_epochs_by_domain: dict[str, Epochs] = Field(default={}, description="limits by domain")
    max_epochs_by_source: dict[str, Epochs] = Field(default={}, description="limits by source")
    max_epochs_by_tier: dict[str, Epochs] = Field(
        default={},
        description="limits by tier; the lowest applicable limit counts",
    )
    max_epochs_by_language: dict[str, Epochs] = Field(
        default={}, exclude_if=is_absent, description="limits by language"
    )
    max_epochs_by_label: dict[str, dict[str, Epochs]] = Field(
        default={},
        exclude_if=is_absent,
        description="limits by label -> value",
    )
    max_epochs_by_group: dict[str, Epochs] = Field(
        default={}, description="limits of `DOMAIN/TIER`, which override the others"
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
            _not_negative(f"mixture.{key_of(axis)}", self.weights(axis))
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
                _not_negative(f"{where}.{key_of(axis)}", phase.weights(axis))
        total = sum(phase.share for phase in self.phases)
        if abs(total - 1) > 1e-6:
            raise RecipeError(f"shares of mixture.phases sum to {total:g}; make them sum to 1")
        self.check_axis("tier", self.weights("tier"))
        if self.domains:
            self.check_domains(self.domains)
        return self

    @staticmethod
    def _axes(weights: AxisWeights) -> tuple[str, ...]:
        return (*KEYS, *weights.labels)

    def check_domains(self, names: Collection[str]) -> None:
        """Refuse weights and limits of domains that there are not, and a phase without any."""
        self.check_axis("domain", names)
        groups = [f"{domain}/{tier}" for domain in names for tier in self.weights("tier")]
        _known("mixture.max_epochs_by_group", self.max_epochs_by_group, groups)

    def check_axis(self, axis: str, names: Collection[str]) -> None:
        """Refuse weights and limits of values that an axis has not, and a phase without any."""
        _known(f"mixture.{key_of(axis)}", self.weights(axis), names)
        _known(f"mixture.{self._limit_key(axis)}", self._limits(axis), names)
        for phase in self.phases:
            where = f"mixture.phases.{phase.name}.{key_of(axis)}"
            _known(where, phase.weights(axis), names)
            _some(where, {**dict.fromkeys(names, 1.0), **self.weights_in(phase, axis)})

    def check_labels(self, values: Mapping[str, Collection[str]]) -> None:
        """Refuse weights and limits of labels that divide no groups; `values` are those that do."""
        named = {*self.labels, *self.max_epochs_by_label}
        named |= {axis for phase in self.phases for axis in phase.labels}
        by_phase = [phase.languages for phase in self.phases]
        if any((self.languages, self.max_epochs_by_language, self.language_temperature, *by_phase)):
            named.add("language")
        for axis in sorted(named - set(values)):
            raise RecipeError(
                f"mixture.{key_of(axis)}: groups are not divided by {axis}; "
                "list its values in shards.group_by"
            )
        for axis in sorted(values):
            self.check_axis(axis, values[axis])

    def check_held_back(self, is_anything: bool) -> None:
        """Refuse a weight for what is held back where nothing is, and the other way round."""
        weights = [each.held_back for each in (self, *self.phases) if each.held_back is not None]
        if weights and not is_anything:
            raise RecipeError(
                "mixture: `held_back` is a weight for nothing: no suite of eval_suites has "
                "`split: train`"
            )
        if is_anything and not weights:
            raise RecipeError(
                "mixture: a suite of eval_suites has `split: train`, and no phase handles it; "
                "set `held_back: 0` in the phases that must not see its items"
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


def key_of(axis: str) -> str:
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
