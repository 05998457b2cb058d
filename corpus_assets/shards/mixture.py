"""Turn a recipe's mixture into samples per block.

1. A phase gives each domain its share of tokens: as the recipe says, or by size (`tempered`).
2. Inside a domain, groups (snapshot x tier x labels) share by tokens x the multipliers of what
   they are on each axis: tier, source, language, other labels, copies.
3. Token shares become sample shares by each group's fill (tokens per sample).
4. Samples per block are whole numbers by largest remainder, of domains first, then of the tiers
   of each, then of the labels of those, the sources, and their groups; the same in every block.

All of it in exact fractions, so that ties are ties on every machine; they go by name.

A domain of which nothing is there, from the start or after a takedown, gives its share to the
others, and a phase without anything is left out. Where the limits on epochs cannot be held, a
version's run is shortened until they are (`plan_mixture`): neither blocks a version.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, floor, prod

from corpus_assets.core.errors import RecipeError
from corpus_assets.shards.mixture_settings import (
    HELD_BACK,
    MixedGroup,
    MixtureSettings,
    PhaseSettings,
    exact,
    key_of,
)
from corpus_loader.manifest import Phase

__all__ = [
    "MixedGroup",
    "MixtureSettings",
    "PhaseSettings",
    "RequestedMix",
    "phases_from",
    "plan_mixture",
    "requested_mix",
    "tempered",
]


ONE = Fraction(1)


@dataclass(frozen=True)
class RequestedMix:
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


def plan_mixture(
    groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int
) -> tuple[list[Phase], str | None]:
    """Plan the phases of a version; also return which requested could not be met, if any.

    A mix that asks for more epochs than are allowed gets the longest run within the limits; where
    not even a block of each phase is, groups are repeated as often as the weights ask.
    """
    requested = requested_mix(groups, settings, seq_len)
    try:
        return phases_from(groups, settings, seq_len), None
    except RecipeError as error:
        problem = str(error)
    longest = requested.longest_run(settings)
    if longest is not None:
        shorter = settings.model_copy(update={"run_tokens": longest})
        with contextlib.suppress(RecipeError):
            phases = phases_from(groups, shorter, seq_len)
            return phases, f"the run is shortened to {longest:,} tokens: {problem}"
    draws = Fraction(sum(requested.blocks) * settings.block_samples)
    phases = _phases(
        requested, {group.id: draws for group in requested.groups}, settings.block_samples
    )
    return phases, f"groups are repeated more often than is allowed: {problem}"


def phases_from(
    groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int
) -> list[Phase]:
    """Blocks of each phase and samples of each group in a block; `RecipeError` says what to
    change where the limits cannot be held.

    A group whose share is too small for one sample in a block may get none; `mixture_table`
    shows it with 0 epochs, and a larger `block_samples` brings it in.
    """
    requested = requested_mix(groups, settings, seq_len)
    limits = {
        group.id: exact(settings.limit(group)[0]) * group.samples for group in requested.groups
    }
    _check_epochs(requested, settings, seq_len)
    return _phases(requested, limits, settings.block_samples)


def requested_mix(
    groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int
) -> RequestedMix:
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
    return RequestedMix(
        tuple(present), run_tokens, tuple(names), tuple(ideals), blocks, tuple(rates)
    )


def _phases(
    requested: RequestedMix, limits: Mapping[str, Fraction], block_samples: int
) -> list[Phase]:
    drawn = {group.id: 0 for group in requested.groups}
    phases = []
    for name, blocks, ideal in zip(
        requested.phases, requested.blocks, requested.ideals, strict=True
    ):
        counts = _whole_counts(requested.groups, ideal, blocks, drawn, limits, block_samples)
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


def _check_epochs(requested: RequestedMix, settings: MixtureSettings, seq_len: int) -> None:
    """Refuse a mix that asks for more than may be repeated, and say three ways out."""
    over = [group for group in requested.groups if _excess(requested, settings, group) > 1]
    if not over:
        return
    group = min(over, key=lambda each: (-_excess(requested, settings, each), each.id))
    allowed, key = settings.limit(group)
    more = f" (and too many of {len(over) - 1} other groups)" if len(over) > 1 else ""
    longest = requested.longest_run(settings)
    shorter = (
        f"lower run_tokens to {longest:,}"
        if longest is not None
        else "lower block_samples, since the corpus is smaller than a block of each phase"
    )
    raise RecipeError(
        f"the mixture asks for {float(requested.epochs(group)):.2f} epochs of group {group.id}, allowed "
        f"are {allowed:g} by mixture.{key}{more}; {_lower_weight(requested, settings, group, seq_len)}, "
        f"{_raised_limits(requested, settings, over)}, or {shorter}"
    )


def _excess(requested: RequestedMix, settings: MixtureSettings, group: MixedGroup) -> Fraction:
    """Return epochs asked for each one allowed."""
    return requested.epochs(group) / exact(settings.limit(group)[0])


def _lower_weight(
    requested: RequestedMix, settings: MixtureSettings, group: MixedGroup, seq_len: int
) -> str:
    """Name the one weight to lower, in whole percents of what it is, with which all limits hold."""
    for axis, value in group.axes.items():
        weights = settings.weights(axis)
        if axis == "domain" and value not in weights:
            continue  # by size
        was = exact(weights.get(value, 1.0))

        def lowered(
            percent: int, axis: str = axis, value: str = value, was: Fraction = was
        ) -> tuple[float, RequestedMix]:
            weight = float(was * percent / 100)
            other = settings.with_weight(axis, value, weight)
            other = other.model_copy(update={"run_tokens": requested.run_tokens})
            return weight, requested_mix(requested.groups, other, seq_len)

        low, high = 0, 100  # with `low` percent the group's limit holds, with `high` it does not
        while high - low > 1:
            middle = (low + high) // 2
            fits = _excess(lowered(middle)[1], settings, group) <= 1
            low, high = (middle, high) if fits else (low, middle)
        if low:
            weight, found = lowered(low)
            if all(_excess(found, settings, each) <= 1 for each in requested.groups):
                key = key_of(axis) if axis == HELD_BACK else f"{key_of(axis)}.{value}"
                return f"lower mixture.{key} to {weight:.4g}"
    return f"lower the weight of domain {group.domain!r} or tier {group.tier!r} and others with it"


def _raised_limits(
    requested: RequestedMix, settings: MixtureSettings, over: Sequence[MixedGroup]
) -> str:
    """Name the limits to raise, with room for a sample more in every block."""
    needed: dict[str, Fraction] = {}
    for group in over:
        key = settings.limit(group)[1]
        epochs = (requested.draws(group) + sum(requested.blocks)) / group.samples
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
