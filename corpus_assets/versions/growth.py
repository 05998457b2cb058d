"""What a version has that the one before it had not, and what was computed for it: for notices."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.db import LineageRow, Registry, VersionRow
from catalog.figures import counted, cpu_time, size
from corpus_assets.core import files
from corpus_assets.core.lazy_sequence import spread
from corpus_assets.core.store import Store

MOST_FILES = 64  # whose languages are counted; of more, evenly spaced ones
NAMED_LANGUAGES = 5
DECISIONS = files.DECISIONS.lineage or ""


@dataclass(frozen=True)
class Growth:
    """The difference between a version and the one before it of its recipe."""

    before: str
    documents: int
    tokens: int
    by_source: dict[str, tuple[int, int]]  # documents and tokens, where they differ
    languages: Counter[str]  # of documents kept in files that are new, or in a sample of these
    parts: int  # computed since the version before
    cpu_seconds: float
    written: int

    def details(self) -> dict[str, str]:
        """Return it as named lines."""
        shown = {
            "compared with": self.before,
            "difference": _signed(self.documents, self.tokens),
            **{f"in {name}": _signed(*n) for name, n in self.by_source.items()},
        }
        if total := self.languages.total():
            largest = self.languages.most_common(NAMED_LANGUAGES)
            shown["languages of new files"] = ", ".join(f"{n} {c / total:.1%}" for n, c in largest)
        shown["computed since"] = (
            f"{counted(self.parts, 'part')}, {cpu_time(self.cpu_seconds)}, "
            f"{size(self.written)} written"
        )
        return shown


def version_growth(registry: Registry, store: Store, row: VersionRow) -> Growth | None:
    """Compare a version with the one it replaces, or else the newest of its recipe that was
    published before it; None where it is the first."""
    before = _before(registry, row)
    if before is None:
        return None
    source_of = {each.name: each.source for each in registry.snapshots()}
    by_source: dict[str, tuple[int, int]] = {}
    for sign, name in ((-1, before.name), (1, row.name)):
        for shard in registry.version_shards(name):
            source = source_of.get(shard.snapshot, shard.snapshot)
            documents, tokens = by_source.get(source, (0, 0))
            by_source[source] = documents + sign * shard.documents, tokens + sign * shard.tokens
    old = {each.sha256 for each in registry.lineage_files(before.name, DECISIONS)}
    new = [each for each in registry.lineage_files(row.name, DECISIONS) if each.sha256 not in old]
    parts, cpu_seconds, written = registry.computed_between(before.created_at, row.created_at)
    return Growth(
        before.name,
        row.documents - before.documents,
        row.tokens - before.tokens,
        {name: n for name, n in sorted(by_source.items()) if any(n)},
        _languages(store, new),
        parts,
        cpu_seconds,
        written,
    )


def _before(registry: Registry, row: VersionRow) -> VersionRow | None:
    versions = registry.versions()
    replaced = [each for each in versions if each.superseded_by == row.name]
    if replaced:
        return replaced[-1]
    named = registry.recipe(row.recipe_digest).name
    earlier = versions[: [each.name for each in versions].index(row.name)]
    return next(
        (one for one in reversed(earlier) if registry.recipe(one.recipe_digest).name == named), None
    )


def _languages(store: Store, decisions: Sequence[LineageRow]) -> Counter[str]:
    """Count kept documents by language in some files."""
    found = Counter[str]()
    for number in spread(len(decisions), MOST_FILES):
        with store.open(decisions[number].path) as file:
            table = pq.ParquetFile(file).read(columns=["stage", "language"], use_threads=False)
        kept = table.filter(pc.is_null(table["stage"]))["language"].fill_null("unknown")
        found.update(kept.to_pylist())
    return found


def _signed(documents: int, tokens: int) -> str:
    return f"documents {documents:+,}, tokens {tokens:+,}"
