"""What became of repeated lines: which went from a document, by kind, and which stay in it.

A row for each final text. Lines are known by hash, so the table holds no text; a check sums it over
a snapshot: every line that went from one document must stand in another (`clean.losses`).
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from catalog.formats.line_kinds import LINE_KINDS
from corpus_assets.clean.edits import Edit, Stretch, remainder, union
from corpus_assets.clean.pinned_lines import PinnedLine
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.line_kinds import IS_PROTECTED, KINDS_OF_TEXT, kinds_of_lines
from corpus_assets.text.pieces import pieces_in_chars

CUT_LINES = pa.schema(
    [
        ("cut", pa.list_(pa.uint64())),  # lines that went because the site repeats them
        ("pinned", pa.list_(pa.uint64())),  # the keys by which those are pinned
        ("kept", pa.list_(pa.uint64())),  # repeated lines that are still there
        ("lines", pa.list_(pa.int32())),  # how many went, with passages too, by kind
    ]
)
"""Row-aligned with FINAL_TEXT."""


KindOfLine = tuple[int, Stretch]
"""What a line of a text is, and where it stands, in characters."""


class LineOutcomes(NamedTuple):
    """A row of CUT_LINES."""

    cut: list[int]
    pinned: list[int]
    kept: list[int]
    lines: list[int]

    @staticmethod
    def table(rows: Sequence["LineOutcomes | None"]) -> pa.Table:
        """Return schema CUT_LINES; None where a document has nothing that is repeated."""
        none = LineOutcomes([], [], [], [0] * len(LINE_KINDS))
        columns = zip(*(row or none for row in rows), strict=True) if rows else [[]] * 4
        arrays = [pa.array(list(c), t) for c, t in zip(columns, CUT_LINES.types, strict=True)]
        return pa.table(arrays, schema=CUT_LINES)


def line_outcomes(
    text: str, kinds: Sequence[KindOfLine], pinned: Sequence[PinnedLine], edits: Sequence[Edit]
) -> LineOutcomes:
    """Return what became of the lines of a text. `pinned` are those that the calibration names."""
    gone = union([(edit.start, edit.end) for edit in edits if not edit.replacement])
    starts = [start for start, _ in gone]
    cut, kept = set(), set()
    for line in pinned:
        is_whole = not _is_gone(text, (line.start, line.end), gone, starts)
        if line.goes:
            cut.add((line.line, line.key))
        elif is_whole:
            kept.add(line.line)
    passages = union([(edit.start, edit.end) for edit in edits if edit.kind in _REPEATED])
    lines = [0] * len(LINE_KINDS)
    if passages:
        starts = [start for start, _ in passages]
        for kind, stretch in kinds:
            if _is_gone(text, stretch, passages, starts):
                lines[kind] += 1
    gone_lines, keys = [base for base, _ in sorted(cut)], [key for _, key in sorted(cut)]
    return LineOutcomes(gone_lines, keys, sorted(kept), lines)


def outside_of_protected(
    kinds: Sequence[KindOfLine], stretches: Sequence[Stretch]
) -> list[Stretch]:
    """Return the stretches without what lies in lists, code, tables and formulas."""
    fixed = [stretch for kind, stretch in kinds if IS_PROTECTED[kind]]
    starts = [start for start, _ in fixed]
    return [piece for stretch in stretches for piece in remainder(stretch, fixed, starts)]


_REPEATED = ("boilerplate_line", "repeated_span")


def _is_gone(text: str, line: Stretch, gone: Sequence[Stretch], starts: Sequence[int]) -> bool:
    """Whether nothing of a line is left but white space."""
    at = max(0, bisect_right(starts, line[0]) - 1)
    left = remainder(line, gone[at:], starts[at:])
    return not any(text[start:end].strip() for start, end in left)


def kinds_with_places(batch: TextBatch, row: int) -> list[KindOfLine]:
    """Return the lines of a text of a batch that are not blank."""
    alone = TextBatch.from_arrow(batch.texts.slice(row, 1))
    if KINDS_OF_TEXT in batch.columns:
        alone.columns[KINDS_OF_TEXT] = batch.columns[KINDS_OF_TEXT].slice(row, 1)
    pieces = np.ascontiguousarray(alone.lines.spans[:, :2])
    places = pieces_in_chars(alone.data, alone.offsets, pieces, alone.lines.rows).tolist()
    return [
        (kind, (start, end))
        for kind, (start, end) in zip(kinds_of_lines(alone).tolist(), places, strict=True)
    ]
