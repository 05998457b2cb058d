"""Selection rules, cutoffs and tiers as a recipe states them; checked, not evaluated, here."""

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    ConfigDict,
    Field,
    FiniteFloat,
    StringConstraints,
    model_validator,
)

from corpus_assets.core.column_types import ColumnType, ColumnTypes
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings, is_absent
from corpus_assets.core.tiers import bucket_names

ANY = "*"
SINGLE_TIER = "all"  # of everything, where a recipe has no tiers
CHARACTERS = "n_chars"  # a column beside the signals, of every recipe

By = Literal["language", "domain", "domain_language"]
End = Literal["lowest", "highest"]

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Domains = Annotated[tuple[str, ...], Field(min_length=1)] | None


class Bounds(Settings):
    """The ends of what passes; both belong to it, unless the rule is exclusive."""

    min: FiniteFloat | None = None
    max: FiniteFloat | None = None

    @model_validator(mode="after")
    def _min_is_not_above_max(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}: nothing could pass")
        return self


class LanguageTable(Settings):
    """Bounds by language in a file (CSV, JSON or YAML), read when the recipe is loaded."""

    file: str = Field(
        description="path relative to the recipe; the column `language` of a CSV has the language"
    )
    min: str = Field(default="min", description="column with the smallest values that pass")
    max: str = Field(default="max", description="column with the largest values that pass")


