"""Which removed documents live versions still hold: what a run and a proof must find none of."""

from collections.abc import Collection

import pyarrow as pa

from catalog.db.registry import Registry
from catalog.formats.store import Store
from catalog.lineage.tables import Lineage

HOLDING = ("documents", "final_text", "spans")
"""Tables whose rows stand for text; ledgers keep a bare row of what was suppressed."""


def documents_left(
    registry: Registry, store: Store, doc_ids: Collection[bytes]
) -> list[dict[str, str]]:
    """Return (version, table, doc_id) of every document that is still there. Reads columns of
    ids."""
    found: list[dict[str, str]] = []
    if not doc_ids:
        return found
    wanted = pa.table({"doc_id": pa.array(sorted(doc_ids), pa.binary())})
    for version in registry.versions():
        if version.status != "live":
            continue
        with Lineage(registry, store, version.name) as lineage:
            lineage.connection.register("removed_documents", wanted)
            found += [
                {"version": version.name, "table": table, "doc_id": row["doc_id"].hex()}
                for table in HOLDING
                for row in lineage.query(
                    f"SELECT DISTINCT doc_id FROM {lineage.scan(table)} "
                    "SEMI JOIN removed_documents USING (doc_id) ORDER BY doc_id"
                )
            ]
    return found
