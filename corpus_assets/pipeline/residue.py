"""Looking for what was taken out: exact copies and shared 13-grams in what is still there.

Before a document goes, its text makes one item of an index like that of the benchmarks; after
the rebuild every live text, and every document decoded from the new version's tokens, is looked
at. A text that was scanned already (a final text that cleaning left as it was, tokens that
spell it) is known by its digest and not scanned again. The index lives in memory for the run
and is never stored. The same search can be made again later from what a certificate keeps: ids
of texts and one-way digests of their 13-grams.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from catalog.registry import Registry
from corpus_assets.kernels.detokenize import spell_spans
from corpus_assets.kernels.unicode_text import text_buffers
from corpus_assets.pipeline.gram_digests import DigestIndex
from corpus_assets.pipeline.published import published_manifest
from corpus_assets.shards.manifest import Manifest
from corpus_assets.shards.tokens import Encoder
from corpus_assets.stages.contamination import ScanSettings, scan
from corpus_assets.stages.document_names import text_id_of
from corpus_assets.stages.eval_index import (
    EvalIndexSettings,
    EvalItem,
    build_eval_index,
    parse_eval_index,
)
from corpus_assets.store import Store, open_store, read_checked

SHARE_WORTH_NAMING = 0.3
"""A text that holds this much of a removed one is reported, as a likely copy."""


@dataclass(frozen=True)
class Residue:
    """What the search went through and what it found."""

    texts: int  # live texts looked at: extracted, final and decoded from tokens
    tokens: int  # tokens of the new version that were decoded
    exact: int  # places where a whole removed text still stands, under an address not asked for
    similar: int  # live documents that hold a good share of a removed text's 13-grams


Scan = Callable[[pa.Table], Iterator[tuple[int, str]]]
"""(row, removed document) for each row of a table that holds a good share of the document."""


def by_text(removed: Mapping[str, str]) -> Scan:
    """A scan for texts that are at hand, by id: 13-grams compared word by word."""
    items = [EvalItem(doc_id, "removed", text) for doc_id, text in sorted(removed.items())]
    index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
    settings = ScanSettings(report_share=SHARE_WORTH_NAMING, near_misses=None)

    def scan_texts(table: pa.Table) -> Iterator[tuple[int, str]]:
        hits = scan(table, index, settings)
        return zip(hits["row"].to_pylist(), hits["item_id"].to_pylist(), strict=True)

    return scan_texts


def by_digests(digests: Mapping[str, Sequence[str]]) -> Scan:
    """A scan for texts that are gone, from the digests of their 13-grams."""
    index = DigestIndex(digests, SHARE_WORTH_NAMING)
    return lambda table: index.scan(table["text"])


class Search:
    """One search over any number of files. Memory: a set of digests of one snapshot's texts.

    `text_ids` are those of the removed documents, by id.
    """

    def __init__(self, store: Store, text_ids: Mapping[str, bytes], scan_texts: Scan) -> None:
        self._store = store
        self._text_ids = dict(text_ids)
        self._scan = scan_texts
        self._whole = set(text_ids.values())
        self._scanned: set[bytes] = set()
        # Removed documents of which a text holds a good share: by the text's id, by its document.
        self._close: dict[bytes, set[str]] = {}
        self._similar: dict[bytes, set[str]] = {}
        self._decoders: dict[str, Encoder] = {}
        self._texts = self._tokens = 0
        self._exact: Counter[bytes] = Counter()

    @property
    def residue(self) -> Residue:
        """What was found of any removed document."""
        return self.residue_of(self._text_ids)

    def residue_of(self, doc_ids: Collection[str]) -> Residue:
        """What was found of some of the removed documents."""
        wanted = set(doc_ids)
        whole = {self._text_ids[doc_id] for doc_id in wanted}
        return Residue(
            self._texts,
            self._tokens,
            sum(self._exact[text_id] for text_id in whole),
            sum(not wanted.isdisjoint(close) for close in self._similar.values()),
        )

    def version(self, registry: Registry, name: str) -> None:
        """Look through a version: its texts, extracted and final, and its tokens."""
        manifest = published_manifest(self._store, registry.version(name))
        files: dict[str, list[str]] = {}
        for table in ("texts", "final_text"):
            for row in registry.lineage_files(name, table):
                files.setdefault(row.snapshot or "", []).append(row.path)
        for snapshot, paths in files.items():
            self.snapshot(dict.fromkeys(paths), manifest, snapshot)

    def snapshot(self, tables: Iterable[str], manifest: Manifest | None, snapshot: str) -> None:
        """Look through a snapshot: its Parquet files (doc_id, text), extracted ones first, and
        its shards."""
        self._scanned.clear()
        for path in tables:
            for table in _texts(self._store, path):
                self._look(table)
        if manifest is None:
            return
        for shard in (s for g in manifest.groups if g.snapshot == snapshot for s in g.shards):
            flat = np.fromfile(self._store.local(shard.bin.path), dtype="<i4")
            spans = pq.read_table(self._store.local(shard.spans.path))
            self._look(_decoded(flat, spans, manifest.seq_len, self._decoder(manifest)))
            self._tokens += shard.tokens

    def _look(self, table: pa.Table) -> None:
        ids: list[bytes] = (
            table["text_id"].to_pylist()
            if "text_id" in table.column_names
            else _text_ids(table["text"])
        )
        self._texts += len(ids)
        self._exact.update(text_id for text_id in ids if text_id in self._whole)
        new = [row for row, text_id in enumerate(ids) if text_id not in self._scanned]
        some = table.take(pa.array(new, pa.int64())) if len(new) < len(ids) else table
        for row, removed in self._scan(some):
            self._close.setdefault(ids[new[row]], set()).add(removed)
        self._scanned.update(ids)
        close = [row for row, text_id in enumerate(ids) if text_id in self._close]
        doc_ids = table["doc_id"].take(pa.array(close, pa.int64())).to_pylist()
        for row, doc_id in zip(close, doc_ids, strict=True):
            self._similar.setdefault(doc_id, set()).update(self._close[ids[row]])

    def _decoder(self, manifest: Manifest) -> Encoder:
        """The version's tokenizer, its special tokens named by the ids that the manifest gives."""
        ref = manifest.tokenizer
        if ref.sha256 not in self._decoders:
            data = read_checked(self._store, ref.path, ref.sha256)
            names = Tokenizer.from_str(data.decode())
            eod, pad = names.id_to_token(ref.eod_id) or "", names.id_to_token(ref.pad_id) or ""
            self._decoders[ref.sha256] = Encoder(data, eod_token=eod, pad_token=pad, fast=False)
        return self._decoders[ref.sha256]


