"""Benchmark items found in a version's documents, counted in SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog.lineage import LineageFiles

EXAMPLES = 5

BY_BENCHMARK = """\
SELECT
    benchmark,
    count(DISTINCT item_id) FILTER (verdict IN ('drop', 'cut', 'held_back')) AS seen,
    count(DISTINCT doc_id) FILTER (verdict IN ('drop', 'cut')) AS documents,
    count(DISTINCT item_id) FILTER (verdict = 'near_miss') AS near_miss_items,
    count(DISTINCT doc_id) FILTER (verdict = 'near_miss') AS near_miss_documents,
    count(DISTINCT item_id) FILTER (verdict = 'common') AS common_items
FROM raw.benchmark_hits
GROUP BY benchmark
ORDER BY benchmark"""

BY_ITEM = """\
SELECT benchmark, item_id, bool_or(verdict = 'common') AS is_common, count(*) AS documents
FROM raw.benchmark_hits
WHERE verdict NOT IN ('near_miss', 'keep')
GROUP BY ALL
ORDER BY documents DESC, benchmark, item_id"""


@dataclass(frozen=True)
class BenchmarkFound:
    """Hits of one benchmark over all documents. An item counts as seen where a document holds it
    and is dropped, cut or held back for it; common items are counted apart."""

    seen: int = 0
    documents: int = 0  # that are dropped or cut
    near_miss_items: int = 0
    near_miss_documents: int = 0
    common_items: int = 0
    examples: Sequence[tuple[str, int]] = ()  # items that most documents hold, with how many
    common: Sequence[tuple[str, int]] = ()


def benchmarks_found(tables: LineageFiles) -> Mapping[str, BenchmarkFound]:
    """Return what was found of each benchmark, by name."""
    items = tables.ask(BY_ITEM)

    def held(benchmark: str, is_common: bool) -> list[tuple[str, int]]:
        return [
            (row["item_id"], row["documents"])
            for row in items
            if (row["benchmark"], row["is_common"]) == (benchmark, is_common)
        ]

    return {
        name: BenchmarkFound(**row, examples=held(name, False)[:EXAMPLES], common=held(name, True))
        for row in tables.ask(BY_BENCHMARK)
        for name in (row.pop("benchmark"),)
    }
