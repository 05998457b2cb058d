"""Which lines of a text go as boilerplate, by the keys that the calibration pins.

Where the tree of the page is known, whole elements go: neighbouring lines at one place of the tree, or
the neighbouring items, rows or lines of code of one list, table or block of code, and only if all of
them are pinned. At the ends of what is left, and where no tree is known, whole runs of pinned lines go
from the head and the foot; such a run takes sentences of a tree, no part of a paragraph, and nothing
of a list, of code or of a table. What
announces something (a heading, a label, a line that ends in a colon) goes only with what it announces.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from catalog.formats.line_kinds import LINE_KIND
from corpus_assets.clean.keyed_lines import (
    END_MARKS,
    FRAME_LINES,
    LinesOfTexts,
    find_lines,
    lines_of,
)
from corpus_assets.clean.settings import BoilerplateSettings
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.line_kinds import IS_PROTECTED, NO_PLACE
from corpus_assets.text.pieces import pieces_in_chars
from corpus_assets.text.split import CHARS, END, START, Bytes, Ints

_HEADINGS = {LINE_KIND[f"heading_{level}"]: level for level in range(1, 7)}
_NO_HEADING = len(_HEADINGS) + 1
_COLONS = ":\uff1a"

LABEL_CHARS = 24
"""A shorter line without the end of a sentence may be the label of what follows."""


class Boilerplate(NamedTuple):
    """The pinned lines: sorted keys, and who keeps which."""

    keys: npt.NDArray[np.uint64]
    keepers: frozenset[tuple[int, bytes]] = frozenset()

    @classmethod
    def of(cls, table: pa.Table) -> "Boilerplate":
        kept = table.filter(pc.is_valid(table["keeper"]))
        pairs = zip(kept["line_key"].to_pylist(), kept["keeper"].to_pylist(), strict=True)
        return cls(np.unique(table["line_key"].to_numpy()), frozenset(pairs))


class PinnedLine(NamedTuple):
    """A line of a document that is pinned: [start, end) in characters of the text, the line break
    included; its key without a place and with it; whether it goes."""

    start: int
    end: int
    line: int
    key: int
    goes: bool


def pinned_lines(
    batch: TextBatch,
    documents: pa.Table,
    boilerplate: Boilerplate,
    settings: BoilerplateSettings,
    min_left: int,
) -> dict[int, list[PinnedLine]]:
    """Return the pinned lines of each document that has any, in order.

    `documents` has doc_id, domain and host, and the texts are in `batch`. `min_left` are the
    characters that a document must be left with.
    """
    wanted = [domain in settings.domains for domain in documents["domain"].to_pylist()]
    if not len(boilerplate.keys) or not any(wanted):
        return {}
    lines = lines_of(batch, settings)
    buckets = settings.buckets(documents["host"].to_pylist())
    found = find_lines(batch, lines, buckets, wanted, settings)
    hits = np.flatnonzero(np.isin(found.keys, boilerplate.keys))
    if len(hits) == 0:
        return {}
    ids = documents["doc_id"].take(pa.array(found.document[hits])).to_pylist()
    keys, pinned, owner = found.keys[hits].tolist(), found.of[hits], found.document[hits]
    pairs = zip(pinned.tolist(), keys, ids, strict=True)
    kept = {line for line, key, one in pairs if (key, one) in boilerplate.keepers}
    going = set(pinned.tolist())
    if settings.is_frame:
        going = _frames(batch, lines, going, kept, np.unique(owner).tolist(), settings.min_chars)
        going -= _of_emptied(batch, going, min_left)
    else:
        going -= kept
    places = _places(batch, pinned, owner)
    out: dict[int, list[PinnedLine]] = {}
    each = zip(
        pinned.tolist(), owner.tolist(), found.bases[hits].tolist(), keys, places, strict=True
    )
    for line, row, base, key, (start, end) in each:
        out.setdefault(row, []).append(PinnedLine(start, end, base, key, line in going))
    return out


def _frames(
    batch: TextBatch,
    lines: LinesOfTexts,
    pinned: set[int],
    kept: set[int],
    documents: list[int],
    min_chars: int,
) -> set[int]:
    """Lines that go from some documents, of those that are pinned and not kept."""
    rows, out = batch.lines.rows, set[int]()
    for document in documents:
        one = _Frame(batch, lines, range(int(rows[document]), int(rows[document + 1])), min_chars)
        out |= one.going(pinned, kept)
    return out


class _Frame:
    """What goes of one text; lines are the numbers of the batch's."""

    def __init__(
        self, batch: TextBatch, lines: LinesOfTexts, of_text: range, min_chars: int
    ) -> None:
        some = slice(of_text.start, of_text.stop)
        self._of_text, self._min_chars = of_text, min_chars
        self._kinds: list[int] = lines.kinds[some].tolist()
        self._places: list[int] = lines.places[some].tolist()
        self._ends: list[int] = lines.ends[some].tolist()
        self._goes_on: list[bool] = lines.goes_on[some].tolist()
        self._is_sentence: list[bool] = lines.is_sentence[some].tolist()
        self._chars: list[int] = batch.lines.spans[some, CHARS].tolist()
        self._spans = batch.lines.spans[some]
        self._data = batch.data

    def going(self, pinned: set[int], kept: set[int]) -> set[int]:
        first, n = self._of_text.start, len(self._of_text)
        goes = [False] * n
        if any(self._places):
            pinned = pinned - kept  # what is kept holds its element together
            self._whole_elements([first + line in pinned for line in range(n)], goes)
        self._runs([first + line in pinned for line in range(n)], goes)
        return {first + line for line in range(n) if goes[line]} - kept

    def _whole_elements(self, wanted: list[bool], goes: list[bool]) -> None:
        n = len(goes)
        end = n
        for begin in range(n - 1, -1, -1):
            if self._goes_on[begin]:
                continue
            if (
                self._places[begin] != NO_PLACE
                and all(wanted[begin:end])
                and sum(self._chars[begin:end]) >= self._min_chars
                and (end == n or goes[end] or not self._names_next(begin, end))
            ):
                goes[begin:end] = [True] * (end - begin)
            end = begin

    def _announces(self, line: int) -> bool:
        """Whether a line says what follows it, and that is not nothing."""
        level = _HEADINGS.get(self._kinds[line], _NO_HEADING)
        if level < _NO_HEADING:
            after = _HEADINGS.get(self._kinds[line + 1], _NO_HEADING)
            return after > level
        return self._last_character(line) in _COLONS

    def _names_next(self, begin: int, end: int) -> bool:
        """Whether an element announces what follows, or may be the label of it."""
        return self._announces(end - 1) or (end - begin == 1 and self._is_label(begin))

    def _is_label(self, line: int) -> bool:
        """Whether a line may be the name of what follows."""
        is_short = self._chars[line] < LABEL_CHARS and not IS_PROTECTED[self._kinds[line]]
        return is_short and self._last_character(line) not in END_MARKS

    def _last_character(self, line: int) -> str:
        end = int(self._spans[line, END])
        return self._data[max(0, end - 4) : end].tobytes().decode("utf-8", "ignore")[-1:]

    def _runs(self, pinned: list[bool], goes: list[bool]) -> None:
        """Runs at the head and the foot, whose lines are pinned or gone already."""
        n = len(goes)
        stop = 0
        while stop < n and (goes[stop] or (pinned[stop] and self._can_run(stop, 1))):
            stop += 1
        while 0 < stop < n and not goes[stop - 1] and self._is_cut_at(stop):
            stop -= 1
        begin = n
        while begin > stop and (goes[begin - 1] or (pinned[begin - 1] and self._can_run(begin - 1, -1))):  # fmt: skip
            begin -= 1
        while begin < n and not goes[begin] and self._is_of_last(begin):
            begin += 1
        goes[:stop] = [True] * stop
        goes[begin:] = [True] * (n - begin)

    def _can_run(self, line: int, side: int) -> bool:
        """Whether a pinned line may go with a run from the head (1) or the foot (-1)."""
        if self._places[line] != NO_PLACE:
            return self._is_sentence[line]
        if IS_PROTECTED[self._kinds[line]] or self._chars[line] < self._min_chars:
            return False
        return 0 < self._ends[line] * side <= FRAME_LINES

    def _is_cut_at(self, line: int) -> bool:
        """Whether a run that ends before a line would cut what belongs together."""
        return self._is_of_last(line) or self._announces(line - 1)

    def _is_of_last(self, line: int) -> bool:
        """Whether a line stands in the very element of the line before it."""
        return self._places[line] & 1 == 1


