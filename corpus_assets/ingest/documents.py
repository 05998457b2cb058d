"""From a source file to documents: every record in the ledger, the texts of those that pass.

For each record, in file order:

1. its names (canonical URL or record key) and its id;
2. the gates (`ingest.gates.gates`), cheapest first;
3. decoding and extraction, once for each distinct payload of the part;
4. one row in RECORDS, and one in DOCUMENTS when text came out of it.

Records that passed the gates wait until there are enough of them to be extracted at once.

A record's rows depend on that record, the settings, the lists and the orders only. That a
payload was met before in the same part saves its extraction and changes nothing else.
Memory: the part's texts, what waits (1 MB and one record), and fixed buffers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpus_assets.core.sample import Sample
from corpus_assets.core.schemas import (
    DECLARED_RECALL,
    DOCUMENTS,
    PAGE_TYPE,
    RECORDS,
    SOURCE_LABELS,
)
from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest.document_names import Names, make_text_id, names_of
from corpus_assets.ingest.extract import (
    Extractor,
    PageResult,
    find_page_date,
    read_page,
)
from corpus_assets.ingest.formats import format_of, read_records
from corpus_assets.ingest.gates import (
    NOTHING_SAID,
    UNKNOWN_LICENCE,
    CodeSettings,
    LanguageGate,
    Preference,
    Statement,
    UrlLists,
    combined,
    gate_licence,
    gate_page,
    gate_record,
    gate_text,
    media_type,
    page_licence,
    with_sample,
)
from corpus_assets.ingest.kernels.landmarks import Landmarks, find_landmarks
from corpus_assets.ingest.records import RawRecord, Refusal, SourceFile
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.ingest.source import FieldNames, SourceSpec
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.ingest.written_lines import written_kinds
from corpus_assets.text.sketch import sketch_texts
from pageblocks import PageText, normalise, page_language, page_title

__all__ = [
    "SUPPRESSED",
    "SUPPRESSED_COLUMNS",
    "VERSION",
    "IngestSettings",
    "ingest_part",
]

VERSION = 12
PROGRESS_EVERY = 50
WAITING_RECORDS = 64
WAITING_BYTES = 1_000_000
_SAMPLE = Sample(b"sample of records")
RECALL = tuple(field.name for field in DECLARED_RECALL.type.value_type)


SUPPRESSED = "suppressed"

SUPPRESSED_COLUMNS: Mapping[str, Any] = {
    "url": None,
    "content_type": None,
    "refers_to": None,
    "licence": UNKNOWN_LICENCE,
    "preference": NOTHING_SAID,
    "preference_source": None,
    "detail": None,
}
"""What the ledger keeps of a suppressed record is its place and the keys an order matches it by,
whenever and by whichever order it was suppressed: so purging later and never having taken it in
give the same row."""


class _Page(NamedTuple):
    """A payload as text; `markup` is compatible with ASCII."""

    seen: tuple[str, str, str]  # what pages share whose text is the same
    html: PageText
    markup: bytes = b""
    landmarks: Landmarks | None = None  # of a page with markup


@dataclass(frozen=True, slots=True)
class _Text:
    """What extraction made of a payload."""

    refusal: Refusal | None
    text: str = ""
    text_id: bytes = b""
    title: str | None = None
    language: str | None = None
    published_at: str | None = None
    page_type: str | None = None
    line_kinds: bytes | None = None
    recalls: list[dict[str, Any]] | None = None
    line_places: bytes | None = None  # uint16, little-endian


class _Waiting(NamedTuple):
    """A record whose rows are to be written, once the text of its page is there."""

    record: RawRecord
    names: Names
    spdx: str
    preference: Preference
    found: _Text
    page: _Page | None = None


def ingest_part(
    spec: SourceSpec,
    snapshot: str,
    part: int,
    file: SourceFile,
    settings: IngestSettings,
    blocklist: Blocklist,
    suppressions: Suppressions,
    on_progress: Callable[[int], None] | None = None,
    records: Iterable[RawRecord] | None = None,
    lists: UrlLists | None = None,
    lid: Path | None = None,
    model: Path | None = None,
    on_cost: Callable[[float], None] | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Return RECORDS and DOCUMENTS of one file, both sorted by (doc_id, offset).

    `on_progress` gets the number of records done, now and then and at the end. `records` are
    the file's, where it has to be fetched or an index tells which are worth it. `lid` is the
    language model, which only a language gate needs, `model` that of the extractor, where the
    settings name one. `on_cost` gets the CPU seconds that the extracting process took.
    """
    ingest = _Ingest(
        spec, snapshot, part, file, settings, blocklist, suppressions, lists, lid, model
    )
    done = 0
    if records is None:
        records = read_records(spec, file, settings.gates.max_bytes)
    for record in records:
        ingest.add(record)
        done += 1
        if on_progress is not None and done % PROGRESS_EVERY == 0:
            on_progress(done)
    ingest.catch_up()
    if on_progress is not None:
        on_progress(done)
    if on_cost is not None:
        on_cost(ingest.extraction_seconds)
    return ingest.tables()


