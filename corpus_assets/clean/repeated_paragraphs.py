"""Paragraphs and documents most of whose n-grams stand in an earlier document of the snapshot.

After the Bloom filter of DCLM (Li et al. 2024): a paragraph with more than 80% of its 13-grams seen
before goes, a document with more than that goes whole, and what stays is what later ones are
compared with. *Before* is no order of reading here: documents have a rank, by when they were
fetched and then by id. All of a snapshot are decided in that order once, over the n-grams that
stand in several places; the document that keeps each is pinned. From that table a document is
decided again by itself, with the same outcome: an n-gram was seen if its keeper has a lower rank.
"""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.clean.edits import Stretch
from corpus_assets.clean.kernels.repeated_paragraphs import going_paragraphs, paragraph_offsets
from corpus_assets.clean.kernels.repeated_spans import bitmap_of, candidate_grams, known_grams
from corpus_assets.clean.repeated_spans import (
    GRAMS,
    REPEATED,
    copies_of,
    id_halves,
    run_starts,
    text_batches,
)
from corpus_assets.clean.settings import RepeatedSpanSettings
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.text.characters import char_tables
from corpus_assets.text.pieces import pieces_in_chars

PARAGRAPH_GRAMS = pa.schema(
    [
        *GRAMS,
        ("paragraph", pa.int32()),
        ("of_paragraph", pa.int32()),
        ("of_document", pa.int32()),
    ]
)
"""Grams by (gram, check, holder, paragraph): how many grams the paragraph has, and the document."""

KEPT_GRAMS = pa.schema([*REPEATED, ("fetched_at", pa.string())])
"""Schema REPEATED, with when the keeper was fetched."""

Ints = npt.NDArray[np.int64]
_NOBODY = np.iinfo(np.int64).max  # keeps a gram


def count_paragraph_grams(
    documents: pa.Table, prints: pa.Table, settings: RepeatedSpanSettings
) -> pa.Table:
    """Return schema PARAGRAPH_GRAMS of documents (doc_id, fetched_at, text): those whose print is
    among `prints`."""
    known = np.ascontiguousarray(prints["print"].to_numpy())
    bits, none = bitmap_of(known), np.empty((0, 2), np.uint64)
    measure = (settings.in_bytes, settings.gram_units)
    found, first = [PARAGRAPH_GRAMS.empty_table()], 0
    for data, offsets in text_batches(documents["text"]):
        starts, firsts = paragraph_offsets(data, offsets)
        _, _, totals = known_grams(
            data, starts, char_tables(), *measure, none, bitmap_of(none[:, 0])
        )
        grams, lines = candidate_grams(
            data, starts, char_tables(), *measure, settings.print_units, known, bits
        )
        keys = np.column_stack((lines.astype(np.uint64), grams))
        order = np.lexsort(keys.T[::-1])
        begins = run_starts(keys[order])
        line = lines[order[begins]]
        owner = np.searchsorted(firsts, line, side="right") - 1
        row = pa.array(owner + first)
        columns = [
            *(pa.array(grams[order[begins], k]) for k in range(2)),
            documents["doc_id"].combine_chunks().take(row),
            documents["fetched_at"].combine_chunks().take(row),
            *_int32(np.diff(np.append(begins, len(keys))), line - firsts[owner], totals[line]),
            *_int32(np.add.reduceat(np.append(totals, 0), firsts[:-1])[owner]),
        ]
        found.append(pa.table(columns, schema=PARAGRAPH_GRAMS))
        first += offsets.size - 1
    by = [(name, "ascending") for name in ("gram", "check", "holder", "paragraph")]
    return pa.concat_tables(found).sort_by(by).combine_chunks()


