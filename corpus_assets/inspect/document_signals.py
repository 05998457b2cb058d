"""The signals of single documents, with the rules that judged them."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.answers import Shown
from catalog.ask import outcome_of, resolve_doc_id
from catalog.errors import UnknownName
from catalog.formats.store import FileStore as CatalogStore
from catalog.lineage import Lineage, Row, records_of
from corpus_assets.core.home import Home
from corpus_assets.inspect.version_columns import PartFiles, Ruling, VersionColumns, open_version
from corpus_assets.inspect.version_documents import read_documents, take_rows
from corpus_assets.select import Columns, Rule, as_judged, column_of, requirement_of, tier_bounds


@dataclass(frozen=True)
class JudgedBy:
    """A rule on a signal; what it asks for where it applies to the document."""

    rule: str
    applies: bool
    asks: str | None = None
    min: float | None = None
    max: float | None = None
    exclusive: bool | None = None
    in_: Annotated[list[str] | None, Shown(key="in")] = None
    cutoff: str | None = None
    where: str | None = None
    passed: bool | None = None


@dataclass(frozen=True)
class SignalValue:
    """A signal of a document: its rank in the snapshot, and the rules that use it."""

    name: str
    value: object
    percentile: float | None
    rules: list[JudgedBy]


@dataclass(frozen=True)
class Tier:
    """The bounds of a tier in a signal."""

    tier: str
    signal: str
    min: float | None
    max: float | None


@dataclass(frozen=True)
class DocumentSignals:
    """A document with all its signals."""

    doc_id: str
    version: str
    snapshot: str
    part: int
    records: int
    url: str | None
    title: str | None
    domain: str
    language: str | None
    suppressed: bool
    outcome: str
    failed_rules: list[str]
    signals: list[SignalValue]
    tiers: list[Tier]
    text: str | None


def signals_of(
    home: Home, version: str | None, written: str, with_text: bool = False
) -> DocumentSignals:
    """Return all signals of a document with its rules. Reads the signals of its snapshot once."""
    registry, columns = open_version(home, version)
    name = columns.title.removeprefix("version ")
    with Lineage(registry, CatalogStore(home.store_url), name) as lineage:
        return _signals_of(columns, lineage, written, with_text)


def _signals_of(
    columns: VersionColumns, lineage: Lineage, written: str, with_text: bool
) -> DocumentSignals:
    doc_id = resolve_doc_id(lineage, written)
    records = records_of(lineage, doc_id)
    part, row = _place(columns, doc_id, records)
    own = take_rows(columns, part.signals, [row], ["doc_id", *_signals(columns, part)])
    own = as_judged(own, part.domain, part.tier, columns.recipe.seed)
    decision = _decision(lineage, doc_id, records, part)
    language = own["language"][0].as_py() if "language" in own.column_names else None
    (page,) = read_documents(columns, part, [row], with_text)
    return DocumentSignals(
        doc_id=doc_id.hex(),
        version=lineage.version.name,
        snapshot=part.snapshot,
        part=part.part,
        records=len(records),
        url=page.url,
        title=page.title,
        domain=part.domain,
        language=language,
        suppressed=page.suppressed,
        outcome=outcome_of(decision),
        failed_rules=(decision or {}).get("failed_rules") or [],
        signals=_values(columns, own, part, language),
        tiers=[] if part.tier else _tiers(columns.ruling, part.domain, language),
        text=page.text,
    )


def _signals(columns: VersionColumns, part: PartFiles) -> list[str]:
    names = pq.read_schema(columns.store.local(part.signals)).names
    return [name for name in names if name != "doc_id"]


def _place(columns: VersionColumns, doc_id: bytes, records: list[Row]) -> tuple[PartFiles, int]:
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
        f"document {doc_id.hex()} has no signals: it gave no text ({', '.join(reasons)})"
    )


def _decision(lineage: Lineage, doc_id: bytes, records: list[Row], part: PartFiles) -> Row | None:
    rows = lineage.documents_in(
        "decisions", [doc_id], part.snapshot, {record["part"] for record in records}
    )
    return min(rows, key=lambda row: (not row["kept"], row["part"], row["offset"]), default=None)


def _values(
    columns: VersionColumns, own: pa.Table, part: PartFiles, language: str | None
) -> list[SignalValue]:
    one = Columns(own)
    signals = one.signals()
    ranks = _percentiles(columns, own, part, [name for name in signals if signals[name]])

    def judged(rule: Rule) -> JudgedBy:
        settings, cutoffs = columns.ruling.settings, columns.ruling.cutoffs
        is_concerned = bool(one.concerns(rule, settings, cutoffs)[0])
        asked = requirement_of(rule, cutoffs, part.domain, language) if is_concerned else None
        if asked is None:
            return JudgedBy(rule.name, False)
        return JudgedBy(
            rule.name,
            True,
            str(asked),
            asked.min,
            asked.max,
            asked.exclusive,
            list(asked.allowed) if asked.allowed is not None else None,
            asked.cutoff,
            asked.where or None,
            not bool(one.fails(rule, settings, cutoffs)[0]),
        )

    return [
        SignalValue(
            name,
            one.column(name)[0].as_py(),
            ranks.get(name),
            [judged(rule) for rule in columns.ruling.settings.rules if rule.signal == name],
        )
        for name in signals
    ]


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


def _tiers(ruling: Ruling, domain: str, language: str | None) -> list[Tier]:
    tiers = ruling.settings.tiers
    if tiers is None:
        return []
    bounds = tier_bounds(ruling.settings, ruling.cutoffs, domain, language)
    return [Tier(name, tiers.signal, *ends) for name, ends in bounds.items()]
