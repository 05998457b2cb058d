"""Compute what other rules would keep and drop, from columns: no text is read, no token made.

1. Both rulings are evaluated over the stored signals, a million documents at a time.
2. Documents are counted in a *cube*: by snapshot, domain, language, and by reason and tier
   before and after. All tables of the answer are sums over it.
3. Tokens are those of the version's shards. Documents that would come in have none yet: theirs
   are estimated from characters, by the characters per token of their domain and language.

Selection is exact. Stages downstream (duplicates, benchmarks, cleaning) are not decided again:
documents that would come in count as if they passed them, so gains are upper bounds. A document
that would go may leave a copy that takes its place; those are counted (`promoted_copies`).
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.identity import canonical_json
from corpus_assets.inspect.version_columns import (
    Keys,
    PartFiles,
    Ruling,
    VersionColumns,
    draw_order,
)
from corpus_assets.inspect.whatif_tokens import PromotedCopies, ids_and_tokens
from corpus_assets.select import Columns, Mask, Rule, first_failures, rule_cutoff

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
    """A document whose outcome would change: where it is, and the rule that decides it."""

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
    promoted_copies: tuple[int, int] = (0, 0)  # documents, tokens

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
    promoted_copies = PromotedCopies(columns)
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
        promoted_copies.add(parts, keys, batch.kept(1), in_version * batch.kept(0))
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
        promoted_copies.found(),
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