def _of_emptied(batch: TextBatch, going: set[int], min_left: int) -> set[int]:
    """Those of the lines whose document would be left with too little."""
    lines = np.array(sorted(going), np.int64)
    owner = np.searchsorted(batch.lines.rows, lines, side="right") - 1
    gone = np.bincount(owner, weights=batch.lines.spans[lines, CHARS], minlength=len(batch))
    return set(lines[(batch.lines.chars - gone < min_left)[owner]].tolist())


def _places(batch: TextBatch, lines: Ints, owner: Ints) -> list[list[int]]:
    """[start, end) of lines in characters of their texts, each with its line break."""
    pieces = np.empty((len(lines), 2), dtype=np.int64)
    for k, (line, row) in enumerate(zip(lines.tolist(), owner.tolist(), strict=True)):
        low, high = int(batch.offsets[row]), int(batch.offsets[row + 1])
        pieces[k] = _with_break(batch.data, batch.lines.spans[line], low, high)
    rows = np.searchsorted(owner, np.arange(len(batch) + 1)).astype(np.int64)
    found: list[list[int]] = pieces_in_chars(batch.data, batch.offsets, pieces, rows).tolist()
    return found


def _with_break(data: Bytes, span: Ints, low: int, high: int) -> tuple[int, int]:
    """Return a stripped line with the white space around it and its line break."""
    start, end = int(span[START]), int(span[END])
    while start > low and data[start - 1] != 10:
        start -= 1
    while end < high and data[end] != 10:
        end += 1
    return start, min(end + 1, high)
