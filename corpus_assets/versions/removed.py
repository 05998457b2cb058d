"""What a version loses when another replaces it: documents, shards and files.

Publishing a replacement writes a note (`takedowns/NEW_VERSION.parquet`) while the old version is
still whole: keys of the removed documents and one-way digests of their 13-grams, never their text.
Deletion, search and certificate work from the note, so a run may be killed between any two of
them. The note is deleted once the certificates are written.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db import ActionRow, LineageRow
from corpus_assets.core.schemas import DOCUMENTS
from corpus_assets.core.store import Store, local_checked
from corpus_assets.core.urls import host_of_key, one_spelling
from corpus_assets.ingest import DOCUMENT_KEYS, Suppressions, covered_records
from corpus_assets.lineage import gram_digests
from corpus_assets.versions.cluster_changes import ClusterChange, cluster_changes
from corpus_loader import Manifest

KEYS = ["doc_id", "url_key", "host", *DOCUMENT_KEYS]
DIGESTS = "gram_digests"
REMOVED = pa.schema([DOCUMENTS.field(name) for name in KEYS]).append(
    pa.field(DIGESTS, pa.list_(pa.string()))
)
NOTE = b"takedown"
HOST = "host"


@dataclass(frozen=True)
class Change:
    """A replaced version, and the shards that differ: name -> (before, after)."""

    before: str
    after: str
    documents_before: int
    documents_after: int
    shards: Mapping[str, tuple[str | None, str | None]]
    shared_shards: int

    @classmethod
    def between(cls, before: str, old: Manifest, after: str, new: Manifest) -> "Change":
        was, now = _shard_hashes(old), _shard_hashes(new)
        changed = {
            name: (was.get(name), now.get(name))
            for name in sorted(was.keys() | now.keys())
            if was.get(name) != now.get(name)
        }
        return cls(
            before,
            after,
            sum(group.documents for group in old.groups),
            sum(group.documents for group in new.groups),
            changed,
            sum(was.get(name) == digest for name, digest in now.items()),
        )

    def action(self, request: int) -> ActionRow:
        """Return the row that the catalog records for a request."""
        body = json.loads(json.dumps(asdict(self)))
        return ActionRow(request, self.before, self.after, body)

    @classmethod
    def of_action(cls, action: ActionRow) -> "Change":
        body = dict(action.detail)
        shards = {name: (was, now) for name, (was, now) in body.pop("shards").items()}
        return cls(shards=shards, **body)


def _shard_hashes(manifest: Manifest) -> dict[str, str]:
    return {
        f"{group.id}/{shard.name}": shard.bin.sha256
        for group in manifest.groups
        for shard in group.shards
    }


@dataclass(frozen=True)
class Removed:
    """What a version has and its replacement has not."""

    documents: pa.Table  # as REMOVED: one row a document, without its text
    clusters: Sequence[ClusterChange]
    files: Sequence[str]  # of the old version alone: what has to be deleted


@dataclass(frozen=True)
class Held:
    """A version by its lineage files and its manifest."""

    name: str
    lineage: Sequence[LineageRow]
    manifest: Manifest

    def table(self, name: str) -> list[LineageRow]:
        return [row for row in self.lineage if row.table_name == name]

    def paths(self) -> set[str]:
        shards = (shard for group in self.manifest.groups for shard in group.shards)
        found = {
            ref.path
            for shard in shards
            for ref in (shard.bin, shard.idx, shard.spans, shard.header)
        }
        return found | {row.path for row in self.lineage}


def note_removed(store: Store, before: Held, after: Held) -> None:
    """Write the note of what the new version loses; both must be in the store."""
    documents = removed_documents(store, before.table("documents"), after.table("documents"))
    clusters = cluster_changes(
        store,
        before.table("cluster_members"),
        after.table("cluster_members"),
        documents["doc_id"].to_pylist(),
    )
    files = sorted(before.paths() - after.paths()) + list(store.list(f"versions/{before.name}"))
    note = {"clusters": [asdict(change) for change in clusters], "files": files}
    sink = pa.BufferOutputStream()
    pq.write_table(documents.replace_schema_metadata({NOTE: json.dumps(note)}), sink)
    store.write(_path(after.name), sink.getvalue().to_pybytes())


def load_removed(store: Store, after: str) -> Removed:
    """Read the note that was written when a version was published."""
    table = pq.read_table(store.local(_path(after)))
    note = json.loads(table.schema.metadata[NOTE])
    clusters = [
        ClusterChange(
            row["kept_before"], tuple(row["removed"]), row["members_left"], tuple(row["kept_after"])
        )
        for row in note["clusters"]
    ]
    return Removed(table.replace_schema_metadata(None), clusters, note["files"])


def forget_removed(store: Store, after: str) -> None:
    """Delete the note of a version."""
    store.delete(_path(after))


def _path(after: str) -> str:
    return f"takedowns/{after}.parquet"


def removed_documents(
    store: Store, before: Iterable[LineageRow], after: Iterable[LineageRow]
) -> pa.Table:
    """Return the documents that only the old version has; reads the parts that differ."""
    new = {(row.snapshot, row.part): row for row in after}
    gone = [REMOVED.empty_table()]
    for row in sorted(before, key=lambda row: (row.snapshot, row.part)):
        now = new[row.snapshot, row.part]
        if now.sha256 == row.sha256:
            continue
        left = local_checked(store, now.path, now.sha256)
        kept = pq.read_table(left, columns=["doc_id"])
        table = pq.read_table(local_checked(store, row.path, row.sha256), columns=[*KEYS, "text"])
        ids = set(kept["doc_id"].to_pylist())
        mask = [doc_id not in ids for doc_id in table["doc_id"].to_pylist()]
        table = table.filter(pa.array(mask, pa.bool_()))
        digests = pa.array(gram_digests(table["text"].to_pylist()), pa.list_(pa.string()))
        gone.append(table.select(KEYS).append_column(DIGESTS, digests).cast(REMOVED))
    return distinct_removed(gone)


def distinct_removed(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the documents of several tables, each once, sorted by id."""
    together = pa.concat_tables([REMOVED.empty_table(), *tables])
    first: dict[bytes, int] = {}
    for row, doc_id in enumerate(together["doc_id"].to_pylist()):
        first.setdefault(doc_id, row)
    return together.take(pa.array([first[doc_id] for doc_id in sorted(first)], pa.int64()))


