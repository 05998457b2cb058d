"""From a source file to documents: every record in the ledger, the texts of those that pass.

For each record, in file order:

1. its names (canonical URL or record key) and its id;
2. the gates (`sources.gates`), cheapest first;
3. decoding and extraction, once for each distinct payload of the part;
4. one row in RECORDS, and one in DOCUMENTS when text came out of it.

A record's rows depend on that record, the settings, the lists and the orders only. That a
payload was met before in the same part saves its extraction and changes nothing else.
Memory: the part's texts, one record, and fixed buffers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from corpus_assets.documents import DOCUMENTS, RECORDS
from corpus_assets.kernels.landmarks import Landmarks, find_landmarks
from corpus_assets.sources.base import RawRecord, SourceFile, SourceSpec
from corpus_assets.sources.charset import PageText, normalise, read_page
from corpus_assets.sources.extract import ExtractionSettings, Extractor
from corpus_assets.sources.gates import (
    Blocklist,
    GateSettings,
    Refusal,
    Suppressions,
    gate_page,
    gate_record,
    gate_text,
    licence,
    media_type,
)
from corpus_assets.sources.language_gate import LanguageGate, with_sample
from corpus_assets.sources.licence import UNKNOWN, page_licence, text_licence
from corpus_assets.sources.page_metadata import page_date, page_language, page_title
from corpus_assets.sources.readers import read_records
from corpus_assets.sources.sketch import sketch_texts
from corpus_assets.sources.url_lists import UrlLists
from corpus_assets.stages.document_names import Names, make_doc_id, make_text_id, names_of
from corpus_assets.step import Settings

__all__ = [
    "SUPPRESSED",
    "SUPPRESSED_COLUMNS",
    "VERSION",
    "IngestSettings",
    "ingest_part",
    "make_doc_id",
    "make_text_id",
]

VERSION = 2
PROGRESS_EVERY = 50


class IngestSettings(Settings):
    """What is let in, and how text is taken from it."""

    gates: GateSettings = GateSettings()
    extraction: ExtractionSettings = ExtractionSettings()


SUPPRESSED = "suppressed"

SUPPRESSED_COLUMNS: Mapping[str, Any] = {
    "url": None,
    "content_type": None,
    "refers_to": None,
    "licence": UNKNOWN,
    "detail": None,
}
"""What the ledger keeps of a suppressed record is its place and the keys an order matches it by,
whenever and by whichever order it was suppressed: so purging later and never having taken it in
give the same row."""


class _Page(NamedTuple):
    """A payload as text; `markup` is compatible with ASCII."""

    html: PageText
    kind: str
    markup: bytes = b""
    landmarks: Landmarks | None = None


@dataclass(frozen=True, slots=True)
class _Text:
    """What extraction made of a payload."""

    refusal: Refusal | None
    text: str = ""
    text_id: bytes = b""
    title: str | None = None
    language: str | None = None
    published_at: str | None = None


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
    on_cost: Callable[[float], None] | None = None,
) -> tuple[pa.Table, pa.Table]:
    """RECORDS and DOCUMENTS of one file, both sorted by (doc_id, offset).

    `on_progress` is told the number of records done, now and then and at the end. `records` are
    the file's, where it has to be fetched or an index tells which are worth it. `lid` is the
    language model, which only a language gate needs. `on_cost` is told the CPU seconds that the
    extracting process took.
    """
    ingest = _Ingest(spec, snapshot, part, file, settings, blocklist, suppressions, lists, lid)
    done = 0
    if records is None:
        records = read_records(spec, file, settings.gates.max_bytes)
    for record in records:
        ingest.add(record)
        done += 1
        if on_progress is not None and done % PROGRESS_EVERY == 0:
            on_progress(done)
    if on_progress is not None:
        on_progress(done)
    if on_cost is not None:
        on_cost(ingest.extraction_seconds)
    return ingest.tables()


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
    ) -> None:
        self._spec = spec
        self._snapshot = snapshot
        self._part = part
        self._file = file
        self._gates = settings.gates
        self._code = spec.code_gates()
        self._blocklist = blocklist.with_hosts(settings.gates.blocked_hosts)
        self._lists = lists
        self._suppressions = suppressions
        self._extractor = Extractor(settings.extraction)
        rough = settings.gates.language_gate
        self._language_gate = None if rough is None else LanguageGate(rough, lid)
        self._extracted: dict[tuple[str, str, str], _Text] = {}
        self._records: list[dict[str, Any]] = []
        self._documents: list[dict[str, Any]] = []

    def add(self, record: RawRecord) -> None:
        names = names_of(record, self._spec.name, self._snapshot)
        spdx = record.licence or self._spec.licence
        refusal, found = self._refused_early(record, names), None
        if refusal is None and record.text is not None:
            spdx, found = self._ready_text(record, record.text, spdx)
        elif refusal is None:
            spdx, found = self._page(record, names, spdx)
        if found is not None:
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
            "reason": refusal.reason if refusal else None,
            "detail": refusal.detail if refusal else None,
        }
        if refusal is not None and refusal.reason == SUPPRESSED:
            row |= SUPPRESSED_COLUMNS
        self._records.append(row)
        if refusal is None and found is not None:
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
                }
            )

    @property
    def extraction_seconds(self) -> float:
        """CPU time of the process that extracts."""
        return self._extractor.cpu_seconds

    def tables(self) -> tuple[pa.Table, pa.Table]:
        self._add_sketches()
        return _table(self._records, RECORDS), _table(self._documents, DOCUMENTS)

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

    def _refused_early(self, record: RawRecord, names: Names) -> Refusal | None:
        if self._suppressions.match_record(names.key, names.host or "", names.doc_id):
            return Refusal(SUPPRESSED)
        return gate_record(record, names.address, self._gates, self._blocklist, self._lists)

    def _ready_text(self, record: RawRecord, raw: str, spdx: str) -> tuple[str, _Text]:
        if self._spec.licence_in_text and record.licence is None:
            spdx = text_licence(raw) or spdx
        refusal = gate_text(record, raw, spdx, self._gates, self._code)
        if refusal is not None:
            return spdx, _Text(refusal)
        text = normalise(raw)
        if not text.strip():
            return spdx, _Text(Refusal("no_text"))
        title = None if record.title is None else normalise(record.title)
        return spdx, _Text(None, text, make_text_id(text), title, record.language)

    def _page(self, record: RawRecord, names: Names, spdx: str) -> tuple[str, _Text]:
        html = read_page(record.payload, record.content_type)
        if not isinstance(html, PageText):
            return spdx, _Text(Refusal("undecodable", html.charset))
        kind = media_type(record)
        page = _Page(html, kind)
        if kind != "text/plain":
            wide = html.charset.startswith("utf-16")
            markup = html.text.encode("utf-8", "replace") if wide else record.payload
            landmarks = find_landmarks(markup)
            page = _Page(html, kind, markup, landmarks)
            spdx = page_licence(markup, landmarks.hosts) or spdx
            refusal = gate_page(markup, spdx, self._gates, landmarks.metas)
        else:
            refusal = licence(spdx, self._gates)
        gate = self._language_gate
        if refusal is None and gate is not None:
            is_utf8 = html.charset == "utf-8"
            refusal = gate.refuse(record.payload if is_utf8 else html.text.encode())
            if refusal is not None and gate.is_sampled(names.doc_id):
                found = self._extract_once(names, page)
                refusal = with_sample(refusal, gate.is_wanted(found.text))
        if refusal is not None:
            return spdx, _Text(refusal)
        found = self._extract_once(names, page)
        if found.refusal is None and found.language is None:
            declared = record.header("content-language")
            language = record.language or page_language("", declared)
            found = replace(found, language=language)
        return spdx, found

    def _extract_once(self, names: Names, page: _Page) -> _Text:
        seen = (names.payload_digest, page.html.charset, page.kind)
        found = self._extracted.get(seen)
        if found is None:
            found = self._extracted[seen] = self._extract(page)
        return found

    def _extract(self, page: _Page) -> _Text:
        html = page.html
        if page.kind == "text/plain":
            text, title, language, published = normalise(html.text), None, None, None
        else:
            found = self._extractor.extract(html.utf8)
            if found.reason is not None:
                return _Text(Refusal(found.reason, found.detail))
            text, title, language = found.text, page_title(html), page_language(html)
            published = page_date(page.markup, page.landmarks)
        if not text.strip():
            return _Text(Refusal("no_text"))
        return _Text(None, text, make_text_id(text), title, language, published)


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    def place(row: dict[str, Any]) -> tuple[bytes, int]:
        return row["doc_id"], row["offset"]

    return pa.Table.from_pylist(sorted(rows, key=place), schema=schema)