def search_live(
    store: Store, registry: Registry, removed: pa.Table, versions: Sequence[str]
) -> Search | None:
    """Look through versions for documents that were taken out (doc_id, text_id, text)."""
    if not removed.num_rows:
        return None
    names = [doc_id.hex() for doc_id in removed["doc_id"].to_pylist()]
    text_ids = dict(zip(names, removed["text_id"].to_pylist(), strict=True))
    texts = dict(zip(names, removed["text"].to_pylist(), strict=True))
    found = Search(store, text_ids, by_text(texts))
    for name in versions:
        found.version(registry, name)
    return found


def search_again(
    registry: Registry, store_url: str, documents: Sequence[Mapping[str, Any]]
) -> dict[str, int]:
    """The entry point behind `catalog takedown verify`: the search, from a certificate.

    `documents` are those the certificate lists, with text_id and gram_digests.
    """
    store = open_store(store_url)
    text_ids = {row["doc_id"]: bytes.fromhex(row["text_id"]) for row in documents}
    digests = {row["doc_id"]: row["gram_digests"] for row in documents}
    found = Search(store, text_ids, by_digests(digests))
    for version in registry.versions():
        if version.status == "live":
            found.version(registry, version.name)
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
    """The documents of a shard as text, from their tokens.

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
    table, offsets = encoder.byte_table
    data, ends = spell_spans(
        flat,
        starts[order],
        spans["length"].to_numpy().astype(np.int64)[order],
        firsts,
        table,
        offsets,
    )
    texts = pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(data))
    return pa.table({"doc_id": ids.take(pa.array(order[firsts[:-1]])), "text": texts})