def keep_grams(
    found: pa.Table, members: Iterable[pa.Table], settings: RepeatedSpanSettings
) -> pa.Table:
    """Return the kept grams of a snapshot (schema KEPT_GRAMS) of those that stand in several places
    (schema PARAGRAPH_GRAMS), with their keepers' cluster members (doc_id, kept, kept_doc_id)."""
    share = _share(settings)
    found = found.sort_by([("gram", "ascending"), ("check", "ascending")]).combine_chunks()
    pairs = np.column_stack([found[name].to_numpy() for name in ("gram", "check")])
    begins = run_starts(pairs)
    numbers = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(pairs))))
    ranks = ranks_of(found["fetched_at"], found["holder"])
    order = np.lexsort((numbers, found["paragraph"].to_numpy(), ranks))
    rows = found.take(pa.array(order))
    ranks, numbers = ranks[order], numbers[order]
    paragraphs = run_starts(np.column_stack((ranks, rows["paragraph"].to_numpy())))
    documents = run_starts(ranks)
    kept_by = np.full(len(begins), _NOBODY, np.int64)
    going_paragraphs(
        numbers,
        _int64(rows["places"]),
        np.append(paragraphs, len(rows)),
        _int64(rows["of_paragraph"])[paragraphs],
        np.append(np.searchsorted(paragraphs, documents), len(paragraphs)),
        _int64(rows["of_document"])[documents],
        ranks[documents],
        kept_by,
        share,
        True,
    )
    holder = documents[np.searchsorted(ranks[documents], kept_by[kept_by < _NOBODY])]
    gram = begins[kept_by < _NOBODY]
    kept = found.take(pa.array(gram)).select(["gram", "check"])
    keepers = rows.take(pa.array(holder)).select(["holder", "fetched_at"])
    kept = kept.append_column("keeper", keepers["holder"])
    kept = kept.append_column("fetched_at", keepers["fetched_at"])
    copies = copies_of(kept["keeper"], members)
    parts = [KEPT_GRAMS.empty_table(), kept, copies]
    return pa.concat_tables(parts, promote_options="default").combine_chunks()


def find_going_paragraphs(
    documents: pa.Table, kept: pa.Table, settings: RepeatedSpanSettings
) -> list[list[Stretch]]:
    """For each document (doc_id, fetched_at, text) the stretches that go, in characters, sorted."""
    copies = kept.filter(pc.is_valid(kept["copy"]))
    kept = kept.filter(pc.is_null(kept["copy"]))
    place = pc.index_in(documents["doc_id"], copies["copy"])
    own = pc.coalesce(copies["keeper"].take(place), documents["doc_id"])
    fetched = kept["fetched_at"].take(pc.index_in(own, kept["keeper"]))
    times = pa.chunked_array(
        [*kept["fetched_at"].chunks, *pc.coalesce(fetched, documents["fetched_at"]).chunks]
    )
    ids = pa.chunked_array([*kept["keeper"].chunks, *own.chunks], DOC_ID)
    ranks = ranks_of(times, ids)
    kept_by, of_documents = ranks[: len(kept)], ranks[len(kept) :]
    grams = np.column_stack([kept[name].to_numpy() for name in ("gram", "check")])
    bits = bitmap_of(np.ascontiguousarray(grams[:, 0]))
    cuts: list[list[Stretch]] = []
    for data, offsets in text_batches(documents["text"]):
        starts, firsts = paragraph_offsets(data, offsets)
        numbers, rows, totals = known_grams(
            data, starts, char_tables(), settings.in_bytes, settings.gram_units, grams, bits
        )
        goes = going_paragraphs(
            numbers,
            np.ones(len(numbers), np.int64),
            rows,
            totals,
            firsts,
            np.add.reduceat(np.append(totals, 0), firsts[:-1]),
            of_documents[len(cuts) : len(cuts) + offsets.size - 1],
            kept_by,
            _share(settings),
            False,
        )
        lines = np.flatnonzero(goes)
        pieces = np.column_stack((starts[lines], starts[lines + 1]))
        ends = np.searchsorted(lines, firsts)
        places = pieces_in_chars(data, offsets, pieces, ends).tolist()
        cuts += [_in_a_row(places[low:high]) for low, high in itertools.pairwise(ends.tolist())]
    return cuts


def _in_a_row(places: list[list[int]]) -> list[Stretch]:
    """Return stretches with those joined that touch."""
    out: list[Stretch] = []
    for start, end in places:
        out[-1:] = [(out[-1][0], end)] if out and out[-1][1] == start else [*out[-1:], (start, end)]
    return out


def ranks_of(fetched_at: pa.ChunkedArray, ids: pa.ChunkedArray) -> Ints:
    """int64[n]: places in the order of time, unknown ones last, and then of id; equals are equal."""
    times = np.array([time or "~" for time in fetched_at.to_pylist()], dtype=np.str_)
    halves = id_halves(ids)
    when = np.unique(times, return_inverse=True)[1].astype(np.uint64)
    keys = np.column_stack((when, halves))
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _share(settings: RepeatedSpanSettings) -> float:
    return settings.paragraph_share or 0.0


def _int64(column: pa.ChunkedArray) -> Ints:
    return np.ascontiguousarray(column.to_numpy().astype(np.int64))


def _int32(*columns: npt.NDArray[Any]) -> Iterable[pa.Array]:
    return (pa.array(column.astype(np.int32)) for column in columns)
