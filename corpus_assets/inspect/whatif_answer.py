"""The answer of `corpus whatif`: sums over the cube of a comparison."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from catalog.answers import Count, Shown
from catalog.formats.canonical import ChangedKey, changed_keys
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.inspect.change import BeforeAfter, shown_change
from corpus_assets.inspect.version_columns import Ruling, VersionColumns, open_columns
from corpus_assets.inspect.version_documents import read_documents
from corpus_assets.inspect.whatif import (
    EXCERPT,
    KEPT,
    UNKNOWN,
    Cell,
    Comparison,
    RuleEffect,
    Sampled,
    compare,
)
from corpus_assets.recipe import find_recipe, load_with_added
from corpus_assets.select import SelectionSettings, plain_cutoffs, requirement_of


@dataclass(frozen=True)
class Amount:
    """A number of documents, and their characters."""

    documents: int
    chars: int


@dataclass(frozen=True)
class Selected:
    """What selection keeps."""

    documents: BeforeAfter[int]
    chars: BeforeAfter[int]


@dataclass(frozen=True)
class AtMost:
    """A figure of the version, and what it can become."""

    before: int
    after_at_most: int

    def __str__(self) -> str:
        return shown_change(self.before, self.after_at_most)


@dataclass(frozen=True)
class Expected(AtMost):
    """The same with what is to be expected."""

    after_expected: int


@dataclass(frozen=True)
class Promoted:
    """Copies that replace documents that go."""

    documents: int
    tokens: int


@dataclass(frozen=True)
class VersionEffect:
    """What becomes of the version."""

    documents: AtMost
    tokens: Expected
    promoted_copies: Promoted
    chars_per_token: float | None


@dataclass(frozen=True)
class GroupEffect:
    """What becomes of a language, domain, snapshot or tier."""

    name: str
    documents: Annotated[BeforeAfter[int], Shown(form=str)]
    chars: BeforeAfter[int]
    tokens: Annotated[AtMost | None, Shown("tokens, at most", str)]  # where there is a version


@dataclass(frozen=True)
class ReasonChange:
    """Documents by their first failing rule."""

    reason: Annotated[str, Shown("first failing rule")]
    before: int
    after: int

    @property
    def documents(self) -> str:
        return shown_change(self.before, self.after)


@dataclass(frozen=True)
class Flow:
    """Documents whose reason changes."""

    from_: Annotated[str, Shown(key="from")]
    to: str
    documents: Count
    chars: Annotated[Count, Shown("characters")]
    tokens: Annotated[int | None, Shown(form="{:,}".format)]  # where there is a version


@dataclass(frozen=True)
class RuleDrops:
    """What a rule removes by itself, as the first of several, and as the only one."""

    alone: Amount
    first: Amount
    only: Amount


@dataclass(frozen=True)
class RuleChange:
    """A rule on both sides; None where a side does not have it."""

    rule: str
    before: RuleDrops | None
    after: RuleDrops | None

    @property
    def fails(self) -> str:
        return self._documents(lambda side: side.alone)

    @property
    def is_first(self) -> Annotated[str, Shown("is first to fail")]:
        return self._documents(lambda side: side.first)

    @property
    def is_only(self) -> Annotated[str, Shown("alone fails")]:
        return self._documents(lambda side: side.only)

    @property
    def drops_any(self) -> bool:
        return any(side.alone.documents for side in (self.before, self.after) if side)

    def _documents(self, of: Callable[[RuleDrops], Amount]) -> str:
        sides = [of(side).documents if side else 0 for side in (self.before, self.after)]
        return shown_change(*sides)


@dataclass(frozen=True)
class Example:
    """A document whose outcome would change."""

    doc_id: str
    snapshot: str
    url: str | None
    language: str
    chars: int
    rule: str
    signal: str
    value: float | str | None
    asks: str
    suppressed: bool
    text: str | None


@dataclass(frozen=True)
class WhatIf:
    """Documents, characters and tokens before and after, by everything they can be grouped by."""

    of: str
    documents: int
    snapshots: int
    changes: list[ChangedKey]
    cutoffs: list[ChangedKey]
    selection: Selected
    version: VersionEffect | None
    by_language: list[GroupEffect]
    by_domain: list[GroupEffect]
    by_snapshot: list[GroupEffect]
    by_tier: list[GroupEffect]
    reasons: list[ReasonChange]
    flows: list[Flow]
    rules: list[RuleChange]
    would_go: list[Example]
    would_stay: list[Example]

    @property
    def totals(self) -> Iterator[tuple[str, BeforeAfter[int] | AtMost]]:
        """Yield what changes in all; of a version, what it can become at most."""
        yield "documents that selection keeps", self.selection.documents
        yield "characters in them", self.selection.chars
        if self.version is not None:
            tokens = self.version.tokens
            yield "documents in the version, at most", self.version.documents
            yield "tokens, at most", tokens
            yield "tokens, to expect", BeforeAfter(tokens.before, tokens.after_expected)


def what_if(
    home: Home,
    recipe: str,
    overrides: Mapping[str, Any],
    fallbacks: Mapping[str, Any],
    version: str | None = None,
    pin_cutoffs: bool | None = None,
    sample: int = 10,
    with_text: bool = False,
) -> WhatIf:
    """Compare a recipe with overrides to a version: `version`, or the newest of its name. Without
    `pin_cutoffs`, cutoffs are kept where a build would keep them. `fallbacks` are the overrides
    under which a recipe without a version is looked at itself."""
    changed, _ = load_with_added(find_recipe(recipe), dict(overrides), open_store(home.store_url))
    columns = open_columns(home, recipe, changed.name, version, fallbacks)
    if pin_cutoffs is None:
        pin_cutoffs = changed.selection.asks_for_cutoffs_of(columns.ruling.settings)
    cutoffs = columns.ruling.cutoffs if pin_cutoffs else columns.resolve(changed)
    return whatif_answer(compare(columns, Ruling(changed.selection, cutoffs), sample), with_text)


def whatif_answer(found: Comparison, with_text: bool = False) -> WhatIf:
    """Sum a comparison up, and describe the sampled documents, with their text if asked for."""
    estimate = _Estimate(found)
    before, after = found.columns.ruling, found.after
    return WhatIf(
        of=found.columns.title,
        documents=found.columns.documents,
        snapshots=len({part.snapshot for part in found.columns.parts}),
        changes=changed_keys(_by_name(before.settings), _by_name(after.settings)),
        cutoffs=changed_keys(plain_cutoffs(before.cutoffs), plain_cutoffs(after.cutoffs)),
        selection=_selected(found.cells),
        version=estimate.version(found.cells, found.promoted_copies),
        by_language=_grouped(found, estimate, lambda cell, _: cell.language),
        by_domain=_grouped(found, estimate, lambda cell, _: cell.domain),
        by_snapshot=_grouped(found, estimate, lambda cell, _: cell.snapshot),
        by_tier=_grouped(
            found, estimate, lambda cell, side: cell.tier_after if side else cell.tier_before
        ),
        reasons=_reasons(found),
        flows=_flows(found, estimate),
        rules=_rules(found),
        would_go=[_example(found.columns, after, one, with_text) for one in found.would_go],
        would_stay=[_example(found.columns, before, one, with_text) for one in found.would_stay],
    )


def _by_name(settings: SelectionSettings) -> dict[str, Any]:
    """Key rules by name: a rule that moved is still the same rule."""
    body = settings.identity()
    body["rules"] = {rule["name"]: rule | {"place": k} for k, rule in enumerate(body["rules"])}
    return {"selection": body}


class _Estimate:
    """Tokens of documents that are not in the version, from those that are."""

    def __init__(self, found: Comparison) -> None:
        self.known = found.has_tokens
        self._chars: dict[tuple[str | None, str | None], float] = defaultdict(float)
        self._tokens: dict[tuple[str | None, str | None], float] = defaultdict(float)
        self._kept: dict[str | None, float] = defaultdict(float)
        self._in: dict[str | None, float] = defaultdict(float)
        for cell in found.cells:
            for domain in (cell.domain, None):
                for language in (cell.language, None):
                    self._chars[domain, language] += cell.version_chars
                    self._tokens[domain, language] += cell.tokens
                if cell.reason_before == KEPT:
                    self._kept[domain] += cell.chars
                    self._in[domain] += cell.version_chars

    def tokens(self, cell: Cell) -> float:
        """Of a cell's characters, if all of them came in."""
        for key in ((cell.domain, cell.language), (cell.domain, None), (None, None)):
            if self._chars.get(key):
                return cell.chars * self._tokens[key] / self._chars[key]
        return 0.0

    def passing(self, cell: Cell) -> float:
        """Share of a domain's selected characters that later stages left in."""
        kept = self._kept.get(cell.domain) or self._kept.get(None)
        inside = self._in.get(cell.domain, self._in.get(None, 0.0))
        return min(1.0, inside / kept) if kept else 1.0

    def after(self, cell: Cell) -> tuple[float, float, float]:
        """Documents and tokens at most, and tokens to expect, in the version after the change."""
        if cell.reason_after != KEPT:
            return 0, 0, 0
        if cell.reason_before == KEPT:
            return cell.in_version, cell.tokens, cell.tokens
        tokens = self.tokens(cell)
        return cell.documents, tokens, tokens * self.passing(cell)

    def version(self, cells: list[Cell], promoted_copies: tuple[int, int]) -> VersionEffect | None:
        """Estimate the version before and after; None where there is none."""
        if not self.known:
            return None
        sums = [sum(values) for values in zip(*(self.after(cell) for cell in cells), strict=True)]
        at_most, tokens, expected = sums or [0, 0, 0]
        chars, known_tokens = self._chars[None, None], self._tokens[None, None]
        more_documents, more_tokens = promoted_copies
        return VersionEffect(
            AtMost(sum(cell.in_version for cell in cells), int(at_most) + more_documents),
            Expected(
                sum(cell.tokens for cell in cells),
                round(tokens) + more_tokens,
                round(expected) + more_tokens,
            ),
            Promoted(more_documents, more_tokens),
            round(chars / known_tokens, 3) if known_tokens else None,
        )


