"""The lines of a batch, and which of their bytes are kept."""

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.text.batch import TextBatch

Ints = npt.NDArray[np.int64]


Mask = npt.NDArray[np.bool_]


class BatchLines:
    """The lines of a batch, empty ones included, split at line feeds.

    `starts` and `text_ends` are byte positions of each; `ends[i + 1]` is that of the line's end with
    its line feed.
    """

    def __init__(self, batch: TextBatch) -> None:
        data, offsets = batch.data, batch.offsets
        first, last = int(offsets[0]), int(offsets[-1])
        feeds = np.flatnonzero(data[first:last] == ord("\n")) + first
        self.starts: Ints = np.sort(np.concatenate([offsets[:-1], feeds + 1]))
        self.text_ends: Ints = np.sort(np.concatenate([feeds, offsets[1:]]))
        self.ends: Ints = np.append(self.starts, last)
        self.count = int(self.starts.size)
        per_text = np.diff(np.searchsorted(feeds, offsets)) + 1
        self._rows = np.concatenate([[0], np.cumsum(per_text)]).astype(np.int64)
        begins = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])
        self.chars: Ints = begins[self.text_ends] - begins[self.starts]
        places = np.searchsorted(self.starts, batch.words.spans[:, 0], side="right") - 1
        self.words: Ints = np.bincount(places, minlength=self.count)[: self.count]
        buffers = [pa.py_buffer(self.ends), pa.py_buffer(np.ascontiguousarray(data))]
        self._lines = pa.LargeStringArray.from_buffers(self.count, *buffers)

    def matches(self, pattern: str) -> Ints:
        found = pc.count_substring_regex(self._lines, pattern)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)

    def are(self, pattern: str) -> Mask:
        found = pc.match_substring_regex(self._lines, pattern, ignore_case=True)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)

    def sum_by_document(self, values: npt.NDArray[np.int64] | Mask) -> Ints:
        totals: Ints = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
        found: Ints = totals[self._rows[1:]] - totals[self._rows[:-1]]
        return found


def bytes_without(line: bytes, patterns: list[re.Pattern[bytes]]) -> Ints:
    """Return the places of the bytes that are left when one pattern after the other is cut out."""
    places = np.arange(len(line))
    for pattern in patterns:
        stays = np.ones(len(places), dtype=np.bool_)
        for match in pattern.finditer(bytes(np.frombuffer(line, np.uint8)[places])):
            stays[match.start() : match.end()] = False
        places = places[stays]
    return places


def bytes_between(starts: Ints, ends: Ints, size: int) -> Mask:
    """bool[size]: the bytes of ranges that are not empty and do not overlap."""
    change = np.zeros(size + 1, dtype=np.int8)
    change[starts] += 1
    change[ends] -= 1
    return np.cumsum(change[:-1], dtype=np.int8) > 0


def strip_texts(batch: TextBatch, keep: Mask) -> None:
    """Clear `keep` where only ASCII white space lies between a text's end and what is left."""
    spaces = np.isin(batch.data, np.frombuffer(b" \t\n\r\x0b\x0c", np.uint8))
    ink = np.flatnonzero(keep & ~spaces)
    low, high = np.searchsorted(ink, batch.offsets[:-1]), np.searchsorted(ink, batch.offsets[1:])
    some = low < high
    keep &= bytes_between(ink[low[some]], ink[high[some] - 1] + 1, keep.size)


def kept_runs(keep: Mask, offsets: Ints) -> tuple[Ints, Ints]:
    """Return the runs of kept bytes as pieces, none over two texts, and each text's first one."""
    before = np.concatenate([[False], keep[:-1]])
    after = np.concatenate([keep[1:], [False]])
    inner = offsets[(offsets > 0) & (offsets < keep.size)]
    before[inner] = False
    after[inner - 1] = False
    starts = np.flatnonzero(keep & ~before)
    ends = np.flatnonzero(keep & ~after) + 1
    rows = np.searchsorted(starts, offsets).astype(np.int64)
    return np.stack([starts, ends], axis=1).astype(np.int64), rows
