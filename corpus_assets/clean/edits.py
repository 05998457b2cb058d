"""Stretches of text and edits of it, in characters: what goes, what is left, and what it becomes."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

Stretch = tuple[int, int]


@dataclass(frozen=True)
class Edit:
    """Characters [start, end) of the extracted text became `replacement`; `kind` says why."""

    start: int
    end: int
    replacement: str
    kind: str


def union(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return the stretches that cover what any of these covers, sorted; touching ones stay apart."""
    out: list[Stretch] = []
    for start, end in sorted(stretches):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        elif start < end:
            out.append((start, end))
    return out


def remainder(stretch: Stretch, gone: Sequence[Stretch], starts: Sequence[int]) -> list[Stretch]:
    """Return what is left of a stretch beside those that go; `starts` are the starts of `gone`."""
    place, end = stretch
    out: list[Stretch] = []
    for low, high in gone[max(0, bisect_right(starts, place) - 1) :]:
        if low >= end:
            break
        if place < low:
            out.append((place, low))
        place = max(place, high)
    if place < end:
        out.append((place, end))
    return out


def stretches_of_left(kept: Sequence[Stretch], cuts: Sequence[Stretch]) -> list[Stretch]:
    """Sorted stretches of the extracted text, as stretches of what steps kept of it. Linear."""
    out: list[Stretch] = []
    k, done = 0, 0  # kept[k] begins at character `done` of what is left
    for start, end in cuts:
        while k < len(kept) and kept[k][1] <= start:
            done += kept[k][1] - kept[k][0]
            k += 1
        at, before = k, done
        while at < len(kept) and kept[at][0] < end:
            low, high = kept[at]
            begin, stop = before + max(start, low) - low, before + min(end, high) - low
            if out and out[-1][1] == begin and at > k:
                out[-1] = (out[-1][0], stop)
            else:
                out.append((begin, stop))
            before += high - low
            at += 1
    return out


def apply_edits(text: str, edits: list[Edit]) -> str:
    """Return the text after sorted, non-overlapping edits."""
    pieces: list[str] = []
    place = 0
    for edit in edits:
        pieces += (text[place : edit.start], edit.replacement)
        place = edit.end
    pieces.append(text[place:])
    return "".join(pieces)
