"""Compute what other rules would keep and drop, from columns: no text is read, no token made.

1. Both rulings are evaluated over the stored signals, a million documents at a time.
2. Documents are counted in a *cube*: by snapshot, domain, language, and by reason and tier
   before and after. All tables of the answer are sums over it.
3. Tokens are those of the version's shards. Documents that would come in have none yet: theirs
   are estimated from characters, by the characters per token of their domain and language.

Selection is exact. Stages downstream (duplicates, benchmarks, cleaning) are not decided again:
documents that would come in count as if they passed them, so gains are upper bounds. A document
that would go may leave a copy that takes its place; those are counted (`stand_ins`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.formats.canonical import changed_keys
from corpus_assets.core.decisions import id_keys
from corpus_assets.core.identity import canonical_json
from corpus_assets.inspect.version_columns import (
    Keys,
    PartFiles,
    Ruling,
    VersionColumns,
    draw_order,
    read_documents,
)
from corpus_assets.select.columns import Columns, Mask, first_failures, rule_cutoff
from corpus_assets.select.requirement import requirement
from corpus_assets.select.rules import Rule, SelectionSettings
from corpus_assets.select.selection import plain_cutoffs

KEPT = "kept"
UNKNOWN = "unknown"
EXCERPT = 300  # characters of a document that the answer shows


@dataclass(frozen=True)
class Cell:
    """Documents that are alike in all that the answer is grouped by."""

    snapshot: str
    domain: str
    language: str
    reason_before: str
    reason_after: str
    tier_before: str | None
    tier_after: str | None
    documents: int
    chars: int
    in_version: int
    version_chars: int
    tokens: int


@dataclass
class RuleEffect:
    """What one rule removes, under one ruling: (documents, characters) each."""

    fails: list[int] = field(default_factory=lambda: [0, 0])
    first: list[int] = field(default_factory=lambda: [0, 0])
    only: list[int] = field(default_factory=lambda: [0, 0])


@dataclass(frozen=True)
class Sampled:
    """A document whose fate would change: where it is, and the rule that decides it."""

    order: int
    part: PartFiles
    row: int
    n_chars: int
    language: str
    rule: str
    signal: str
    value: float | str | None


@dataclass
class Comparison:
    """Everything the answer is made of."""

    columns: VersionColumns
    after: Ruling
    cells: list[Cell]
    rules_before: dict[str, RuleEffect]
    rules_after: dict[str, RuleEffect]
    would_go: list[Sampled]
    would_stay: list[Sampled]
    stand_ins: tuple[int, int] = (0, 0)  # documents, tokens

    @property
    def has_tokens(self) -> bool:
        return bool(self.columns.spans)


def compare(columns: VersionColumns, after: Ruling, sample: int = 10) -> Comparison:
    """Compare another ruling with the one in force."""
    before = columns.ruling
    needed = dict.fromkeys([*before.settings.signals(), *after.settings.signals()])
    known = columns.recipe.signals.columns()
    names = [name for name in needed if name in known or name != "language"]
    names = list(dict.fromkeys(["n_chars", *names]))
    counted: dict[tuple[str | None, ...], npt.NDArray[np.int64]] = defaultdict(
        lambda: np.zeros(5, np.int64)
    )
    effects = [
        {rule.name: RuleEffect() for rule in ruling.settings.rules} for ruling in (before, after)
    ]
    samples: tuple[list[Sampled], list[Sampled]] = ([], [])
    known_ids = ids_and_tokens(columns)
    stand_ins = StandIns(columns)
    for parts, table in columns.batches(names):
        ids = [known_ids[part.snapshot, part.part] for part in parts]
        keys = np.concatenate([one.keys for one in ids])
        in_version = np.concatenate([one.tokens for one in ids])
        batch = _Batch(parts, table, keys, before, after)
        batch.count(counted, in_version)
        for side, effect in enumerate(effects):
            batch.add_effects(effect, side)
        for going, some in enumerate(samples):
            some += batch.sample(bool(going), sample, columns.recipe.seed)
            some.sort(key=lambda one: (one.order, one.part.snapshot, one.part.part, one.row))
            del some[sample:]
        stand_ins.add(parts, keys, batch.kept(1), in_version * batch.kept(0))
    return Comparison(
        columns,
        after,
        [
            Cell(*key, *(int(n) for n in counts))  # type: ignore[arg-type]
            for key, counts in sorted(counted.items(), key=lambda item: str(item[0]))
        ],
        effects[0],
        effects[1],
        samples[0],
        samples[1],
        stand_ins.found(),
    )


class _Batch:
    """Some parts under both rulings; side 0 is before, side 1 after."""

    def __init__(
        self,
        parts: list[PartFiles],
        table: pa.Table,
        keys: Keys,
        before: Ruling,
        after: Ruling,
    ) -> None:
        self.parts = parts
        self.columns = Columns(table)
        self.keys = keys
        self._counted: dict[int, tuple[int, int]] = {}
        self.chars = self.columns.numbers("n_chars").astype(np.int64)
        self.rulings = (before, after)
        done: dict[bytes, Mask] = {}
        self.failed = tuple(
            [self._failed(rule, ruling, done) for rule in ruling.settings.rules]
            for ruling in self.rulings
        )
        self.first = tuple(
            first_failures(np.array(failed).reshape(len(failed), self.columns.n))
            for failed in self.failed
        )
        ends = np.cumsum([part.rows for part in parts])
        self.part_of = np.repeat(np.arange(len(parts)), [part.rows for part in parts])
        self._starts = np.append(0, ends[:-1])

    def _failed(self, rule: Rule, ruling: Ruling, done: dict[bytes, Mask]) -> Mask:
        """Evaluate a rule; one that both rulings have is evaluated once."""
        resolved = [
            rule_cutoff(asked.cutoff, ruling.cutoffs)
            for asked in (rule, rule.where)
            if asked is not None and asked.cutoff is not None
        ]
        tiers = ruling.settings.tiers if rule.where and rule.where.tier else None
        key = canonical_json([rule.identity() | {"name": ""}, resolved, tiers and tiers.identity()])
        if key not in done:
            done[key] = self.columns.fails(rule, ruling.settings, ruling.cutoffs)
        return done[key]

    def kept(self, side: int) -> Mask:
        return self.first[side] < 0

    def count(
        self,
        counted: dict[tuple[str | None, ...], npt.NDArray[np.int64]],
        tokens: npt.NDArray[np.int64],
    ) -> None:
        """Add all rows to the cube."""
        snapshots = list(dict.fromkeys(part.snapshot for part in self.parts))
        of_part = np.array([snapshots.index(part.snapshot) for part in self.parts])
        domains, known_domains = self.columns.labels("domain")
        languages, known = self.columns.labels("language")
        axes: list[tuple[npt.NDArray[np.integer], list[str | None]]] = [  # type: ignore[type-arg]
            (of_part[self.part_of], list(snapshots)),
            (domains, known_domains),
            (languages, [language or UNKNOWN for language in known]),
        ]
        for side, ruling in enumerate(self.rulings):
            reasons = [KEPT, *(rule.name for rule in ruling.settings.rules)]
            axes.append((self.first[side].astype(np.int64) + 1, list(reasons)))
        for side, ruling in enumerate(self.rulings):
            tier, names = self.columns.tiers(ruling.settings, ruling.cutoffs)
            tiers = np.where(self.kept(side), tier.astype(np.int64) + 1, 0)
            axes.append((tiers, [None, *names]))
        code = np.zeros(self.columns.n, np.int64)
        for codes, labels in axes:
            code = code * len(labels) + codes
        # A document that its own version's rules drop cannot be in it: one id, two captures.
        there = (tokens > 0) & self.kept(0)
        sums = pa.table(
            {
                "code": code,
                "documents": np.ones(self.columns.n, np.int64),
                "chars": self.chars,
                "in_version": there.astype(np.int64),
                "version_chars": self.chars * there,
                "tokens": tokens * there,
            }
        )
        names_of = ("documents", "chars", "in_version", "version_chars", "tokens")
        grouped = sums.group_by("code").aggregate([(name, "sum") for name in names_of])
        values = np.stack([grouped[f"{name}_sum"].to_numpy() for name in names_of], axis=1)
        for cell, numbers in zip(grouped["code"].to_pylist(), values, strict=True):
            labels_of: list[str | None] = []
            for _, labels in reversed(axes):
                cell, place = divmod(cell, len(labels))
                labels_of.append(labels[place])
            counted[tuple(reversed(labels_of))] += numbers

    def add_effects(self, effects: dict[str, RuleEffect], side: int) -> None:
        """One pass gives what each rule is the first to fail, and what it alone fails."""
        failed = self.failed[side]
        times = np.zeros(self.columns.n, np.int16)
        for mask in failed:
            times += mask
        first = self.first[side].astype(np.int64) + 1
        alone = np.where(times == 1, first, 0)
        for k, rule in enumerate(self.rulings[side].settings.rules):
            documents, chars = self._size(failed[k])
            effects[rule.name].fails[0] += documents
            effects[rule.name].fails[1] += chars
        for code, into in ((first, "first"), (alone, "only")):
            # Sums of characters are whole numbers below 2**53: exact in float64.
            documents_by = np.bincount(code, minlength=len(failed) + 1)
            chars_by = np.bincount(code, weights=self.chars, minlength=len(failed) + 1)
            for k, rule in enumerate(self.rulings[side].settings.rules):
                counted = getattr(effects[rule.name], into)
                counted[0] += int(documents_by[k + 1])
                counted[1] += int(chars_by[k + 1])

    def _size(self, mask: Mask) -> tuple[int, int]:
        """Documents and characters; a rule that both sides have is counted once."""
        if id(mask) not in self._counted:
            size = (int(np.count_nonzero(mask)), int(self.chars[mask].sum()))
            self._counted[id(mask)] = size
        return self._counted[id(mask)]

    def sample(self, staying: bool, count: int, seed: int) -> Iterable[Sampled]:
        """Yield the first rows, in keyed order, that would go, or would stay, after the change."""
        leaves, comes = (1, 0) if not staying else (0, 1)
        rows = np.flatnonzero(self.kept(comes) & ~self.kept(leaves))
        order = draw_order(self.keys[rows], seed)
        best = np.argpartition(order, count)[:count] if rows.size > count else np.arange(rows.size)
        _, languages = self.columns.labels("language")
        for i in best.tolist():
            row = int(rows[i])
            part = int(self.part_of[row])
            rule = self.rulings[leaves].settings.rules[int(self.first[leaves][row])]
            language = languages[int(self.columns.labels("language")[0][row])]
            yield Sampled(
                int(order[i]),
                self.parts[part],
                row - int(self._starts[part]),
                int(self.chars[row]),
                language or UNKNOWN,
                rule.name,
                rule.signal,
                self.columns.column(rule.signal)[row].as_py(),
            )


# Tokens of a version's documents, and the copies that would replace those that go.
#
# Joins by the first half of document ids, sorted: about half a second a million documents.

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PartIds:
    """The documents of a part: keys of their ids, and their tokens in the version."""

    keys: Keys
    tokens: Counts  # 0 where a document is not in the version


def ids_and_tokens(columns: VersionColumns) -> dict[tuple[str, int], PartIds]:
    """Return ids and tokens of every part, row by row.

    A capture that occurs twice in a snapshot has two rows with one id; its tokens go to the
    first of them.
    """
    found: dict[tuple[str, int], PartIds] = {}
    for snapshot in dict.fromkeys(part.snapshot for part in columns.parts):
        parts = [part for part in columns.parts if part.snapshot == snapshot]
        keys = [id_keys(columns.read(part.signals, ["doc_id"])["doc_id"]) for part in parts]
        rows = np.concatenate(keys)
        tokens = np.zeros(rows.size, np.int64)
        files = columns.spans.get(snapshot, [])
        if files:
            spanned, lengths = _lengths(columns, files)
            order = np.argsort(rows)
            place = np.searchsorted(rows, spanned, sorter=order)
            inside = place < rows.size
            spanned, lengths, place = spanned[inside], lengths[inside], order[place[inside]]
            hit = rows[place] == spanned
            tokens[place[hit]] = lengths[hit]
        ends = np.cumsum([part.rows for part in parts])
        for part, own, some in zip(parts, keys, np.split(tokens, ends[:-1]), strict=True):
            found[snapshot, part.part] = PartIds(own, some)
    return found


def _lengths(columns: VersionColumns, files: Sequence[str]) -> tuple[Keys, Counts]:
    """Tokens of each document of some shards, by its key, ascending."""
    tables = [columns.read(path, ["doc_id", "length"]) for path in files]
    keys = np.concatenate([id_keys(table["doc_id"]) for table in tables])
    lengths = np.concatenate([table["length"].to_numpy() for table in tables]).astype(np.int64)
    if not keys.size:
        return keys, lengths
    order = np.argsort(keys)
    keys, lengths = keys[order], lengths[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return keys[starts], np.add.reduceat(lengths, starts)


class StandIns:
    """Documents of the version that would go, and have a copy that would stay.

    Other members of their clusters were dropped as duplicates. With them gone, one of the members
    that still pass the rules takes their place; which one, deduplication decides.
    """

    def __init__(self, columns: VersionColumns) -> None:
        self._columns = columns
        self._stay: dict[tuple[str, int], Mask] = {}
        self._gone: list[Keys] = []
        self._tokens: list[Counts] = []

    def add(self, parts: Sequence[PartFiles], keys: Keys, stay: Mask, tokens: Counts) -> None:
        """Rows of some parts; `tokens` are in the version now."""
        going = (tokens > 0) & ~stay
        self._gone.append(keys[going])
        self._tokens.append(tokens[going])
        start = 0
        for part in parts:
            self._stay[part.snapshot, part.part] = stay[start : start + part.rows]
            start += part.rows

    def found(self) -> tuple[int, int]:
        """Return how many, and their tokens."""
        gone = np.concatenate(self._gone) if self._gone else np.zeros(0, np.uint64)
        if not gone.size:
            return 0, 0
        order = np.argsort(gone)
        gone, tokens = gone[order], np.concatenate(self._tokens)[order]
        replaced = np.zeros(gone.size, np.bool_)
        for snapshot, files in self._columns.members.items():
            for part, path in files:
                table = self._columns.read(path, ["row", "kept", "kept_doc_id"])
                gave_way = ~table["kept"].to_numpy(zero_copy_only=False).astype(np.bool_)
                stays = self._stay[snapshot, part][table["row"].to_numpy()[gave_way]]
                wanted = id_keys(table["kept_doc_id"])[gave_way][stays]
                place = np.minimum(np.searchsorted(gone, wanted), gone.size - 1)
                replaced[place[gone[place] == wanted]] = True
        return int(replaced.sum()), int(tokens[replaced].sum())


# The answer of `corpus whatif`: sums over the cube of a comparison, as plain values.

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
        "version": estimate.version(found.cells, found.stand_ins),
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

    def version(self, cells: list[Cell], stand_ins: tuple[int, int]) -> Answer | None:
        """Estimate the version before and after; None where there is none."""
        if not self.known:
            return None
        sums = [sum(values) for values in zip(*(self.after(cell) for cell in cells), strict=True)]
        at_most, tokens, expected = sums or [0, 0, 0]
        return {
            "documents": {
                "before": sum(cell.in_version for cell in cells),
                "after_at_most": int(at_most) + stand_ins[0],
            },
            "tokens": {
                "before": sum(cell.tokens for cell in cells),
                "after_at_most": round(tokens) + stand_ins[1],
                "after_expected": round(expected) + stand_ins[1],
            },
            "stand_ins": {"documents": stand_ins[0], "tokens": stand_ins[1]},
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
    said: Answer = {
        "doc_id": page.doc_id,
        "snapshot": one.part.snapshot,
        "url": page.url,
        "language": one.language,
        "chars": one.n_chars,
        "rule": one.rule,
        "signal": one.signal,
        "value": one.value,
        "asks": str(requirement(rule, ruling.cutoffs, one.part.domain, language)),
        "suppressed": page.suppressed,
    }
    if with_text:
        said["text"] = page.text[:EXCERPT] if page.text is not None else None
    return said
