"""The mix: domain ratios, tier multipliers and phases, turned into samples per block.

1. A phase gives each domain its share of tokens.
2. Inside a domain, groups (snapshot x tier) share by tokens x the tier's multiplier.
3. Token shares become sample shares by each group's fill (tokens per sample).
4. Samples per block are whole numbers by largest remainder, the same in every block.

All of it in exact fractions, so that ties are ties on every machine; they go by group id.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any, Protocol

from pydantic import Field, model_validator

from corpus_assets.errors import RecipeError
from corpus_assets.shards.manifest import Phase
from corpus_assets.step import Settings


class MixedGroup(Protocol):
    """What the mixture must know of a group; `manifest.Group` is one."""

    @property
    def id(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def tier(self) -> str: ...
    @property
    def samples(self) -> int: ...
    @property
    def tokens(self) -> int: ...


class PhaseSettings(Settings):
    """A stretch of the run, with its own weights where it differs."""

    name: str
    share: float
    """Part of the run's tokens; shares of all phases sum to 1."""
    domains: dict[str, float] | None = None
    """Weights that replace those of the same name; 0 leaves a domain out of this phase."""
    tiers: dict[str, float] | None = None
    """Multipliers that replace those of the same name; 0 leaves a tier out of this phase."""


class MixtureSettings(Settings):
    """How much of what, and when."""

    domains: dict[str, float] = Field(default={"web": 1.0})
    """Ratio of tokens by domain; normalised, so any positive numbers will do."""
    tiers: dict[str, float] = Field(default={"high": 2.0, "mid": 1.0, "low": 0.5})
    """How often a token of a tier is seen, relative to the other tiers of its domain."""
    phases: tuple[PhaseSettings, ...] = (PhaseSettings(name="main", share=1.0),)
    block_samples: int = Field(default=1024, ge=1)
    """Samples after which the mix is exact."""
    run_tokens: int | None = Field(default=None, ge=1)
    """Tokens of the whole run; null is as many as there are: one pass at natural weights."""
    max_epochs: float = Field(default=4.0, gt=0)
    """Most times that one group may be seen; about four repeats cost nothing (Muennighoff et al.
    2023, "Scaling Data-Constrained Language Models")."""
    max_epochs_by_domain: dict[str, float] = Field(default={})

    @model_validator(mode="after")
    def _makes_sense(self) -> "MixtureSettings":
        for name, weight in self.domains.items():
            if not weight > 0:
                raise RecipeError(f"mixture.domains.{name} is {weight:g}; weights must be above 0")
        _not_negative("mixture.tiers", self.tiers)
        if not self.domains or not self.phases:
            raise RecipeError("mixture needs at least one domain and one phase")
        if len({phase.name for phase in self.phases}) != len(self.phases):
            raise RecipeError("mixture.phases names a phase twice; give each its own name")
        for phase in self.phases:
            where = f"mixture.phases.{phase.name}"
            if not phase.share > 0:
                raise RecipeError(f"{where}.share is {phase.share:g}; it must be above 0")
            _not_negative(f"{where}.domains", phase.domains or {})
            _not_negative(f"{where}.tiers", phase.tiers or {})
            _known(f"{where}.domains", phase.domains or {}, self.domains)
            _known(f"{where}.tiers", phase.tiers or {}, self.tiers)
        total = sum(phase.share for phase in self.phases)
        if abs(total - 1) > 1e-6:
            raise RecipeError(f"shares of mixture.phases sum to {total:g}; make them sum to 1")
        _known("mixture.max_epochs_by_domain", self.max_epochs_by_domain, self.domains)
        return self


def phases_from(
    groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int, shrunk: bool = False
) -> list[Phase]:
    """Blocks of each phase and samples of each group in a block.

    A group whose share is too small for one sample in a block may get none; `mixture_table`
    shows it with 0 epochs, and a larger `block_samples` brings it in.

    A corpus that takedowns have `shrunk` is never refused: where the mix no longer fits, domains
    and phases of which nothing is left give their share to the others, and groups are repeated
    as often as the weights ask.
    """
    present = sorted((group for group in groups if group.samples), key=lambda group: group.id)
    _check_groups(present, settings, seq_len)
    try:
        return _phases(present, settings, may_shrink=False)
    except RecipeError:
        if not shrunk:
            raise
        return _phases(present, settings, may_shrink=True)


def _phases(
    present: Sequence[MixedGroup], settings: MixtureSettings, may_shrink: bool
) -> list[Phase]:
    run_tokens = settings.run_tokens or sum(group.tokens for group in present)
    names: list[str] = []
    ideals: list[dict[str, Fraction]] = []
    blocks: list[int] = []
    for phase in settings.phases:
        ideal = _ideal_counts(present, settings, phase, may_shrink)
        if not ideal:
            continue
        tokens = sum(
            (ideal[group.id] * Fraction(group.tokens, group.samples) for group in present),
            Fraction(0),
        )
        names.append(phase.name)
        ideals.append(ideal)
        blocks.append(max(1, round(run_tokens * _exact(phase.share) / tokens)))
    limits = {
        group.id: _exact(settings.max_epochs_by_domain.get(group.domain, settings.max_epochs))
        * group.samples
        for group in present
    }
    if may_shrink:
        draws = sum(blocks) * settings.block_samples
        limits = {group.id: Fraction(draws) for group in present}
    _check_epochs(present, ideals, blocks, limits)
    counts = _whole_counts(ideals, blocks, limits, settings.block_samples)
    return [
        Phase(name=name, blocks=number, counts=count)
        for name, number, count in zip(names, blocks, counts, strict=True)
    ]


