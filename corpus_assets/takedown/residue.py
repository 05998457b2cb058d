"""Search what is still there for removed texts: exact copies and shared 13-grams.

The removed texts are gone by then. They are known by their ids and by one-way digests of some
of their 13-grams (`versions.gram_digests`), which a certificate keeps, so the same search can be made
again at any time. Every live text, and every document decoded from a version's tokens, is
searched. One that was scanned already (a final text that cleaning left as it was, tokens that spell
it) is known by its digest and not scanned again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from catalog.db import Registry
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.store import Store, open_store, read_checked
from corpus_assets.ingest import text_id_of
from corpus_assets.shards import Encoder
from corpus_assets.takedown.home_search import Holder, HomeSearch, Tell, search_home
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.versions import DigestIndex, published_manifest
from corpus_loader import Manifest
from corpus_loader.index import numpy_type

SHARE_WORTH_NAMING = 0.3
"""A text that holds this much of a removed one is reported, as a likely copy."""


@dataclass(frozen=True)
class Residue:
    """What the search went through and what it found."""

    texts: int  # live texts looked at: extracted, final and decoded from tokens
    tokens: int  # tokens of the new version that were decoded
    exact: int  # places that still hold a whole removed text, under an address not asked for
    similar: int  # live documents that hold a good share of a removed text's 13-grams
    files: int = 0  # all others of the home that were searched
    bytes: int = 0
    holding: Sequence[Holder] = ()  # those that hold a removed text, whole or in good part
    not_searched: Sequence[tuple[str, str]] = ()  # those that could not be read, and why


@dataclass(frozen=True)
class Copy:
    """A live document that holds a removed text, whole or in good part."""

    doc_id: str
    exact: bool
    share_percent: int  # of the removed text's 13-grams that were looked for
    in_training_data: bool


@dataclass
class _Seen:
    """What was seen of one live document: removed document -> share of its 13-grams."""

    shares: dict[str, float]
    whole: set[bytes]
    in_training_data: bool = False


class Search:
    """One search over any number of files. Memory: a set of digests of one snapshot's texts.

    `text_ids` and `digests` are those of the removed documents, by id. `watched` are documents of
    which it is noted whether they are in the training data, however little they share. `held_by` are
    the versions that the documents were taken out of.
    """

    def __init__(
        self,
        store: Store,
        text_ids: Mapping[str, bytes],
        digests: Mapping[str, Sequence[str]],
        watched: Collection[str] = (),
        held_by: Collection[str] = (),
    ) -> None:
        self._store = store
        self._held_by = held_by
        self._text_ids = dict(text_ids)
        self._index = DigestIndex(digests, SHARE_WORTH_NAMING)
        self._whole = set(text_ids.values())
        self._scanned: set[bytes] = set()
        self._close: dict[bytes, dict[str, float]] = {}  # by the id of a text that is close
        self._watched = pa.array(sorted(bytes.fromhex(one) for one in watched), DOC_ID)
        self._seen: dict[bytes, _Seen] = {}  # by the document that is watched or has such a text
        self._decoders: dict[str, Encoder] = {}
        self._texts = self._tokens = 0
        self._paths: set[str] = set()  # files of the store that were looked at
        self._home: HomeSearch | None = None
        self._exact: Counter[bytes] = Counter()

    @property
    def removed(self) -> Collection[str]:
        """Ids of the removed documents."""
        return self._text_ids.keys()

    @property
    def residue(self) -> Residue:
        """What was found of any removed document."""
        return self.residue_of(self._text_ids)

    def residue_of(self, doc_ids: Collection[str]) -> Residue:
        """Return what was found of some of the removed documents."""
        wanted = set(doc_ids)
        whole = {self._text_ids[doc_id] for doc_id in wanted}
        home = self._home
        copied = {one for seen in self._seen.values() for one in seen.shares}
        held = {text_id for seen in self._seen.values() for text_id in seen.whole}
        copied |= {one for one in wanted if self._text_ids[one] in held}
        return Residue(
            self._texts,
            self._tokens,
            sum(self._exact[text_id] for text_id in whole),
            sum(not wanted.isdisjoint(seen.shares) for seen in self._seen.values()),
            *(
                (
                    home.files,
                    home.total_bytes,
                    home.holders_of(wanted, copied),
                    home.not_searched,
                )
                if home
                else ()
            ),
        )

    def copies_of(self, doc_ids: Collection[str], watched: Collection[str] = ()) -> list[Copy]:
        """Live documents that hold some of the removed documents, whole or in good part; those
        that are watched in any case."""
        wanted = set(doc_ids)
        whole = {self._text_ids[doc_id] for doc_id in wanted}
        found = []
        for doc_id, seen in sorted(self._seen.items()):
            exact = not whole.isdisjoint(seen.whole)
            share = max((seen.shares[one] for one in wanted & seen.shares.keys()), default=0.0)
            if exact or share or doc_id.hex() in watched:
                percent = 100 if exact else round(100 * share)
                found.append(Copy(doc_id.hex(), exact, percent, seen.in_training_data))
        return found

    def everywhere(
        self, registry: Registry, home: Path | None, kept: Collection[str], tell: Tell
    ) -> None:
        """Look through all live versions, then through all other files of the home but `kept`."""
        self._paths.update(kept)
        for version in registry.versions():
            if version.status == "live":
                self.version(registry, version.name)
        if home is not None:
            self.home(registry, home.resolve(), tell)

    def version(self, registry: Registry, name: str) -> None:
        """Look through a version: its texts, extracted and final, and its tokens."""
        manifest = published_manifest(self._store, registry.version(name))
        files: dict[str, list[str]] = {}
        for table in ("documents", "final_text"):
            for row in registry.lineage_files(name, table):
                files.setdefault(row.snapshot or "", []).append(row.path)
        for snapshot, paths in files.items():
            self.snapshot(dict.fromkeys(paths), manifest, snapshot)

    def home(self, registry: Registry, root: Path, tell: Tell) -> None:
        """Look through all other files of a home, once its live versions are done."""
        decoders = list(self._decoders.values())
        self._home = HomeSearch(self._text_ids, self._index, decoders, tell, held_by=self._held_by)
        search_home(root, self._store, registry, self._home, self._paths)

    def snapshot(self, tables: Iterable[str], manifest: Manifest | None, snapshot: str) -> None:
        """Look through a snapshot: its Parquet files (doc_id, text), extracted ones first, and
        its shards."""
        self._scanned.clear()
        for path in (path for path in tables if path not in self._paths):
            self._paths.add(path)
            for table in _texts(self._store, path):
                self._look(table)
        if manifest is None:
            return
        for shard in (s for g in manifest.groups if g.snapshot == snapshot for s in g.shards):
            if shard.bin.path in self._paths:
                continue
            self._paths.add(shard.bin.path)
            found = np.fromfile(self._store.local(shard.bin.path), numpy_type(manifest.dtype))
            flat = found.astype(np.int32, copy=False)
            spans = pq.read_table(self._store.local(shard.spans.path))
            decoded = _decoded(flat, spans, manifest.seq_len, self._decoder(manifest))
            self._look(decoded, in_training_data=True)
            self._tokens += shard.tokens

    def _look(self, table: pa.Table, in_training_data: bool = False) -> None:
        ids: list[bytes] = (
            table["text_id"].to_pylist()
            if "text_id" in table.column_names
            else _text_ids(table["text"])
        )
        self._texts += len(ids)
        self._exact.update(text_id for text_id in ids if text_id in self._whole)
        new = [row for row, text_id in enumerate(ids) if text_id not in self._scanned]
        some = table.take(pa.array(new, pa.int64())) if len(new) < len(ids) else table
        for row, removed, share in self._index.scan(some["text"]):
            self._close.setdefault(ids[new[row]], {})[removed] = share
        self._scanned.update(ids)
        watched = pc.is_in(table["doc_id"], self._watched).to_pylist()
        close = [
            row
            for row, (i, is_watched) in enumerate(zip(ids, watched, strict=True))
            if is_watched or i in self._close or i in self._whole
        ]
        doc_ids = table["doc_id"].take(pa.array(close, pa.int64())).to_pylist()
        for row, doc_id in zip(close, doc_ids, strict=True):
            seen = self._seen.setdefault(doc_id, _Seen({}, set()))
            for removed, share in self._close.get(ids[row], {}).items():
                seen.shares[removed] = max(share, seen.shares.get(removed, 0.0))
            seen.whole |= {ids[row]} & self._whole
            seen.in_training_data |= in_training_data

    def _decoder(self, manifest: Manifest) -> Encoder:
        """Load the version's tokenizer, its special tokens named by the ids in the manifest."""
        ref = manifest.tokenizer
        if ref.sha256 not in self._decoders:
            data = read_checked(self._store, ref.path, ref.sha256)
            names = Tokenizer.from_str(data.decode())
            eod, pad = names.id_to_token(ref.eod_id) or "", names.id_to_token(ref.pad_id) or ""
            self._decoders[ref.sha256] = Encoder(data, eod_token=eod, pad_token=pad, fast=False)
        return self._decoders[ref.sha256]


