"""Rows of a version's `benchmark_hits`, with the part and the text of each."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from catalog.answers import Count, Shown
from catalog.ask import benchmarks_found
from catalog.db import Registry
from catalog.errors import UnknownName
from catalog.formats.store import FileStore
from catalog.lineage import Lineage, Row
from corpus_assets.core.home import Home
from corpus_assets.decontam import CUT, DROP, KEEP, NEAR_MISS
from corpus_assets.inspect.version_columns import PartFiles, VersionColumns, open_version
from corpus_assets.inspect.version_documents import read_documents

CLOSEST_FIRST = (
    "greatest(share, coalesce(similarity, 0)) DESC, benchmark, item_id, doc_id, kind, "
    "snapshot, part, matched"
)


@dataclass(frozen=True)
class BenchmarkCounts:
    """What was found of one benchmark."""

    benchmark: str
    items_seen: Count
    documents: Count
    near_miss_items: Annotated[Count, Shown("near misses")]
    near_miss_documents: Annotated[Count, Shown("in documents")]
    common_items: Count


@dataclass(frozen=True)
class Hit:
    """One item in one document."""

    doc_id: str
    snapshot: str
    url: str | None
    suppressed: bool
    benchmark: str
    item_id: str
    kind: str
    matched: int
    total: int
    share: float
    similarity: float | None
    verdict: str
    places: list[dict[str, int]]
    text: list[str] | None


@dataclass(frozen=True)
class Contamination:
    """What was found of benchmarks in a version, and the closest of the hits asked for."""

    version: str
    benchmarks: list[BenchmarkCounts]
    total: int
    hits: list[Hit]


def contamination_of(
    home: Home,
    version: str | None,
    benchmark: str | None,
    verdicts: Collection[str],
    limit: int,
    with_text: bool,
) -> Contamination:
    """Return what was found of each benchmark, and at most `limit` hits with their documents."""
    registry, columns = open_version(home, version)
    with _lineage(registry, columns) as lineage:
        found = benchmarks_found(lineage)
        total, rows = _hits(lineage, benchmark, verdicts, limit)
    place_of = _Places(columns)
    return Contamination(
        version=lineage.version.name,
        benchmarks=[
            BenchmarkCounts(
                name,
                one.seen,
                one.documents,
                one.near_miss_items,
                one.near_miss_documents,
                one.common_items,
            )
            for name, one in found.items()
            if benchmark in (None, name)
        ],
        total=total,
        hits=[_hit(columns, place_of, row, with_text) for row in rows],
    )


def _lineage(registry: Registry, columns: VersionColumns) -> Lineage:
    return Lineage(registry, FileStore(columns.store.url), columns.title.removeprefix("version "))


def _hit(columns: VersionColumns, place_of: "_Places", row: Row, with_text: bool) -> Hit:
    part, at = place_of(row.pop("snapshot"), row.pop("part"), row.pop("doc_id"))
    (page,) = read_documents(columns, part, [at], with_text)
    cut = page.text and [page.text[place["start"] : place["end"]] for place in row["places"]]
    return Hit(page.doc_id, part.snapshot, page.url, page.suppressed, **row, text=cut or None)


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
    home: Home, version: str | None, doc_id: str, item: str
) -> tuple[bytes, tuple[str, str]]:
    """Return the text id of a document with a near miss, and the item's (benchmark, id)."""
    registry, columns = open_version(home, version)
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
        f"{item} was not found in document {doc_id} of {columns.title}: take both from "
        "`corpus contamination --near-misses`"
    )


class _Places:
    """Where documents are in their parts; of several captures, the first."""

    def __init__(self, columns: VersionColumns) -> None:
        self._columns = columns
        self._parts = {(part.snapshot, part.part): part for part in columns.parts}
        self._rows: dict[str, dict[bytes, int]] = {}

    def __call__(self, snapshot: str, part: int, doc_id: bytes) -> tuple[PartFiles, int]:
        found = self._parts[snapshot, part]
        if found.documents not in self._rows:
            ids = self._columns.read(found.documents, ["doc_id"])["doc_id"].to_pylist()
            last = len(ids) - 1
            self._rows[found.documents] = {one: last - i for i, one in enumerate(reversed(ids))}
        return found, self._rows[found.documents][doc_id]