def removed_by_requests(
    removed: pa.Table, held: Mapping[int, Iterable[tuple[str, str]]]
) -> dict[int, list[str]]:
    """Return the ids, in hex, of the removed documents that the orders of each request cover.

    Documents are looked up by what orders name: a batch costs its requests and its documents, and
    not their product. Prefixes and near copies are compared with all of them.
    """
    rows_of: dict[object, list[int]] = {}
    columns = ["doc_id", "text_id", "url_key", "host", "derived_from"]
    for row, document in enumerate(removed.select(columns).to_pylist()):
        for name in _names(document):
            rows_of.setdefault(name, []).append(row)
    found: dict[int, list[str]] = {}
    for number, rows in held.items():
        orders, some = Suppressions.from_rows(rows), removed
        if not (orders.url_prefixes or len(orders.sketches)):
            hosts = ((HOST, host) for host in orders.hosts)
            names = (*orders.doc_ids, *orders.text_ids, *orders.url_keys, *hosts)
            places = sorted({row for name in names for row in rows_of.get(name, ())})
            some = removed.take(pa.array(places, pa.int64()))
        found[number] = _covered_ids(some, orders) if some.num_rows else []
    return found


def _names(document: Mapping[str, Any]) -> set[object]:
    """Return all by which an order can name a document, but for prefixes and near copies."""
    parents = document["derived_from"] or ()
    keys = [one_spelling(key) for key in (document["url_key"], *parents) if key]
    names: set[object] = {document["doc_id"], document["text_id"], *keys}
    for host in (document["host"] or "", *map(host_of_key, parents)):
        while host:
            names.add((HOST, host))
            host = host.partition(".")[2]
    return names


def _covered_ids(removed: pa.Table, orders: Suppressions) -> list[str]:
    records = removed.select(["doc_id", "url_key", "host"]).append_column(
        "reason", pa.nulls(removed.num_rows, pa.string())
    )
    covered = covered_records(records, removed, orders)
    return [doc_id.hex() for doc_id in removed["doc_id"].filter(pa.array(covered)).to_pylist()]
