"""Answer questions about single documents: signals with their rules, and benchmark hits."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.ask.documents import fate, resolve_doc_id
from catalog.db.registry import Registry
from catalog.errors import UnknownName
from catalog.lineage.lookups import records_of
from catalog.lineage.tables import Lineage
from corpus_assets.decontam.verdicts import COMMON, CUT, DROP, KEEP, NEAR_MISS
from corpus_assets.inspect.version_columns import (
    PartFiles,
    Ruling,
    VersionColumns,
    read_documents,
    take_rows,
)
from corpus_assets.select.columns import (
    SOURCE_TIER,
    TIE_KEY,
    Columns,
    resolved,
    with_source,
    with_tie_keys,
)
from corpus_assets.select.requirement import requirement
from corpus_assets.select.rules import (
    column_of,
    cutoff_for,
    is_label_type,
    leaves,
    tier_cutoff,
)
from corpus_assets.versions.statistics import BenchmarkFound, summarise

Answer = dict[str, Any]


def signals_of(
    columns: VersionColumns, lineage: Lineage, written: str, with_text: bool = False
) -> Answer:
    """Return all signals of a document with its rules. Reads the signals of its snapshot once."""
    doc_id = resolve_doc_id(lineage, written)
    records = records_of(lineage, doc_id)
    part, row = _place(columns, doc_id, records)
    own = take_rows(columns, part.signals, [row], ["doc_id", *_signals(columns, part)])
    own = with_tie_keys(own, columns.recipe.seed).drop_columns("doc_id")
    own = with_source(own, part.domain, part.tier)
    decision = _decision(lineage, doc_id, records, part)
    language = own["language"][0].as_py() if "language" in own.column_names else None
    (page,) = read_documents(columns, part, [row], with_text)
    answer: Answer = {
        "doc_id": doc_id.hex(),
        "version": lineage.version.name,
        "snapshot": part.snapshot,
        "part": part.part,
        "records": len(records),
        "url": page.url,
        "title": page.title,
        "domain": part.domain,
        "language": language,
        "suppressed": page.suppressed,
        "fate": fate(decision),
        "failed_rules": (decision or {}).get("failed_rules") or [],
        "signals": _rows(columns, own, part, language),
        "tiers": [] if part.tier else _tiers(columns.ruling, part.domain, language),
    }
    return answer | ({"text": page.text} if with_text else {})


def _signals(columns: VersionColumns, part: PartFiles) -> list[str]:
    names = pq.read_schema(columns.store.local(part.signals)).names
    return [name for name in names if name != "doc_id"]


def _place(columns: VersionColumns, doc_id: bytes, records: list[Answer]) -> tuple[PartFiles, int]:
    """Find the document's first row. A capture that occurs twice has equal signals in both."""
    wanted = pa.scalar(doc_id, pa.binary(16))
    for record in records:
        if record["reason"] is not None:
            continue
        for part in columns.parts:
            if (part.snapshot, part.part) == (record["snapshot"], record["part"]):
                ids = columns.read(part.signals, ["doc_id"])["doc_id"]
                row = pc.index(ids, wanted).as_py()
                if row >= 0:
                    return part, row
    reasons = sorted({str(record["reason"]) for record in records})
    raise UnknownName(
        f"document {doc_id.hex()} has no signals: no text came out of it ({', '.join(reasons)})"
    )


def _decision(
    lineage: Lineage, doc_id: bytes, records: list[Answer], part: PartFiles
) -> Answer | None:
    rows = lineage.documents_in(
        "decisions", [doc_id], part.snapshot, {record["part"] for record in records}
    )
    return min(rows, key=lambda row: (not row["kept"], row["part"], row["offset"]), default=None)


def _rows(
    columns: VersionColumns, own: pa.Table, part: PartFiles, language: str | None
) -> list[Answer]:
    kinds = leaves({field.name: field.type for field in own.schema})
    names = [name for name in kinds if name not in ("domain", SOURCE_TIER, TIE_KEY)]
    numbers = [name for name in names if not is_label_type(kinds[name])]
    ranks = _percentiles(columns, own, part, numbers)
    one = Columns(own)
    ruling = columns.ruling
    rows = []
    for name in names:
        rules = []
        for rule in ruling.settings.rules:
            if rule.signal != name:
                continue
            asked = None
            if one.concerns(rule, ruling.settings, ruling.cutoffs)[0]:
                asked = requirement(rule, ruling.cutoffs, part.domain, language)
            said: Answer = {"rule": rule.name, "applies": asked is not None}
            if asked is not None:
                said |= {
                    "asks": str(asked),
                    "min": asked.min,
                    "max": asked.max,
                    "exclusive": asked.exclusive,
                    "in": list(asked.allowed) if asked.allowed is not None else None,
                    "cutoff": asked.cutoff,
                    "where": asked.where or None,
                    "passed": not bool(one.fails(rule, ruling.settings, ruling.cutoffs)[0]),
                }
            rules.append(said)
        value = one.column(name)[0].as_py()
        rows.append({"name": name, "value": value, "percentile": ranks.get(name), "rules": rules})
    return rows


def _percentiles(
    columns: VersionColumns, own: pa.Table, part: PartFiles, names: list[str]
) -> dict[str, float | None]:
    """Rank values: the share of the snapshot's documents below, equal ones counted by half."""
    below = dict.fromkeys(names, 0.0)
    known = dict.fromkeys(names, 0)
    for _, table in columns.batches(list(dict.fromkeys(map(column_of, names))), [part.snapshot]):
        batch = Columns(table)
        for name in names:
            value = Columns(own).numbers(name)[0]
            values = batch.numbers(name)
            known[name] += int(np.count_nonzero(~np.isnan(values)))
            below[name] += float(
                np.count_nonzero(values < value) + 0.5 * np.count_nonzero(values == value)
            )
    return {
        name: round(100 * below[name] / known[name], 2)
        if known[name] and not np.isnan(Columns(own).numbers(name)[0])
        else None
        for name in names
    }


def _tiers(ruling: Ruling, domain: str, language: str | None) -> list[Answer]:
    """Return the bounds of each tier; nothing where tiers do not grade the domain."""
    tiers = ruling.settings.tiers
    if tiers is None or (tiers.domains is not None and domain not in tiers.domains):
        return []
    bounds = [
        cutoff_for(resolved(tier_cutoff(name), ruling.cutoffs), domain, language).value
        for name in tiers.names[:-1]
    ]
    end, other = ("max", "min") if tiers.best == "lowest" else ("min", "max")
    return [
        {"tier": name, "signal": tiers.signal, end: bound, other: None}
        for name, bound in zip(tiers.names, [*bounds, None], strict=True)
    ]


# Rows of a version's `benchmark_hits`, with the part and the text of each.

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
            texts = columns.read(hit.part.texts, ["doc_id", "text_id"])
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
        if hit.part.texts not in rows:
            ids = columns.read(hit.part.texts, ["doc_id"])["doc_id"].to_pylist()
            rows[hit.part.texts] = {
                doc_id: len(ids) - 1 - i for i, doc_id in enumerate(reversed(ids))
            }
        yield Hit(hit.part, hit.doc_id, hit.row, rows[hit.part.texts][hit.doc_id])