class Condition(Bounds):
    """Which documents a rule is about: those whose signal is so, or whose tier is one of some.

    A signal is asked as by a rule: `min` and/or `max`, `in`, or `cutoff`. A document without the
    signal does not meet the condition.
    """

    model_config = ConfigDict(
        validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )

    signal: str = Field(default="", description="the column to test, unless `tier` is given")
    allowed: tuple[str, ...] | None = Field(
        default=None, alias="in", description="labels that meet it; `51*`: all that begin with 51"
    )
    cutoff: str | None = Field(default=None, description="name of a cutoff")
    exclusive: bool = Field(default=False, description="values equal to a bound do not meet it")
    tier: Annotated[tuple[Name, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="tiers, by source or by `bounds`; tiers by shares are known only after all "
        "rules",
    )

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        asked = [
            self.tier is not None,
            self.min is not None or self.max is not None,
            self.allowed is not None,
            self.cutoff is not None,
        ]
        if sum(asked) != 1 or bool(self.signal) == asked[0]:
            raise ValueError("a condition is `tier`, or a `signal` with one of min/max, in, cutoff")
        if self.exclusive and not asked[1]:
            raise ValueError("`exclusive` goes with min/max only")
        return self

    def bounds_for(self, language: str | None) -> Bounds:
        return self


class Rule(Bounds):
    """What a signal must be. Exactly one kind: `min` and/or `max`, `in`, or `cutoff`."""

    model_config = ConfigDict(
        validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )

    name: Name = Field(description="the drop reason")
    signal: str
    allowed: tuple[str, ...] | None = Field(
        default=None, alias="in", description="labels that pass; `51*`: all that begin with 51"
    )
    cutoff: str | None = Field(default=None, description="name of a cutoff; values beyond it fail")
    domains: Domains = Field(default=None, description="apply only in these domains")
    only_languages: tuple[str, ...] | None = Field(
        default=None, description="apply only to these languages"
    )
    languages: dict[str, Bounds] = Field(
        default_factory=dict,
        description="bounds by language; a missing bound is the rule's",
    )
    languages_from: LanguageTable | None = Field(
        default=None,
        exclude=True,
        description="a file with `languages`: its path, or its path and columns",
    )
    exclusive: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="values equal to a bound fail",
    )
    where: Condition | None = Field(
        default=None,
        exclude_if=is_absent,
        description="apply only to documents that meet this, e.g. `{tier: [low]}` or `{signal: "
        "quality_score, max: 0.5}`",
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
            found = " and ".join(kinds) or "none of them"
            raise ValueError(f"rule {self.name!r} needs one of min/max, in, cutoff; it has {found}")
        for key in ("languages", "exclusive"):
            if getattr(self, key) and kinds != ["min/max"]:
                raise ValueError(f"rule {self.name!r}: `{key}` goes with min/max only")
        if self.languages_from is not None:
            raise ValueError(
                f"rule {self.name!r}: `languages_from` is read with the recipe's file; load the recipe "
                "from there"
            )
        for language in (None, *self.languages):
            ends = self.bounds_for(language)
            if self.exclusive and ends.min is not None and ends.min == ends.max:
                raise ValueError(
                    f"rule {self.name!r}: nothing is both above and below {ends.min:g}"
                )
        return self

    def bounds_for(self, language: str | None) -> Bounds:
        """Return what holds for a document: each end is that of its language, or of the rule."""
        own = self.languages.get(language or "", Bounds())
        return Bounds(
            min=self.min if own.min is None else own.min,
            max=self.max if own.max is None else own.max,
        )

    def holds_for(self, domain: str | None, language: str | None) -> bool:
        """Whether the rule is about such a document at all."""
        if self.domains is not None and domain not in self.domains:
            return False
        return self.only_languages is None or language in self.only_languages

    def looks_at_language(self) -> bool:
        return self.only_languages is not None or bool(self.languages)


Weigh = Literal["documents", "characters"]
WEIGH = "what shares are counted in; characters stand for tokens"


class CutoffSettings(Settings):
    """A threshold given as the share of documents to drop; resolved once, then pinned."""

    signal: str
    drop_share: float = Field(ge=0, lt=1)
    among: Literal["survivors", "distinct_survivors", "all"] = Field(
        default="survivors",
        description="documents that it is a share of: `survivors` pass every rule before the "
        "first that uses it, and its `where`; `distinct_survivors`: without copies",
    )
    weigh: Weigh = Field(default="documents", description=WEIGH)
    drop: End = Field(
        default="lowest",
        description="which end to drop; `highest` where low is good, such as perplexity",
    )
    by: By | None = None
    min_documents: int = Field(
        default=50, ge=1, description="a language or domain with fewer uses the common value"
    )


class TierSettings(Settings):
    """Grades of kept documents, best first, by shares of the documents kept or by fixed bounds."""

    signal: str
    buckets: int | None = Field(
        default=None,
        ge=2,
        le=100,
        exclude=True,
        description="instead of names and shares: number of equal tiers, `q20` (the best) to "
        "`q01`, for `mixture.curve`",
    )
    names: tuple[Name, ...] = Field(min_length=1)
    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...] | None = Field(
        default=None, description="one per name; computed once, then pinned"
    )
    bounds: tuple[FiniteFloat, ...] | None = Field(
        default=None,
        description="instead of shares: the worst value of each tier but the last, inclusive",
    )
    best: End = Field(
        default="highest", description="which values are good; `lowest` for perplexity"
    )
    default: Name = Field(description="tier of documents that cannot be graded")
    domains: Domains = None
    by: By | None = None
    min_documents: int = Field(default=50, ge=1)
    weigh: Weigh = Field(default="documents", description=WEIGH)

    @model_validator(mode="before")
    @classmethod
    def _equal_shares(cls, raw: Any) -> Any:
        n = raw.get("buckets") if isinstance(raw, dict) else None
        if not isinstance(n, int) or not 2 <= n <= 100:
            return raw  # none, or refused by the field
        if {"names", "shares", "bounds"} & set(raw):
            raise ValueError("`buckets` replaces names and shares; set only one of them")
        return raw | {"names": bucket_names(n), "shares": (1 / n,) * n}

    @model_validator(mode="after")
    def _bounds_fit_names(self) -> Self:
        if len(set(self.names)) != len(self.names):
            raise ValueError("tier names must differ from each other")
        if (self.shares is None) == (self.bounds is None):
            raise ValueError("tiers need one of shares, bounds")
        if self.shares is not None:
            if len(self.shares) != len(self.names):
                raise ValueError(
                    f"{len(self.names)} names need as many shares, not {len(self.shares)}"
                )
            if abs(sum(self.shares) - 1) > 1e-6:
                raise ValueError(f"shares add up to {sum(self.shares):g}, expected 1")
        if self.bounds is not None:
            if self.weigh != "documents":
                raise ValueError("`weigh` goes with shares only: bounds are values")
            if len(self.bounds) != len(self.names) - 1:
                raise ValueError(
                    f"{len(self.names)} names need {len(self.names) - 1} bounds, one for each but "
                    f"the last, not {len(self.bounds)}"
                )
            if self.by is not None:
                raise ValueError("`by` goes with shares only: bounds hold for all")
            falling = self.best == "highest"
            for one, other in pairwise(self.bounds):
                if (one <= other) if falling else (one >= other):
                    raise ValueError(
                        f"bounds must {'fall' if falling else 'rise'}, as the best tier is the "
                        f"first: {one:g} comes before {other:g}"
                    )
        return self

    @property
    def all_names(self) -> tuple[str, ...]:
        """Every tier that a document can be in."""
        return self.names if self.default in self.names else (*self.names, self.default)


