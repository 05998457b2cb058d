"""Repeated spans: long passages that stand in several places of a snapshot.

After Lee et al. 2022 (arXiv 2107.06499), whose exact substrings are 50 tokens: every passage of
at least `min_words` words, or `min_bytes` bytes, that stands twice, in two documents or in one, is
kept once and cut elsewhere. Three passes: prints of each part and which of them stand twice; the grams behind
those; the grams that stand twice, each with the document that keeps it: the one that was fetched
first, of those the one with the fewest of them (an article repeats itself, a list many articles),
then the smallest id. Its copies may keep what it keeps: one of them replaces it when it is taken
down (ADR 81). That last table holds hashes and ids, no text, and is a calibration: pinned in the
lock, so a document that comes or goes later changes no other.

Counted are the documents that no earlier stage drops: a dropped copy must not keep a passage.
Of their texts, what the cutting of boilerplate lines leaves: a line that goes must not either.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.clean.edits import Stretch, union
from corpus_assets.clean.kernels.repeated_spans import (
    bitmap_of,
    candidate_grams,
    repeated_stretches,
    select_prints,
)
from corpus_assets.clean.settings import RepeatedSpanSettings
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.text.characters import char_tables
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.pieces import pieces_in_chars

VERSION = 4

PRINTS = pa.schema([("print", pa.uint64()), ("places", pa.int32())])
"""Prints of a part's grams, sorted, and how many places have each."""

GRAMS = pa.schema(
    [
        ("gram", pa.uint64()),
        ("check", pa.uint64()),
        ("holder", DOC_ID),
        ("fetched_at", pa.string()),
        ("places", pa.int32()),
    ]
)
"""Grams by (gram, check, holder): a document that holds each, and in how many places."""

REPEATED = pa.schema(
    [("gram", pa.uint64()), ("check", pa.uint64()), ("keeper", DOC_ID), ("copy", DOC_ID)]
)
"""Repeated grams by (gram, check), each with its keeper; then, without a gram, the keepers' copies."""

REPEATED_PLACES = 2  # make a passage repeated
_ROWS_PER_BATCH = 1 << 12


def count_prints(texts: pa.ChunkedArray, settings: RepeatedSpanSettings) -> pa.Table:
    """Return schema PRINTS of the given texts. Memory: 8 bytes for about twelve words."""
    found = [
        select_prints(data, offsets, char_tables(), *_measure(settings))
        for data, offsets in text_batches(texts)
    ]
    prints, places = np.unique(np.concatenate([_NO_HASHES, *found]), return_counts=True)
    return pa.table([prints, places.astype(np.int32)], schema=PRINTS)


def merge_prints(parts: Iterable[pa.Table]) -> pa.Table:
    """Return the sorted prints that stand in two places or more (schema PRINTS)."""
    merged = sum_prints(parts)
    return merged.filter(pc.greater_equal(merged["places"], REPEATED_PLACES))


def sum_prints(parts: Iterable[pa.Table]) -> pa.Table:
    """Return the prints of several parts, sorted (schema PRINTS)."""
    merged = pa.concat_tables([PRINTS.empty_table(), *parts])
    values = merged["print"].to_numpy()
    order = np.argsort(values, kind="stable")
    firsts = run_starts(values[order])
    places = _sums(merged["places"].to_numpy()[order].astype(np.int64), firsts)
    return pa.table([values[order][firsts], _saturated(places)], schema=PRINTS)


def count_grams(documents: pa.Table, prints: pa.Table, settings: RepeatedSpanSettings) -> pa.Table:
    """Return schema GRAMS of documents (doc_id, fetched_at, text): those whose print is among
    `prints`."""
    known = np.ascontiguousarray(prints["print"].to_numpy())
    bits = bitmap_of(known)
    ids = id_halves(documents["doc_id"])
    grams, owners, first = [np.empty((0, 2), np.uint64)], [np.empty((0, 2), np.uint64)], 0
    for data, offsets in text_batches(documents["text"]):
        found, texts = candidate_grams(
            data, offsets, char_tables(), *_measure(settings), known, bits
        )
        grams.append(found)
        owners.append(ids[texts + first])
        first += offsets.size - 1
    gram, owner = np.concatenate(grams), np.concatenate(owners)
    return _counted(gram, owner, np.ones(len(gram), np.int64), documents)


