"""What a takedown took out of a version, and for which request: from the tables of both."""

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.registry import Registry
from corpus_assets.documents import DOCUMENTS
from corpus_assets.sources.suppressions import Suppressions
from corpus_assets.stages.purge import DOCUMENT_KEYS, covered_records
from corpus_assets.store import Store, local_checked

COLUMNS = ["doc_id", "url_key", "host", *DOCUMENT_KEYS, "text"]
REMOVED = pa.schema([DOCUMENTS.field(name) for name in COLUMNS])


def removed_documents(store: Store, registry: Registry, before: str, after: str) -> pa.Table:
    """Documents that the old version has and the new one has not, with their texts.

    Only parts that differ are read; both versions must still be in the store.
    """
    old = {(row.snapshot, row.part): row for row in registry.lineage_files(before, "texts")}
    new = {(row.snapshot, row.part): row for row in registry.lineage_files(after, "texts")}
    gone = [REMOVED.empty_table()]
    for place, row in sorted(old.items()):
        if new[place].sha256 == row.sha256:
            continue
        left = local_checked(store, new[place].path, new[place].sha256)
        kept = pq.read_table(left, columns=["doc_id"])
        table = pq.read_table(local_checked(store, row.path, row.sha256), columns=COLUMNS)
        ids = set(kept["doc_id"].to_pylist())
        mask = [doc_id not in ids for doc_id in table["doc_id"].to_pylist()]
        gone.append(table.filter(pa.array(mask, pa.bool_())).select(COLUMNS).cast(REMOVED))
    return pa.concat_tables(gone)


def distinct(tables: list[pa.Table]) -> pa.Table:
    """The documents of several tables, each once, by id."""
    together = pa.concat_tables([REMOVED.empty_table(), *tables])
    first: dict[bytes, int] = {}
    for row, doc_id in enumerate(together["doc_id"].to_pylist()):
        first.setdefault(doc_id, row)
    return together.take(pa.array([first[doc_id] for doc_id in sorted(first)], pa.int64()))


def of_request(removed: pa.Table, orders: Suppressions) -> list[str]:
    """Which of the removed documents one request's orders name, as hex ids."""
    records = removed.select(["doc_id", "url_key", "host"]).append_column(
        "reason", pa.nulls(removed.num_rows, pa.string())
    )
    covered = covered_records(records, removed, orders)
    return [doc_id.hex() for doc_id in removed["doc_id"].filter(pa.array(covered)).to_pylist()]
