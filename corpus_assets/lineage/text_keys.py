"""The stage `text_keys`: what tells of a part's texts, unread, that none of them is a removed one.

Of all texts of a part together, extracted and final, it keeps

- `texts`: the first eight bytes of each text's id, and
- `grams`: the upper half of the digests of their 13-grams that `gram_digests` takes, one in eight.

A text that holds a good share of a removed one has that share of its digests, so they are among the
part's. Keys that have fewer prove that no text of the part has as many; keys that have enough prove
nothing, for the digests may be of several texts, or of other 13-grams with the same upper half.
Then the texts are read. So keys may name a part too many, and never one too few.

Some 170 bytes a text of 500 words. A changed part writes its own again, and no other.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from catalog.formats.key_files import id_key, id_keys
from corpus_assets.core import files
from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.stage import part_stage
from corpus_assets.core.store import Output, Store, read_output
from corpus_assets.core.task import Task, TaskContext
from corpus_assets.ingest import text_id_of
from corpus_assets.lineage.text_digests import DigestIndex, taken_digests
from corpus_assets.text.codepoints import text_buffers

VERSION = 1
_HALF = np.uint64(32)


@dataclass(frozen=True)
class TextKeys:
    """Keys of a part's texts, each ascending and once."""

    texts: npt.NDArray[np.uint64]
    grams: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, ids: Iterable[bytes], digests: npt.NDArray[np.uint64]) -> "TextKeys":
        """Return those of texts with these ids, and of the digests of their 13-grams."""
        texts = np.unique(id_keys(pa.chunked_array([pa.array(list(ids), DOC_ID)])))
        return cls(texts, np.unique((digests >> _HALF).astype(np.uint32)))

    def may_hold(self, text_ids: Iterable[bytes], index: DigestIndex) -> bool:
        """Say whether a text of the part may be one of these, or hold a good share of one that is
        in the index."""
        wanted = np.array([id_key(one) for one in text_ids], np.uint64)
        return bool(np.isin(wanted, self.texts).any()) or index.may_share(self.grams)

    def to_bytes(self) -> bytes:
        """Return them as a Parquet file of one row."""
        columns = {name: pa.array([getattr(self, name)]) for name in ("texts", "grams")}
        sink = io.BytesIO()
        pq.write_table(
            pa.table(columns),
            sink,
            compression="none",  # of hashes, next to each other as differences
            use_dictionary=False,
            write_statistics=False,
            column_encoding={f"{name}.list.element": "DELTA_BINARY_PACKED" for name in columns},
        )
        return sink.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "TextKeys":
        row = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        texts, grams = (
            row[name].combine_chunks().flatten().to_numpy() for name in ("texts", "grams")
        )
        return cls(texts, grams)


def read_text_keys(store: Store, output: Output) -> TextKeys:
    """Read the keys of a part."""
    data = read_output(store, output)
    try:
        return TextKeys.from_bytes(data)
    except (pa.ArrowException, KeyError) as error:
        raise CorruptArtifact(f"{output.path} holds no keys of texts: {error}") from error


def text_keys_task(documents: Output, final: Output) -> Task:
    """Return the task that makes the keys of two files; its fingerprint finds them."""
    return TEXT_KEYS.task({}, {"documents": documents, "final": final})


def text_ids(texts: pa.ChunkedArray) -> list[bytes]:
    """Ids from the bytes where they lie: no string is made of any text."""
    ids = []
    for chunk in texts.chunks:
        data, offsets = text_buffers(chunk.cast(pa.large_string()))
        view = memoryview(data.data)
        ids += [text_id_of(view[a:b]) for a, b in pairwise(offsets.tolist())]
    return ids


def run_text_keys(context: TaskContext) -> None:
    """Cost: an id and a pass over the 13-grams of each text; of final texts, those that were
    changed."""
    documents = context.table("documents", ["text_id", "text"])
    ids = documents["text_id"].to_pylist()
    final = context.table("final", ["text"])["text"]
    final_ids = text_ids(final)
    known = set(ids)
    changed = [row for row, text_id in enumerate(final_ids) if text_id not in known]
    digests = [
        taken_digests(documents["text"]),
        taken_digests(final.take(pa.array(changed, pa.int64()))),
    ]
    keys = TextKeys.of([*ids, *final_ids], np.concatenate(digests))
    context.write_bytes(files.TEXT_KEYS, keys.to_bytes(), len(ids))


TEXT_KEYS = part_stage(
    "text_keys",
    VERSION,
    run_text_keys,
    reads={"documents": files.DOCUMENTS, "final": files.FINAL},
    writes=(files.TEXT_KEYS,),
)
