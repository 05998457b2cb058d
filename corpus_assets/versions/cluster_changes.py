"""Duplicate clusters with removed documents."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.db import LineageRow
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.store import Store, local_checked

COLUMNS = ["doc_id", "kept_doc_id"]


@dataclass(frozen=True)
class ClusterChange:
    """A cluster before, and the documents kept from what is left of it; ids in hex."""

    kept_before: str
    removed: tuple[str, ...]
    members_left: int
    kept_after: tuple[str, ...]  # several: it fell apart; none: nothing is left

    @property
    def promoted(self) -> tuple[str, ...]:
        """Members that were dropped as duplicates before and are kept now."""
        return tuple(doc_id for doc_id in self.kept_after if doc_id != self.kept_before)


def cluster_changes(
    store: Store,
    before: Iterable[LineageRow],
    after: Iterable[LineageRow],
    removed: Collection[bytes],
) -> list[ClusterChange]:
    """Return the clusters of `before` that held a removed document, by their kept document.

    Both are files of `cluster_members`, of which two columns of ids are read. A cluster is a kept
    document with all its duplicates, over all snapshots.
    """
    gone = pa.array(sorted(removed), DOC_ID)
    was = _members(store, before)
    hit = pc.or_(pc.is_in(was["doc_id"], gone), pc.is_in(was["kept_doc_id"], gone))
    kept = was["kept_doc_id"].filter(hit).unique()
    was = was.filter(pc.is_in(was["kept_doc_id"], kept))
    clusters: dict[bytes, set[bytes]] = {doc_id: {doc_id} for doc_id in kept.to_pylist()}
    for doc_id, leader in _rows(was):
        clusters[leader].add(doc_id)
    left = pa.array(sorted(set().union(*clusters.values())), DOC_ID)
    now = _members(store, after)
    kept_now = dict(_rows(now.filter(pc.is_in(now["doc_id"], left))))
    return [
        ClusterChange(
            leader.hex(),
            tuple(sorted(doc_id.hex() for doc_id in members & set(removed))),
            len(members - set(removed)),
            tuple(sorted({kept_now.get(d, d).hex() for d in members - set(removed)})),
        )
        for leader, members in sorted(clusters.items())
    ]


def _members(store: Store, files: Iterable[LineageRow]) -> pa.Table:
    schema = pa.schema([(name, DOC_ID) for name in COLUMNS])
    tables = [
        pq.read_table(local_checked(store, row.path, row.sha256), columns=COLUMNS) for row in files
    ]
    return pa.concat_tables([schema.empty_table(), *tables])


def _rows(table: pa.Table) -> Iterable[tuple[bytes, bytes]]:
    return zip(*(table[name].to_pylist() for name in COLUMNS), strict=True)
