"""The original of a document: its record, fetched again from the file that it came from.

How files of a format are read is known to the package that ingested them. What a takedown covers is
refused, also before the takedown was carried out.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from catalog.db import FileRow, SuppressionRow
from catalog.errors import SourceUnavailable, TakedownRefused, UnknownName
from catalog.figures import counted
from catalog.formats.sketches import MIN_AGREEING, NEAR_TEXT, agreeing, ordered_sketch
from catalog.formats.urls import one_spelling
from catalog.lineage import Lineage, Row, records_by_id, records_of
from catalog.plugins import installed, load

READER_GROUP = "catalog.source_records"
RECORD = ("doc_id", "url_key", "host")


@dataclass(frozen=True)
class Original:
    """A record as its file has it (`stored`), and in the open (`data`)."""

    doc_id: bytes
    snapshot: str
    file: str
    uri: str
    offset: int
    length: int
    kind: str
    captures: int  # records of the version with this id
    stored: bytes
    data: bytes

    def described(self, data: bytes, with_record: bool) -> "FetchedRecord":
        """Return where it came from; `data` is what was asked for, with it where it is wanted."""
        return FetchedRecord(
            doc_id=self.doc_id.hex(),
            snapshot=self.snapshot,
            file=self.file,
            uri=self.uri,
            offset=self.offset,
            length=self.length,
            format=self.kind,
            captures=self.captures,
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            record=base64.b64encode(data).decode("ascii") if with_record else None,
        )


@dataclass(frozen=True)
class FetchedRecord:
    """Where a record came from, and the record in base64; None where it went to a file."""

    doc_id: str
    snapshot: str
    file: str
    uri: str
    offset: int
    length: int
    format: str
    captures: int
    bytes: int
    sha256: str
    record: str | None


def fetch_original(lineage: Lineage, doc_id: bytes, capture: int = 0) -> Original:
    """Fetch a document's record again; `capture` counts its records from 0, where it has several."""
    records = records_of(lineage, doc_id)
    if not 0 <= capture < len(records):
        raise UnknownName(
            f"document {doc_id.hex()} has {counted(len(records), 'record')} in version "
            f"{lineage.version.name}; --capture counts them from 0"
        )
    record = records[capture]
    refuse_suppressed(lineage, doc_id, record)
    file = _file(lineage, record)
    kind = {s.name: s.kind for s in lineage.registry.sources()}.get(record["source"], "")
    stored, data = read_record(kind, file, record)
    return Original(
        doc_id,
        record["snapshot"],
        record["file"],
        file.uri,
        record["offset"],
        record["length"],
        kind,
        len(records),
        stored,
        data,
    )


def read_record(kind: str, file: FileRow, record: Row) -> tuple[bytes, bytes]:
    """Read a record of a source of format `kind` again: as its file has it, and in the open.

    That is for a package that registers an entry point of the group `catalog.source_records`,
    called with the three; it raises `SourceUnavailable` for a format that it does not know.
    """
    readers = installed(READER_GROUP)
    if not readers:
        raise SourceUnavailable(
            f"nothing that reads source files is installed, so {file.uri} cannot be read: "
            "install corpus-assets here; after an update, reinstall it"
        )
    stored, data = load(readers[0], "reader of source files")(kind, file, record)
    return stored, data


def refuse_suppressed(lineage: Lineage, doc_id: bytes, record: Row) -> None:
    """Standing orders hold for originals as well."""
    if record["reason"] == "suppressed" or _is_covered(lineage, doc_id, record):
        raise TakedownRefused(
            f"document {doc_id.hex()} is under a takedown: its original is not shown "
            "(`catalog takedown list` names the requests)"
        )


def _is_covered(lineage: Lineage, doc_id: bytes, record: Row) -> bool:
    orders = _Orders(lineage.registry.suppressions())
    texts = lineage.documents_in("documents", [doc_id], record["snapshot"], [record["part"]])
    return orders.cover(doc_id, record, texts)


def takedowns_covering(lineage: Lineage, doc_id: bytes, records: Sequence[Row]) -> list[int]:
    """Return the requests whose standing orders cover a document."""
    found, orders = set(), lineage.registry.suppressions()
    for record in records:
        texts = lineage.documents_in("documents", [doc_id], record["snapshot"], [record["part"]])
        for order in orders:
            if order.request_id is not None and _Orders([order]).cover(doc_id, record, texts):
                found.add(order.request_id)
    return sorted(found)


def withheld(lineage: Lineage, doc_ids: Sequence[bytes]) -> set[bytes]:
    """Return which of some documents a standing order covers: orders are read once, and each part
    that has some of the documents."""
    orders = _Orders(lineage.registry.suppressions())
    if not orders:
        return set()
    ids = list(dict.fromkeys(doc_ids))
    places: dict[tuple[str, int], list[bytes]] = {}
    for row in records_by_id(lineage, ids, 1 << 62)[1]:
        places.setdefault((row["snapshot"], row["part"]), []).append(row["doc_id"])
    found: set[bytes] = set()
    for (snapshot, part), there in places.items():
        texts: dict[bytes, list[Row]] = {}
        for row in (
            lineage.documents_in("documents", there, snapshot, [part]) if orders.of_texts else ()
        ):
            texts.setdefault(row["doc_id"], []).append(row)
        for record in lineage.documents_in("records", there, snapshot, [part], RECORD):
            doc_id = record["doc_id"]
            if orders.cover(doc_id, record, texts.get(doc_id, ())):
                found.add(doc_id)
    return found


class _Orders:
    """Standing orders, by what they name."""

    def __init__(self, rows: Sequence[SuppressionRow]) -> None:
        self._values: dict[str, set[str]] = {}
        for row in rows:
            self._values.setdefault(row.kind, set()).add(one_spelling(row.value))
        self._sketches = [ordered_sketch(value) for value in self._values.get(NEAR_TEXT, ())]
        self.of_texts = bool(self._values.keys() & {"text_id", NEAR_TEXT})

    def __bool__(self) -> bool:
        return bool(self._values)

    def cover(self, doc_id: bytes, record: Row, texts: Sequence[Row]) -> bool:
        """Whether one of them is about a record of a document, or about its text."""
        key, host = one_spelling(record["url_key"] or ""), str(record["host"] or "")
        labels = host.split(".") if host else []
        hosts = (".".join(labels[i:]) for i in range(len(labels)))
        text_ids = (bytes(row["text_id"]).hex() for row in texts)
        return (
            doc_id.hex() in self._values.get("doc_id", ())
            or key in self._values.get("url_key", ())
            or any(key.startswith(prefix) for prefix in self._values.get("url_prefix", ()))
            or not self._values.get("host", set()).isdisjoint(hosts)
            or not self._values.get("text_id", set()).isdisjoint(text_ids)
            or any(
                agreeing(sketch, bytes(row["sketch"])) >= MIN_AGREEING
                for sketch in self._sketches
                for row in texts
                if row.get("sketch") is not None
            )
        )


def _file(lineage: Lineage, record: Row) -> FileRow:
    for file in lineage.registry.source_files(record["snapshot"]):
        if file.part == record["part"]:
            return file
    raise UnknownName(
        f"the catalog has no file for part {record['part']} of {record['snapshot']}; pin the "
        "snapshot again (`corpus build`)"
    )