def _code_gates(spec: SourceSpec) -> CodeSettings | None:
    """Return the gates for source files, where the source has such."""
    return spec.code or (CodeSettings() if format_of(spec.format).is_code else None)


class _Ingest:
    """The rows of one part as they come."""

    def __init__(
        self,
        spec: SourceSpec,
        snapshot: str,
        part: int,
        file: SourceFile,
        settings: IngestSettings,
        blocklist: Blocklist,
        suppressions: Suppressions,
        lists: UrlLists | None = None,
        lid: Path | None = None,
        model: Path | None = None,
    ) -> None:
        self._spec = spec
        self._snapshot = snapshot
        self._part = part
        self._file = file
        self._gates = settings.gates
        self._code = _code_gates(spec)
        self._blocklist = blocklist
        self._lists = lists
        self._suppressions = suppressions
        self._extractor = Extractor(settings.extraction, model)
        self._notes_type = settings.extraction.page_type
        self._notes_recall = settings.extraction.engine == "blocks"
        rough = settings.gates.language_gate
        self._language_gate = None if rough is None else LanguageGate(rough, lid)
        self._extracted: dict[tuple[str, str, str], _Text] = {}
        self._waiting: list[_Waiting] = []
        self._waiting_bytes = 0
        self._records: list[dict[str, Any]] = []
        self._documents: list[dict[str, Any]] = []

    def add(self, record: RawRecord) -> None:
        """Take a record in; its rows may have to wait for its text."""
        names = names_of(record, self._spec.name, self._snapshot)
        spdx = record.licence or self._spec.licence
        statements: list[Statement] = []
        refusal = self._refused_early(record, names, statements)
        if refusal is not None:
            waiting = _Waiting(record, names, spdx, combined(statements), _Text(refusal))
        elif record.text is not None:
            waiting = self._ready_text(record, names, record.text, spdx, combined(statements))
        else:
            waiting = self._page(record, names, spdx, statements)
        self._waiting.append(waiting)
        self._waiting_bytes += len(record.payload) + len(record.text or "")
        if len(self._waiting) >= WAITING_RECORDS or self._waiting_bytes >= WAITING_BYTES:
            self.catch_up()

    def catch_up(self) -> None:
        """Extract what waits for it, and write the rows of all that waits."""
        self._extract(waiting.page for waiting in self._waiting if waiting.page is not None)
        for waiting in self._waiting:
            self._finish(waiting)
        self._waiting.clear()
        self._waiting_bytes = 0

    def _finish(self, waiting: _Waiting) -> None:
        record, names, spdx, preference, found, page = waiting
        if page is not None:
            found = self._found(record, page, found.refusal)
        refusal = found.refusal
        if refusal is None and self._suppressions.match_text(found.text_id, names.parents):
            refusal = Refusal(SUPPRESSED)
        row: dict[str, Any] = {
            "doc_id": names.doc_id,
            "source": self._spec.name,
            "snapshot": self._snapshot,
            "part": self._part,
            "url": None if record.url is None else normalise(record.url),
            "url_key": names.key,
            "host": names.host,
            "file": record.file or self._file.name,
            "offset": record.offset,
            "length": record.length,
            "fetched_at": record.fetched_at,
            "payload_digest": names.payload_digest,
            "refers_to": record.refers_to,
            "content_type": normalise(record.content_type[:200]) or None,
            "licence": spdx,
            "preference": preference.value,
            "preference_source": preference.source and normalise(preference.source),
            "reason": refusal.reason if refusal else None,
            "detail": refusal.detail if refusal else None,
        }
        if refusal is not None and refusal.reason == SUPPRESSED:
            row |= SUPPRESSED_COLUMNS
        self._records.append(row)
        if refusal is None:
            self._documents.append(
                {
                    "doc_id": names.doc_id,
                    "url_key": names.key,
                    "host": names.host,
                    "domain": self._spec.domain,
                    "offset": record.offset,
                    "fetched_at": record.fetched_at,
                    "published_at": found.published_at,
                    "licence": spdx,
                    "title": found.title,
                    "declared_language": found.language,
                    "derived_from": list(names.parents) or None,
                    "generator": record.generator,
                    "text_id": found.text_id,
                    "text": found.text,
                    "line_kinds": found.line_kinds and list(found.line_kinds),
                    "line_places": found.line_places and np.frombuffer(found.line_places, "<u2"),
                    "labels": record.labels,
                    PAGE_TYPE.name: found.page_type,
                    DECLARED_RECALL.name: found.recalls,
                }
            )

    @property
    def extraction_seconds(self) -> float:
        """CPU time of the process that extracts."""
        return self._extractor.cpu_seconds

    def tables(self) -> tuple[pa.Table, pa.Table]:
        self._add_sketches()
        documents = DOCUMENTS
        if self._notes_type:
            documents = documents.append(PAGE_TYPE)
        if self._notes_recall:
            documents = documents.append(DECLARED_RECALL)
        labels = _label_type(self._spec.fields)
        if labels is not None:
            documents = documents.append(pa.field(SOURCE_LABELS, labels))
        return _table(self._records, RECORDS), _table(self._documents, documents)

    def _add_sketches(self) -> None:
        """Sketch all texts at once, and let go of near copies of what takedowns took out."""
        sketches = sketch_texts([row["text"] for row in self._documents])
        column = pa.array(sketches, DOCUMENTS.field("sketch").type)
        covered = self._suppressions.sketches.match(column)
        became = [row for row in self._records if row["reason"] is None]
        kept = []
        for row, document, sketch, gone in zip(
            became, self._documents, sketches, covered.tolist(), strict=True
        ):
            if gone:
                row |= {"reason": SUPPRESSED, **SUPPRESSED_COLUMNS}
            else:
                kept.append(document | {"sketch": sketch})
        self._documents = kept

    def _refused_early(
        self, record: RawRecord, names: Names, statements: list[Statement]
    ) -> Refusal | None:
        if self._suppressions.match_record(names.key, names.host or "", names.doc_id):
            return Refusal(SUPPRESSED)
        share = self._gates.sample_share
        if share is not None and not _SAMPLE.holds(names.doc_id, share):
            return Refusal("not_sampled")
        return gate_record(
            record, names.address, self._gates, self._blocklist, self._lists, statements
        )

    def _ready_text(
        self, record: RawRecord, names: Names, raw: str, spdx: str, preference: Preference
    ) -> _Waiting:
        refusal = gate_text(record, raw, spdx, self._gates, self._code)
        if refusal is not None:
            return _Waiting(record, names, spdx, preference, _Text(refusal))
        text = normalise(raw)
        if not text.strip():
            return _Waiting(record, names, spdx, preference, _Text(Refusal("no_text")))
        title = None if record.title is None else normalise(record.title)
        found = _Text(None, text, make_text_id(text), title, record.language)
        found = replace(found, line_kinds=written_kinds(record, text))
        return _Waiting(record, names, spdx, preference, found)

    def _page(
        self, record: RawRecord, names: Names, spdx: str, statements: list[Statement]
    ) -> _Waiting:
        html = read_page(record.payload, record.content_type)
        if not isinstance(html, PageText):
            undecodable = _Text(Refusal("undecodable", html.charset))
            return _Waiting(record, names, spdx, combined(statements), undecodable)
        kind = media_type(record)
        seen = names.payload_digest, html.charset, kind
        page = _Page(seen, html)
        if kind != "text/plain":
            wide = html.charset.startswith("utf-16")
            markup = html.text.encode("utf-8", "replace") if wide else record.payload
            landmarks = find_landmarks(markup)
            page = _Page(seen, html, markup, landmarks)
            spdx = page_licence(markup, landmarks.hosts) or spdx
            refusal = gate_page(markup, spdx, self._gates, landmarks, statements)
        else:
            refusal = gate_licence(spdx, self._gates)
        is_wanted = refusal is None
        gate = self._language_gate
        if refusal is None and gate is not None:
            is_utf8 = html.charset == "utf-8"
            refusal = gate.refuse(record.payload if is_utf8 else html.text.encode())
            is_wanted = refusal is None or gate.is_sampled(names.doc_id)
        page_or_none = page if is_wanted else None
        return _Waiting(record, names, spdx, combined(statements), _Text(refusal), page_or_none)

    def _extract(self, pages: Iterable[_Page]) -> None:
        """Texts of pages whose payload was not met before in this part."""
        new = {page.seen: page for page in pages if page.seen not in self._extracted}
        marked = [page for page in new.values() if page.landmarks is not None]
        found = self._extractor.extract_all([page.html.utf8 for page in marked]) if marked else ()
        for page, result in zip(marked, found, strict=True):
            self._extracted[page.seen] = _text_of(page, result)
        for page in new.values():
            if page.landmarks is None:
                self._extracted[page.seen] = _as_text(normalise(page.html.text))

    def _found(self, record: RawRecord, page: _Page, refusal: Refusal | None) -> _Text:
        """Return what was made of a page, or of one that the language gate refused and that was
        extracted as a sample of those."""
        found = self._extracted[page.seen]
        if refusal is not None and self._language_gate is not None:
            return _Text(with_sample(refusal, self._language_gate.is_wanted(found.text)))
        if found.refusal is None and found.language is None:
            declared = record.header("content-language")
            found = replace(found, language=record.language or page_language("", declared))
        return found


