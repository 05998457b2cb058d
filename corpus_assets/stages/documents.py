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

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpus_assets.documents import DOCUMENTS, RECORDS
from corpus_assets.sources.base import RawRecord, SourceFile, SourceSpec, open_source, verify_file
from corpus_assets.sources.charset import decode, normalise
from corpus_assets.sources.extract import (
    ExtractionSettings,
    Extractor,
    page_language,
    page_title,
)
from corpus_assets.sources.gates import (
    Blocklist,
    GateSettings,
    Refusal,
    Suppressions,
    gate_page,
    gate_record,
    licence,
    media_type,
)
from corpus_assets.sources.jsonl import read_jsonl
from corpus_assets.sources.licence import UNKNOWN, page_licence, text_licence
from corpus_assets.sources.parquet import read_parquet
from corpus_assets.sources.urls import Address, address_of
from corpus_assets.sources.warc import read_warc
from corpus_assets.step import Settings

VERSION = 1
PROGRESS_EVERY = 50
ID_BYTES = 16


class IngestSettings(Settings):
    """What is let in, and how text is taken from it."""

    gates: GateSettings = GateSettings()
    extraction: ExtractionSettings = ExtractionSettings()


SUPPRESSED = "suppressed"

SUPPRESSED_COLUMNS: Mapping[str, Any] = {
    "url": None,
    "content_type": None,
    "licence": UNKNOWN,
    "detail": None,
}
"""What the ledger keeps of a suppressed record is its place and the keys an order matches it by,
whenever and by whichever order it was suppressed: so purging later and never having taken it in
give the same row."""


@dataclass(frozen=True, slots=True)
class _Names:
    """What a record is called."""

    address: Address | None
    key: str  # url_key, or source:key
    host: str | None
    payload_digest: str
    doc_id: bytes
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Text:
    """What extraction made of a payload."""

    refusal: Refusal | None
    text: str = ""
    text_id: bytes = b""
    title: str | None = None
    language: str | None = None


