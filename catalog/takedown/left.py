"""Which removed documents live versions still hold: what a run and a proof must find none of."""

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa

from catalog.db import Registry
from catalog.formats.store import FileStore
from catalog.lineage import Lineage

HOLDING = ("documents", "final_text", "spans")
"""Tables whose rows stand for text; ledgers keep a bare row of what was suppressed."""


@dataclass(frozen=True)
class DocumentLeft:
    """A removed document that a table of a live version has."""

    version: str
    table: str
    doc_id: str


def documents_left(
    registry: Registry, store: FileStore, doc_ids: Collection[bytes]
) -> list[DocumentLeft]:
    """Return every document that is still there. Reads columns of ids."""
    found: list[DocumentLeft] = []
    if not doc_ids:
        return found
    wanted = pa.table({"doc_id": pa.array(sorted(doc_ids), pa.binary())})
    for version in registry.versions():
        if version.status != "live":
            continue
        with Lineage(registry, store, version.name) as lineage:
            lineage.connection.register("removed_documents", wanted)
            found += [
                DocumentLeft(version.name, table, row["doc_id"].hex())
                for table in HOLDING
                for row in lineage.query(
                    f"SELECT DISTINCT doc_id FROM {lineage.scan(table)} "
                    "SEMI JOIN removed_documents USING (doc_id) ORDER BY doc_id"
                )
            ]
    return found
