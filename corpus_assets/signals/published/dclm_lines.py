"""The line modifiers of DCLM's baseline as a step that rewrites the text (Li et al. 2024)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import share
from corpus_assets.signals.text_step import Rewriting, TextStep, cut

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from corpus_assets.signals.published.line_masks import BatchLines, Mask
    from corpus_assets.text.batch import TextBatch


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

    def columns(self) -> ColumnTypes:
        return {
            "dclm_lines": "int64",
            **{f"dclm_{reason}_lines": "int64" for reason in REASONS},
            "dclm_phrase_lines": "int64",
            "dclm_cut_word_share": "float32",
        }

    def rewrite(self, batch: TextBatch) -> Rewriting:
        import numpy as np

        from corpus_assets.signals.kernels.word_boundaries import plain_words
        from corpus_assets.signals.published.line_masks import (
            BatchLines,
            bytes_between,
            kept_runs,
            strip_texts,
        )
        from corpus_assets.text.unicode import class_table

        lines = BatchLines(batch)
        verdicts = self._verdicts(lines)
        gone = np.flatnonzero(verdicts >= 0)
        keep = ~bytes_between(lines.starts[gone], lines.ends[gone + 1], batch.data.size)
        with_phrases = self._cut_phrases(batch, lines, verdicts < 0, keep)
        strip_texts(batch, keep)
        pieces, rows = kept_runs(keep, batch.offsets)
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

    def _verdicts(self, lines: BatchLines) -> npt.NDArray[np.int8]:
        """The number in `REASONS` of why each line goes, -1 where it stays."""

        import numpy as np

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

    def _cut_phrases(self, batch: TextBatch, lines: BatchLines, stays: Mask, keep: Mask) -> Mask:
        """Clear the bytes of phrases in `keep`; return the lines that had one."""

        import numpy as np

        from corpus_assets.signals.published.line_masks import bytes_without

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
            left = bytes_without(batch.data[start:end].tobytes(), patterns)
            had[line] = len(left) < end - start
            keep[start:end] = False
            if bytes(batch.data[start:end][left]).strip():
                keep[start + left] = True
            else:
                keep[start : lines.ends[line + 1]] = False
        return had
