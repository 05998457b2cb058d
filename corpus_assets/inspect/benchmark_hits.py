"""Rows of a version's `benchmark_hits`, with the part and the text of each."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from catalog.db.registry import Registry
from catalog.errors import UnknownName
from corpus_assets.decontam.verdicts import COMMON, CUT, DROP, KEEP, NEAR_MISS
from corpus_assets.inspect.document_signals import Answer
from corpus_assets.inspect.version_columns import PartFiles, VersionColumns
from corpus_assets.inspect.version_documents import read_documents
from corpus_assets.versions.benchmarks_found import BenchmarkFound, summarise

COLUMNS = ("doc_id", "benchmark", "item_id", "kind", "matched", "total", "share", "similarity",
           "verdict", "places")  # fmt: skip


@dataclass(frozen=True)
class Hit:
    """One item in one document; `row` without the document's id."""

    part: PartFiles
    doc_id: bytes
    row: dict[str, Any]
    text_row: int = -1


def contamination_of(
    registry: Registry,
    columns: VersionColumns,
    benchmark: str | None,
    verdicts: Collection[str],
    limit: int,
    with_text: bool,
) -> Answer:
    """Return what was found of each benchmark, and at most `limit` hits with their documents."""
    name = columns.title.removeprefix("version ")
    found, hits = find_hits(registry, columns, name, benchmark, verdicts)
    return {
        "version": name,
        "benchmarks": [
            {
                "benchmark": one.name,
                "items_seen": one.items_seen,
                "documents": one.n_documents(DROP, CUT),
                "near_miss_items": one.n_items(NEAR_MISS),
                "near_miss_documents": one.n_documents(NEAR_MISS),
                "common_items": one.n_items(COMMON),
            }
            for one in found.values()
        ],
        "total": len(hits),
        "hits": [_described(columns, hit, with_text) for hit in _places_of(columns, hits[:limit])],
    }


def _described(columns: VersionColumns, hit: Hit, with_text: bool) -> Answer:
    (page,) = read_documents(columns, hit.part, [hit.text_row], with_text)
    said: Answer = {
        "doc_id": page.doc_id,
        "snapshot": hit.part.snapshot,
        "url": page.url,
        "suppressed": page.suppressed,
        **hit.row,
    }
    if with_text:
        said["text"] = page.text and [
            page.text[place["start"] : place["end"]] for place in hit.row["places"]
        ]
    return said


def find_hits(
    registry: Registry,
    columns: VersionColumns,
    version: str,
    benchmark: str | None,
    verdicts: Collection[str],
) -> tuple[dict[str, BenchmarkFound], list[Hit]]:
    """Return all benchmarks, and the hits with one of the verdicts, the closest first."""
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


def judged_text(
    registry: Registry, columns: VersionColumns, doc_id: str, item: str
) -> tuple[bytes, tuple[str, str]]:
    """Return the text id of a document with a near miss, and the item's (benchmark, id)."""
    version = columns.title.removeprefix("version ")
    _, hits = find_hits(registry, columns, version, None, {NEAR_MISS, KEEP, DROP, CUT})
    for hit in hits:
        name = (hit.row["benchmark"], hit.row["item_id"])
        if hit.doc_id.hex() == doc_id.lower() and "/".join(name) == item:
            texts = columns.read(hit.part.documents, ["doc_id", "text_id"])
            row = texts["doc_id"].to_pylist().index(hit.doc_id)
            return texts["text_id"][row].as_py(), name
    raise UnknownName(
        f"nothing of {item} was found in document {doc_id} of {columns.title}: take both from "
        "`corpus contamination --near-misses`"
    )


def _closest_first(hit: Hit) -> tuple[Any, ...]:
    row = hit.row
    closeness = max(row["share"], row["similarity"] or 0.0)
    return -closeness, row["benchmark"], row["item_id"], hit.doc_id, row["kind"]


def _places_of(columns: VersionColumns, hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield the hits with the rows of their documents; of several captures, the first."""
    rows: dict[str, dict[bytes, int]] = {}
    for hit in hits:
        if hit.part.documents not in rows:
            ids = columns.read(hit.part.documents, ["doc_id"])["doc_id"].to_pylist()
            rows[hit.part.documents] = {
                doc_id: len(ids) - 1 - i for i, doc_id in enumerate(reversed(ids))
            }
        yield Hit(hit.part, hit.doc_id, hit.row, rows[hit.part.documents][hit.doc_id])
