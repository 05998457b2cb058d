"""The line modifiers of DCLM's baseline as a step that rewrites the text (Li et al. 2024)."""

import re
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.signals.base import TextBatch, share
from corpus_assets.signals.kernels.word_boundaries import plain_words
from corpus_assets.signals.text_step import Rewriting, TextStep, cut
from corpus_assets.text.unicode import class_table

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

COUNTED = (
    "likes", "shares", "comments", "retweets", "reposts", "quotes", "bookmarks", "upvotes",
    "downvotes", "downloads", "views", "followers",
)  # fmt: skip
MAX_UPPERCASE_SHARE = 0.5  # capital letters of a line that stays
MAX_DIGIT_SHARE = 0.999999
MIN_WORDS = 2
PHRASES = ("items in cart",)  # cut out of short lines, whatever their case
LAST_PHRASES = ("Read more...",)  # the same, at the end of a line
FIRST_PHRASES = ("Sign-in",)  # the same, at its beginning
PHRASE_MAX_WORDS = 10  # of the longest line that phrases are cut out of
REASONS = ("uppercase", "digit", "counter", "short")


class DCLMLines(TextStep):
    """Cuts out lines of capitals, of digits, counters and single words, and phrases of menus.

    A line goes, for the first of these that holds: more than half of its
    characters are capital letters; all are digits; it is a number and what a
    counter counts ("1.2k views"); it has a single word. Of lines of at most
    10 words, phrases of menus are cut out, some of them only at the end or the beginning; a line that was nothing else goes. Empty lines stay, white
    space at the text's ends goes.

    * `dclm_lines`: lines, empty ones included;
    * `dclm_uppercase_lines`, `dclm_digit_lines`, `dclm_counter_lines`, `dclm_short_lines`: lines cut
      out for that;
    * `dclm_phrase_lines`: lines that a phrase was cut out of;
    * `dclm_cut_word_share` (at most 0.05): words that are gone, of all, counted as `dclm_n_words`.

    In brackets: what DCLM asks of a page.
    """

    version: ClassVar[int] = 2

    family: Literal["dclm_lines"] = "dclm_lines"

    def columns(self) -> dict[str, pa.DataType]:
        return {
            "dclm_lines": pa.int64(),
            **{f"dclm_{reason}_lines": pa.int64() for reason in REASONS},
            "dclm_phrase_lines": pa.int64(),
            "dclm_cut_word_share": pa.float32(),
        }

    def rewrite(self, batch: TextBatch) -> Rewriting:
        lines = _Lines(batch)
        verdicts = self._verdicts(lines)
        gone = np.flatnonzero(verdicts >= 0)
        keep = ~_between(lines.starts[gone], lines.ends[gone + 1], batch.data.size)
        with_phrases = self._cut_phrases(batch, lines, verdicts < 0, keep)
        _strip(batch, keep)
        pieces, rows = _runs(keep, batch.offsets)
        left = cut(batch, pieces, rows)
        words = plain_words(batch.data, batch.offsets, class_table())
        words_left = plain_words(left.data, left.offsets, class_table())
        columns = {
            "dclm_lines": lines.sum_by_document(np.ones(lines.count, np.int64)),
            **{
                f"dclm_{reason}_lines": lines.sum_by_document(verdicts == number)
                for number, reason in enumerate(REASONS)
            },
            "dclm_phrase_lines": lines.sum_by_document(with_phrases),
            "dclm_cut_word_share": share(words - words_left, words),
        }
        return Rewriting(left, pieces, rows, self.record_batch(columns))

    def _verdicts(self, lines: "_Lines") -> npt.NDArray[np.int8]:
        """The number in `REASONS` of why each line goes, -1 where it stays."""
        either = "|".join(map(re.escape, COUNTED))
        failed = (
            lines.matches(r"\p{Lu}") > MAX_UPPERCASE_SHARE * lines.chars,
            lines.matches(r"\p{Nd}") > MAX_DIGIT_SHARE * lines.chars,
            lines.are(rf"^\W*\d[\d.,]*[kmb]?\s+(?:{either})\W*$"),
            lines.words < MIN_WORDS,
        )
        verdicts = np.full(lines.count, -1, dtype=np.int8)
        for number in reversed(range(len(REASONS))):
            verdicts[failed[number] & (lines.chars > 0)] = number
        return verdicts

    def _cut_phrases(self, batch: TextBatch, lines: "_Lines", stays: Mask, keep: Mask) -> Mask:
        """Clear the bytes of phrases in `keep`; return the lines that had one."""
        had = np.zeros(lines.count, dtype=np.bool_)
        patterns = [
            re.compile(form % b"|".join(re.escape(one.encode()) for one in listed), re.IGNORECASE)
            for form, listed in (
                (rb"\s?(?:%b)", PHRASES),
                (rb"\s?(?:%b)$", LAST_PHRASES),
                (rb"^(?:%b)\s?", FIRST_PHRASES),
            )
        ]
        every = (*PHRASES, *LAST_PHRASES, *FIRST_PHRASES)
        asked = stays & (lines.words <= PHRASE_MAX_WORDS)
        asked &= lines.are("|".join(map(re.escape, every)))
        for line in np.flatnonzero(asked):
            start, end = int(lines.starts[line]), int(lines.text_ends[line])
            left = _without(batch.data[start:end].tobytes(), patterns)
            had[line] = len(left) < end - start
            keep[start:end] = False
            if bytes(batch.data[start:end][left]).strip():
                keep[start + left] = True
            else:
                keep[start : lines.ends[line + 1]] = False
        return had


class _Lines:
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


def _without(line: bytes, patterns: list[re.Pattern[bytes]]) -> Ints:
    """Return the places of the bytes that are left when one pattern after the other is cut out."""
    places = np.arange(len(line))
    for pattern in patterns:
        stays = np.ones(len(places), dtype=np.bool_)
        for match in pattern.finditer(bytes(np.frombuffer(line, np.uint8)[places])):
            stays[match.start() : match.end()] = False
        places = places[stays]
    return places


def _between(starts: Ints, ends: Ints, size: int) -> Mask:
    """bool[size]: the bytes of ranges that are not empty and do not overlap."""
    change = np.zeros(size + 1, dtype=np.int8)
    change[starts] += 1
    change[ends] -= 1
    return np.cumsum(change[:-1], dtype=np.int8) > 0


def _strip(batch: TextBatch, keep: Mask) -> None:
    """Clear `keep` where only ASCII white space lies between a text's end and what is left."""
    spaces = np.isin(batch.data, np.frombuffer(b" \t\n\r\x0b\x0c", np.uint8))
    ink = np.flatnonzero(keep & ~spaces)
    low, high = np.searchsorted(ink, batch.offsets[:-1]), np.searchsorted(ink, batch.offsets[1:])
    some = low < high
    keep &= _between(ink[low[some]], ink[high[some] - 1] + 1, keep.size)


def _runs(keep: Mask, offsets: Ints) -> tuple[Ints, Ints]:
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
