"""What a version loses when another replaces it: documents, clusters, shards and files.

Publishing a replacement writes a note (`takedowns/NEW_VERSION.parquet`) while the old version is
still whole: keys of the removed documents and one-way digests of their 13-grams, never their text.
Deletion, search and certificate work from the note, so a run may be killed between any two of
them. The note is deleted once the certificates are written.

Digests: of the 13-grams of a text, those are taken whose hash, mixed once more, lies in the lowest
eighth of the range: the same ones in any text that holds them, about one in eight. At most the
512 lowest are kept, each as BLAKE2b-64 of its hash. A digest tells whether a text at hand holds the
gram. It cannot give the text back: a digest cannot be inverted, and between two grams that were
taken lie eight words on average, too many to guess one after the other.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.db.rows import ActionRow, LineageRow
from catalog.formats.manifest import Manifest
from corpus_assets.core.schemas import DOC_ID, DOCUMENTS
from corpus_assets.core.store import Store, local_checked
from corpus_assets.ingest.purge import DOCUMENT_KEYS, covered_records
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.text.blake2b import hash_numbers
from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.hashing import mix_all
from corpus_assets.text.ngrams import ngram_hashes

KEYS = ["doc_id", "url_key", "host", *DOCUMENT_KEYS]
DIGESTS = "gram_digests"
REMOVED = pa.schema([DOCUMENTS.field(name) for name in KEYS]).append(
    pa.field(DIGESTS, pa.list_(pa.string()))
)
NOTE = b"takedown"


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


# Duplicate clusters with removed documents.

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
    documents = removed_documents(store, before.table("texts"), after.table("texts"))
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
    return distinct(gone)


def distinct(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the documents of several tables, each once, sorted by id."""
    together = pa.concat_tables([REMOVED.empty_table(), *tables])
    first: dict[bytes, int] = {}
    for row, doc_id in enumerate(together["doc_id"].to_pylist()):
        first.setdefault(doc_id, row)
    return together.take(pa.array([first[doc_id] for doc_id in sorted(first)], pa.int64()))


def of_request(removed: pa.Table, orders: Suppressions) -> list[str]:
    """Return the ids, in hex, of the removed documents that one request's orders cover."""
    records = removed.select(["doc_id", "url_key", "host"]).append_column(
        "reason", pa.nulls(removed.num_rows, pa.string())
    )
    covered = covered_records(records, removed, orders)
    return [doc_id.hex() for doc_id in removed["doc_id"].filter(pa.array(covered)).to_pylist()]


# Digests of 13-grams.

NGRAM = 13
ONE_IN = 8
MAX_DIGESTS = 512
MIN_DIGESTS = 4
"""With fewer, a text is searched for as a whole, by its id."""

_TEXTS_AT_ONCE = 1_024
_NEWLINE = pa.scalar("\n", pa.large_string())
_PERSON = np.frombuffer(b"takedown".ljust(16, b"\0"), "<u8")

Hashes = npt.NDArray[np.uint64]


def gram_digests(texts: Sequence[str]) -> list[list[str]]:
    """Return the digests of each text's 13-grams, in hex, sorted."""
    found = []
    for hashes, firsts in _hashes(pa.array(texts, pa.large_string())):
        for start, stop in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
            grams = np.unique(hashes[start:stop])
            mixed = _mixed(grams)
            lowest = np.argsort(mixed, kind="stable")[:MAX_DIGESTS]
            taken = grams[lowest[_is_taken(mixed[lowest])]]
            found.append(sorted(map(_spelled, hash_numbers(taken, _PERSON).tolist())))
    return found


class DigestIndex:
    """Find texts that hold a good share of a removed document's digests."""

    def __init__(self, digests: Mapping[str, Sequence[str]], min_share: float) -> None:
        self._holders: dict[str, list[str]] = {}
        self._needed: dict[str, int] = {}
        self._listed = {doc_id: len(listed) for doc_id, listed in digests.items()}
        for doc_id, listed in digests.items():
            if len(listed) >= MIN_DIGESTS:
                self._needed[doc_id] = max(1, round(min_share * len(listed)))
                for digest in listed:
                    self._holders.setdefault(digest, []).append(doc_id)
        numbers = (int.from_bytes(bytes.fromhex(digest), "little") for digest in self._holders)
        self._numbers = np.sort(np.fromiter(numbers, np.uint64))

    def scan(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[int, str, float]]:
        """Yield (row, document, share) for each text with a good share of a document's 13-grams.

        Costs one BLAKE2b for one 13-gram in eight.
        """
        for row, found in enumerate(self.digests_in(texts)):
            for doc_id, digests in found.items():
                share = self.share(doc_id, len(digests))
                if share:
                    yield row, doc_id, share

    def digests_in(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[dict[str, set[str]]]:
        """Yield, for each text, the digests it holds of each document."""
        if not self._holders:
            yield from ({} for _ in range(len(texts)))
            return
        for hashes, firsts in _hashes(texts):
            taken = np.flatnonzero(_is_taken(_mixed(hashes)))
            digests = hash_numbers(hashes[taken], _PERSON)
            places = np.minimum(np.searchsorted(self._numbers, digests), self._numbers.size - 1)
            hits = np.flatnonzero(self._numbers[places] == digests)
            rows = np.searchsorted(firsts, taken[hits], side="right") - 1
            found: list[dict[str, set[str]]] = [{} for _ in firsts[1:]]
            for row, number in zip(rows.tolist(), digests[hits].tolist(), strict=True):
                digest = _spelled(number)
                for doc_id in self._holders[digest]:
                    found[row].setdefault(doc_id, set()).add(digest)
            yield from found

    def share(self, doc_id: str, count: int) -> float:
        """Return the share that `count` digests are of a document's; 0 below the least share."""
        return count / self._listed[doc_id] if count >= self._needed[doc_id] else 0.0


def _hashes(texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[Hashes, npt.NDArray[np.int64]]]:
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    for chunk in chunks:
        for start in range(0, len(chunk), _TEXTS_AT_ONCE):
            # Line by line: one character that NFKC changes would convert a whole file otherwise.
            lines = pc.split_pattern(chunk.slice(start, _TEXTS_AT_ONCE), "\n")
            fixed = pa.ListArray.from_arrays(lines.offsets, nfkc(lines.values))
            data, offsets = text_buffers(pc.binary_join(fixed, _NEWLINE))
            yield ngram_hashes(data, offsets, char_tables(), NGRAM)


def _mixed(hashes: Hashes) -> Hashes:
    """Apply splitmix64's finalizer, so that the choice of grams is independent of their hashes."""
    out: Hashes = mix_all(hashes)
    return out


def _is_taken(mixed: Hashes) -> npt.NDArray[np.bool_]:
    return mixed < np.uint64(2**64 // ONE_IN)


def _spelled(digest: int) -> str:
    return digest.to_bytes(8, "little").hex()
