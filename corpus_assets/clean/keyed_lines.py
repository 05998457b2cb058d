"""Lines of texts by key: which can be boilerplate, and what each is counted against.

A line's key is BLAKE2b-64 over (bucket, line), moved on by where the line stands, so that what is
pinned holds no text. Collisions: at 10^9 distinct lines, about 3% odds that any two share a key.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from corpus_assets.clean.settings import BoilerplateSettings
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.blake2b import hash_with_prefix
from corpus_assets.text.line_kinds import IS_PROTECTED, NO_PLACE, kinds_of_lines, places_of_lines
from corpus_assets.text.split import CHARS, END, Bytes, Hashes, Ints

FRAME_LINES = 16
"""Lines from either end of a text without a tree that can be part of its frame."""

SENTENCE_CHARS = 40
"""A line with as many characters that ends as sentences do, or with twice as many, says something by
itself; others do beside their neighbours only: ingredients, names, verses."""

END_MARKS = ".!?\u2026\u3002\uff01\uff1f\uff0e\u0964\u06d4"
"""Of sentences, in UTF-8 of three bytes at most."""

_ENDS = [int.from_bytes(mark.encode(), "big") for mark in END_MARKS]

_STEP = 0x9E3779B97F4A7C15
_Place = TypeVar("_Place", int, Ints)


def line_key(bucket: str, line: str, place: int = 0) -> int:
    """Return the key of a line; `place` counts from 1 at the head and from -1 at the foot, is
    `in_tree` of a place in the page's tree, or 0 where lines count anywhere."""
    data = bucket.encode() + b"\0" + line.strip().encode()
    base = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
    return (base + place * _STEP) % 2**64


def template_key(bucket: str, place: int = 0) -> int:
    """Return the key of what a line is counted against: the texts of its bucket, or those of them
    that have a line at the same place of the tree."""
    return line_key(bucket, "", place)


def in_tree(place: _Place) -> _Place:
    """Return a place in a page's tree (`documents.line_places`), or several, as a place of keys."""
    return (place >> 1) + FRAME_LINES + 1


class KeyedLines(NamedTuple):
    """Lines of a batch that count."""

    of: Ints  # int64[m]: the number of each among the batch's lines; ascending
    document: Ints  # int64[m]
    keys: Hashes  # uint64[m]
    bases: Hashes  # uint64[m]: keys without a place
    templates: Hashes  # uint64[m]: `template_key` of each


class LinesOfTexts(NamedTuple):
    """All lines of a batch, as far as their place matters."""

    kinds: Bytes  # uint8[k]
    places: Ints  # int64[k]: in the tree of the page; NO_PLACE where that is not known
    ends: Ints  # int64[k]: counted from the nearer end: from 1 at the head, from -1 at the foot
    goes_on: npt.NDArray[np.bool_]  # [k]: whether it is one element with the line before it
    is_sentence: npt.NDArray[np.bool_]  # [k]: whether it is running text that stands for itself


def lines_of(batch: TextBatch, settings: BoilerplateSettings) -> LinesOfTexts:
    """Neighbours at one place of a tree are one element, and so are those of one list, table or code."""
    rows = batch.lines.rows
    number = np.arange(len(batch.lines.spans))
    document = np.repeat(np.arange(len(batch)), np.diff(rows))
    head, foot = number - rows[document] + 1, number - rows[document + 1]
    places = places_of_lines(batch) if settings.is_frame else np.zeros_like(number)
    kinds = kinds_of_lines(batch)
    goes_on = np.zeros(len(number), dtype=np.bool_)
    is_list = IS_PROTECTED[kinds[1:]] & (kinds[1:] == kinds[:-1])
    goes_on[1:] = is_list | (places[1:] >> 1 == places[:-1] >> 1)
    goes_on[1:] &= document[1:] == document[:-1]
    chars = batch.lines.spans[:, CHARS]
    is_sentence = _end_sentences(batch.data, batch.lines.spans[:, END]) & (chars >= SENTENCE_CHARS)
    is_sentence = (is_sentence | (chars >= 2 * SENTENCE_CHARS)) & ~IS_PROTECTED[kinds]
    ends = np.where(head <= -foot, head, foot)
    return LinesOfTexts(kinds, places, ends, goes_on, is_sentence)


def _end_sentences(data: Bytes, ends: Ints) -> npt.NDArray[np.bool_]:
    """Whether a text that ends before each place ends a sentence."""
    mark = np.zeros(len(ends), dtype=np.int64)
    found = np.zeros(len(ends), dtype=np.bool_)
    for back in range(3):
        mark += data[np.maximum(ends - back - 1, 0)].astype(np.int64) << (8 * back)
        found |= np.isin(mark, _ENDS)
    return found


def find_lines(
    batch: TextBatch,
    lines: LinesOfTexts,
    buckets: Sequence[str],
    wanted: Sequence[bool],
    settings: BoilerplateSettings,
) -> KeyedLines:
    """Lines of the wanted documents that can be boilerplate, without Python strings.

    Of texts without a tree that is no short line, and nothing of a list, of code, of a table or a
    formula. In a tree it is every line. One of a list, and one that is no sentence, counts among the
    very lines of its element only: most recipes of a site may have salt, no two the same ingredients.
    """
    spans, rows = batch.lines.spans, batch.lines.rows
    document = np.repeat(np.arange(len(batch)), np.diff(rows))
    in_page = lines.places != NO_PLACE
    mask = (spans[:, CHARS] >= settings.min_chars) & ~IS_PROTECTED[lines.kinds]
    if settings.is_frame:
        mask &= np.abs(lines.ends) <= FRAME_LINES
    mask = (mask | in_page) & np.asarray(wanted, dtype=np.bool_)[document]
    before = np.concatenate(([0], np.cumsum(mask)))
    prefixes = [bucket.encode() + b"\0" for bucket in buckets]
    ends = np.cumsum([0, *map(len, prefixes)], dtype=np.int64)
    heads = np.frombuffer(b"".join(prefixes), dtype=np.uint8)
    bases = hash_with_prefix(batch.data, spans[mask], before[rows], heads, ends)
    number, document, in_page = np.flatnonzero(mask), document[mask], in_page[mask]
    tree = np.where(in_page, in_tree(lines.places[mask]), 0)
    ends_of = lines.ends[mask] if settings.is_frame else np.zeros_like(number)
    keys = _moved(bases, np.where(in_page, tree, ends_of))
    is_part = in_page & ~lines.is_sentence[mask]
    keys += np.where(is_part, _wholes(bases, number, lines), np.uint64(0))
    named = {bucket: template_key(bucket) for bucket in set(buckets)}
    own = np.array([named[bucket] for bucket in buckets], dtype=np.uint64)
    return KeyedLines(number, document, keys, bases, _moved(own[document], tree))


def _wholes(bases: Hashes, number: Ints, lines: LinesOfTexts) -> Hashes:
    """uint64[m]: a hash of all lines of the element that each line of a tree stands in."""
    if not len(bases):
        return bases
    is_next = lines.goes_on[number]
    is_next[1:] &= number[1:] == number[:-1] + 1
    is_next[0] = False
    firsts = np.flatnonzero(~is_next)
    sizes = np.diff(np.append(firsts, len(bases)))
    at = (np.arange(len(bases)) - np.repeat(firsts, sizes)).astype(np.uint64)
    return np.repeat(np.add.reduceat(bases * (2 * at + np.uint64(1)), firsts), sizes)


def _moved(bases: Hashes, places: Ints) -> npt.NDArray[np.uint64]:
    return bases + places.astype(np.uint64) * np.uint64(_STEP)  # wraps, as `line_key` does