def _text_of(page: _Page, result: PageResult) -> _Text:
    if result.reason is not None:
        return _Text(Refusal(result.reason, result.detail))
    published = find_page_date(page.markup, page.landmarks)
    found = _as_text(result.text, page_title(page.html), page_language(page.html), published)
    return replace(
        found,
        page_type=result.page_type,
        line_kinds=result.line_kinds,
        line_places=result.line_places,
        recalls=[dict(zip(RECALL, each, strict=True)) for each in result.recalls or ()] or None,
    )


def _as_text(
    text: str, title: str | None = None, language: str | None = None, published: str | None = None
) -> _Text:
    if not text.strip():
        return _Text(Refusal("no_text"))
    return _Text(None, text, make_text_id(text), title, language, published)


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    def place(row: dict[str, Any]) -> tuple[bytes, int]:
        return row["doc_id"], row["offset"]

    return pa.Table.from_pylist(sorted(rows, key=place), schema=schema)


def _label_type(fields: FieldNames) -> pa.DataType | None:
    """The type of the column `labels` of a source's documents; None where it gives none."""
    kinds: dict[str, pa.DataType] = dict.fromkeys(fields.labels, pa.string())
    kinds |= dict.fromkeys(fields.scores, pa.float64())
    return pa.struct(sorted(kinds.items())) if kinds else None
