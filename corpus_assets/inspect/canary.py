"""Sample kept and dropped documents of each reason onto one page, for people to read.

It is drawn from the live tables on request and is no part of a version. Where it is written, it is
registered with the documents it shows (`catalog.copies`), so that takedowns find it. Documents that a standing
order covers are left out. Which documents are shown is a keyed order of their ids, so the same
question gives the same page.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.cli.terminal import escape
from catalog.db.judgements import summed
from catalog.db.rows import JudgementRow
from catalog.figures import short
from corpus_assets.core.decisions import id_keys
from corpus_assets.ingest.documents import SUPPRESSED
from corpus_assets.inspect.version_columns import (
    PartFiles,
    VersionColumns,
    draw_order,
    read_documents,
    take_rows,
)
from corpus_assets.select.columns import Columns
from corpus_assets.select.requirement import requirement
from corpus_assets.select.rules import column_of
from corpus_assets.versions.pages import Percent, page, table

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
class Group:
    """Documents with the same fate: kept in a domain and tier, or dropped for a reason."""

    stage: str  # "kept" or the stage that dropped them
    name: str
    total: int = 0
    drawn: list[Drawn] = field(default_factory=list)


def draw_canary(columns: VersionColumns, per_reason: int) -> Iterator[tuple[Group, list[Specimen]]]:
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


STAGES = ("kept", "documents", "selection", "clusters", "contamination", "clean_text")


def _groups(columns: VersionColumns, per_reason: int, rules: list[str]) -> list[Group]:
    groups: dict[tuple[str, str], Group] = {}
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
            group = groups.setdefault((stage, reason), Group(stage, reason))
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
    row = _row(columns, part.texts, decision["doc_id"], decision["offset"])
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
        asked = requirement(rule, columns.ruling.cutoffs, one.part.domain, one.decision["language"])
        yield rule.name, rule.signal, values.column(rule.signal)[0].as_py(), str(asked)


# The canary as one HTML page that needs nothing else. It holds text.

KEPT = re.compile(
    "([\n\t\u00a0\u2000-\u200a\u200c\u200d\u202f\u205f\u3000]+)"
)  # writing needs them

PAGE_STYLE = """
nav{display:flex;flex-wrap:wrap;gap:.3rem .9rem;font-size:13px;margin:.5rem 0}
nav a{color:#2f6fb0;text-decoration:none} .n{color:#5b6b7c;font-weight:normal;font-size:13px}
article{border:1px solid #dde4ec;border-radius:4px;margin:.7rem 0;padding:.5rem .9rem .7rem}
article p{margin:.15rem 0;font-size:13px;color:#5b6b7c;overflow-wrap:anywhere}
article p b{color:#1d2733} .why{color:#9a3b12}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13.5px/1.45 ui-monospace,monospace;
background:#f7f9fb;padding:.5rem .7rem;margin:.5rem 0 0;max-height:16rem;overflow:auto}
.warn{background:#fdf3e4;padding:.5rem .8rem;border-left:3px solid #d08a1d}
"""


def render_canary(
    version: str, groups: Iterable[tuple[Group, list[Specimen]]], max_chars: int
) -> str:
    """Render every group with its specimens; a group with nothing to show says so."""
    links: dict[str, list[str]] = {}
    sections = []
    for number, (group, shown) in enumerate(groups):
        links.setdefault(group.stage, []).append(
            f'<a href="#g{number}">{escape(group.name)} ({group.total:,})</a>'
        )
        articles = "".join(_article(one, max_chars) for one in shown)
        sections.append(
            f'<h2 id="g{number}">{escape(f"{group.stage}: {group.name}")} <span class="n">'
            f"{len(shown)} of {group.total:,}</span></h2>"
            f"{articles or '<p>Nothing that may be shown.</p>'}"
        )
    menu = "".join(
        f"<nav><b>{escape(stage)}</b>{''.join(some)}</nav>" for stage, some in links.items()
    )
    title = f"canary of {version}"
    body = (
        f"<h1>{escape(title)}</h1>"
        '<p class="warn">This page contains text of the corpus. It is not part of the version: delete '
        "it when you have looked. A takedown deletes it where it still lies in the home, and names "
        "it elsewhere; it reaches no copy of it.</p>"
        "<p>Kept documents show their final text, dropped ones the text as it was extracted. "
        "Look for good pages among the dropped and bad ones among the kept.</p>"
        f"{menu}{''.join(sections)}"
    )
    return page(title, body, PAGE_STYLE)


def _article(one: Specimen, max_chars: int) -> str:
    said = [one.snapshot, one.language or "language unknown"]
    if one.detail:
        said.append(one.detail)
    why = "".join(
        f'<p class="why">{escape(rule)}: {escape(signal)} is {escape(_shown(value))}, '
        f"asked for: {escape(asked)}</p>"
        for rule, signal, value, asked in one.failed
    )
    text = ""
    if one.text is not None:
        more = len(one.text) - max_chars
        tail = f"<p>... {more:,} more characters</p>" if more > 0 else ""
        text = f'<pre dir="auto">{_lines(one.text[:max_chars])}</pre>{tail}'
    return (
        f'<article id="{one.doc_id}"><p><b>{escape(one.title or one.url or one.doc_id)}</b></p>'
        f"<p>{escape(one.url or '')}</p>"
        f"<p><code>{one.doc_id}</code> {escape(', '.join(said))}</p>{why}{text}</article>"
    )


def _shown(value: object) -> str:
    return short(value) if isinstance(value, float) else str(value)


def _lines(text: str) -> str:
    """Escape a text; lines, tabs, spaces and joiners stay, other control characters are written
    out."""
    parts = KEPT.split(text)
    return "".join(part if place % 2 else escape(part) for place, part in enumerate(parts))


# Review of such samples, on the pages of `catalog serve --review`.


def judgements_section(rows: Sequence[JudgementRow]) -> tuple[str, str]:
    """Return a section of a report: judgements by reason, without their words."""
    found = [
        (one.stage, one.reason, one.judged, one.disagreed, Percent(one.share),
         f"{one.interval[0]:.1%} to {one.interval[1]:.1%}")
        for one in summed(rows)
    ]  # fmt: skip
    heads = ("stage", "reason", "judged", "disagree", "share", "95% interval")
    about = "<p>Of samples that people have read: how many they would have decided otherwise.</p>"
    return "Review", about + table(heads, found) if found else ""
