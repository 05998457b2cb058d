"""What other rules would do, from columns: no text is read and no token made.

1. Both rulings are evaluated over the stored signals, a million documents at a time.
2. Documents are counted in a *cube*: by snapshot, domain, language, and by reason and tier
   before and after. All tables of the answer are sums over it.
3. Tokens are those of the version's shards. Documents that would come in have none yet: theirs
   are estimated from characters, by the characters per token of their domain and language.

Selection is exact. What stands behind it (duplicates, benchmarks, cleaning) is not decided
again: whoever would come in counts as if it passed all of that, so gains are upper bounds.
Whoever would go may leave a copy that takes its place; those are counted (`stand_ins`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
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
    id_keys,
)
from corpus_assets.select.columns import Columns, Mask, first_failures, rule_cutoff
from corpus_assets.select.rules import Rule

KEPT = "kept"
UNKNOWN = "unknown"


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

    def total(self, of: Callable[[Cell], int], where: Callable[[Cell], bool]) -> int:
        return sum(of(cell) for cell in self.cells if where(cell))


def compare(columns: VersionColumns, after: Ruling, sample: int = 10) -> Comparison:
    """Hold another ruling against the one in force."""
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
        """A rule that both rulings have is evaluated once."""
        resolved = rule_cutoff(rule.cutoff, ruling.cutoffs) if rule.cutoff else None
        key = canonical_json([rule.identity() | {"name": ""}, resolved])
        if key not in done:
            done[key] = self.columns.fails(rule, ruling.cutoffs)
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
        """The first rows, in keyed order, whose fate changes to going, or to staying."""
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


# --------------------------------------------------------------------------------------------------
# Tokens of a version's documents, and who would take the place of those that go.
#
# Joins by the first half of document ids, sorted: about half a second a million documents.

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PartIds:
    """The documents of a part: keys of their ids, and their tokens in the version."""

    keys: Keys
    tokens: Counts  # 0 where a document is not in the version


def ids_and_tokens(columns: VersionColumns) -> dict[tuple[str, int], PartIds]:
    """Both for every part, row by row.

    A capture that stands twice in a snapshot has two rows with one id; its tokens go to the
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

    Members of their clusters gave way to them. With them gone, one of the members that still
    pass the rules takes their place; which one, deduplication decides.
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
        """How many, and their tokens."""
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
