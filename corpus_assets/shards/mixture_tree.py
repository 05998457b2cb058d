"""Divide the tokens of a phase among groups, level by level.

1. A level divides its tokens by one axis. A value with a share gets exactly that; the others divide
   the rest by their tokens times their weights, or by size to a temperature.
2. Each value is divided again by what `inside` says, and at last by tokens times weights: groups of
   equal weights are seen equally often.
3. What a value without tokens would get goes to the others in their proportions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, TypeVar

from corpus_assets.shards.curve import exact
from corpus_assets.shards.mixture_settings import (
    EACH_OTHER,
    LevelSettings,
    MixedGroup,
    changed_shares,
    laid_on,
)

ONE, ZERO = Fraction(1), Fraction(0)
Table = dict[str, dict[str, Fraction]]
AnyLevel = TypeVar("AnyLevel", bound=LevelSettings)


@dataclass(frozen=True)
class AskedShare:
    """A share that a recipe asks for one value of an axis, in one phase."""

    key: tuple[str, ...]  # of the mixture, as `shares`, `domain`, `web`
    share: Fraction  # of the tokens of the phase; 0 of what the shares around it leave nothing
    groups: tuple[str, ...]  # that have the value; none where there is no text of it


@dataclass(frozen=True)
class Level:
    """A level of a phase: what the mixture and the phase say of it, as one."""

    key: tuple[str, ...]  # of the mixture
    weights: Table
    only: tuple[tuple[str, frozenset[str]], ...]
    axis: str | None
    shares: dict[str, Fraction]
    temperature: float | None
    inside: dict[str, "Level"]
    plain: "Level | None"
    """Of values that `inside` has not, if the level is divided at all."""

    @cached_property
    def listed(self) -> Fraction:
        """All shares that are listed, up to 1."""
        return min(ONE, sum(self.shares.values(), ZERO))

    def below(self, value: str) -> "Level":
        """Return the level of one value of the axis."""
        found = self.inside.get(value) or self.inside.get(EACH_OTHER) or self.plain
        return self if found is None else found

    def weight(self, group: MixedGroup) -> Fraction:
        """Return how often a token of a group is seen, relative to others; 0 where it never is."""
        level = self
        while level.axis is not None:
            value = group.axes.get(level.axis, "")
            if not level.shares.get(value, ONE - level.listed):
                return ZERO
            level = level.below(value)
        if any(group.axes.get(axis, "") not in values for axis, values in level.only):
            return ZERO
        weights = (
            level.weights[axis].get(value, ONE)
            for axis, value in group.axes.items()
            if axis in level.weights
        )
        return prod(weights, start=ONE)

    def leaves_out(self, value: str) -> bool:
        """Whether a value of the axis is left out by name."""
        weight = self.weights.get(self.axis or "", {}).get(value, ONE)
        return not weight or any(
            axis == self.axis and value not in values for axis, values in self.only
        )

    def parted(self, groups: Iterable[MixedGroup]) -> dict[str, list[MixedGroup]]:
        """Return groups by their value of the axis, in the order of values."""
        found: dict[str, list[MixedGroup]] = {}
        for group in groups:
            found.setdefault(group.axes.get(self.axis or "", ""), []).append(group)
        return dict(sorted(found.items()))


def level_of(settings: LevelSettings, phase: LevelSettings) -> Level:
    """Lay what a phase says on what the mixture says."""
    return _level((), settings, phase, {}, {}, ())


NOTHING = LevelSettings()


def _level(
    key: tuple[str, ...],
    own: LevelSettings,
    phase: LevelSettings,
    weights: Table,
    phase_weights: Table,
    only: tuple[tuple[str, frozenset[str]], ...],
) -> Level:
    weights, phase_weights = _with(weights, own), _with(phase_weights, phase)
    merged = {
        axis: weights.get(axis, {}) | phase_weights.get(axis, {})
        for axis in {*weights, *phase_weights}
    }
    for side in (own, phase):
        only += tuple((axis, frozenset(values)) for axis, values in side.only.items())
    axis = phase.divided_by or own.divided_by
    if axis is None:
        return Level(key, merged, only, None, {}, None, {}, None)
    base = own if own.divided_by == axis else NOTHING
    if axis in phase.shares:
        shares = changed_shares(phase, axis)
    else:
        shares = laid_on(changed_shares(base, axis), phase.change.get(axis, {}))
    named = [side.inside.get(axis, {}) for side in (base, phase)]
    inside = {
        value: _level(
            (*key, "inside", axis, value),
            named[0].get(value) or named[0].get(EACH_OTHER) or NOTHING,
            named[1].get(value) or named[1].get(EACH_OTHER) or NOTHING,
            weights,
            phase_weights,
            only,
        )
        for value in {*named[0], *named[1]}
    }
    temperature = phase.temperature.get(axis) or base.temperature.get(axis)
    plain = Level((*key, "inside", axis, EACH_OTHER), merged, only, None, {}, None, {}, None)
    return Level(key, merged, only, axis, shares, temperature, inside, plain)


def _with(weights: Table, level: LevelSettings) -> Table:
    named = {*level.weights, *(["tier"] if level.curve is not None else [])}
    new = {axis: {v: exact(w) for v, w in level.weights_of(axis).items()} for axis in named}
    return weights | {axis: weights.get(axis, {}) | new[axis] for axis in named}


def with_means(
    level: AnyLevel, groups: Sequence[MixedGroup], drawn: Mapping[str, Fraction]
) -> AnyLevel:
    """Return settings in which curves without a mean are the weights that they come to, for groups of
    which so many tokens are drawn; what is said of each other value is said of each."""
    changes: dict[str, Any] = {}
    if level.curve is not None and level.curve.mean is None:
        tokens: dict[str, int] = {}
        asked = ZERO
        for group in groups:
            if group.tier in level.curve.multipliers:
                tokens[group.tier] = tokens.get(group.tier, 0) + group.tokens
                asked += drawn[group.id]
        mean = asked / sum(tokens.values()) if tokens else ZERO
        found = level.curve.multipliers_of(tokens, mean) if mean else {}
        weights = found | level.weights.get("tier", {})
        changes = {"curve": None, "weights": level.weights | {"tier": weights}}
    for axis, below in level.inside.items():
        new = dict(below)
        values: dict[str, list[MixedGroup]] = {}
        for group in groups:
            values.setdefault(group.axes.get(axis, ""), []).append(group)
        for value, members in sorted(values.items()):
            own = below.get(value) or below.get(EACH_OTHER)
            if own is not None:
                resolved = with_means(own, members, drawn)
                if resolved != own:
                    new[value] = resolved
        if new != below:
            changes["inside"] = {**level.inside, axis: new}
    return level.model_copy(update=changes) if changes else level


def token_shares(
    level: Level, groups: Sequence[MixedGroup]
) -> tuple[dict[str, Fraction], list[AskedShare]]:
    """Return the share of a phase's tokens that each group gets, and the shares asked for.

    Shares sum to 1, or are all 0 where nothing may be drawn.
    """
    weights = {group.id: level.weight(group) for group in groups}
    found = dict.fromkeys(weights, ZERO)
    asked: list[AskedShare] = []
    _divide(level, groups, weights, ONE, ONE, found, asked)
    total = sum(found.values(), ZERO)
    return {name: share / total if total else ZERO for name, share in found.items()}, asked


def _divide(
    level: Level,
    groups: Sequence[MixedGroup],
    weights: Mapping[str, Fraction],
    given: Fraction,
    asked: Fraction,
    found: dict[str, Fraction],
    shares: list[AskedShare],
) -> None:
    """Divide `given` among groups; `asked` is what they were to get before others lacked text."""
    drawn = [group for group in groups if weights[group.id]]
    if level.axis is None:
        total = sum((group.tokens * weights[group.id] for group in drawn), ZERO)
        for group in drawn:
            found[group.id] = given * group.tokens * weights[group.id] / total
        return
    there, members = level.parted(groups), level.parted(drawn)
    listed = {value: share for value, share in level.shares.items() if share}
    open_ = _masses(level, {v: m for v, m in members.items() if v not in level.shares}, weights)
    total = sum(listed.values(), ZERO)
    rest = max(ZERO, ONE - total) if open_ else ZERO
    for value, share in sorted(listed.items()):
        if value in members or not level.leaves_out(value):
            groups_of = tuple(group.id for group in there.get(value, ()))
            key = (*level.key, "shares", level.axis, value)
            shares.append(AskedShare(key, asked * share / (total + rest), groups_of))
    for value in there:
        if level.listed == 1 and value not in level.shares and not level.leaves_out(value):
            groups_of = tuple(group.id for group in there[value])
            shares.append(AskedShare((*level.key, "shares", level.axis, value), ZERO, groups_of))
    each = {value: share for value, share in listed.items() if value in members}
    each |= {value: rest * mass for value, mass in open_.items()}
    present = sum(each.values(), ZERO)
    for value, share in each.items():
        if share:
            _divide(
                level.below(value),
                members[value],
                weights,
                given * share / present,
                asked * share / (total + rest),
                found,
                shares,
            )


def _masses(
    level: Level, members: Mapping[str, Sequence[MixedGroup]], weights: Mapping[str, Fraction]
) -> dict[str, Fraction]:
    """Return the parts of the values without a share, which sum to 1."""
    if level.temperature is None:
        sizes = {
            value: sum((group.tokens * weights[group.id] for group in some), ZERO)
            for value, some in members.items()
        }
    else:
        own = level.weights.get(level.axis or "", {})
        powers = tempered(
            {value: sum(group.tokens for group in some) for value, some in members.items()},
            level.temperature,
        )
        sizes = {value: power * own.get(value, ONE) for value, power in powers.items()}
    total = sum(sizes.values(), ZERO)
    return {value: size / total for value, size in sizes.items()}


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
