"""What each line of a text is: as the documents say, or where they do not, by its form; and where it
stands in the tree of its page.

A batch whose texts have kinds holds them in `columns[KINDS_OF_TEXT]`, a list a text with a number for
each line, blank ones too (`catalog.formats.line_kinds`); places in `columns[PLACES_OF_TEXT]`, likewise.
Null, or no column: nothing is known.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from catalog.formats.line_kinds import LINE_KIND
from corpus_assets.text.batch import Spans, TextBatch
from corpus_assets.text.characters import char_tables
from corpus_assets.text.line_forms import CODE, ITEM, PROSE, ROW, line_forms
from corpus_assets.text.pieces import copy_pieces, pieces_in_chars
from corpus_assets.text.running_words import running_words
from corpus_assets.text.split import CHARS, END, START, Bytes, Ints
from corpus_assets.text.unicode import class_table

KINDS_OF_TEXT = "line_kinds"
PLACES_OF_TEXT = "line_places"
"""Columns of documents."""

COLUMNS_OF_LINES = (KINDS_OF_TEXT, PLACES_OF_TEXT)

Place = tuple[int, int, int]
"""Where a piece of a changed text begins there, where it begins and ends in the text it is of."""

UNKNOWN, OTHER = LINE_KIND["unknown"], LINE_KIND["other"]
NO_PLACE = 0
OF_BLANK = {KINDS_OF_TEXT: OTHER, PLACES_OF_TEXT: NO_PLACE}
_TYPES = {KINDS_OF_TEXT: pa.uint8(), PLACES_OF_TEXT: pa.uint16()}


def _by_kind(*names: str) -> npt.NDArray[np.bool_]:
    table = np.zeros(256, dtype=np.bool_)
    table[[LINE_KIND[name] for name in names]] = True
    return table


IS_PROTECTED = _by_kind("list_item", "code", "table_row", "formula")
"""By kind: whether a line says something only beside its neighbours, so that no step cuts it alone."""

IS_PROSE = _by_kind("unknown", "other", "paragraph", "post")
"""By kind: whether a line is running text that is no quotation: those repeat what stands elsewhere."""

IS_SYMBOLS = _by_kind("code", "formula")
"""By kind: whether a line is written in symbols."""

_BULLETS = np.frombuffer(b"-*+", np.uint8)

_OF_FORM = np.full(256, OTHER, dtype=np.uint8)
_OF_FORM[[PROSE, ITEM, CODE, ROW]] = [
    LINE_KIND[name] for name in ("paragraph", "list_item", "code", "table_row")
]


def known_kinds(batch: TextBatch) -> Bytes:
    """uint8[k]: what is known of each of `batch.raw_lines`."""
    return _known(batch, KINDS_OF_TEXT, UNKNOWN).astype(np.uint8)


def places_of_lines(batch: TextBatch) -> Ints:
    """int64[k]: where each of `batch.lines` stands, as the documents say; NO_PLACE where they do not."""
    return _known(batch, PLACES_OF_TEXT, NO_PLACE).astype(np.int64)[raw_line_of(batch)]


def _known(batch: TextBatch, name: str, unknown: int) -> npt.NDArray[np.integer[Any]]:
    """What a column says of each of `batch.raw_lines`."""
    rows = batch.raw_lines.rows
    column = batch.columns.get(name)
    if column is None:
        return np.full(rows[-1], unknown)
    listed: npt.NDArray[np.integer[Any]]
    listed = pc.list_flatten(column).to_numpy(zero_copy_only=False)
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    is_known = sizes == batch.raw_lines.counts  # else they are not of this text
    if is_known.all():
        return listed
    out = np.full(rows[-1], unknown)
    out[np.repeat(is_known, batch.raw_lines.counts)] = listed[np.repeat(is_known, sizes)]
    return out


def raw_line_of(batch: TextBatch) -> Ints:
    """int64[k]: the number among `batch.raw_lines` of each of `batch.lines`."""
    begins = batch.raw_lines.spans[:, START]
    return np.searchsorted(begins, batch.lines.spans[:, START], side="right") - 1


def kinds_of_lines(batch: TextBatch) -> Bytes:
    """uint8[k]: what each of `batch.lines` is, as known or else by its form."""
    kinds = known_kinds(batch)[raw_line_of(batch)]
    unknown = kinds == UNKNOWN
    if unknown.any():
        spans, rows = batch.lines.spans, batch.lines.rows
        words = running_words(batch.data, spans, char_tables().classes, class_table())
        forms = line_forms(batch.data, batch.offsets, spans, rows, words)
        kinds = np.where(unknown, _OF_FORM[forms], kinds)
    return kinds


def prose_of(batch: TextBatch) -> TextBatch:
    """Return the texts without lines that are no prose, and the blank lines after those. A text
    without prose stays whole. Made once for all who measure it."""
    if batch.prose is not None:
        return batch.prose
    prose = _prose_of(batch)
    if prose is not batch:  # else it would hold itself in memory
        batch.prose = prose
    return prose


def _prose_of(batch: TextBatch) -> TextBatch:
    raw, lines = batch.raw_lines, raw_line_of(batch)
    keeps = np.ones(len(raw.spans), dtype=np.bool_)
    keeps[lines] = IS_PROSE[kinds_of_lines(batch)]
    has_prose = batch.lines.sum_by_document(keeps[lines]) > 0
    keeps |= ~np.repeat(has_prose, raw.counts)
    leader = np.repeat(raw.rows[:-1], raw.counts)  # a blank line goes with the line before it
    leader[lines] = lines
    keeps = keeps[np.maximum.accumulate(leader)]
    if keeps.all():
        return batch
    ends = np.append(raw.spans[1:, START], batch.offsets[-1])  # with the line break
    pieces = np.stack([raw.spans[keeps, START], ends[keeps]], axis=1)
    rows = np.concatenate(([0], np.cumsum(raw.sum_by_document(keeps))))
    return TextBatch.from_bytes(*copy_pieces(batch.data, pieces, rows))


def are_of_language(batch: TextBatch, words: Spans) -> npt.NDArray[np.bool_]:
    """bool[w]: which words are somebody's: not in lines of code and formulas, and no mark that stands
    between cells or before an item. Of a text that has no such word, all are."""
    kinds, begins = kinds_of_lines(batch), batch.lines.spans[:, START]
    starts, ends = words.spans[:, START], words.spans[:, END]
    line = np.searchsorted(begins, starts, side="right") - 1
    kind = kinds[line]
    is_mark = np.zeros(len(starts), dtype=np.bool_)
    single = np.flatnonzero(ends - starts == 1)
    mark, of, leads = (
        batch.data[starts[single]],
        kind[single],
        starts[single] == begins[line[single]],
    )
    is_bar = (of == LINE_KIND["table_row"]) & (mark == ord("|"))
    is_bullet = (of == LINE_KIND["list_item"]) & leads & np.isin(mark, _BULLETS)
    is_mark[single] = is_bar | is_bullet
    found = ~IS_SYMBOLS[kind] & ~is_mark
    found |= np.repeat(words.sum_by_document(found) == 0, words.counts)
    return found


def has_known_kinds(batch: TextBatch) -> npt.NDArray[np.bool_]:
    """bool[n]: whether anything is known of the lines of each text."""
    return batch.raw_lines.sum_by_document(known_kinds(batch) != UNKNOWN) > 0


def lines_of_kind(batch: TextBatch, *names: str) -> Ints:
    """int64[n]: lines of each text that are known to be of some kinds."""
    return batch.lines.sum_by_document(_is_known_to_be(batch, names))


def chars_by_kind(batch: TextBatch, *names: str) -> Ints:
    """int64[n]: their characters."""
    return batch.lines.sum_by_document(batch.lines.spans[:, CHARS] * _is_known_to_be(batch, names))


def _is_known_to_be(batch: TextBatch, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    return _by_kind(*names)[known_kinds(batch)[raw_line_of(batch)]]


def kinds_after(
    text: str, kinds: Sequence[int], after: str, places: Sequence[Place], of_blank: int = OTHER
) -> list[int] | None:
    """Return the kinds of the lines of a changed text: a line is what the line was that its first
    character stood in, a blank one `of_blank`. None where `kinds` are not those of `text`."""
    breaks = [found.start() for found in re.finditer("\n", text)]
    if len(kinds) != len(breaks) + 1:
        return None
    out: list[int] = []
    at = 0
    for line in after.split("\n"):
        ink = len(line) - len(line.lstrip())
        if ink == len(line):
            out.append(of_blank)
        else:
            begin, low, high = places[bisect_right(places, (at + ink, len(text))) - 1]
            was = min(low + at + ink - begin, max(low, high - 1))
            out.append(kinds[bisect_left(breaks, was)])
        at += len(line) + 1
    return out


def kinds_of_left(batch: TextBatch, left: TextBatch, pieces: Ints, rows: Ints) -> pa.Array:
    """Return the kinds of texts of which pieces are left (`text.pieces`)."""
    places = pieces_in_chars(batch.data, batch.offsets, pieces, rows).tolist()
    texts = zip(
        batch.columns[KINDS_OF_TEXT].to_pylist(), batch.texts.to_pylist(), left.texts.to_pylist(),
        strict=True,
    )  # fmt: skip
    return kinds_column(
        kinds and kinds_after(text, kinds, after, kept_places(places[rows[d] : rows[d + 1]]))
        for d, (kinds, text, after) in enumerate(texts)
    )


def kept_places(kept: Sequence[tuple[int, int]]) -> list[Place]:
    """Return the places of the stretches [start, end) of a text that are left of it."""
    out: list[Place] = []
    at = 0
    for start, end in kept:
        out.append((at, start, end))
        at += end - start
    return out


def kinds_column(kinds: Iterable[Sequence[int] | None], name: str = KINDS_OF_TEXT) -> pa.Array:
    """Return kinds, or what else COLUMNS_OF_LINES hold, of several texts as a column of documents."""
    return pa.array(list(kinds), pa.list_(_TYPES[name]))
