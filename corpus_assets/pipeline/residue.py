"""Looking for what was taken out: exact copies and shared 13-grams in what is still there.

Before a document goes, its text makes one item of an index like that of the benchmarks; after
the rebuild every live text, and every document decoded from the new version's tokens, is
scanned against it. The index lives in memory for the run and is never stored.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from corpus_assets.documents import DOC_ID
from corpus_assets.shards.manifest import Manifest
from corpus_assets.shards.tokens import Encoder
from corpus_assets.stages.contamination import ScanSettings, scan
from corpus_assets.stages.eval_index import (
    EvalIndexSettings,
    EvalItem,
    build_eval_index,
    parse_eval_index,
)
from corpus_assets.store import Store

SHARE_WORTH_NAMING = 0.3
"""A text that holds this much of a removed one is reported, as a likely copy."""


@dataclass(frozen=True)
class Residue:
    """What the search went through and what it found."""

    texts: int  # live texts scanned: extracted, final and decoded from tokens
    tokens: int  # tokens of the new version that were decoded
    exact: int  # places where a whole removed text still stands, under an address not asked for
    similar: int  # live texts that hold a good share of a removed text's 13-grams


def search(
    store: Store, removed: dict[str, str], tables: Iterable[str], manifest: Manifest | None
) -> Residue:
    """Search live Parquet files (columns doc_id, text) and a version's shards for removed texts."""
    items = [EvalItem(doc_id, "removed", text) for doc_id, text in sorted(removed.items())]
    index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
    settings = ScanSettings(report_share=SHARE_WORTH_NAMING)
    whole = set(removed.values())
    texts = tokens = exact = 0
    similar: set[bytes] = set()
    for table, n_tokens in _live_texts(store, tables, manifest):
        texts += table.num_rows
        tokens += n_tokens
        exact += sum(text in whole for text in table["text"].to_pylist())
        similar.update(scan(table, index, settings)["doc_id"].to_pylist())
    return Residue(texts, tokens, exact, len(similar))


def _live_texts(
    store: Store, tables: Iterable[str], manifest: Manifest | None
) -> Iterator[tuple[pa.Table, int]]:
    for path in tables:
        yield pq.read_table(store.local(path), columns=["doc_id", "text"]), 0
    if manifest is None:
        return
    encoder = _decoder(store.read(manifest.tokenizer.path), manifest)
    for group in manifest.groups:
        for shard in group.shards:
            flat = np.fromfile(store.local(shard.bin.path), dtype="<i4")
            spans = pq.read_table(store.local(shard.spans.path))
            yield _decoded(flat, spans, manifest.seq_len, encoder), shard.tokens


def _decoder(tokenizer_json: bytes, manifest: Manifest) -> Encoder:
    """The version's tokenizer, its special tokens named by the ids that the manifest gives."""
    names = Tokenizer.from_str(tokenizer_json.decode())
    return Encoder(
        tokenizer_json,
        eod_token=names.id_to_token(manifest.tokenizer.eod_id) or "",
        pad_token=names.id_to_token(manifest.tokenizer.pad_id) or "",
    )


def _decoded(
    flat: "np.ndarray[tuple[int], np.dtype[np.int32]]",
    spans: pa.Table,
    seq_len: int,
    encoder: Encoder,
) -> pa.Table:
    """The documents of a shard as text, from their tokens."""
    pieces: dict[bytes, list[tuple[int, bytes]]] = {}
    columns = ("sample", "offset", "length", "doc_id", "doc_token_offset")
    for sample, offset, length, doc_id, place in zip(
        *(spans[name].to_pylist() for name in columns), strict=True
    ):
        start = sample * seq_len + offset
        ids = flat[start : start + length]
        pieces.setdefault(doc_id, []).append((place, encoder.decode_bytes(ids)))
    texts = [b"".join(part for _, part in sorted(parts)).decode() for parts in pieces.values()]
    return pa.table(
        [pa.array(list(pieces), DOC_ID), pa.array(texts, pa.large_string())],
        names=["doc_id", "text"],
    )
