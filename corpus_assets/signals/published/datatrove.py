"""The Gopher and FineWeb statistics as the filters of datatrove compute them.

FineWeb was made with that code (Penedo et al. 2024), and its thresholds belong to its way of
counting. It splits words with a linguistic tokenizer, which sets punctuation apart; here that is
done without a dictionary (`signals.kernels.tokens`), or words are split at white space, as the Gopher
paper has it. All else is counted as there. Two families, because FineWeb applies line rules
between them.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import CountsWords, code_points_of, share
from corpus_assets.signals.published.gopher import STOP_WORDS
from corpus_assets.signals.repetition import DUP_NGRAMS, TOP_NGRAMS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

# Words of nothing but these are left out of its word counts; controls and sentence ends as well.
_PUNCTUATION = string.punctuation + "«´»–—’“”„…∶━►、。〈〉《》「」【】！％（），．１：；？～"
_CONTROLS = "".join(map(chr, (*range(9), 11, 12, *range(13, 32), *range(127, 160))))
# Sentence ends that it has beyond Unicode 14's: Khmer, and Kawi of Unicode 15.
_MORE_TERMINALS = "\u17d4\u17d5\u17d6\u17d9\u17da\U00011f43\U00011f44"


SHORT_LINE_CHARS = 30  # of the longest line that is short


class DatatroveGopher(CountsWords):
    """Names begin with `datatrove_`; thresholds of FineWeb in brackets.

    * `n_words` (50 to 100,000), `mean_word_chars` (3 to 10): of words that are not all
      punctuation; `stop_words_distinct` (at least 2): case counts;
    * `hash_to_word_ratio`, `ellipsis_to_word_ratio` (at most 0.1 each); `alphabetic_word_share`
      (at least 0.8): words with a letter, of all, punctuation among them;
    * `bullet_line_share` (at most 0.9), `ellipsis_line_share` (at most 0.3): of all lines, which
      end there at any of the line ends of Unicode, for the others at a line feed only;
    * `dup_paragraph_share`, `dup_line_share` (at most 0.3): later copies, of paragraphs between
      empty lines, and of lines; `dup_paragraph_char_share`, `dup_line_char_share` (at most
      0.2): their characters, of all characters of the text;
    * `top_N_gram_ratio` (at most 0.2, 0.18, 0.16): characters of the most frequent n-gram, with
      one space between words, times its occurrences, for each character of the text;
    * `dup_N_gram_share` (at most 0.15 ... 0.10): characters of second and later occurrences, of
      all characters of the text.
    """

    version: ClassVar[int] = 5

    family: Literal["datatrove_gopher"] = "datatrove_gopher"

    def columns(self) -> ColumnTypes:
        shares = [
            "mean_word_chars",
            "hash_to_word_ratio",
            "ellipsis_to_word_ratio",
            "alphabetic_word_share",
            "bullet_line_share",
            "ellipsis_line_share",
            "dup_paragraph_share",
            "dup_paragraph_char_share",
            "dup_line_share",
            "dup_line_char_share",
            *(f"top_{n}_gram_ratio" for n in TOP_NGRAMS),
            *(f"dup_{n}_gram_share" for n in DUP_NGRAMS),
        ]
        return {
            "datatrove_n_words": "int64",
            "datatrove_stop_words_distinct": "int64",
            **{f"datatrove_{name}": "float32" for name in shares},
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        values = self._words(batch) | self._lines(batch) | self._repetition(batch)
        return self.record_batch({f"datatrove_{name}": value for name, value in values.items()})

    def _words(self, batch: TextBatch) -> dict[str, Any]:
        import pyarrow as pa

        from corpus_assets.signals.kernels import line_dialects as kernel
        from corpus_assets.text.batch import TextBatch
        from corpus_assets.text.split import CHARS
        from corpus_assets.text.unicode import LETTER, class_table

        words = self.words_of(batch).tokens
        has_letter = kernel.words_of_class(batch.data, words.spans, class_table(), LETTER)
        has_ink = kernel.words_within(batch.data, words.spans, _punctuation()) == 0
        n_words = words.sum_by_document(has_ink)
        stops = TextBatch.from_arrow(pa.array(STOP_WORDS, pa.string()))
        which = kernel.equal_to(batch.data, words.spans, stops.data, stops.offsets)
        return {
            "hash_to_word_ratio": share(_occurrences(batch, ("#",)), words.counts),
            "ellipsis_to_word_ratio": share(_occurrences(batch, ("...", "…")), words.counts),
            "alphabetic_word_share": share(words.sum_by_document(has_letter), words.counts),
            "n_words": n_words,
            "mean_word_chars": share(
                words.sum_by_document(words.spans[:, CHARS] * has_ink), n_words
            ),
            "stop_words_distinct": kernel.distinct_by_document(which, words.rows, len(stops)),
        }

    def _lines(self, batch: TextBatch) -> dict[str, Any]:
        from corpus_assets.signals.kernels import line_dialects as kernel

        lines = batch.python_lines
        bullets = kernel.starts_with(batch.data, lines.spans, code_points_of("•-"), True)
        dots = kernel.ends_in_dots(batch.data, lines.spans, False)
        return {
            "bullet_line_share": share(lines.sum_by_document(bullets), lines.counts),
            "ellipsis_line_share": share(lines.sum_by_document(dots), lines.counts),
        }

    def _repetition(self, batch: TextBatch) -> dict[str, Any]:
        import numpy as np

        from corpus_assets.signals.kernels.line_dialects import split_paragraphs
        from corpus_assets.text import repetition as ngrams
        from corpus_assets.text.batch import Spans
        from corpus_assets.text.split import CHARS

        values: dict[str, Any] = {}
        lines, n_chars = batch.raw_lines, batch.n_chars
        # Runs of line ends separate; where one begins or ends the text, an empty piece is there.
        filled = lines.spans[:, CHARS] > 0
        ends = _empty_ends(batch)
        repeated = lines.sum_by_document(lines.repeats * filled) + (ends == 2)
        values["dup_line_share"] = share(repeated, lines.sum_by_document(filled) + ends)
        copies = lines.sum_by_document(lines.spans[:, CHARS] * lines.repeats)
        values["dup_line_char_share"] = share(copies, n_chars)
        paragraphs = Spans(batch.data, *split_paragraphs(batch.data, batch.offsets))
        copies = paragraphs.sum_by_document(paragraphs.spans[:, CHARS] * paragraphs.repeats)
        values["dup_paragraph_share"] = share(
            paragraphs.sum_by_document(paragraphs.repeats), paragraphs.counts
        )
        values["dup_paragraph_char_share"] = share(copies, n_chars)
        words = self.words_of(batch).tokens
        largest = max(DUP_NGRAMS)
        chars = words.repeated_ngrams(largest)
        sizes = np.array(TOP_NGRAMS, dtype=np.int64)
        _, first = ngrams.window_chars(words.spans, words.rows, sizes)
        for k, n in enumerate(TOP_NGRAMS):
            most = chars[:, n, ngrams.FIRST] + (n - 1) * chars[:, n, ngrams.FIRST_COUNT]
            alone = np.where(first[:, k] > 0, first[:, k] + n - 1, 0)
            once = chars[:, n, ngrams.FIRST_COUNT] == 0
            values[f"top_{n}_gram_ratio"] = share(np.where(once, alone, most), n_chars)
        for n in DUP_NGRAMS:
            values[f"dup_{n}_gram_share"] = share(chars[:, n, ngrams.LATER], n_chars)
        return values


class DatatroveFineWeb(CountsWords):
    """Names begin with `datatrove_`; thresholds of FineWeb in brackets. Lines that are not blank,
    not stripped:

    * `terminal_line_share` (at least 0.12): those that end in a sentence terminal;
    * `short_line_share` (at most 0.67): those of at most 30 characters;
    * `dup_line_ink_share` (at most 0.01): characters of later copies, of all characters but line
      ends;
    * `newline_to_word_ratio` (at most 0.3): line ends for each word.
    """

    version: ClassVar[int] = 4

    family: Literal["datatrove_fineweb"] = "datatrove_fineweb"

    def columns(self) -> ColumnTypes:
        return {
            "datatrove_terminal_line_share": "float32",
            "datatrove_short_line_share": "float32",
            "datatrove_dup_line_ink_share": "float32",
            "datatrove_newline_to_word_ratio": "float32",
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        from corpus_assets.signals.kernels import line_dialects as kernel
        from corpus_assets.text.split import CHARS

        lines, spans = batch.raw_lines, batch.raw_lines.spans
        inked = kernel.is_inked(batch.data, spans)
        n_inked = lines.sum_by_document(inked)
        ended = kernel.ends_with(batch.data, spans, _terminals(), False) * inked
        short = (spans[:, CHARS] <= SHORT_LINE_CHARS) * inked
        copies = spans[:, CHARS] * lines.repeats * inked
        return self.record_batch(
            {
                "datatrove_terminal_line_share": share(lines.sum_by_document(ended), n_inked),
                "datatrove_short_line_share": share(lines.sum_by_document(short), n_inked),
                "datatrove_dup_line_ink_share": share(
                    lines.sum_by_document(copies), batch.n_chars - batch.n_newlines
                ),
                "datatrove_newline_to_word_ratio": share(
                    batch.n_newlines, self.words_of(batch).tokens.counts
                ),
            }
        )


def _occurrences(batch: TextBatch, phrases: tuple[str, ...]) -> npt.NDArray[np.int64]:
    from corpus_assets.text.phrases import count_phrases, phrase_table
    from corpus_assets.text.unicode import class_table

    table = phrase_table(phrases)
    return count_phrases(batch.data, batch.whole.spans, table, False, class_table())


@lru_cache(maxsize=1)
def _punctuation() -> npt.NDArray[np.uint8]:
    """uint8[0x110000]: 1 for what it takes for punctuation."""

    import numpy as np

    from corpus_assets.text.unicode import N_CODE_POINTS

    table = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    table[code_points_of(_PUNCTUATION + _CONTROLS)] = 1
    table[_terminals()] = 1
    return table


def _terminals() -> npt.NDArray[np.int32]:
    import numpy as np

    from corpus_assets.text.unicode import sentence_terminals

    return np.union1d(sentence_terminals(), code_points_of(_MORE_TERMINALS)).astype(np.int32)


def _empty_ends(batch: TextBatch) -> npt.NDArray[np.int64]:
    """int64[n]: 0 to 2, empty pieces at the ends of `re.split("\\n+", text)`; 1 for no text."""

    import numpy as np

    from corpus_assets.text.split import CHARS

    lines = batch.raw_lines
    first, last = lines.spans[lines.rows[:-1]], lines.spans[lines.rows[1:] - 1]
    is_empty = batch.n_chars == 0
    ends = (first[:, CHARS] == 0).astype(np.int64) + (last[:, CHARS] == 0)
    return np.where(is_empty, 1, ends)
