"""The answer of `corpus whatif`: sums over the cube of a comparison, as plain values."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from catalog.formats.canonical import changed_keys
from corpus_assets.inspect.version_columns import Ruling, VersionColumns
from corpus_assets.inspect.version_documents import read_documents
from corpus_assets.inspect.whatif import (
    EXCERPT,
    KEPT,
    UNKNOWN,
    Cell,
    Comparison,
    RuleEffect,
    Sampled,
)
from corpus_assets.select import SelectionSettings, plain_cutoffs, requirement_of

Answer = dict[str, Any]


def answer_of(found: Comparison) -> Answer:
    """Documents, characters and tokens before and after, by everything they can be grouped by."""
    estimate = _Estimate(found)
    before, after = found.columns.ruling, found.after
    return {
        "of": found.columns.title,
        "documents": found.columns.documents,
        "snapshots": len({part.snapshot for part in found.columns.parts}),
        "changes": changed_keys(_by_name(before.settings), _by_name(after.settings)),
        "cutoffs": changed_keys(plain_cutoffs(before.cutoffs), plain_cutoffs(after.cutoffs)),
        "selection": _selection(found.cells),
        "version": estimate.version(found.cells, found.promoted_copies),
        "by_language": _grouped(found, estimate, lambda cell, _: cell.language),
        "by_domain": _grouped(found, estimate, lambda cell, _: cell.domain),
        "by_snapshot": _grouped(found, estimate, lambda cell, _: cell.snapshot),
        "by_tier": _grouped(
            found, estimate, lambda cell, side: cell.tier_after if side else cell.tier_before
        ),
        "reasons": _reasons(found),
        "flows": _flows(found, estimate),
        "rules": _rules(found),
    }


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

    def version(self, cells: list[Cell], promoted_copies: tuple[int, int]) -> Answer | None:
        """Estimate the version before and after; None where there is none."""
        if not self.known:
            return None
        sums = [sum(values) for values in zip(*(self.after(cell) for cell in cells), strict=True)]
        at_most, tokens, expected = sums or [0, 0, 0]
        return {
            "documents": {
                "before": sum(cell.in_version for cell in cells),
                "after_at_most": int(at_most) + promoted_copies[0],
            },
            "tokens": {
                "before": sum(cell.tokens for cell in cells),
                "after_at_most": round(tokens) + promoted_copies[1],
                "after_expected": round(expected) + promoted_copies[1],
            },
            "promoted_copies": {"documents": promoted_copies[0], "tokens": promoted_copies[1]},
            "chars_per_token": round(self._chars[None, None] / self._tokens[None, None], 3)
            if self._tokens[None, None]
            else None,
        }


def _selection(cells: list[Cell]) -> Answer:
    """Documents and characters that selection keeps."""
    kept = {
        "before": [cell for cell in cells if cell.reason_before == KEPT],
        "after": [cell for cell in cells if cell.reason_after == KEPT],
    }
    return {
        "documents": {side: sum(cell.documents for cell in some) for side, some in kept.items()},
        "chars": {side: sum(cell.chars for cell in some) for side, some in kept.items()},
    }


def _grouped(
    found: Comparison, estimate: _Estimate, key: Callable[[Cell, int], str | None]
) -> list[Answer]:
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
        {
            "name": name,
            "documents": {"before": int(v[0]), "after": int(v[1])},
            "chars": {"before": int(v[2]), "after": int(v[3])},
        }
        | (
            {"tokens": {"before": int(v[4]), "after_at_most": round(v[5])}}
            if found.has_tokens
            else {}
        )
        for name, v in sorted(groups.items(), key=lambda item: (-max(item[1][:2]), item[0]))
    ]


def _reasons(found: Comparison) -> list[Answer]:
    """Documents by first failing rule, in the order of the rules after the change."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for cell in found.cells:
        counts[cell.reason_before][0] += cell.documents
        counts[cell.reason_after][1] += cell.documents
    names = [KEPT, *found.rules_after, *found.rules_before]
    return [
        {"reason": name, "before": counts[name][0], "after": counts[name][1]}
        for name in dict.fromkeys(names)
        if name in counts
    ]


def _flows(found: Comparison, estimate: _Estimate) -> list[Answer]:
    """Documents whose reason changes: from which to which, most first."""
    flows: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * 3)
    for cell in found.cells:
        if cell.reason_before != cell.reason_after:
            leaves = cell.reason_before == KEPT
            tokens = cell.tokens if leaves else estimate.after(cell)[1]
            for place, value in enumerate((cell.documents, cell.chars, tokens)):
                flows[cell.reason_before, cell.reason_after][place] += value
    return [
        {"from": old, "to": new, "documents": int(v[0]), "chars": int(v[1])}
        | ({"tokens": round(v[2])} if found.has_tokens else {})
        for (old, new), v in sorted(flows.items(), key=lambda item: (-item[1][0], item[0]))
    ]


def _rules(found: Comparison) -> list[Answer]:
    """List what each rule removes alone, first, and as the only one, before and after."""
    rows = []
    for name in dict.fromkeys([*found.rules_after, *found.rules_before]):
        row: Answer = {"rule": name}
        for side, effects in (("before", found.rules_before), ("after", found.rules_after)):
            effect = effects.get(name)
            row[side] = None if effect is None else _effect(effect)
        rows.append(row)
    return rows


def _effect(effect: RuleEffect) -> Answer:
    return {
        kind: {"documents": counts[0], "chars": counts[1]}
        for kind, counts in (
            ("alone", effect.fails),
            ("first", effect.first),
            ("only", effect.only),
        )
    }


def samples_of(found: Comparison, with_text: bool) -> Answer:
    """Describe the sampled documents that would go or stay, with their text if asked for."""
    columns = found.columns
    return {
        "would_go": [_described(columns, found.after, one, with_text) for one in found.would_go],
        "would_stay": [
            _described(columns, columns.ruling, one, with_text) for one in found.would_stay
        ],
    }


def _described(columns: VersionColumns, ruling: Ruling, one: Sampled, with_text: bool) -> Answer:
    (page,) = read_documents(columns, one.part, [one.row], with_text)
    rule = next(rule for rule in ruling.settings.rules if rule.name == one.rule)
    language = None if one.language == UNKNOWN else one.language
    answer: Answer = {
        "doc_id": page.doc_id,
        "snapshot": one.part.snapshot,
        "url": page.url,
        "language": one.language,
        "chars": one.n_chars,
        "rule": one.rule,
        "signal": one.signal,
        "value": one.value,
        "asks": str(requirement_of(rule, ruling.cutoffs, one.part.domain, language)),
        "suppressed": page.suppressed,
    }
    if with_text:
        answer["text"] = page.text[:EXCERPT] if page.text is not None else None
    return answer
