"""What a rule asks of one document, with overrides and cutoffs resolved: for people to read.

Whether a document meets it is for `select.columns` to say, which compares in the column's
own precision.
"""

from dataclasses import dataclass, replace

from corpus_assets.select.columns import ResolvedCutoffs, resolved, rule_cutoff
from corpus_assets.select.rules import Condition, Rule, SelectionSettings, cutoff_for, tier_cutoff


@dataclass(frozen=True)
class Requirement:
    """Both ends belong to what passes, unless they are exclusive."""

    min: float | None = None
    max: float | None = None
    allowed: tuple[str, ...] | None = None
    cutoff: str | None = None  # the name of the cutoff that an end was resolved for
    tie: float = 0.0  # the least tie key with which a value at the cutoff passes
    exclusive: bool = False
    where: str = ""  # whom it is asked of, other than all of a domain and language

    def __str__(self) -> str:
        return self._asked() + (f", where {self.where}" if self.where else "")

    def _asked(self) -> str:
        if self.allowed is not None:
            return f"one of {', '.join(self.allowed)}"
        least, most = ("above", "below") if self.exclusive else ("at least", "at most")
        ends = [
            f"{word} {value:.6g}"
            for word, value in ((least, self.min), (most, self.max))
            if value is not None
        ]
        lot = f"; of ties {1 - self.tie:.0%} at random" if self.tie else ""
        return ", ".join(ends) + (f" (cutoff {self.cutoff}{lot})" if self.cutoff else "")


def requirement_of(
    rule: Rule, cutoffs: ResolvedCutoffs, domain: str | None, language: str | None
) -> Requirement | None:
    """None where the rule is not about documents of such a domain and language; whether it is about
    a single one, its `where` says, and `Columns.concerns`."""
    if not rule.holds_for(domain, language):
        return None
    where = ""
    if rule.where is not None and rule.where.tier is not None:
        where = f"tier is one of {', '.join(rule.where.tier)}"
    elif rule.where is not None:
        where = f"{rule.where.signal} is {_asked(rule.where, cutoffs, domain, language)}"
    return replace(_asked(rule, cutoffs, domain, language), where=where)


def _asked(
    rule: Rule | Condition, cutoffs: ResolvedCutoffs, domain: str | None, language: str | None
) -> Requirement:
    if rule.allowed is not None:
        return Requirement(allowed=rule.allowed)
    if rule.cutoff is not None:
        values, is_upper = rule_cutoff(rule.cutoff, cutoffs)
        bound, tie = cutoff_for(values, domain, language)
        if is_upper:
            return Requirement(max=bound, cutoff=rule.cutoff, tie=tie)
        return Requirement(min=bound, cutoff=rule.cutoff, tie=tie)
    bounds = rule.bounds_for(language)
    return Requirement(min=bounds.min, max=bounds.max, exclusive=rule.exclusive)


def tier_bounds(
    settings: SelectionSettings, cutoffs: ResolvedCutoffs, domain: str, language: str | None
) -> dict[str, tuple[float | None, float | None]]:
    """The smallest and the largest value of each tier; nothing where tiers do not grade the domain."""
    tiers = settings.tiers
    if tiers is None or (tiers.domains is not None and domain not in tiers.domains):
        return {}
    bounds = [
        cutoff_for(resolved(tier_cutoff(name), cutoffs), domain, language).value
        for name in tiers.names[:-1]
    ]
    is_upper = tiers.best == "lowest"
    return {
        name: (None, bound) if is_upper else (bound, None)
        for name, bound in zip(tiers.names, [*bounds, None], strict=True)
    }
