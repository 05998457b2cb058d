"""The original of a document: its record, fetched again from the file that it came from.

How files of a format are read is known to the package that ingested them. What a takedown covers is
refused, also before the takedown was carried out.
"""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from catalog.db.rows import FileRow
from catalog.errors import SourceUnavailable, TakedownRefused, UnknownName
from catalog.formats.ids import MIN_AGREEING, NEAR_TEXT, agreeing, ordered_sketch
from catalog.formats.urls import current_key, current_order
from catalog.lineage.lookups import records_of
from catalog.lineage.tables import Lineage, Row
from catalog.plugins import installed, load

READER_GROUP = "catalog.source_records"


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

    def described(self, data: bytes, with_record: bool) -> dict[str, Any]:
        """Return it as plain values; `data` is what was asked for, in base64 where it is wanted."""
        body: dict[str, Any] = {
            "doc_id": self.doc_id.hex(),
            "snapshot": self.snapshot,
            "file": self.file,
            "uri": self.uri,
            "offset": self.offset,
            "length": self.length,
            "format": self.kind,
            "captures": self.captures,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        if with_record:
            body["record"] = base64.b64encode(data).decode("ascii")
        return body


def fetch_original(lineage: Lineage, doc_id: bytes, capture: int = 0) -> Original:
    """Fetch a document's record again; `capture` counts its records from 0, where it has several."""
    records = records_of(lineage, doc_id)
    if not 0 <= capture < len(records):
        raise UnknownName(
            f"document {doc_id.hex()} has {len(records)} records in version "
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
            f"nothing that reads source files is installed, so {file.uri} cannot be looked into: "
            "install corpus-assets here, anew after an update"
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
    texts = lineage.documents_in("texts", [doc_id], record["snapshot"], [record["part"]])
    key, host = current_key(str(record["url_key"] or "")), str(record["host"] or "")
    labels = host.split(".")
    hosts = {".".join(labels[i:]) for i in range(len(labels))} if host else set()
    text_ids = {bytes(row["text_id"]).hex() for row in texts}
    sketches = [bytes(row["sketch"]) for row in texts if row.get("sketch") is not None]
    for order in lineage.registry.suppressions():
        value = current_order(order.kind, order.value)
        if (
            (order.kind == "doc_id" and value == doc_id.hex())
            or (order.kind == "url_key" and value == key)
            or (order.kind == "url_prefix" and key.startswith(value))
            or (order.kind == "host" and value in hosts)
            or (order.kind == "text_id" and value in text_ids)
            or (
                order.kind == NEAR_TEXT
                and any(agreeing(ordered_sketch(value), each) >= MIN_AGREEING for each in sketches)
            )
        ):
            return True
    return False


def _file(lineage: Lineage, record: Row) -> FileRow:
    for file in lineage.registry.source_files(record["snapshot"]):
        if file.part == record["part"]:
            return file
    raise UnknownName(
        f"the catalog has no file for part {record['part']} of {record['snapshot']}; pin the "
        "snapshot again (`corpus build`)"
    )