def search_live(
    store: Store,
    registry: Registry,
    removed: pa.Table,
    watched: Collection[str],
    held_by: Collection[str],
    home: Path,
    kept: Collection[str],
    tell: Tell,
) -> Search | None:
    """Look through all live versions, and all other files of a home, for documents that were
    taken out (doc_id, text_id, gram_digests). `kept` are files of the store known to hold them."""
    if not removed.num_rows:
        return None
    names = [doc_id.hex() for doc_id in removed["doc_id"].to_pylist()]
    text_ids = dict(zip(names, removed["text_id"].to_pylist(), strict=True))
    digests = dict(zip(names, removed["gram_digests"].to_pylist(), strict=True))
    found = Search(store, text_ids, digests, watched, held_by)
    found.everywhere(registry, home, kept, tell)
    return found


def addresses(
    store: Store, registry: Registry, versions: Sequence[str], doc_ids: Collection[str]
) -> dict[str, str]:
    """Return the address of each document, or its record key; reads two columns of the ledgers."""
    if not doc_ids:
        return {}
    wanted = pa.array([bytes.fromhex(doc_id) for doc_id in sorted(doc_ids)], DOC_ID)
    found: dict[str, str] = {}
    for path in {row.path for name in versions for row in registry.lineage_files(name, "records")}:
        table = pq.read_table(store.local(path), columns=["doc_id", "url", "url_key"])
        for row in table.filter(pc.is_in(table["doc_id"], wanted)).to_pylist():
            found[row["doc_id"].hex()] = row["url"] or row["url_key"]
    return found