class SelectionSettings(Settings):
    """All rules in the order in which they give reasons, with their cutoffs and tiers."""

    rules: tuple[Rule, ...] = ()
    cutoffs: dict[Name, CutoffSettings] = Field(default_factory=dict)
    tiers: TierSettings | None = None

    @model_validator(mode="after")
    def _names_fit_together(self) -> Self:
        names = [rule.name for rule in self.rules]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two rules are named {name!r}; a reason must point to one")
        for rule in self.rules:
            for asked in (rule, rule.where):
                if asked is None or asked.cutoff is None:
                    continue
                if asked.cutoff not in self.cutoffs:
                    raise ValueError(
                        f"rule {rule.name!r}: cutoff {asked.cutoff!r} is not under `cutoffs` "
                        f"({', '.join(self.cutoffs) or 'which is empty'})"
                    )
                if self.cutoffs[asked.cutoff].signal != asked.signal:
                    raise ValueError(
                        f"rule {rule.name!r} is about {asked.signal!r}, its cutoff "
                        f"{asked.cutoff!r} about {self.cutoffs[asked.cutoff].signal!r}"
                    )
            if rule.where is not None:
                self._check_condition(rule, rule.where)
        return self

    def _check_condition(self, rule: Rule, where: Condition) -> None:
        if where.cutoff is not None and where.cutoff == rule.cutoff:
            raise ValueError(
                f"rule {rule.name!r} asks for cutoff {rule.cutoff!r} twice: who meets `where` "
                "passes it"
            )
        if where.tier is not None and self.tiers is not None and self.tiers.bounds is None:
            raise ValueError(
                f"rule {rule.name!r}: tiers by shares are known only after all rules, so no rule "
                "can ask for one; give tiers `bounds`, or ask in `where` for the signal with a "
                "cutoff `among: all`"
            )

    @property
    def asks_for_tiers(self) -> bool:
        """Whether some rule is about certain tiers only."""
        return any(rule.where is not None and rule.where.tier for rule in self.rules)

    @property
    def asks_for_shares(self) -> bool:
        """Whether something is a share of documents: a cutoff, or tiers."""
        return bool(self.cutoffs or (self.tiers is not None and self.tiers.shares is not None))

    def domains_of_cutoff(self, name: str) -> tuple[str, ...] | None:
        """Where a cutoff is resolved: in the domains of its rules; None is all."""
        users = [rule.domains for rule in self.rules if name in _cutoffs_of(rule)]
        if not users or any(domains is None for domains in users):
            return None
        return tuple(sorted({domain for domains in users for domain in domains or ()}))

    def cutoffs_in_order(self) -> list[tuple[str, int]]:
        """Name every cutoff with the number of rules before the first that uses it, in the order
        in which they can be resolved: a rule's own after that of its condition, and one that no
        rule uses after all rules."""
        first = {name: (len(self.rules), 0) for name in self.cutoffs}
        for number, rule in reversed(list(enumerate(self.rules))):
            for place, name in enumerate(_cutoffs_of(rule)):
                first[name] = (number, place)
        return [(name, at[0]) for name, at in sorted(first.items(), key=lambda entry: entry[1])]

    def rules_before(self, columns: Collection[str]) -> tuple[Rule, ...]:
        """Return the rules without a cutoff before the first that reads one of some columns."""
        places = (i for i, rule in enumerate(self.rules) if self.reads([rule]) & set(columns))
        before = self.rules[: next(places, len(self.rules))]
        return tuple(rule for rule in before if not _cutoffs_of(rule))

    def reads(self, rules: Iterable[Rule]) -> set[str]:
        """Return the columns that decide some rules and whom they are about."""
        signals = set()
        for rule in rules:
            signals.add(rule.signal)
            if rule.where is not None:
                is_graded = rule.where.tier is not None and self.tiers is not None
                signals.add(self.tiers.signal if self.tiers and is_graded else rule.where.signal)
        return {column_of(signal) for signal in signals if signal}

    @property
    def rules_before_distinct(self) -> tuple[Rule, ...] | None:
        """Rules that say whose copies are looked for before cutoffs are resolved: those without a
        cutoff before the first that asks for distinct survivors. None where no cutoff asks."""
        asked = [
            place
            for name, place in self.cutoffs_in_order()
            if self.cutoffs[name].among == "distinct_survivors"
        ]
        if not asked:
            return None
        return tuple(rule for rule in self.rules[: asked[0]] if not _cutoffs_of(rule))

    def asks_for_cutoffs_of(self, other: "SelectionSettings") -> bool:
        """Whether cutoffs and tiers that were resolved for another selection fit this one."""
        return (self.cutoffs, self.tiers) == (other.cutoffs, other.tiers)

    def signals(self) -> tuple[str, ...]:
        """Names of all columns that selection reads, sorted."""
        weighs = [cutoff.weigh for cutoff in self.cutoffs.values()]
        weighs += [self.tiers.weigh] if self.tiers else []
        weights = {CHARACTERS} if "characters" in weighs else set()
        read = {column_of(signal) for signal, _, _ in self._uses()}
        return tuple(sorted(read | {"language"} | weights))

    def check(self, columns: ColumnTypes) -> None:
        """Refuse rules about signals that the recipe's families do not compute."""
        columns = leaf_columns(columns)
        for signal, key, kind in self._uses():
            if signal not in columns:
                raise RecipeError(
                    f"{key}: no configured signal family gives {signal!r}; "
                    f"expected one of {', '.join(columns)}"
                )
            is_label = is_label_type(columns[signal])
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
            if rule.where is not None and rule.where.signal:
                kind = "number" if rule.where.allowed is None else "label"
                uses.append((rule.where.signal, f"{key}.where.signal", kind))
            if rule.only_languages is not None:
                uses.append(("language", f"{key}.only_languages", "label"))
            elif rule.looks_at_language():
                uses.append(("language", f"{key}.languages", "label"))
        for name, cutoff in self.cutoffs.items():
            uses.append((cutoff.signal, f"selection.cutoffs.{name}.signal", "number"))
            if cutoff.by in ("language", "domain_language"):
                uses.append(("language", f"selection.cutoffs.{name}.by", "label"))
        if self.tiers:
            uses.append((self.tiers.signal, "selection.tiers.signal", "number"))
            if self.tiers.by in ("language", "domain_language"):
                uses.append(("language", "selection.tiers.by", "label"))
        return uses


