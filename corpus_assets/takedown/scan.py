"""Look for removed texts in stored texts and tokens, a piece of a version at a time.

A piece is plain data and names its files by digest, so any worker can look through it; what it
finds (`Findings`) is small, and those of several pieces add up. The texts of parts are looked
through where their keys (`lineage.text_keys`) do not rule out that one of them holds a removed
text; of shards those are decoded that were written anew, or have a document that is looked for.
Without keys, and in a full search, everything is read.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.store import Output, Store, read_checked
from corpus_assets.lineage import DigestIndex, read_text_keys, text_ids
from corpus_assets.shards import Encoder
from corpus_loader import Manifest
from corpus_loader.index import Dtype, numpy_type
from corpus_loader.manifest import ShardRef

SHARE_WORTH_NAMING = 0.3
"""A text that holds this much of a removed one is reported, as a likely copy."""


@dataclass(frozen=True)
class Sought:
    """Removed documents: their text ids and digests, by id. Of `watched` documents it is noted
    whether they are in the training data, however little they share."""

    text_ids: Mapping[str, bytes]
    digests: Mapping[str, Sequence[str]]
    watched: Collection[str] = ()

    @cached_property
    def index(self) -> DigestIndex:
        return DigestIndex(self.digests, SHARE_WORTH_NAMING)

    @cached_property
    def whole(self) -> set[bytes]:
        return set(self.text_ids.values())

    @cached_property
    def watched_ids(self) -> pa.Array:
        return pa.array(sorted(bytes.fromhex(one) for one in self.watched), DOC_ID)


@dataclass
class Seen:
    """What was seen of one live document: removed document -> share of its 13-grams."""

    shares: dict[str, float] = field(default_factory=dict)
    whole: set[bytes] = field(default_factory=set)
    in_training_data: bool = False


@dataclass
class Findings:
    """What was looked through, and the documents that are watched or hold a removed text."""

    texts: int = 0
    unread: int = 0  # texts of these that keys ruled out, or that are tokens of such texts
    tokens: int = 0
    exact: Counter[bytes] = field(default_factory=Counter)
    seen: dict[bytes, Seen] = field(default_factory=dict)

    def add(self, other: "Findings") -> None:
        self.texts += other.texts
        self.unread += other.unread
        self.tokens += other.tokens
        self.exact.update(other.exact)
        for doc_id, theirs in other.seen.items():
            mine = self.seen.setdefault(doc_id, Seen())
            for removed, share in theirs.shares.items():
                mine.shares[removed] = max(share, mine.shares.get(removed, 0.0))
            mine.whole |= theirs.whole
            mine.in_training_data |= theirs.in_training_data

    def to_json(self) -> dict[str, Any]:
        """Return them as the notes of a task's result."""
        return {
            "texts": self.texts,
            "unread": self.unread,
            "tokens": self.tokens,
            "exact": {text_id.hex(): count for text_id, count in self.exact.items()},
            "seen": {
                doc_id.hex(): [one.shares, sorted(w.hex() for w in one.whole), one.in_training_data]
                for doc_id, one in self.seen.items()
            },
        }

    @classmethod
    def from_json(cls, notes: Mapping[str, Any]) -> "Findings":
        exact = Counter({bytes.fromhex(name): count for name, count in notes["exact"].items()})
        seen = {
            bytes.fromhex(doc_id): Seen(dict(shares), set(map(bytes.fromhex, whole)), trained)
            for doc_id, (shares, whole, trained) in notes["seen"].items()
        }
        return cls(notes["texts"], notes["unread"], notes["tokens"], exact, seen)


class Scanner:
    """Looks at tables of texts. A text that was looked at already (a final text that cleaning left
    as it was, tokens that spell it) is known by its id and not looked through again. Memory: the
    ids of the texts."""

    def __init__(self, sought: Sought) -> None:
        self.sought = sought
        self.found = Findings()
        self._scanned: set[bytes] = set()
        self._close: dict[bytes, dict[str, float]] = {}  # by the id of a text that is close

    def look(self, table: pa.Table, in_training_data: bool = False) -> None:
        """Look through texts (doc_id, text, and text_id where it is known)."""
        sought = self.sought
        named = "text_id" in table.column_names
        ids = table["text_id"].to_pylist() if named else text_ids(table["text"])
        self.found.texts += len(ids)
        self.found.exact.update(text_id for text_id in ids if text_id in sought.whole)
        new = [row for row, text_id in enumerate(ids) if text_id not in self._scanned]
        some = table.take(pa.array(new, pa.int64())) if len(new) < len(ids) else table
        for row, removed, share in sought.index.scan(some["text"]):
            self._close.setdefault(ids[new[row]], {})[removed] = share
        self._scanned.update(ids)
        watched = pc.is_in(table["doc_id"], sought.watched_ids).to_pylist()
        close = [
            row
            for row, (i, is_watched) in enumerate(zip(ids, watched, strict=True))
            if is_watched or i in self._close or i in sought.whole
        ]
        doc_ids = table["doc_id"].take(pa.array(close, pa.int64())).to_pylist()
        for row, doc_id in zip(close, doc_ids, strict=True):
            shares = dict(self._close.get(ids[row], {}))
            one = Seen(shares, {ids[row]} & sought.whole, in_training_data)
            self.found.add(Findings(seen={doc_id: one}))


@dataclass(frozen=True)
class Part:
    """The files of a part that hold its texts, and their keys where they are known."""

    texts: tuple[Output, ...]
    keys: Output | None = None


