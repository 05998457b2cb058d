"""Turn a recipe's mixture into samples per block.

1. A phase divides its tokens among groups, level by level (`mixture_tree`).
2. Token shares become sample shares by each group's fill (tokens per sample).
3. Samples per block are whole numbers by largest remainder, of the values of the first level
   first, then of the levels inside it, then of domains, tiers, labels, sources, and their groups;
   the same in every block.

All of it in exact fractions, so that ties are ties on every machine; they go by name.

What a value without text would get goes to the others, and a phase without anything is left out.
Where the limits on epochs cannot be held, a version's run is shortened until they are
(`plan_mixture`): neither blocks a version.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from pydantic import ValidationError

from corpus_assets.core.errors import RecipeError
from corpus_assets.shards.curve import exact
from corpus_assets.shards.mixture_settings import (
    MixedGroup,
    MixtureSettings,
    PhaseSettings,
)
from corpus_assets.shards.mixture_tree import AskedShare, Level, level_of, token_shares, with_means
from corpus_loader.manifest import Phase
from corpus_loader.schedule import RatePiece

__all__ = [
    "RequestedMix",
    "phases_from",
    "plan_mixture",
    "requested_mix",
]


@dataclass(frozen=True)
class RequestedMix:
    """What a recipe asks of the groups there are, before anything is rounded or refused."""

    groups: tuple[MixedGroup, ...]  # those with samples, by id
    run_tokens: int
    phases: tuple[str, ...]
    ideals: tuple[dict[str, Fraction], ...]  # by phase: samples of each group in a block
    blocks: tuple[int, ...]  # by phase
    rates: tuple[Fraction, ...]  # by phase: blocks for each token of the run
    levels: tuple[Level, ...]  # by phase
    shares: tuple[tuple[AskedShare, ...], ...]  # by phase
    learning_rates: tuple[tuple[RatePiece, ...], ...]  # by phase

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
    """Compute the samples that shares, weights and phases ask of each group."""
    present = sorted((group for group in groups if group.samples), key=lambda group: group.id)
    _check_groups(present, seq_len)
    there = sum(group.tokens for group in present)
    run_tokens = settings.run_tokens or there
    natural = level_of(settings, PhaseSettings(share=1))
    if settings.run_tokens is None and settings.run_epochs is not None:
        weighed = (group.tokens * natural.weight(group) for group in present)
        run_tokens = max(1, floor(sum(weighed, Fraction(0)) * exact(settings.run_epochs)))
    tokens, _ = token_shares(natural, present)
    drawn = {name: share * run_tokens for name, share in tokens.items()}
    settings = with_means(settings, present, drawn)
    names: list[str] = []
    ideals: list[dict[str, Fraction]] = []
    rates: list[Fraction] = []
    levels: list[Level] = []
    asked: list[tuple[AskedShare, ...]] = []
    learning: list[tuple[RatePiece, ...]] = []
    for phase in settings.phases:
        level = level_of(settings, phase)
        tokens, shares = token_shares(level, present)
        samples = {g.id: tokens[g.id] * g.samples / g.tokens for g in present}
        total = sum(samples.values(), Fraction(0))
        if not total:
            continue
        names.append(phase.name)
        ideals.append({name: n * settings.block_samples / total for name, n in samples.items()})
        rates.append(exact(phase.share) * total / settings.block_samples)
        levels.append(level)
        asked.append(tuple(shares))
        learning.append(tuple(RatePiece(**vars(part)) for part in phase.learning_rate))
    blocks = tuple(max(1, round(run_tokens * rate)) for rate in rates)
    return RequestedMix(
        tuple(present),
        run_tokens,
        tuple(names),
        tuple(ideals),
        blocks,
        tuple(rates),
        tuple(levels),
        tuple(asked),
        tuple(learning),
    )


def _phases(
    requested: RequestedMix, limits: Mapping[str, Fraction], block_samples: int
) -> list[Phase]:
    drawn = {group.id: 0 for group in requested.groups}
    phases = []
    for place, (name, blocks) in enumerate(zip(requested.phases, requested.blocks, strict=True)):
        ideal, level = requested.ideals[place], requested.levels[place]
        counts = _whole_counts(requested.groups, ideal, blocks, drawn, limits, block_samples, level)
        rates = requested.learning_rates[place]
        phases.append(Phase(name=name, blocks=blocks, counts=counts, learning_rate=rates))
    return phases


def _check_groups(groups: Sequence[MixedGroup], seq_len: int) -> None:
    for group in groups:
        if not 0 < group.tokens <= group.samples * seq_len:
            raise RecipeError(
                f"group {group.id} claims {group.tokens} tokens in {group.samples} samples "
                f"of {seq_len}; rebuild its shards with the recipe's seq_len"
            )


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
        f"the mixture asks for {float(requested.epochs(group)):.2f} epochs of group {group.id}, "
        f"allowed are {allowed:g} by mixture.{key}{more}: {_shortage(requested, settings, group)}; "
        f"{_lower_number(requested, settings, group, seq_len)}, "
        f"{_raised_limits(requested, settings, over)}, or {shorter}"
    )


def _missing(requested: RequestedMix, settings: MixtureSettings, group: MixedGroup) -> Fraction:
    """Count the tokens that the run would draw of a group beyond its limit."""
    allowed = exact(settings.limit(group)[0]) * group.samples
    over = max(Fraction(0), requested.draws(group) - allowed)
    return over * group.tokens / group.samples


def _shortage(requested: RequestedMix, settings: MixtureSettings, group: MixedGroup) -> str:
    """Name the innermost share that the group is to fill, and the tokens that it lacks."""
    found = _share_of(requested, group)
    if found is None:
        return f"{ceil(_missing(requested, settings, group)):,} tokens are missing"
    phase, share = found
    by_id = {each.id: each for each in requested.groups}
    missing = sum(
        (_missing(requested, settings, by_id[name]) for name in share.groups), Fraction(0)
    )
    where = f" of phase {phase}" if len(requested.phases) > 1 else ""
    return (
        f"the share {'.'.join(share.key)}, {float(share.share):.4g} of the tokens{where}, lacks "
        f"{ceil(missing):,} tokens"
    )


def _share_of(requested: RequestedMix, group: MixedGroup) -> tuple[str, AskedShare] | None:
    """Return the innermost share that a group fills, in the phase that draws most of it."""
    drawn = [
        (blocks * ideal[group.id], name, shares)
        for name, blocks, ideal, shares in zip(
            requested.phases, requested.blocks, requested.ideals, requested.shares, strict=True
        )
    ]
    _, phase, shares = max(drawn, key=lambda each: each[0])
    own = [share for share in shares if group.id in share.groups]
    return (phase, max(own, key=lambda share: len(share.key))) if own else None


def _excess(requested: RequestedMix, settings: MixtureSettings, group: MixedGroup) -> Fraction:
    """Return epochs asked for each one allowed."""
    return requested.epochs(group) / exact(settings.limit(group)[0])


def _lower_number(
    requested: RequestedMix, settings: MixtureSettings, group: MixedGroup, seq_len: int
) -> str:
    """Name the one share or weight to lower, in whole percents of what it is, with which all
    limits hold."""
    for key, was in _numbers(requested, settings, group):

        def lowered(
            percent: int, key: tuple[str, ...] = key, was: Fraction = was
        ) -> tuple[float, RequestedMix] | None:
            number = float(f"{float(was * percent / 100):.4g}")
            try:
                other = settings.with_number(key, number)
            except (RecipeError, ValidationError):
                return None
            other = other.model_copy(update={"run_tokens": requested.run_tokens})
            return number, requested_mix(requested.groups, other, seq_len)

        low, high = 0, 100  # with `low` percent the group's limit holds, with `high` it does not
        while high - low > 1:
            middle = (low + high) // 2
            tried = lowered(middle)
            fits = tried is not None and _excess(tried[1], settings, group) <= 1
            low, high = (middle, high) if fits else (low, middle)
        tried = lowered(low) if low else None
        if tried and all(_excess(tried[1], settings, each) <= 1 for each in requested.groups):
            return f"lower mixture.{'.'.join(key)} to {tried[0]:g}"
    return "lower the shares or weights of several values together"


def _numbers(
    requested: RequestedMix, settings: MixtureSettings, group: MixedGroup
) -> list[tuple[tuple[str, ...], Fraction]]:
    """List the shares and weights that a group has, which may be lowered: as `change`, which keeps
    the proportions of the others."""
    found: list[tuple[tuple[str, ...], Fraction]] = []
    level: Level | None = requested.levels[0]
    while level is not None and level.axis is not None:
        value = group.axes.get(level.axis, "")
        if value in level.shares:
            found.append(((*level.key, "change", level.axis, value), level.shares[value]))
        level = level.below(value)
    own = {axis: settings.weights_of(axis).get(value) for axis, value in group.axes.items()}
    for axis in sorted(own, key=lambda each: own[each] is None):  # those that the recipe says first
        weight = own[axis]
        found.append(
            (("weights", axis, group.axes[axis]), exact(1.0 if weight is None else weight))
        )
    return found


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
    top: Level,
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
    labels = sorted({name for group in wanting for name in group.labels})
    rest = ("domain", "tier", *labels, "source")

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

    def settle(
        total: int, members: Sequence[MixedGroup], level: Level, kinds: Sequence[str]
    ) -> int:
        """Hand out what lacks to `total` in some groups, axis by axis; return what was left."""
        axis = level.axis or next(iter(kinds), None)
        if axis is not None:
            for value, wanted in _apportioned(total, members, ideal, axis).items():
                chosen = [group for group in members if group.axes.get(axis, "") == value]
                left = [kind for kind in kinds if kind != axis]
                settle(wanted, chosen, level.below(value) if level.axis else level, left)
        names = [group.id for group in members]
        return hand_out(total - sum(counts[name] for name in names), names)

    if settle(block_samples, wanting, top, rest):
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