def repeated_grams(parts: Iterable[pa.Table], schema: pa.Schema = GRAMS) -> pa.Table:
    """Return the grams that stand in two places or more of some parts (schema GRAMS, or one with
    more columns)."""
    merged = pa.concat_tables([schema.empty_table(), *parts])
    merged = merged.sort_by([("gram", "ascending"), ("check", "ascending")]).combine_chunks()
    gram, firsts = _numbered(merged)
    places = _sums(merged["places"].to_numpy().astype(np.int64), firsts)
    return merged.filter(pa.array((places >= REPEATED_PLACES)[gram]))


def merge_grams(parts: Iterable[pa.Table], members: Iterable[pa.Table]) -> pa.Table:
    """Return the repeated grams of a snapshot (schema REPEATED), from those of its parts and their
    cluster members (doc_id, kept, kept_doc_id)."""
    found = repeated_grams(parts)
    gram, _ = _numbered(found)
    ids, first, holder = np.unique(
        id_halves(found["holder"]), axis=0, return_index=True, return_inverse=True
    )
    held = np.bincount(holder, minlength=len(ids))
    fetched = fetch_order(found["fetched_at"].take(pa.array(first)))
    rank = np.argsort(np.lexsort((np.arange(len(ids)), held, fetched)))
    best = np.lexsort((rank[holder], gram))
    rows = best[run_starts(gram[best])]
    kept = found.take(pa.array(rows)).select(["gram", "check", "holder"])
    kept = kept.rename_columns(["gram", "check", "keeper"])
    parts = [REPEATED.empty_table(), kept, copies_of(kept["keeper"], members)]
    return pa.concat_tables(parts, promote_options="default").combine_chunks()


def copies_of(keepers: pa.ChunkedArray, members: Iterable[pa.Table]) -> pa.Table:
    """Return the members that each keeper stands for (copy, keeper), each once, by copy."""
    keepers = pc.unique(keepers)
    copies = pa.concat_tables(
        [_COPIES.empty_table(), *(_copies(table.cast(_COPIES), keepers) for table in members)]
    )
    listed = pa.table({"copy": copies["doc_id"], "keeper": copies["kept_doc_id"]})
    return listed.group_by(["copy", "keeper"], use_threads=False).aggregate([]).sort_by("copy")


def _copies(members: pa.Table, keepers: pa.Array) -> pa.Table:
    """Return the members that a keeper stands for."""
    is_copy = pc.and_(pc.invert(members["kept"]), pc.is_in(members["kept_doc_id"], keepers))
    return members.filter(is_copy)


def find_cuts(
    documents: pa.Table, repeated: pa.Table, settings: RepeatedSpanSettings
) -> list[list[Stretch]]:
    """For each document (doc_id, text) the stretches to cut, in characters, sorted."""
    copies = repeated.filter(pc.is_valid(repeated["copy"]))
    repeated = repeated.filter(pc.is_null(repeated["copy"]))
    grams = np.stack([repeated["gram"].to_numpy(), repeated["check"].to_numpy()], axis=1)
    bits = bitmap_of(np.ascontiguousarray(grams[:, 0]))
    place = pc.index_in(documents["doc_id"], copies["copy"])
    own = pc.coalesce(copies["keeper"].take(place), documents["doc_id"])
    keepers, ids = id_halves(repeated["keeper"]), id_halves(own)
    cuts: list[list[Stretch]] = []
    for data, offsets in text_batches(documents["text"]):
        own = ids[len(cuts) : len(cuts) + offsets.size - 1]
        in_bytes, units, _ = _measure(settings)
        found, rows = repeated_stretches(
            data, offsets, char_tables(), in_bytes, units, grams, bits, keepers, own
        )
        if settings.join_share is not None:
            found, rows = joined(found, rows, settings.join_share)
        places = pieces_in_chars(data, offsets, found, rows).tolist()
        cuts += [
            [(start, end) for start, end in places[low:high]]
            for low, high in zip(rows[:-1].tolist(), rows[1:].tolist(), strict=True)
        ]
    return cuts


