"""Benchmark items found in documents, from the rows that a version keeps."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from corpus_assets.decontam.verdicts import COMMON, CUT, DROP, HELD_BACK, KEEP, NEAR_MISS

EXAMPLES = 5


@dataclass
class BenchmarkFound:
    """Hits of one benchmark over all documents."""

    name: str
    items: dict[str, set[str]] = field(default_factory=dict)  # verdict -> items
    documents: dict[str, set[bytes]] = field(default_factory=dict)  # verdict -> documents
    by_item: Counter[str] = field(default_factory=Counter)  # documents that hold it

    def add(self, item: str, doc_id: bytes, verdict: str) -> None:
        self.items.setdefault(verdict, set()).add(item)
        known = self.documents.setdefault(verdict, set())
        if verdict not in (NEAR_MISS, KEEP):
            self.by_item[item] += 1
        known.add(doc_id)

    @property
    def items_seen(self) -> int:
        """Count items that some document holds, common ones left out."""
        acted = (self.items.get(verdict, ()) for verdict in (DROP, CUT, HELD_BACK))
        return len(set().union(*acted))

    def n_items(self, verdict: str) -> int:
        return len(self.items.get(verdict, ()))

    def n_documents(self, *verdicts: str) -> int:
        return len(set().union(*(self.documents.get(verdict, ()) for verdict in verdicts)))

    def examples(self) -> list[tuple[str, int]]:
        """List the items that most documents hold, with how many; common ones are left out."""
        common = self.items.get(COMMON, set())
        rows = [(item, count) for item, count in self.by_item.items() if item not in common]
        return sorted(rows, key=lambda row: (-row[1], row[0]))[:EXAMPLES]

    def common(self) -> list[tuple[str, int]]:
        """List common items, with the number of documents that hold them."""
        rows = [(item, self.by_item[item]) for item in self.items.get(COMMON, ())]
        return sorted(rows, key=lambda row: (-row[1], row[0]))


def summarise(tables: Iterable[pa.Table]) -> dict[str, BenchmarkFound]:
    """Group hits by benchmark, sorted by name."""
    found: dict[str, BenchmarkFound] = {}
    for table in tables:
        columns = (
            table[name].to_pylist() for name in ("benchmark", "item_id", "doc_id", "verdict")
        )
        for benchmark, item, doc_id, verdict in zip(*columns, strict=True):
            one = found.setdefault(benchmark, BenchmarkFound(benchmark))
            one.add(item, doc_id, verdict)
    return dict(sorted(found.items()))
