"""Selection rules, cutoffs and tiers as a recipe states them; checked, not evaluated, here."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

import pyarrow as pa
from pydantic import ConfigDict, Field, FiniteFloat, StringConstraints, model_validator

from corpus_assets.errors import RecipeError
from corpus_assets.step import Settings

ANY_LANGUAGE = "*"

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Domains = Annotated[tuple[str, ...], Field(min_length=1)] | None


class Bounds(Settings):
    """Both ends belong to what passes."""

    min: FiniteFloat | None = None
    max: FiniteFloat | None = None

    @model_validator(mode="after")
    def _min_is_not_above_max(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}: nothing could pass")
        return self


class Rule(Bounds):
    """What a signal must be. Exactly one kind: `min` and/or `max`, `in`, or `cutoff`."""

    model_config = ConfigDict(
        validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )

    name: Name = Field(description="becomes the drop reason")
    signal: str
    allowed: tuple[str, ...] | None = Field(
        default=None, alias="in", description="labels that pass"
    )
    cutoff: str | None = Field(default=None, description="name of a cutoff; smaller values fail")
    domains: Domains = Field(default=None, description="the rule holds in these only; default all")
    only_languages: tuple[str, ...] | None = Field(
        default=None, description="the rule holds for these only; default all"
    )
    languages: dict[str, Bounds] = Field(
        default_factory=dict,
        description="other bounds for a language; what is left out is as for all languages",
    )

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        kinds = [
            kind
            for kind, given in (
                ("min/max", self.min is not None or self.max is not None),
                ("in", self.allowed is not None),
                ("cutoff", self.cutoff is not None),
            )
            if given
        ]
        if len(kinds) != 1:
            said = " and ".join(kinds) or "none of them"
            raise ValueError(f"rule {self.name!r} needs one of min/max, in, cutoff; it has {said}")
        if self.languages and kinds != ["min/max"]:
            raise ValueError(f"rule {self.name!r}: `languages` goes with min/max only")
        self.bounds_by_language()
        return self

    def bounds_by_language(self) -> dict[str, Bounds]:
        """Each language's bounds, with what its entry leaves out taken from the rule."""
        return {
            language: Bounds(
                min=self.min if bounds.min is None else bounds.min,
                max=self.max if bounds.max is None else bounds.max,
            )
            for language, bounds in self.languages.items()
        }


class CutoffSettings(Settings):
    """A threshold given as the share of documents to drop; resolved once, then pinned."""

    signal: str
    drop_share: float = Field(ge=0, lt=1)
    by: Literal["language"] | None = None
    min_documents: int = Field(
        default=50, ge=1, description="a language with fewer uses the common value"
    )
    domains: Domains = Field(
        default=None, description="default: the domains of the rules that use it"
    )


class TierSettings(Settings):
    """Grades of kept documents, best first, by shares of the documents kept."""

    signal: str
    names: tuple[Name, ...] = Field(min_length=1)
    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...]
    default: str = Field(description="tier of documents outside `domains` or without the signal")
    domains: Domains = None
    by: Literal["language"] | None = None
    min_documents: int = Field(default=50, ge=1)

    @model_validator(mode="after")
    def _shares_fit_names(self) -> Self:
        if len(self.shares) != len(self.names):
            raise ValueError(f"{len(self.names)} names need as many shares, not {len(self.shares)}")
        if abs(sum(self.shares) - 1) > 1e-6:
            raise ValueError(f"shares add up to {sum(self.shares):g}, expected 1")
        if len(set(self.names)) != len(self.names):
            raise ValueError("tier names must differ from each other")
        if self.default not in self.names:
            raise ValueError(f"default {self.default!r} is none of {', '.join(self.names)}")
        return self


class SelectionSettings(Settings):
    """All rules in the order in which they give reasons, with their cutoffs and tiers."""

    rules: tuple[Rule, ...] = ()
    cutoffs: dict[Name, CutoffSettings] = Field(default_factory=dict)
    tiers: TierSettings | None = None
    single_tier: Name = Field(
        default="all", description="the tier of everything where `tiers` is absent"
    )

    @model_validator(mode="after")
    def _names_fit_together(self) -> Self:
        names = [rule.name for rule in self.rules]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two rules are named {name!r}; a reason must point to one")
        for rule in self.rules:
            if rule.cutoff is None:
                continue
            if rule.cutoff not in self.cutoffs:
                raise ValueError(
                    f"rule {rule.name!r}: cutoff {rule.cutoff!r} is not under `cutoffs` "
                    f"({', '.join(self.cutoffs) or 'which is empty'})"
                )
            if self.cutoffs[rule.cutoff].signal != rule.signal:
                raise ValueError(
                    f"rule {rule.name!r} is about {rule.signal!r}, its cutoff "
                    f"{rule.cutoff!r} about {self.cutoffs[rule.cutoff].signal!r}"
                )
        return self

    def domains_of_cutoff(self, name: str) -> tuple[str, ...] | None:
        """Where a cutoff is resolved: its own domains, or those of its rules; None is all."""
        cutoff = self.cutoffs[name]
        if cutoff.domains is not None:
            return cutoff.domains
        users = [rule.domains for rule in self.rules if rule.cutoff == name]
        if not users or any(domains is None for domains in users):
            return None
        return tuple(sorted({domain for domains in users for domain in domains or ()}))

    def signals(self) -> tuple[str, ...]:
        """Names of all signals that selection reads, sorted."""
        return tuple(sorted({signal for signal, _, _ in self._uses()} | {"language"}))

    def check(self, columns: Mapping[str, pa.DataType]) -> None:
        """Refuse rules about signals that the recipe's families do not compute."""
        for signal, key, kind in self._uses():
            if signal not in columns:
                raise RecipeError(
                    f"{key}: no configured signal family gives {signal!r}; "
                    f"expected one of {', '.join(columns)}"
                )
            is_label = pa.types.is_string(columns[signal])
            if is_label != (kind == "label"):
                raise RecipeError(
                    f"{key}: {signal!r} is a {'label' if is_label else 'number'}; expected a "
                    f"{kind} ({'`in` goes with labels, ' if kind == 'label' else ''}"
                    f"min, max, cutoffs and tiers go with numbers)"
                )

    def _uses(self) -> list[tuple[str, str, str]]:
        """(signal, key in the recipe, label or number) for every place that names a signal."""
        uses = []
        for k, rule in enumerate(self.rules):
            key = f"selection.rules[{k}] ({rule.name})"
            kind = "number" if rule.allowed is None else "label"
            uses.append((rule.signal, f"{key}.signal", kind))
            if rule.languages:
                uses.append(("language", f"{key}.languages", "label"))
            if rule.only_languages is not None:
                uses.append(("language", f"{key}.only_languages", "label"))
        for name, cutoff in self.cutoffs.items():
            uses.append((cutoff.signal, f"selection.cutoffs.{name}.signal", "number"))
            if cutoff.by:
                uses.append((cutoff.by, f"selection.cutoffs.{name}.by", "label"))
        if self.tiers:
            uses.append((self.tiers.signal, "selection.tiers.signal", "number"))
            if self.tiers.by:
                uses.append((self.tiers.by, "selection.tiers.by", "label"))
        return uses


def tier_cutoff(name: str) -> str:
    """Key of a tier's lower bound among the resolved cutoffs."""
    return f"tier:{name}"
