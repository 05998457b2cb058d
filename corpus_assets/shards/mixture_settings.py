"""What a recipe says of the mix: ratios, multipliers, phases, and how often a token may be seen."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated

from pydantic import Field, model_validator

from corpus_assets.errors import RecipeError
from corpus_assets.step import Settings

Epochs = Annotated[float, Field(gt=0)]


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
    max_epochs_by_tier: dict[str, Epochs] = Field(
        default={},
        description="`max_epochs` of single tiers; the lower one counts where a "
        "domain has its own too",
    )
    max_epochs_by_group: dict[str, Epochs] = Field(
        default={}, description="`max_epochs` of `DOMAIN/TIER`, whatever the others say"
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> "MixtureSettings":
        for name, weight in self.domains.items():
            if not weight > 0:
                raise RecipeError(f"mixture.domains.{name} is {weight:g}; weights must be above 0")
        _not_negative("mixture.tiers", self.tiers)
        _not_negative("mixture.copies", {str(size): weight for size, weight in self.copies.items()})
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
            for what in ("domains", "tiers"):
                if not any({**getattr(self, what), **(getattr(phase, what) or {})}.values()):
                    raise RecipeError(
                        f"{where}.{what}: the phase has no weight at all; give one more than 0"
                    )
        total = sum(phase.share for phase in self.phases)
        if abs(total - 1) > 1e-6:
            raise RecipeError(f"shares of mixture.phases sum to {total:g}; make them sum to 1")
        _known("mixture.max_epochs_by_domain", self.max_epochs_by_domain, self.domains)
        _known("mixture.max_epochs_by_tier", self.max_epochs_by_tier, self.tiers)
        groups = {f"{domain}/{tier}": 1.0 for domain in self.domains for tier in self.tiers}
        _known("mixture.max_epochs_by_group", self.max_epochs_by_group, groups)
        return self

    def base_tier(self, tier: str) -> tuple[str, int]:
        """The tier of the selection behind a tier, and from how many copies on it is one."""
        name, dot, copies = tier.rpartition(".")
        if tier in self.tiers or not dot or not copies.isdigit():
            return tier, 1
        return name, int(copies)

    def multiplier(self, tier: str, phase: PhaseSettings) -> Fraction:
        """How often a token of a tier is seen in a phase, relative to the domain's others."""
        name, copies = self.base_tier(tier)
        weights = {**self.tiers, **(phase.tiers or {})}
        return exact(weights[name]) * exact(self.copies.get(copies, 1.0))

    def limit(self, domain: str, tier: str) -> tuple[float, str]:
        """How often tokens of a domain and tier may be seen, and the key that says so."""
        tier = self.base_tier(tier)[0]
        group = f"{domain}/{tier}"
        if group in self.max_epochs_by_group:
            return self.max_epochs_by_group[group], f"max_epochs_by_group.{group}"
        named = []
        if domain in self.max_epochs_by_domain:
            named.append((self.max_epochs_by_domain[domain], f"max_epochs_by_domain.{domain}"))
        if tier in self.max_epochs_by_tier:
            named.append((self.max_epochs_by_tier[tier], f"max_epochs_by_tier.{tier}"))
        return min(named, default=(self.max_epochs, "max_epochs"))


def exact(number: float) -> Fraction:
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
