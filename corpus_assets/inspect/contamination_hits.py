"""The rows of a version's `benchmark_hits`, with the part and the text that each is about."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from catalog.registry import Registry
from corpus_assets.inspect.version_columns import PartFiles, VersionColumns
from corpus_assets.versions.contamination_view import BenchmarkFound, summarise

COLUMNS = ("doc_id", "benchmark", "item_id", "kind", "matched", "total", "share", "similarity",
           "verdict", "places")  # fmt: skip


@dataclass(frozen=True)
class Hit:
    """One item in one document; `row` without the document's id."""

    part: PartFiles
    doc_id: bytes
    row: dict[str, Any]
    text_row: int = -1


def find_hits(
    registry: Registry,
    columns: VersionColumns,
    version: str,
    benchmark: str | None,
    verdicts: Collection[str],
) -> tuple[dict[str, BenchmarkFound], list[Hit]]:
    """All benchmarks, and the hits with one of the verdicts, the closest first."""
    parts = {(part.snapshot, part.part): part for part in columns.parts}
    hits: list[Hit] = []
    tables: list[pa.Table] = []
    for file in registry.lineage_files(version, "benchmark_hits"):
        table = columns.read(file.path, COLUMNS)
        if benchmark is not None:
            table = table.filter(pa.compute.equal(table["benchmark"], benchmark))
        tables.append(table)
        part = parts[file.snapshot, file.part or 0]
        for row in table.to_pylist():
            if row["verdict"] in verdicts:
                hits.append(Hit(part, row.pop("doc_id"), row))
    return summarise(tables), sorted(hits, key=_closest_first)


def _closest_first(hit: Hit) -> tuple[Any, ...]:
    row = hit.row
    closeness = max(row["share"], row["similarity"] or 0.0)
    return -closeness, row["benchmark"], row["item_id"], hit.doc_id, row["kind"]


def places_of(columns: VersionColumns, hits: Sequence[Hit]) -> Iterator[Hit]:
    """The hits with the rows of their documents; of several captures, the first."""
    rows: dict[str, dict[bytes, int]] = {}
    for hit in hits:
        if hit.part.texts not in rows:
            ids = columns.read(hit.part.texts, ["doc_id"])["doc_id"].to_pylist()
            rows[hit.part.texts] = {
                doc_id: len(ids) - 1 - i for i, doc_id in enumerate(reversed(ids))
            }
        yield Hit(hit.part, hit.doc_id, hit.row, rows[hit.part.texts][hit.doc_id])