def _selected(cells: list[Cell]) -> Selected:
    before = [cell for cell in cells if cell.reason_before == KEPT]
    after = [cell for cell in cells if cell.reason_after == KEPT]
    return Selected(
        BeforeAfter(sum(cell.documents for cell in before), sum(cell.documents for cell in after)),
        BeforeAfter(sum(cell.chars for cell in before), sum(cell.chars for cell in after)),
    )


def _grouped(
    found: Comparison, estimate: _Estimate, key: Callable[[Cell, int], str | None]
) -> list[GroupEffect]:
    """Kept documents and tokens by a key that may differ before and after, most first."""
    groups: dict[str, list[float]] = defaultdict(lambda: [0.0] * 6)
    for cell in found.cells:
        for side, reason in enumerate((cell.reason_before, cell.reason_after)):
            name = key(cell, side)
            if reason != KEPT or name is None:
                continue
            tokens = estimate.after(cell)[1] if side else cell.tokens
            for place, value in enumerate((cell.documents, cell.chars, tokens)):
                groups[name][2 * place + side] += value
    return [
        GroupEffect(
            name,
            BeforeAfter(int(v[0]), int(v[1])),
            BeforeAfter(int(v[2]), int(v[3])),
            AtMost(int(v[4]), round(v[5])) if found.has_tokens else None,
        )
        for name, v in sorted(groups.items(), key=lambda item: (-max(item[1][:2]), item[0]))
    ]


