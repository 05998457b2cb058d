"""From final text to shards: an exchange, each step a task that can be repeated.

Each part's documents are tokenized and laid out by (domain, tier, labels, shard), a range of a
ranged file for each shard (`core.exchange`); a shard reads its slices of all parts, or of groups
of parts that were brought together first, and packs them.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core.schemas import DOC_ID, LABELS
from corpus_assets.shards.imports import Place
from corpus_assets.shards.pack import Places, shards_of, unit_names
from corpus_assets.shards.tokens import TokenBatch

VERSION = 2

CHARS_PER_TOKEN = 4
"""A usual compression of byte-level BPE; only the number of shards hangs on it."""

PLACE_IN_REPOSITORY = pa.field(
    "place",
    pa.struct(
        {"repository": pa.binary(), "path": pa.string(), "imports": pa.list_(pa.string())},
    ),
)

TOKENS = pa.schema([("doc_id", DOC_ID), ("tokens", pa.list_(pa.int32()))])


def group_names(final: pa.Table) -> list[str]:
    """Return the group of each document inside its snapshot, by the columns of FINAL_TEXT."""
    names = [final["domain"], final["tier"]]
    if LABELS.name in final.column_names:
        is_plain = pc.equal(final[LABELS.name], "")
        names.append(pc.if_else(is_plain, None, final[LABELS.name]))
    joined = pc.binary_join_element_wise(*names, "/", null_handling="skip")
    found: list[str] = joined.to_pylist()
    return found


def shard_counts(chars_by_group: Mapping[str, int], tokens_per_shard: int) -> dict[str, int]:
    """Count the shards of each group; a group that exists has at least one."""
    room = tokens_per_shard * CHARS_PER_TOKEN
    return {group: max(1, -(-chars // room)) for group, chars in sorted(chars_by_group.items())}


def route_tokens(
    final: pa.Table,
    batch: TokenBatch,
    counts: Mapping[str, int],
    seed: int,
    places: Places | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Yield the slices of a part by the names of their shards (`group/00000`), in their order.

    `batch` has the tokens of each row. A group that the pinned counts do not know gets one shard.
    """
    doc_ids: list[bytes] = final["doc_id"].to_pylist()
    rows: dict[str, list[int]] = {}
    groups = np.array(group_names(final))
    for group in sorted(set(groups.tolist())):
        members = np.flatnonzero(groups == group).tolist()
        names = unit_names([doc_ids[i] for i in members], places and [places[i] for i in members])
        shards = shards_of(seed, names, counts.get(group, 1))
        for row, shard in zip(members, shards.tolist(), strict=True):
            rows.setdefault(f"{group}/{shard:05d}", []).append(row)
    for name in sorted(rows):
        picked = TokenBatch.of(batch[i] for i in rows[name])
        of_rows = places and [places[i] for i in rows[name]]
        yield name, slice_bytes([doc_ids[i] for i in rows[name]], picked, of_rows)


def slice_bytes(
    doc_ids: Sequence[bytes], tokens: TokenBatch, places: Places | None = None
) -> bytes:
    """Return some documents of a shard and their tokens as a small Parquet file."""
    lists = pa.ListArray.from_arrays(
        pa.array(tokens.offsets, pa.int32()), pa.array(tokens.flat, pa.int32())
    )
    table = pa.Table.from_arrays([pa.array(doc_ids, DOC_ID), lists], schema=TOKENS)
    if places is not None:
        rows = [None if place is None else asdict(place) for place in places]
        table = table.append_column(PLACE_IN_REPOSITORY, pa.array(rows, PLACE_IN_REPOSITORY.type))
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        row_group_size=max(1, len(doc_ids)),
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    )
    return sink.getvalue()


def read_slice(data: bytes) -> tuple[list[bytes], TokenBatch]:
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False).combine_chunks()
    column = table["tokens"].combine_chunks()
    offsets = column.offsets.to_numpy().astype(np.int64)
    flat = column.values.to_numpy()
    return table["doc_id"].to_pylist(), TokenBatch(
        flat[offsets[0] : offsets[-1]], offsets - offsets[0]
    )


def places_of(slices: Sequence[bytes]) -> Places | None:
    """Return the places of the documents of some slices in their repositories; None where the
    recipe asks for none."""
    found: list[Place | None] = []
    for data in slices:
        file = pq.ParquetFile(pa.BufferReader(data))
        if PLACE_IN_REPOSITORY.name in file.schema_arrow.names:
            for row in (
                file.read([PLACE_IN_REPOSITORY.name], use_threads=False).column(0).to_pylist()
            ):
                place = row and Place(row["repository"], row["path"], tuple(row["imports"]))
                found.append(place)
    return found or None


def join_slices(slices: Iterable[bytes]) -> tuple[list[bytes], TokenBatch]:
    """Join the documents of a shard, slice after slice."""
    doc_ids: list[bytes] = []
    arrays: list[Any] = []
    for ids, batch in map(read_slice, slices):
        doc_ids += ids
        arrays += [batch[i] for i in range(len(batch))]
    return doc_ids, TokenBatch.of(arrays)