@dataclass(frozen=True)
class Shard:
    """The files of a shard that its documents are decoded from."""

    bin: Output
    spans: Output
    tokens: int
    documents: int

    @classmethod
    def of(cls, shard: ShardRef) -> "Shard":
        tokens, spans = (
            Output(file.path, file.sha256, file.bytes, 0) for file in (shard.bin, shard.spans)
        )
        return cls(tokens, spans, shard.tokens, shard.documents)


@dataclass(frozen=True)
class Spelling:
    """What is needed to read the tokens of a version."""

    dtype: Dtype
    seq_len: int
    tokenizer: str
    sha256: str
    eod_id: int
    pad_id: int

    @classmethod
    def of(cls, manifest: Manifest) -> "Spelling":
        ref = manifest.tokenizer
        return cls(manifest.dtype, manifest.seq_len, ref.path, ref.sha256, ref.eod_id, ref.pad_id)

    def encoder(self, store: Store) -> Encoder:
        """Load the version's tokenizer, its special tokens named by the ids in the manifest."""
        data = read_checked(store, self.tokenizer, self.sha256)
        names = Tokenizer.from_str(data.decode())
        eod, pad = names.id_to_token(self.eod_id) or "", names.id_to_token(self.pad_id) or ""
        return Encoder(data, eod_token=eod, pad_token=pad, fast=False)


@dataclass(frozen=True)
class Piece:
    """What is looked through at once: parts of a snapshot, or shards of it in one version; of shards
    that hold none of `doc_ids` only this is looked at, unless that is None."""

    snapshot: str
    parts: tuple[Part, ...] = ()
    shards: tuple[Shard, ...] = ()
    spelling: Spelling | None = None
    doc_ids: tuple[str, ...] | None = None


def look_through(store: Store, scanner: Scanner, piece: Piece) -> None:
    """Look through the texts of parts, but for those whose keys rule a removed text out, and those
    of shards, decoded."""
    sought, found = scanner.sought, scanner.found
    for part in piece.parts:
        keys = read_text_keys(store, part.keys) if part.keys is not None else None
        if keys is not None and not keys.may_hold(sought.whole, sought.index):
            rows = sum(output.rows for output in part.texts)
            found.texts += rows
            found.unread += rows
            continue
        for output in part.texts:
            for table in _texts(store, output.path):
                scanner.look(table)
    encoder = piece.spelling.encoder(store) if piece.spelling is not None else None
    for shard in piece.shards:
        found.tokens += shard.tokens
        if piece.doc_ids is not None and not _holds(store, shard, piece.doc_ids):
            found.texts += shard.documents
            found.unread += shard.documents
        elif encoder is not None and piece.spelling is not None:
            scanner.look(_documents(store, shard, piece.spelling, encoder), in_training_data=True)


def _documents(store: Store, shard: Shard, spelling: Spelling, encoder: Encoder) -> pa.Table:
    """Read and decode a shard."""
    tokens = np.fromfile(store.local(shard.bin.path), numpy_type(spelling.dtype))
    with store.open(shard.spans.path) as file:
        spans = pq.read_table(file)
    return _decoded(tokens.astype(np.int32, copy=False), spans, spelling.seq_len, encoder)


def _holds(store: Store, shard: Shard, doc_ids: Collection[str]) -> bool:
    """Read one column of a shard's spans."""
    if not doc_ids:
        return False
    wanted = pa.array(sorted(map(bytes.fromhex, doc_ids)), DOC_ID)
    with store.open(shard.spans.path) as file:
        ids = pq.read_table(file, columns=["doc_id"])["doc_id"]
    return bool(pc.any(pc.is_in(ids, wanted)).as_py())


def _texts(store: Store, path: str) -> Iterator[pa.Table]:
    with store.open(path) as handle:
        file = pq.ParquetFile(handle)
        known = file.schema_arrow.names
        columns = [name for name in ("doc_id", "text_id", "text") if name in known]
        for number in range(file.num_row_groups):
            yield file.read_row_group(number, columns=columns, use_threads=False)


def _decoded(
    flat: "np.ndarray[tuple[int], np.dtype[np.int32]]",
    spans: pa.Table,
    seq_len: int,
    encoder: Encoder,
) -> pa.Table:
    """Decode the documents of a shard from their tokens.

    Two rows may share a doc_id: the first spans at each place are one document's, the second
    ones the other's.
    """
    ids = spans["doc_id"].combine_chunks()
    number = pc.rank(ids, tiebreaker="dense").to_numpy().astype(np.int64)
    place = spans["doc_token_offset"].to_numpy().astype(np.int64)
    order = np.lexsort((place, number))
    copy = np.zeros(len(order), np.int64)
    twin = np.zeros(len(order), np.bool_)
    twin[1:] = (np.diff(number[order]) == 0) & (np.diff(place[order]) == 0)
    for i in np.flatnonzero(twin):
        copy[order[i]] = copy[order[i - 1]] + 1
    order = np.lexsort((place, copy, number))
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (np.diff(number[order]) != 0) | (np.diff(copy[order]) != 0)
    firsts = np.append(np.flatnonzero(is_first), len(order)).astype(np.int64)
    starts = spans["sample"].to_numpy().astype(np.int64) * seq_len + spans["offset"].to_numpy()
    lengths = spans["length"].to_numpy().astype(np.int64)
    starts, lengths = starts[order], lengths[order]
    if encoder.markers is not None and (flat == encoder.markers.prefix).any():
        bounds = np.append(0, np.cumsum(lengths))
        flat = flat[np.repeat(starts - bounds[:-1], lengths) + np.arange(bounds[-1])]
        flat, starts = encoder.in_text_order(flat), bounds[:-1]
    data, ends = encoder.spell_spans(flat, starts, lengths, firsts)
    texts = pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(data))
    return pa.table({"doc_id": ids.take(pa.array(order[firsts[:-1]])), "text": texts})
