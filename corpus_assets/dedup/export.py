"""Export a snapshot's MinHash signatures as datasketch's own bytes.

The store keeps band keys and sketches; minima are made again from the text, a batch at a time, so
memory does not grow with the snapshot. Text of documents that takedowns cover is in no part that
a pipeline names, so neither are their signatures here.
"""

import contextlib
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.figures import counted
from corpus_assets.core import files
from corpus_assets.core.errors import CorpusError, RecipeError
from corpus_assets.core.store import local_checked
from corpus_assets.dedup.planner import DedupPlanner
from corpus_assets.dedup.settings import SignatureSettings
from corpus_assets.dedup.signatures import SEED, sign_in_batches

BYTE_ORDER = "<"
"""What `LeanMinHash.deserialize` has to be told, so that the file is the same on every machine."""

_ROWS_AT_ONCE = 4096
_SCHEMA = pa.schema([("doc_id", pa.string()), ("minhash", pa.binary())])


@dataclass(frozen=True)
class ExportedSignatures:
    """A file of signatures, and how to index them."""

    snapshot: str
    documents: int
    without_shingles: int
    bands: int
    rows_per_band: int
    permutations: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class WrittenSignatures(ExportedSignatures):
    """Signatures, and the file that they are in; takedowns know it where it is registered."""

    out: str
    is_registered: bool

    def __str__(self) -> str:
        reach = "takedowns do not reach it, as no version is named"
        if self.is_registered:
            reach = "takedowns name it (`catalog copies` lists it)"
        return (
            f"signatures of {counted(self.documents, 'document')} of {self.snapshot}: {self.out}; "
            f"{self.without_shingles:,} without words left out\n"
            f"index them with MinHashLSH(num_perm={self.permutations}, "
            f"params=({self.bands}, {self.rows_per_band}))\n"
            f"{reach}: export again after one"
        )


def export_signatures(pipeline: DedupPlanner, snapshot: str, out: Path) -> ExportedSignatures:
    """Write `doc_id` (hex) and `minhash` (a serialised LeanMinHash) of a snapshot to a Parquet file.

    Documents without a shingle are left out: their signatures would all be equal. The file appears
    under its name when it is whole.
    """
    if snapshot not in pipeline.recipe.snapshots:
        known = ", ".join(pipeline.recipe.snapshots)
        raise RecipeError(
            f"recipe {pipeline.recipe.name} has no snapshot {snapshot}; it has {known}"
        )
    parts = pipeline.parts(files.DOCUMENTS, snapshot)
    settings = pipeline.recipe.signatures
    about = {"snapshot": snapshot, "scheme": "affine32", **settings.identity()}
    schema = _SCHEMA.with_metadata({"corpus_assets.signatures": json.dumps(about)})
    temporary = out.with_name(f".{out.name}.{uuid.uuid4().hex}.tmp")
    documents = written = 0
    try:
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for part in parts:
                file = pq.ParquetFile(local_checked(pipeline.store, part.path, part.sha256))
                for batch in file.iter_batches(_ROWS_AT_ONCE, columns=["doc_id", "text"]):
                    rows = pa.Table.from_pylist(list(_rows(batch, settings)), schema)
                    writer.write_table(rows)
                    documents += batch.num_rows
                    written += rows.num_rows
        temporary.replace(out)
    except OSError as error:
        raise CorpusError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return ExportedSignatures(
        snapshot,
        written,
        documents - written,
        settings.bands,
        settings.rows_per_band,
        settings.permutations,
        SEED,
    )


def signed_documents(path: Path) -> set[str] | None:
    """Return ids of the documents in a file of `export_signatures`, in hex; None where it is no
    such file, or a damaged one."""
    try:
        return set(pq.read_table(path, columns=["doc_id"])["doc_id"].to_pylist())
    except (pa.ArrowException, OSError, KeyError):
        return None


def _rows(batch: pa.RecordBatch, settings: SignatureSettings) -> Iterator[dict[str, Any]]:
    from datasketch import LeanMinHash

    doc_ids = iter(batch["doc_id"].to_pylist())
    for minima, _, n_shingles in sign_in_batches(pa.chunked_array([batch["text"]]), settings):
        for row, count in zip(minima, n_shingles, strict=True):
            doc_id = next(doc_ids)
            if count:
                lean = LeanMinHash(seed=SEED, hashvalues=row, scheme="affine32")
                data = bytearray(lean.bytesize(BYTE_ORDER))
                lean.serialize(data, BYTE_ORDER)
                yield {"doc_id": doc_id.hex(), "minhash": bytes(data)}