def search_again(
    registry: Registry,
    store_url: str,
    documents: Sequence[Mapping[str, Any]],
    held_by: Collection[str],
    home: Path | None = None,
    kept: Collection[str] = (),
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """Repeat the search from a certificate; the entry point of `catalog takedown verify`.

    `documents` are those the certificate lists, with text_id and gram_digests; `held_by` are the
    versions that it says they were taken out of.
    """
    store = open_store(store_url)
    text_ids = {row["doc_id"]: bytes.fromhex(row["text_id"]) for row in documents}
    digests = {row["doc_id"]: row["gram_digests"] for row in documents}
    found = Search(store, text_ids, digests, held_by=held_by)
    found.everywhere(registry, home, kept, tell)
    return asdict(found.residue)


def _texts(store: Store, path: str) -> Iterator[pa.Table]:
    file = pq.ParquetFile(store.local(path))
    columns = [name for name in ("doc_id", "text_id", "text") if name in file.schema_arrow.names]
    for number in range(file.num_row_groups):
        yield file.read_row_group(number, columns=columns, use_threads=False)


def _text_ids(texts: pa.ChunkedArray) -> list[bytes]:
    """Ids from the bytes where they lie: no string is made of any text."""
    ids = []
    for chunk in texts.chunks:
        data, offsets = text_buffers(chunk.cast(pa.large_string()))
        view = memoryview(data.data)
        ids += [text_id_of(view[a:b]) for a, b in pairwise(offsets.tolist())]
    return ids


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