def mixture_table(groups: Sequence[MixedGroup], phases: Sequence[Phase]) -> list[dict[str, Any]]:
    """One row a group, for display: what is there, what the run draws, and how often."""
    draws = {
        group.id: sum(phase.blocks * phase.counts.get(group.id, 0) for phase in phases)
        for group in groups
    }
    drawn = {
        group.id: draws[group.id] * group.tokens / group.samples if group.samples else 0.0
        for group in groups
    }
    total = sum(drawn.values())
    return [
        {
            "group": group.id,
            "samples": group.samples,
            "tokens": group.tokens,
            "drawn_samples": draws[group.id],
            "drawn_tokens": round(drawn[group.id]),
            "share": drawn[group.id] / total if total else 0.0,
            "epochs": draws[group.id] / group.samples if group.samples else 0.0,
        }
        for group in sorted(groups, key=lambda group: group.id)
    ]


def _exact(number: float) -> Fraction:
    """The decimal that a person wrote, not the nearest binary fraction."""
    return Fraction(repr(number))


def _not_negative(where: str, weights: Mapping[str, float]) -> None:
    for name, weight in weights.items():
        if not 0 <= weight < float("inf"):
            raise RecipeError(f"{where}.{name} is {weight:g}; it must be 0 or more")


def _known(where: str, names: Mapping[str, float], known: Mapping[str, float]) -> None:
    for name in names:
        if name not in known:
            raise RecipeError(f"{where} names {name!r}, which is unknown; use {sorted(known)}")


def _check_groups(groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int) -> None:
    for group in groups:
        if group.domain not in settings.domains:
            raise RecipeError(
                f"domain {group.domain!r} of group {group.id} has no weight; "
                "add it to mixture.domains or leave its source out of the recipe"
            )
        if group.tier not in settings.tiers:
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
    groups: Sequence[MixedGroup],
    settings: MixtureSettings,
    phase: PhaseSettings,
    may_shrink: bool,
) -> dict[str, Fraction]:
    """Samples of each group in a block, before rounding; none where nothing may be left.

    A group's token share is ratio x tokens x multiplier / (sum of tokens x multiplier in its
    domain); divided by its fill, the tokens cancel and samples remain.
    """
    ratios = {**settings.domains, **(phase.domains or {})}
    multipliers = {
        tier: _exact(value) for tier, value in {**settings.tiers, **(phase.tiers or {})}.items()
    }
    weights: dict[str, Fraction] = {}
    for domain in sorted(ratios):
        members = [group for group in groups if group.domain == domain]
        pool = sum((group.tokens * multipliers[group.tier] for group in members), Fraction(0))
        if ratios[domain] > 0 and not pool and not may_shrink:
            raise RecipeError(
                f"phase {phase.name} gives domain {domain!r} a weight of {ratios[domain]:g}, "
                "but none of its tiers in this phase has tokens; "
                "remove the domain from mixture.domains or give its tiers a multiplier"
            )
        for group in members:
            weight = _exact(ratios[domain]) * multipliers[group.tier] * group.samples
            weights[group.id] = weight / pool if weight else Fraction(0)
    total = sum(weights.values(), Fraction(0))
    if not total and may_shrink:
        return {}
    if not total:
        raise RecipeError(f"phase {phase.name} has no weight at all; give one domain more than 0")
    return {group: weight * settings.block_samples / total for group, weight in weights.items()}


def _check_epochs(
    groups: Sequence[MixedGroup],
    ideals: Sequence[Mapping[str, Fraction]],
    blocks: Sequence[int],
    limits: Mapping[str, Fraction],
) -> None:
    for group in groups:
        asked = sum(
            (n * ideal[group.id] for n, ideal in zip(blocks, ideals, strict=True)), Fraction(0)
        )
        if asked > limits[group.id]:
            raise RecipeError(
                f"the mixture asks for {float(asked / group.samples):.2f} epochs of group "
                f"{group.id}, allowed are {float(limits[group.id] / group.samples):g}; lower the "
                f"weight of domain {group.domain!r} or tier {group.tier!r}, lower run_tokens "
                "(or block_samples, if the corpus is smaller than a block), or raise max_epochs"
            )


def _whole_counts(
    ideals: Sequence[Mapping[str, Fraction]],
    blocks: Sequence[int],
    limits: Mapping[str, Fraction],
    block_samples: int,
) -> list[dict[str, int]]:
    """Round by largest remainder, never up where that would pass the epochs allowed."""
    counts = [{group: floor(value) for group, value in ideal.items()} for ideal in ideals]
    drawn = {
        group: sum(n * count[group] for n, count in zip(blocks, counts, strict=True))
        for group in limits
    }
    for ideal, number, count in zip(ideals, blocks, counts, strict=True):
        wanting = sorted(
            (group for group, value in ideal.items() if value),
            key=lambda group: (floor(ideal[group]) - ideal[group], group),
        )
        missing = block_samples - sum(count.values())
        while missing:
            before = missing
            for group in wanting:
                if missing and drawn[group] + number <= limits[group]:
                    count[group] += 1
                    drawn[group] += number
                    missing -= 1
            if missing == before:
                raise RecipeError(
                    "no group can take the last samples of a block within max_epochs; "
                    "raise block_samples or max_epochs, or lower run_tokens"
                )
    return [{group: n for group, n in sorted(count.items()) if n} for count in counts]
