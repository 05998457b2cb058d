"""Signals of RedPajama-V2 that need no model or word list (Weber et al. 2024, appendix B)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import CountsWords, code_points_of, share
from corpus_assets.signals.repetition import DUP_NGRAMS, TOP_NGRAMS

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

_BULLETS = "\u2022\u2023\u25b6\u25c0\u25e6\u25a0\u25a1\u25aa\u25ab\u2013"
_SYMBOLS = ("#", "...", "…")
ENTROPY_DECIMALS = 6


class RedPajama(CountsWords):
    """Names begin with `redpajama_`, thresholds are the user's: it was published as signals.

    Over normalised words (ASCII punctuation taken out, letters made small, Unicode decomposed to
    NFD, split at white space):

    * `n_words`, `mean_word_chars`, `unique_word_share`, `unigram_entropy` (natural logarithm);
    * `top_N_gram_ratio`: characters of the most frequent n-gram times its occurrences, 0 if it
      stands once, for each character of a word; `dup_N_gram_share`: characters inside n-grams
      that stand twice; `javascript_words`: how often that word stands;

    over tokens (runs of letters and digits, and runs of other marks):

    * `symbol_to_token_ratio` (number signs and ellipses), `no_alphabet_token_share` (without an
      ASCII letter), `all_caps_token_share`;

    over lines, the blank ones too: `ellipsis_line_share`, `bullet_line_share`,
    `terminal_line_share` (`.`, `!`, `?` or a closing quote), `mean_line_words`;

    over characters: `uppercase_char_share`, `numeric_char_share`, `curly_bracket_share`,
    `parenthesis_share`; and `sentences`, runs without end marks that hold a word. What it gives
    for each line is one number for the document here.
    """

    version: ClassVar[int] = 2

    family: Literal["redpajama"] = "redpajama"

    def columns(self) -> ColumnTypes:
        shares = [
            "mean_word_chars",
            "unique_word_share",
            "unigram_entropy",
            *(f"top_{n}_gram_ratio" for n in TOP_NGRAMS),
            *(f"dup_{n}_gram_share" for n in DUP_NGRAMS),
            "symbol_to_token_ratio",
            "no_alphabet_token_share",
            "all_caps_token_share",
            "ellipsis_line_share",
            "bullet_line_share",
            "terminal_line_share",
            "mean_line_words",
            "uppercase_char_share",
            "numeric_char_share",
            "curly_bracket_share",
            "parenthesis_share",
        ]
        counts = ("n_words", "sentences", "javascript_words")
        return {
            **{f"redpajama_{name}": "int64" for name in counts},
            **{f"redpajama_{name}": "float32" for name in shares},
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        plain = _plain(batch)
        values = self._words(plain) | self._tokens(batch) | self._lines(batch, plain)
        return self.record_batch({f"redpajama_{name}": value for name, value in values.items()})

    def _words(self, plain: TextBatch) -> dict[str, Any]:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.signals.kernels import line_dialects as lines_kernel
        from corpus_assets.signals.kernels import redpajama as kernel
        from corpus_assets.text import repetition as ngrams
        from corpus_assets.text.batch import TextBatch

        words = self.words_of(plain)
        entropy = kernel.entropies(words.rows, words.repeats, words.occurrences)
        name = TextBatch.from_arrow(pa.array(["javascript"]))
        is_javascript = lines_kernel.equal_to(plain.data, words.spans, name.data, name.offsets) == 0
        values: dict[str, Any] = {
            "n_words": words.counts,
            "mean_word_chars": share(words.chars, words.counts),
            "unique_word_share": share(
                words.counts - words.sum_by_document(words.repeats), words.counts
            ),
            "unigram_entropy": np.round(np.maximum(entropy, 0.0), ENTROPY_DECIMALS),
            "javascript_words": words.sum_by_document(is_javascript),
        }
        chars = words.repeated_ngrams(max(DUP_NGRAMS))
        for n in TOP_NGRAMS:
            values[f"top_{n}_gram_ratio"] = share(chars[:, n, ngrams.FIRST], words.chars)
        for n in DUP_NGRAMS:
            values[f"dup_{n}_gram_share"] = share(chars[:, n, ngrams.ALL], words.chars)
        return values

    def _tokens(self, batch: TextBatch) -> dict[str, Any]:
        import numpy as np

        from corpus_assets.signals.kernels import redpajama as kernel
        from corpus_assets.text.phrases import count_phrases, phrase_table
        from corpus_assets.text.unicode import class_table

        counts = kernel.token_counts(batch.data, batch.offsets, class_table())
        tokens, n_chars = counts[:, kernel.TOKENS], batch.n_chars
        symbols = np.zeros(len(batch), dtype=np.int64)
        for symbol in _SYMBOLS:
            table = phrase_table((symbol,))
            symbols += count_phrases(batch.data, batch.whole.spans, table, False, class_table())
        return {
            "symbol_to_token_ratio": share(symbols, tokens),
            "no_alphabet_token_share": share(tokens - counts[:, kernel.ALPHABETIC], tokens),
            "all_caps_token_share": share(counts[:, kernel.CAPITALS], tokens),
            "uppercase_char_share": share(counts[:, kernel.UPPER_CHARS], n_chars),
            "numeric_char_share": share(counts[:, kernel.NUMERIC_CHARS], n_chars),
            "curly_bracket_share": share(counts[:, kernel.BRACKETS], n_chars),
            "parenthesis_share": share(counts[:, kernel.PARENTHESES], n_chars),
            "sentences": kernel.sentence_counts(batch.data, batch.offsets, class_table()),
        }

    def _lines(self, batch: TextBatch, plain: TextBatch) -> dict[str, Any]:
        from corpus_assets.signals.kernels import line_dialects as lines_kernel
        from corpus_assets.text.split import END, START

        lines, data = batch.raw_lines, batch.data
        last = lines.spans[lines.rows[1:] - 1]
        n_lines = lines.counts - (last[:, START] == last[:, END])
        dots = lines_kernel.ends_in_dots(data, lines.spans, False)
        bullets = lines_kernel.starts_with(data, lines.spans, code_points_of(_BULLETS), True)
        ended = lines_kernel.ends_with(data, lines.spans, code_points_of(".!?”"), True)
        return {
            "ellipsis_line_share": share(lines.sum_by_document(dots), n_lines),
            "bullet_line_share": share(lines.sum_by_document(bullets), n_lines),
            "terminal_line_share": share(lines.sum_by_document(ended), n_lines),
            "mean_line_words": share(self.words_of(plain).counts, n_lines),
        }


def _plain(batch: TextBatch) -> TextBatch:
    """Return the texts without ASCII punctuation, in small letters, decomposed (NFD)."""

    import pyarrow as pa
    import pyarrow.compute as pc

    from corpus_assets.signals.kernels import redpajama as kernel
    from corpus_assets.text.batch import TextBatch
    from textkernels.normal_forms import nfd

    plain = TextBatch.from_bytes(*kernel.without_punctuation(batch.data, batch.offsets))
    if pc.all(pc.string_is_ascii(plain.texts)).as_py() is not False:
        return plain
    texts = (
        text.decode() if text.isascii() else nfd(text.decode("utf-8", "replace").lower())
        for text in plain.texts.cast(pa.large_binary()).to_pylist()
    )
    return TextBatch.from_arrow(pa.array(texts, pa.large_string()))