def column_of(signal: str) -> str:
    """Return the column that holds a signal: `a` of the member `a.b`."""
    return signal.partition(".")[0]


def leaf_columns(columns: ColumnTypes) -> dict[str, ColumnType]:
    """Return columns with the members of structs in their place, by dotted names."""
    out: dict[str, ColumnType] = {}
    for name, kind in columns.items():
        if isinstance(kind, str):
            out[name] = kind
        else:
            out |= leaf_columns({f"{name}.{member}": each for member, each in kind.items()})
    return out


def is_label_type(kind: ColumnType) -> bool:
    """Whether values of a type are labels; others are numbers."""
    return kind == "string"


def _cutoffs_of(rule: Rule) -> list[str]:
    """Return the cutoffs that a rule uses: of its condition, then its own."""
    asked = (rule.where.cutoff if rule.where else None, rule.cutoff)
    return [name for name in asked if name is not None]


def tier_cutoff(name: str) -> str:
    """Key of a tier's worst value among the resolved cutoffs."""
    return f"tier:{name}"


def upper_cutoff(name: str) -> str:
    """Key among the resolved cutoffs of one that drops the highest values."""
    return f"max:{name}"


def cutoff_key(domain: str | None, language: str | None) -> str:
    """Name of a resolved value: of a language, of a domain, of a language in a domain, of all."""
    if domain is None:
        return ANY if language is None else language
    return f"{domain}/{ANY if language is None else language}"


class Cut(NamedTuple):
    """A resolved cutoff. Documents with just this value pass from this tie key on."""

    value: float
    tie: float = 0.0


def cutoff_for(values: Mapping[str, Cut], domain: str | None, language: str | None) -> Cut:
    """Return the closest resolved value to a document: its language in its domain, its domain, its
    language, all."""
    for key in ((domain, language), (domain, None), (None, language)):
        value = values.get(cutoff_key(*key))
        if value is not None:
            return value
    return values[ANY]
