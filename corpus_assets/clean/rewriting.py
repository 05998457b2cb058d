"""What the rewriting families of a recipe leave of a text, and the way back from it.

Signals are computed on what such a step leaves (`signals.stages.signals`); the same steps are applied
again where final text is made. They only cut, and may make a line feed of another line end, so what
is left is a list of kept stretches of the extracted text, and an edit of what is left is an edit of
the extracted text.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from corpus_assets.clean.edits import Edit, Stretch
from corpus_assets.signals import TextStep
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.pieces import pieces_in_chars

BATCH_DOCUMENTS = 1_000


TEXT_STEP = "text_step"
"""Kind of the edits that steps make."""


@dataclass(frozen=True)
class Left:
    """What steps left of a text: `text`, and the stretches of the extracted text it is made of; at
    `line_feeds` a line end of the extracted text became one."""

    text: str
    kept: list[Stretch]
    line_feeds: Sequence[int] = ()


def rewrite_documents(
    texts: Sequence[str], domains: Sequence[str], steps: Sequence[TextStep]
) -> list[Left | None]:
    """Return what the steps leave of each text; None where none applies to its domain."""
    out: list[Left | None] = [None] * len(texts)
    for domain in dict.fromkeys(domains):
        own = [step for step in steps if step.applies_to(domain)]
        rows = [row for row, name in enumerate(domains) if name == domain] if own else []
        for start in range(0, len(rows), BATCH_DOCUMENTS):
            some = rows[start : start + BATCH_DOCUMENTS]
            for row, left in zip(some, _rewrite([texts[row] for row in some], own), strict=True):
                out[row] = left
    return out


def _rewrite(texts: Sequence[str], steps: Sequence[TextStep]) -> list[Left]:
    """Apply the steps in order to each text."""
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    kept: list[list[Stretch]] = [[(0, len(text))] for text in texts]
    for step in steps:
        done = step.rewrite(batch)
        places = pieces_in_chars(batch.data, batch.offsets, done.pieces, done.rows).tolist()
        rows = done.rows.tolist()
        for d, before in enumerate(kept):
            kept[d] = compose(before, places[rows[d] : rows[d + 1]])
        batch = done.left
    left = batch.texts.to_pylist()
    return [
        Left(text, stretches, _line_feeds(before, text, stretches))
        for before, text, stretches in zip(texts, left, kept, strict=True)
    ]


def _line_feeds(before: str, after: str, kept: Sequence[Stretch]) -> list[int]:
    """Return where in `before` a character of `kept` is another one in `after`."""
    if "".join(before[low:high] for low, high in kept) == after:
        return []
    places = (place for low, high in kept for place in range(low, high))
    return [place for place, now in zip(places, after, strict=True) if before[place] != now]


def compose(first: list[Stretch], second: Sequence[Sequence[int]]) -> list[Stretch]:
    """Stretches of a text that are left when `second` is kept of what `first` keeps of it.

    Neighbours that touch become one. Linear in both.
    """
    out: list[Stretch] = []
    k, done = 0, 0  # first[k] begins at character `done` of what `first` keeps
    for start, end in second:
        while start < end:
            low, high = first[k]
            if start >= done + high - low:
                done += high - low
                k += 1
                continue
            begin = low + start - done
            stop = min(high, low + end - done)
            if out and out[-1][1] == begin:
                out[-1] = (out[-1][0], stop)
            else:
                out.append((begin, stop))
            start += stop - begin
    return out


def places_in_extracted(kept: Sequence[Stretch], places: Sequence[Stretch]) -> list[Stretch]:
    """Stretches of what is left, each from its first to its last character in the extracted text."""
    begins = [0]
    for low, high in kept:
        begins.append(begins[-1] + high - low)
    out = []
    for start, end in places:
        first = bisect_right(begins, start) - 1
        last = bisect_right(begins, end - 1) - 1
        out.append((kept[first][0] + start - begins[first], kept[last][0] + end - begins[last]))
    return out


def edits_of_extracted(n_chars: int, item: Left, edits: Sequence[Edit]) -> list[Edit]:
    """Sorted edits of what is left, as sorted edits of the extracted text of `n_chars`.

    What the steps cut out becomes edits to nothing; cuts inside an edited place go into it.
    """
    kept = item.kept
    places = places_in_extracted(kept, [(edit.start, edit.end) for edit in edits])
    spans = [
        Edit(*place, edit.replacement, edit.kind) for place, edit in zip(places, edits, strict=True)
    ]
    out: list[Edit] = []
    place = 0
    waiting = iter(spans)
    span = next(waiting, None)
    for low, high in [*kept, (n_chars, n_chars)]:
        if place < low and not (span is not None and span.start < place < span.end):
            out.append(Edit(place, low, "", TEXT_STEP))
        while span is not None and span.end <= high:
            out.append(span)
            span = next(waiting, None)
        place = high
    out.sort(key=lambda edit: edit.start)
    if not item.line_feeds:
        return out
    return sorted(out + _not_inside(out, item.line_feeds), key=lambda edit: edit.start)


def _not_inside(edits: Sequence[Edit], line_feeds: Sequence[int]) -> list[Edit]:
    """Return the line feeds as edits, where none of the sorted edits covers them."""
    starts = [edit.start for edit in edits]
    before = [bisect_right(starts, at) - 1 for at in line_feeds]
    return [
        Edit(at, at + 1, "\n", TEXT_STEP)
        for at, k in zip(line_feeds, before, strict=True)
        if k < 0 or edits[k].end <= at
    ]
