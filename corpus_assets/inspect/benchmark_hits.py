"""Rows of a version's `benchmark_hits`, with the part and the text of each."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.ask import benchmarks_found
from catalog.db import Registry
from catalog.errors import UnknownName
from catalog.formats.store import FileStore
from catalog.lineage import Lineage, Row
from corpus_assets.decontam import CUT, DROP, KEEP, NEAR_MISS
from corpus_assets.inspect.document_signals import Answer
from corpus_assets.inspect.version_columns import PartFiles, VersionColumns
from corpus_assets.inspect.version_documents import read_documents

CLOSEST_FIRST = (
    "greatest(share, coalesce(similarity, 0)) DESC, benchmark, item_id, doc_id, kind, "
    "snapshot, part, matched"
)


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
    with _lineage(registry, columns) as lineage:
        found = benchmarks_found(lineage)
        total, rows = _hits(lineage, benchmark, verdicts, limit)
    parts = {(part.snapshot, part.part): part for part in columns.parts}
    hits = [
        Hit(parts[row.pop("snapshot"), row.pop("part")], row.pop("doc_id"), row) for row in rows
    ]
    return {
        "version": lineage.version.name,
        "benchmarks": [
            {
                "benchmark": name,
                "items_seen": one.seen,
                "documents": one.documents,
                "near_miss_items": one.near_miss_items,
                "near_miss_documents": one.near_miss_documents,
                "common_items": one.common_items,
            }
            for name, one in found.items()
            if benchmark in (None, name)
        ],
        "total": total,
        "hits": [_described(columns, hit, with_text) for hit in _places_of(columns, hits)],
    }


def _lineage(registry: Registry, columns: VersionColumns) -> Lineage:
    return Lineage(registry, FileStore(columns.store.url), columns.title.removeprefix("version "))


def _described(columns: VersionColumns, hit: Hit, with_text: bool) -> Answer:
    (page,) = read_documents(columns, hit.part, [hit.text_row], with_text)
    answer: Answer = {
        "doc_id": page.doc_id,
        "snapshot": hit.part.snapshot,
        "url": page.url,
        "suppressed": page.suppressed,
        **hit.row,
    }
    if with_text:
        answer["text"] = page.text and [
            page.text[place["start"] : place["end"]] for place in hit.row["places"]
        ]
    return answer


def _hits(
    lineage: Lineage, benchmark: str | None, verdicts: Collection[str], limit: int
) -> tuple[int, list[Row]]:
    """Return how many hits have one of the verdicts, and the closest of them."""
    hits = (
        f"FROM {lineage.scan('benchmark_hits')} "
        "WHERE list_contains(?, verdict) AND benchmark = coalesce(?, benchmark)"
    )
    values = [sorted(verdicts), benchmark]
    total = lineage.query(f"SELECT count(*) AS n {hits}", values)[0]["n"]
    return total, lineage.query(f"{hits} ORDER BY {CLOSEST_FIRST} LIMIT {limit:d}", values)


def judged_text(
    registry: Registry, columns: VersionColumns, doc_id: str, item: str
) -> tuple[bytes, tuple[str, str]]:
    """Return the text id of a document with a near miss, and the item's (benchmark, id)."""
    with _lineage(registry, columns) as lineage:
        hits = lineage.query(
            f"FROM {lineage.scan('benchmark_hits')} "
            "WHERE list_contains(?, verdict) AND lower(hex(doc_id)) = lower(?) "
            f"AND concat(benchmark, '/', item_id) = ? ORDER BY {CLOSEST_FIRST} LIMIT 1",
            [[NEAR_MISS, KEEP, DROP, CUT], doc_id, item],
        )
        for hit in hits:
            (row, *_) = lineage.documents_in(
                "documents", [hit["doc_id"]], hit["snapshot"], [hit["part"]], ("text_id",)
            )
            return row["text_id"], (hit["benchmark"], hit["item_id"])
    raise UnknownName(
        f"nothing of {item} was found in document {doc_id} of {columns.title}: take both from "
        "`corpus contamination --near-misses`"
    )


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
