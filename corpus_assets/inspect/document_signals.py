"""The signals of single documents, with the rules that judged them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.ask import fate, resolve_doc_id
from catalog.errors import UnknownName
from catalog.lineage import Lineage, records_of
from corpus_assets.core.column_types import column_types
from corpus_assets.inspect.version_columns import PartFiles, Ruling, VersionColumns
from corpus_assets.inspect.version_documents import read_documents, take_rows
from corpus_assets.select import (
    SOURCE_TIER,
    TIE_KEY,
    Columns,
    column_of,
    cutoff_for,
    is_label_type,
    leaf_columns,
    requirement_of,
    resolved,
    tier_cutoff,
    with_source,
    with_tie_keys,
)

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
    kinds = leaf_columns(column_types(own.schema))
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
                asked = requirement_of(rule, ruling.cutoffs, part.domain, language)
            entry: Answer = {"rule": rule.name, "applies": asked is not None}
            if asked is not None:
                entry |= {
                    "asks": str(asked),
                    "min": asked.min,
                    "max": asked.max,
                    "exclusive": asked.exclusive,
                    "in": list(asked.allowed) if asked.allowed is not None else None,
                    "cutoff": asked.cutoff,
                    "where": asked.where or None,
                    "passed": not bool(one.fails(rule, ruling.settings, ruling.cutoffs)[0]),
                }
            rules.append(entry)
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