def _reasons(found: Comparison) -> list[ReasonChange]:
    """Documents by first failing rule, in the order of the rules after the change."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for cell in found.cells:
        counts[cell.reason_before][0] += cell.documents
        counts[cell.reason_after][1] += cell.documents
    names = dict.fromkeys([KEPT, *found.rules_after, *found.rules_before])
    return [ReasonChange(name, *counts[name]) for name in names if name in counts]


def _flows(found: Comparison, estimate: _Estimate) -> list[Flow]:
    """Documents whose reason changes: from which to which, most first."""
    flows: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * 3)
    for cell in found.cells:
        if cell.reason_before != cell.reason_after:
            leaves = cell.reason_before == KEPT
            tokens = cell.tokens if leaves else estimate.after(cell)[1]
            for place, value in enumerate((cell.documents, cell.chars, tokens)):
                flows[cell.reason_before, cell.reason_after][place] += value
    return [
        Flow(old, new, int(v[0]), int(v[1]), round(v[2]) if found.has_tokens else None)
        for (old, new), v in sorted(flows.items(), key=lambda item: (-item[1][0], item[0]))
    ]


def _rules(found: Comparison) -> list[RuleChange]:
    """List what each rule removes alone, first, and as the only one, before and after."""
    return [
        RuleChange(
            name, _removed(found.rules_before.get(name)), _removed(found.rules_after.get(name))
        )
        for name in dict.fromkeys([*found.rules_after, *found.rules_before])
    ]


def _removed(effect: RuleEffect | None) -> RuleDrops | None:
    if effect is None:
        return None
    return RuleDrops(Amount(*effect.fails), Amount(*effect.first), Amount(*effect.only))


def _example(columns: VersionColumns, ruling: Ruling, one: Sampled, with_text: bool) -> Example:
    (page,) = read_documents(columns, one.part, [one.row], with_text)
    rule = next(rule for rule in ruling.settings.rules if rule.name == one.rule)
    language = None if one.language == UNKNOWN else one.language
    return Example(
        doc_id=page.doc_id,
        snapshot=one.part.snapshot,
        url=page.url,
        language=one.language,
        chars=one.n_chars,
        rule=one.rule,
        signal=one.signal,
        value=one.value,
        asks=str(requirement_of(rule, ruling.cutoffs, one.part.domain, language)),
        suppressed=page.suppressed,
        text=page.text[:EXCERPT] if page.text is not None else None,
    )