def ingest_part(
    spec: SourceSpec,
    snapshot: str,
    part: int,
    file: SourceFile,
    settings: IngestSettings,
    blocklist: Blocklist,
    suppressions: Suppressions,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[pa.Table, pa.Table]:
    """RECORDS and DOCUMENTS of one file, both sorted by (doc_id, offset).

    `on_progress` is told the number of records done, now and then and at the end.
    """
    verify_file(file)
    ingest = _Ingest(spec, snapshot, part, file, settings, blocklist, suppressions)
    done = 0
    with open_source(file.uri) as stream:
        if spec.format == "warc":
            records = read_warc(stream, file.name, settings.gates.max_bytes)
        elif spec.format == "jsonl":
            records = read_jsonl(stream, file.name, spec.fields, settings.gates.max_bytes)
        else:
            records = read_parquet(stream, file.name, spec.fields)
        for record in records:
            ingest.add(record)
            done += 1
            if on_progress is not None and done % PROGRESS_EVERY == 0:
                on_progress(done)
    if on_progress is not None:
        on_progress(done)
    return ingest.tables()


def make_doc_id(source: str, snapshot: str, name: str, payload_digest: str) -> bytes:
    """BLAKE2b-128 over the length-prefixed parts. Neither file nor place is in it."""
    hasher = hashlib.blake2b(digest_size=ID_BYTES)
    for piece in (source, snapshot, name, payload_digest):
        raw = piece.encode("utf-8", "replace")
        hasher.update(len(raw).to_bytes(8, "little"))
        hasher.update(raw)
    return hasher.digest()


def make_text_id(text: str) -> bytes:
    """BLAKE2b-128 of text in normal form."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=ID_BYTES).digest()


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
    ) -> None:
        self._spec = spec
        self._snapshot = snapshot
        self._part = part
        self._file = file
        self._gates = settings.gates
        self._blocklist = blocklist.with_hosts(settings.gates.blocked_hosts)
        self._suppressions = suppressions
        self._extractor = Extractor(settings.extraction)
        self._extracted: dict[tuple[str, str, str], _Text] = {}
        self._records: list[dict[str, Any]] = []
        self._documents: list[dict[str, Any]] = []

    def add(self, record: RawRecord) -> None:
        names = self._names(record)
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
            "file": self._file.name,
            "offset": record.offset,
            "length": record.length,
            "fetched_at": record.fetched_at,
            "payload_digest": names.payload_digest,
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
                    "licence": spdx,
                    "title": found.title,
                    "declared_language": found.language,
                    "derived_from": list(names.parents) or None,
                    "generator": record.generator,
                    "text_id": found.text_id,
                    "text": found.text,
                }
            )

    def tables(self) -> tuple[pa.Table, pa.Table]:
        return _table(self._records, RECORDS), _table(self._documents, DOCUMENTS)

    def _names(self, record: RawRecord) -> _Names:
        content = record.payload if record.text is None else record.text.encode("utf-8", "replace")
        digest = record.payload_digest
        if content or not digest:
            digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        address = address_of(record.url) if record.url else None
        if address is not None:
            name, key = address.canonical, address.key
        else:
            name = normalise(record.key or record.url or digest)
            key = f"{self._spec.name}:{name}"
        return _Names(
            address=address,
            key=key,
            host=address.host if address else None,
            payload_digest=digest,
            doc_id=make_doc_id(self._spec.name, self._snapshot, name, digest),
            parents=tuple(_parent_key(parent) for parent in record.derived_from),
        )

    def _refused_early(self, record: RawRecord, names: _Names) -> Refusal | None:
        if self._suppressions.match_record(names.key, names.host or "", names.doc_id):
            return Refusal(SUPPRESSED)
        return gate_record(record, names.address, self._gates, self._blocklist)

    def _ready_text(self, record: RawRecord, raw: str, spdx: str) -> tuple[str, _Text]:
        if self._spec.licence_in_text and record.licence is None:
            spdx = text_licence(raw) or spdx
        refusal = licence(spdx, self._gates)
        if refusal is not None:
            return spdx, _Text(refusal)
        text = normalise(raw)
        if not text.strip():
            return spdx, _Text(Refusal("no_text"))
        title = None if record.title is None else normalise(record.title)
        return spdx, _Text(None, text, make_text_id(text), title, record.language)

    def _page(self, record: RawRecord, names: _Names, spdx: str) -> tuple[str, _Text]:
        html, charset = decode(record.payload, record.content_type)
        if html is None:
            return spdx, _Text(Refusal("undecodable", charset))
        kind = media_type(record)
        if kind != "text/plain":
            wide = charset.startswith("utf-16")
            markup = (html.encode("utf-8", "replace") if wide else record.payload).lower()
            spdx = page_licence(markup) or spdx
            refusal = gate_page(markup, spdx, self._gates)
        else:
            refusal = licence(spdx, self._gates)
        if refusal is not None:
            return spdx, _Text(refusal)
        seen = (names.payload_digest, charset, kind)
        found = self._extracted.get(seen)
        if found is None:
            found = self._extracted[seen] = self._extract(html, kind)
        if found.refusal is None and found.language is None:
            language = page_language("", record.header("content-language"))
            found = _Text(None, found.text, found.text_id, found.title, language)
        return spdx, found

    def _extract(self, html: str, kind: str) -> _Text:
        if kind == "text/plain":
            text, title, language = normalise(html), None, None
        else:
            try:
                text = self._extractor.extract(html)
            except MemoryError:
                raise  # says something about this machine, not about the page
            except Exception as error:  # one page must not stop a part, whatever it does inside
                return _Text(Refusal("extraction_failed", type(error).__name__))
            title, language = page_title(html), page_language(html)
        if not text.strip():
            return _Text(Refusal("no_text"))
        return _Text(None, text, make_text_id(text), title, language)


def _parent_key(parent: str) -> str:
    """A parent given as a URL by its url_key; any other name is a url_key already."""
    address = address_of(parent) if "://" in parent else None
    return address.key if address is not None else normalise(parent)


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    def place(row: dict[str, Any]) -> tuple[bytes, int]:
        return row["doc_id"], row["offset"]

    return pa.Table.from_pylist(sorted(rows, key=place), schema=schema)
