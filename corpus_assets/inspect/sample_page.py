"""Sample kept and dropped documents of each reason onto one page, for people to read.

It is drawn from the live tables on request and is no part of a version. Where it is written, it is
registered with the documents it shows (`catalog.copies`), so that takedowns find it. Documents that a standing
order covers are left out. Which documents are shown is a keyed order of their ids, so the same
question gives the same page.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.formats.lineage_tables import DROPPING_STAGES
from corpus_assets.core.decisions import id_keys
from corpus_assets.ingest import SUPPRESSED
from corpus_assets.inspect.version_columns import PartFiles, VersionColumns, draw_order
from corpus_assets.inspect.version_documents import read_documents, take_rows
from corpus_assets.select import Columns, column_of, requirement_of

DECIDED = ("doc_id", "offset", "kept", "stage", "reason", "detail", "failed_rules", "domain",
           "language", "tier")  # fmt: skip
SPARE = 3  # times as many are drawn as are shown, for those that must not be


@dataclass(frozen=True)
class Drawn:
    """A record that was drawn for the page."""

    order: int
    part: PartFiles
    decision: dict[str, Any]


@dataclass(frozen=True)
class Specimen:
    """A document as the page shows it."""

    doc_id: str
    snapshot: str
    url: str | None
    title: str | None
    language: str | None
    detail: str | None
    failed: tuple[tuple[str, str, object, str], ...]  # rule, signal, value, what it asks for
    text: str | None


@dataclass
class SampledOutcome:
    """Documents with the same outcome: kept in a domain and tier, or dropped for a reason."""

    stage: str  # "kept" or the stage that dropped them
    name: str
    total: int = 0
    drawn: list[Drawn] = field(default_factory=list)


def draw_sample_page(
    columns: VersionColumns, per_reason: int
) -> Iterator[tuple[SampledOutcome, list[Specimen]]]:
    """Yield groups in the order of the graph, kept ones first, each with its specimens."""
    rules = [rule.name for rule in columns.ruling.settings.rules]
    for group in _groups(columns, per_reason, rules):
        shown: list[Specimen] = []
        for one in group.drawn:
            specimen = _specimen(columns, one)
            if specimen is not None:
                shown.append(specimen)
            if len(shown) == per_reason:
                break
        yield group, shown


STAGES = ("kept", *DROPPING_STAGES)


def _groups(columns: VersionColumns, per_reason: int, rules: list[str]) -> list[SampledOutcome]:
    groups: dict[tuple[str, str], SampledOutcome] = {}
    for part in columns.parts:
        table = columns.read(part.decisions, DECIDED)
        order = draw_order(id_keys(table["doc_id"]), columns.recipe.seed)
        where = pc.if_else(table["kept"], "kept", table["stage"])
        tier = pc.binary_join_element_wise(table["domain"], table["tier"], " / ")
        name = pc.if_else(table["kept"], tier, table["reason"])
        labels = pc.binary_join_element_wise(where, name, "\n").combine_chunks()
        encoded = labels.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        for code, label in enumerate(encoded.dictionary.to_pylist()):
            stage, _, reason = label.partition("\n")
            if reason == SUPPRESSED:
                continue
            rows = np.flatnonzero(codes == code)
            group = groups.setdefault((stage, reason), SampledOutcome(stage, reason))
            group.total += rows.size
            best = rows[np.argsort(order[rows], kind="stable")[: SPARE * per_reason]]
            decisions = table.take(pa.array(best)).to_pylist()
            group.drawn += [
                Drawn(int(order[row]), part, decision)
                for row, decision in zip(best.tolist(), decisions, strict=True)
            ]
            group.drawn.sort(key=lambda one: (one.order, one.decision["offset"]))
            del group.drawn[SPARE * per_reason :]
    place = {name: k for k, name in enumerate(rules)}
    return sorted(
        groups.values(), key=lambda g: (STAGES.index(g.stage), place.get(g.name, 0), g.name)
    )


def _specimen(columns: VersionColumns, one: Drawn) -> Specimen | None:
    """Describe a document; None where an order covers it."""
    decision, part = one.decision, one.part
    if decision["stage"] == "documents":
        return _refused(columns, one)
    row = _row(columns, part.documents, decision["doc_id"], decision["offset"])
    (found,) = read_documents(columns, part, [row], with_text=not decision["kept"])
    if found.suppressed:
        return None
    text = found.text
    if decision["kept"]:
        final = _row(columns, part.final, decision["doc_id"], None)
        text = take_rows(columns, part.final, [final], ["text"])["text"][0].as_py()
    return Specimen(
        found.doc_id,
        part.snapshot,
        found.url,
        found.title,
        decision["language"],
        decision["detail"],
        tuple(_failed(columns, one, row)),
        text,
    )


def _refused(columns: VersionColumns, one: Drawn) -> Specimen | None:
    """Describe a record without text."""
    names = ["doc_id", "offset", "url", "url_key", "host"]
    row = _row(columns, one.part.records, one.decision["doc_id"], one.decision["offset"])
    record = take_rows(columns, one.part.records, [row], names).to_pylist()[0]
    if columns.orders.match_record(record["url_key"] or "", record["host"] or "", record["doc_id"]):
        return None
    return Specimen(
        record["doc_id"].hex(),
        one.part.snapshot,
        record["url"] or record["url_key"],
        None,
        None,
        one.decision["detail"],
        (),
        None,
    )


def _row(columns: VersionColumns, path: str, doc_id: bytes, offset: int | None) -> int:
    """Return a document's row in a table of its part."""
    names = ["doc_id"] if offset is None else ["doc_id", "offset"]
    table = columns.read(path, names)
    found = pc.equal(table["doc_id"], pa.scalar(doc_id, pa.binary(16)))
    if offset is not None:
        found = pc.and_(found, pc.equal(table["offset"], offset))
    return int(np.flatnonzero(found.to_numpy())[0])


def _failed(
    columns: VersionColumns, one: Drawn, row: int
) -> Iterable[tuple[str, str, object, str]]:
    names = one.decision["failed_rules"] or []
    rules = [rule for rule in columns.ruling.settings.rules if rule.name in names]
    if not rules:
        return
    signals = list(dict.fromkeys(column_of(rule.signal) for rule in rules))
    values = Columns(take_rows(columns, one.part.signals, [row], signals))
    for rule in rules:
        asked = requirement_of(
            rule, columns.ruling.cutoffs, one.part.domain, one.decision["language"]
        )
        yield rule.name, rule.signal, values.column(rule.signal)[0].as_py(), str(asked)
