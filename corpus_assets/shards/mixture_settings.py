"""What a recipe says of a mixture: shares, weights, phases, epochs allowed; checked here.

A group of shards is something on each axis: its domain, source and tier, and each of its labels.
Every key is a table `axis -> value -> number`, and `inside` has the same keys again for the groups
with one value.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings, is_absent
from corpus_assets.shards.curve import CurveSettings, exact

DEFAULT = "default"
"""The epochs that `max_epochs` allows where no axis says otherwise."""
MAX_EPOCHS = 4.0
EACH_OTHER = "*"
"""In `inside`: each value that it does not name."""
HELD_BACK = "held_back"
"""The axis of documents with items of training splits."""
ROUNDING = 0.01
"""Shares that miss 1 by no more are those of a rounded table, and are scaled."""


def _with_text_values(table: Any) -> Any:
    """Take numbers and truth values of YAML as the texts that the values of an axis are."""
    if not isinstance(table, dict):
        return table
    return {
        axis: {_text(value): number for value, number in below.items()}
        if isinstance(below, dict)
        else below
        for axis, below in table.items()
    }


def _text(value: object) -> object:
    return str(value).lower() if isinstance(value, bool | int) else value


def _limits(value: Any) -> Any:
    return {DEFAULT: value} if isinstance(value, int | float) else _with_text_values(value)


Share = Annotated[float, Field(ge=0, le=1)]
Shares = Annotated[dict[str, dict[str, Share]], BeforeValidator(_with_text_values)]
Weights = Annotated[
    dict[str, dict[str, Annotated[float, Field(ge=0)]]], BeforeValidator(_with_text_values)
]
Epochs = Annotated[float, Field(gt=0)]
Limits = Annotated[dict[str, Epochs | dict[str, Epochs]], BeforeValidator(_limits)]


class LevelSettings(Settings):
    """How the tokens of some groups are divided among them."""

    shares: Shares = Field(
        default={},
        exclude_if=is_absent,
        description="axis -> value -> exact share of the tokens; values that are not listed divide "
        "the rest by size and weight",
    )
    change: Shares = Field(
        default={},
        exclude_if=is_absent,
        description="other shares of single values; all others keep their proportions",
    )
    temperature: dict[str, Annotated[float, Field(ge=1)]] = Field(
        default={},
        exclude_if=is_absent,
        description="axis -> temperature T: values without a share divide the rest by tokens^(1/T)",
    )
    weights: Weights = Field(
        default={},
        exclude_if=is_absent,
        description="axis -> value -> how often a token is seen, relative to others; default 1, 0 "
        "leaves a value out; those of several axes multiply",
    )
    only: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default={}, exclude_if=is_absent, description="axis -> the values that are not left out"
    )
    curve: CurveSettings | None = Field(
        default=None,
        exclude_if=is_absent,
        description="weights of `selection.tiers.buckets`; `weights.tier` overrides single buckets",
    )
    max_epochs: Limits = Field(
        default={},
        exclude_if=is_absent,
        description="most times that a group may be seen: a number, or `default` and axis -> value "
        "-> number, of which the lowest counts; those of `inside` override those around them",
    )
    inside: Annotated[dict[str, dict[str, "LevelSettings"]], BeforeValidator(_with_text_values)] = (
        Field(
            default={},
            exclude_if=is_absent,
            description="axis -> value -> the same keys for the groups with this value, `*` for each "
            "value that is not named",
        )
    )

    @property
    def divided_by(self) -> str | None:
        """The axis by which the tokens are divided, before what `inside` says."""
        named = {*self.shares, *self.change, *self.temperature, *self.inside}
        return min(named, default=None)

    @model_validator(mode="after")
    def _has_one_axis(self) -> "LevelSettings":
        named = sorted({*self.shares, *self.change, *self.temperature, *self.inside})
        if len(named) > 1:
            raise ValueError(
                f"shares, change, temperature and inside name {' and '.join(named)}; divide by one "
                "axis, and by the other under `inside`"
            )
        for axis in named:
            twice = self.weights.get(axis, {}).keys() & self.shares.get(axis, {}).keys()
            if twice:
                raise ValueError(
                    f"{axis}.{min(twice)} has a share and a weight; a share needs no weight"
                )
            total = sum(map(exact, self.shares.get(axis, {}).values()), Fraction(0))
            if total > 1 + exact(ROUNDING):
                raise ValueError(
                    f"shares of {axis} sum to {float(total):g}, more than 1; to change some and "
                    f"keep the proportions of the others, use `change`"
                )
            if sum(self.change.get(axis, {}).values()) > 1:
                raise ValueError(f"change of {axis} sums to more than 1")
        return self

    def weights_of(self, axis: str) -> dict[str, float]:
        """Return the weights of an axis, with those of a curve whose mean is known."""
        curve = self.curve if axis == "tier" else None
        known = curve.multipliers if curve is not None and curve.mean is not None else {}
        return known | self.weights.get(axis, {})

    def levels(self, where: str) -> Iterator[tuple[str, "LevelSettings"]]:
        """Return this level and all inside it, each with its key."""
        yield where, self
        for axis, below in self.inside.items():
            for value, level in below.items():
                yield from level.levels(f"{where}.inside.{axis}.{value}")

    def tables(self) -> Iterator[tuple[str, str, Collection[str]]]:
        """Return what names axes: the key, the axis, the values that it names."""
        for key in ("shares", "change", "weights", "only", "inside"):
            for axis, named in getattr(self, key).items():
                yield f"{key}.{axis}", axis, [value for value in named if value != EACH_OTHER]
        if self.curve is not None:
            yield "curve", "tier", list(self.curve.multipliers)
        for axis in self.temperature:
            yield f"temperature.{axis}", axis, ()
        for axis, limits in self.max_epochs.items():
            if isinstance(limits, dict):
                yield f"max_epochs.{axis}", axis, list(limits)


class RateSettings(Settings):
    """A part of a phase, from one learning rate to another."""

    share: float = Field(
        default=1.0, gt=0, le=1, description="share of the phase; all parts sum to 1"
    )
    start: float = Field(ge=0, description="learning rate at its start, in the trainer's unit")
    end: float = Field(ge=0, description="learning rate at its end")
    shape: Literal["linear", "cosine", "sqrt"] = Field(
        default="linear",
        description="the way between them; `sqrt` is the cooldown of Hägele et al. 2024 "
        "(arXiv:2405.18392)",
    )


class PhaseSettings(LevelSettings):
    """A stretch of the run, with its own division where it differs. What it says counts before
    what the mixture says: tables of shares replace, `change` and weights replace single values."""

    name: str = Field(default="", description="name of the phase; default `phase-1`, ...")
    share: float = Field(gt=0, le=1, description="share of the run's tokens; all phases sum to 1")
    learning_rate: tuple[RateSettings, ...] = Field(
        default=(),
        exclude_if=is_absent,
        description="learning rates for the trainer, written into the manifest",
    )

    @model_validator(mode="after")
    def _has_whole_rates(self) -> "PhaseSettings":
        total = sum(part.share for part in self.learning_rate)
        if self.learning_rate and abs(total - 1) > 1e-6:
            raise ValueError(f"shares of learning_rate sum to {total:g}; make them sum to 1")
        return self


class MixtureSettings(LevelSettings):
    """How much of what, and when."""

    phases: tuple[PhaseSettings, ...] = (PhaseSettings(name="main", share=1.0),)
    block_samples: int = Field(default=1024, ge=1)
    """Samples after which the mix is exact."""
    run_tokens: int | None = Field(default=None, ge=1)
    """Tokens of the whole run; null: as many as there are."""
    run_epochs: float | None = Field(
        default=None,
        gt=0,
        exclude_if=is_absent,
        description="instead of `run_tokens`: how often a token of weight 1 is seen, with shares on "
        "average",
    )
    max_epochs: Limits = Field(
        default={DEFAULT: MAX_EPOCHS},
        description="most times that a group may be seen: a number, or `default` and axis -> value "
        "-> number, of which the lowest counts",
    )

    @model_validator(mode="before")
    @classmethod
    def _named_phases(cls, raw: Any) -> Any:
        phases = raw.get("phases") if isinstance(raw, dict) else None
        if not isinstance(phases, list | tuple):
            return raw
        named = [
            {"name": f"phase-{place}", **phase} if isinstance(phase, dict) else phase
            for place, phase in enumerate(phases, 1)
        ]
        return raw | {"phases": named}

    @model_validator(mode="after")
    def _makes_sense(self) -> "MixtureSettings":
        if self.run_tokens is not None and self.run_epochs is not None:
            raise RecipeError("mixture: set run_tokens or run_epochs, not both")
        if not self.phases:
            raise RecipeError("mixture.phases is empty; name at least one phase")
        if len({phase.name for phase in self.phases}) != len(self.phases):
            raise RecipeError("mixture.phases names a phase twice; give each its own name")
        total = sum(phase.share for phase in self.phases)
        if abs(total - 1) > 1e-6:
            raise RecipeError(f"shares of mixture.phases sum to {total:g}; make them sum to 1")
        for where, level in self.all_levels():
            if where.startswith("mixture.phases.") and level.max_epochs:
                raise RecipeError(
                    f"{where}.max_epochs: epochs are those of the whole run; set them outside phases"
                )
            asks = level.curve is not None and level.curve.mean is None
            if where.startswith("mixture.phases.") and asks:
                raise RecipeError(
                    f"{where}.curve.mean: null is the epochs of the whole run; set it outside phases"
                )
        return self

    def all_levels(self) -> Iterator[tuple[str, LevelSettings]]:
        """Return every level with its key, those of phases last."""
        yield from self.levels("mixture")
        for phase in self.phases:
            yield from phase.levels(f"mixture.phases.{phase.name}")

    def check(self, values: Mapping[str, Collection[str]]) -> None:
        """Refuse axes and values that there are not, phases that leave an axis without anything,
        and shares that leave nothing for a value. `values` are those of each axis."""
        values = {**values, HELD_BACK: ("true",)}
        for where, level in self.all_levels():
            for key, axis, named in level.tables():
                if axis not in values:
                    raise RecipeError(f"{where}.{key}: {_why_not(axis)}")
                if key == "curve" and not set(named) <= set(values[axis]):
                    raise RecipeError(
                        f"{where}.curve has {len(named)} buckets, and tiers are "
                        f"{sorted(values[axis])}; set selection.tiers.buckets: {len(named)}"
                    )
                for value in named:
                    if value not in values[axis]:
                        raise RecipeError(
                            f"{where}.{key} names {value!r}, which is unknown; use "
                            f"{sorted(values[axis])}"
                        )
            is_nested = ".inside." in where
            for axis, shares in level.shares.items():
                if not (is_nested and axis in ("source", "tier")):
                    _check_shares(f"{where}.shares.{axis}", shares, values[axis])
        for phase in self.phases:
            for axis in values:
                _check_phase(self, phase, axis, values[axis])

    def check_held_back(self, is_anything: bool) -> None:
        """Refuse weights for what is held back where nothing is, and the other way round."""
        has_weight = any(HELD_BACK in level.weights for _, level in self.all_levels())
        if has_weight and not is_anything:
            raise RecipeError(
                "mixture: `weights.held_back` is for nothing: no suite of eval_suites has "
                "`split: train`"
            )
        if is_anything and not has_weight:
            raise RecipeError(
                "mixture: a suite of eval_suites has `split: train`, and no phase handles it; "
                "set `weights: {held_back: {true: 0}}` in the phases that must not see its items"
            )

    @property
    def domain_shares(self) -> dict[str, float]:
        """Shares of all domains, where the run says them; empty: by size."""
        shares = {value: float(share) for value, share in changed_shares(self, "domain").items()}
        return shares if abs(sum(shares.values()) - 1) <= ROUNDING else {}

    def limit(self, group: "MixedGroup") -> tuple[float, str]:
        """Return how often a group may be seen, and the key that says so."""
        found: tuple[float, str] | None = None
        where = ""
        level: LevelSettings | None = self
        while level is not None:
            found = _limit(level.max_epochs, where, group) or found
            axis = level.divided_by
            below = level.inside.get(axis, {}) if axis is not None else {}
            value = group.axes.get(axis or "", "")
            value = value if value in below else EACH_OTHER
            where, level = f"{where}inside.{axis}.{value}.", below.get(value)
        return found or (MAX_EPOCHS, f"max_epochs.{DEFAULT}")

    def with_number(self, key: Sequence[str], number: float) -> "MixtureSettings":
        """Return a mixture with one other share or weight, by the steps to its key."""
        raw = self.model_dump(mode="json")
        *parents, last = key
        node: Any = raw
        for name in parents:
            if isinstance(node, list):
                node = next(each for each in node if each["name"] == name)
            else:
                node = node.setdefault(name, {})
        node[last] = number
        return MixtureSettings.model_validate(raw)


def changed_shares(level: LevelSettings, axis: str) -> dict[str, Fraction]:
    """Return the listed shares of a level, with `change` laid on them."""
    listed = {value: exact(share) for value, share in level.shares.get(axis, {}).items()}
    total = sum(listed.values(), Fraction(0))
    listed = {value: share / max(total, Fraction(1)) for value, share in listed.items()}
    return laid_on(listed, level.change.get(axis, {}))


def laid_on(listed: Mapping[str, Fraction], change: Mapping[str, float]) -> dict[str, Fraction]:
    """Give some values other shares; the others, and the rest, keep their proportions."""
    new = {value: exact(share) for value, share in change.items()}
    before = 1 - sum((share for value, share in listed.items() if value in new), Fraction(0))
    after = 1 - sum(new.values(), Fraction(0))
    scale = after / before if before else Fraction(0)
    return {value: share * scale for value, share in listed.items() if value not in new} | new


def _limit(limits: Mapping[str, Any], where: str, group: "MixedGroup") -> tuple[float, str] | None:
    named = [
        (float(limits[axis][value]), f"{where}max_epochs.{axis}.{value}")
        for axis, value in group.axes.items()
        if value in limits.get(axis, {})
    ]
    if named or DEFAULT not in limits:
        return min(named, default=None)
    return float(limits[DEFAULT]), where + ("max_epochs" + f".{DEFAULT}" * (len(limits) > 1))


def _why_not(axis: str) -> str:
    if axis == "copies":
        return "no group has copies; set clean_text.tiers_by_copies"
    return f"groups are not divided by {axis}; list its values in shards.group_by"


def _check_shares(where: str, shares: Mapping[str, float], values: Collection[str]) -> None:
    total = sum(map(exact, shares.values()), Fraction(0))
    without = sorted(set(values) - set(shares))
    if without and total >= 1:
        raise RecipeError(
            f"{where}: nothing is left for {without[0]}; give it a share, 0 leaves it out"
        )
    if not without and total < 1 - exact(ROUNDING):
        raise RecipeError(
            f"{where}: the shares sum to {float(total):g}; make them sum to 1, or leave a value out "
            "that gets the rest"
        )


def _check_phase(
    settings: MixtureSettings, phase: PhaseSettings, axis: str, values: Collection[str]
) -> None:
    """Refuse a phase that leaves all values of an axis out."""
    weights = settings.weights_of(axis) | phase.weights_of(axis)
    allowed = set(values)
    for level in (settings, phase):
        allowed &= set(level.only.get(axis, values))
    named = bool(weights) or axis in settings.only or axis in phase.only
    if named and axis not in ("copies", HELD_BACK) and not any(weights.get(v, 1) for v in allowed):
        raise RecipeError(
            f"mixture.phases.{phase.name}: all values of {axis} are left out; leave one in"
        )


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