def joined(
    pieces: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], share: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the pieces with what stands between them, where pieces are `share` of the whole.

    As Dolma 3 joins what it removes: from the first piece on, the next one joins those before it
    if they have that share of the whole; the same from the last one back; what either joins goes.
    """
    out: list[Stretch] = []
    ends = [0]
    for low, high in itertools.pairwise(rows.tolist()):
        own = [(start, end) for start, end in pieces[low:high].tolist()]
        mirrored = [(-end, -start) for start, end in reversed(own)]
        back = [(-end, -start) for start, end in _joined_on(mirrored, share)]
        out += union([*_joined_on(own, share), *back])
        ends.append(len(out))
    return np.array(out, np.int64).reshape(-1, 2), np.array(ends, np.int64)


def _joined_on(stretches: Iterable[Stretch], share: float) -> list[Stretch]:
    out: list[Stretch] = []
    inside = 0  # of the last one, how much is stretches
    for start, end in stretches:
        grown = inside + end - start
        if out and grown >= share * (end - out[-1][0]):
            out[-1], inside = (out[-1][0], end), grown
        else:
            out.append((start, end))
            inside = end - start
    return out


def id_halves(ids: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """uint64[n, 2]: 16-byte ids as two numbers, in an order that is the byte order."""
    column = ids.combine_chunks()
    if len(column) == 0:
        return np.empty((0, 2), np.uint64)
    halves = np.frombuffer(column.buffers()[1], ">u8", 2 * len(column), 16 * column.offset)
    return halves.astype(np.uint64).reshape(-1, 2)


def fetch_order(fetched_at: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """int64[n]: times in their order, equal ones as equals, unknown ones last."""
    times = np.array([time or "~" for time in fetched_at.to_pylist()], dtype=np.str_)
    return np.unique(times, return_inverse=True)[1].astype(np.int64)


def _measure(settings: RepeatedSpanSettings) -> tuple[bool, int, int]:
    """Whether units are bytes, and how many of them a gram and a print have."""
    return settings.in_bytes, settings.gram_units, settings.print_units


_COPIES = pa.schema([("doc_id", DOC_ID), ("kept", pa.bool_()), ("kept_doc_id", DOC_ID)])

_NO_HASHES: npt.NDArray[np.uint64] = np.empty(0, np.uint64)


def text_batches(
    texts: pa.ChunkedArray,
) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]]:
    """Return the bytes of some texts after another, and where each begins."""
    for chunk in texts.chunks:
        for start in range(0, len(chunk), _ROWS_PER_BATCH):
            yield text_buffers(chunk.slice(start, _ROWS_PER_BATCH).cast(pa.large_string()))


def _counted(
    grams: npt.NDArray[np.uint64],
    owners: npt.NDArray[np.uint64],
    places: npt.NDArray[np.int64],
    documents: pa.Table,
) -> pa.Table:
    """One row a gram and owner: the sum of its places."""
    order = np.lexsort((owners[:, 1], owners[:, 0], grams[:, 1], grams[:, 0]))
    grams, owners, places = grams[order], owners[order], places[order]
    firsts = run_starts(np.concatenate((grams, owners), axis=1))
    n = len(firsts)
    held_in = pa.py_buffer(owners[firsts].astype(">u8").tobytes())
    holders = pa.Array.from_buffers(DOC_ID, n, [None, held_in])
    row = pc.index_in(holders, documents["doc_id"].combine_chunks())
    return pa.table(
        [
            pa.array(grams[firsts, 0]),
            pa.array(grams[firsts, 1]),
            holders,
            documents["fetched_at"].combine_chunks().take(row),
            pa.array(_saturated(_sums(places, firsts))),
        ],
        schema=GRAMS,
    )


def _numbered(sorted_grams: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return a number for each distinct gram of a table, row by row, and where each begins."""
    pairs = [sorted_grams[name].to_numpy() for name in ("gram", "check")]
    firsts = run_starts(np.stack(pairs, axis=1))
    lengths = np.diff(np.append(firsts, sorted_grams.num_rows))
    return np.repeat(np.arange(len(firsts)), lengths), firsts


def run_starts(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Where runs of equal rows begin."""
    if len(values) == 0:
        return np.empty(0, np.int64)
    differs = values[1:] != values[:-1]
    if differs.ndim == 2:
        differs = differs.any(axis=1)
    return np.flatnonzero(np.concatenate([[True], differs]))


def _sums(values: npt.NDArray[np.int64], firsts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.add.reduceat(values, firsts) if len(firsts) else values


def _saturated(places: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return counts as int32; a passage that stands more often than that stands often enough."""
    return np.minimum(places, np.iinfo(np.int32).max).astype(np.int32)
