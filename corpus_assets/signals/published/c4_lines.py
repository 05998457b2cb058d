"""The line rules of C4 as a step that rewrites the text (Raffel et al. 2020, section 2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import CountsWords, code_points_of, share
from corpus_assets.signals.published.c4 import FILLER, JAVASCRIPT, POLICY
from corpus_assets.signals.text_step import Rewriting, TextStep, cut

if TYPE_CHECKING:
    from corpus_assets.text.batch import TextBatch

VERDICTS = ("long_word", "unfinished", "few_word", "filler", "javascript", "brace", "policy")
"""Why a line goes."""

OTHER_LINE_ENDS = "[\\x0b-\\r\\x1c-\\x1e\\x85\\x{2028}\\x{2029}]"
MAX_WORD_CHARS = 1000  # of the longest word of a line that stays


class C4Lines(CountsWords, TextStep):
    """Keeps the lines that end in an end mark and have enough words; the rest is cut out.

    Lines go, for the first of these that holds: a word of more than 1,000 characters; no end
    mark (or an ellipsis of full stops); fewer than `min_words`; filler text, a warning about
    JavaScript, a curly brace, a legal notice. Footnote marks such as `[1]` and `[edit]` are cut out first.
    Lines end where `str.splitlines` of C4's code ends them, and are joined by line feeds.

    * `c4_lines`, `c4_kept_lines`: lines that are not blank, before and after;
    * `c4_kept_char_share`: characters left, of all;
    * `c4_long_word_lines`, `c4_unfinished_lines`, `c4_few_word_lines`, `c4_javascript_lines`,
      `c4_policy_lines`: lines cut out for that;
    * `c4_filler_lines`, `c4_brace_lines` (none): the same; C4 drops the page for one of them,
      and looks for them only in lines that passed the rules before;
    * `c4_sentences` (at least 3): sentences of the kept lines.

    In brackets: what C4 asks of a page. Its paper's first version says 3 words a line and 5
    sentences a page; the later ones, and the code, say 5 words and 3 sentences.
    """

    version: ClassVar[int] = 2

    family: Literal["c4_lines"] = "c4_lines"
    end_marks: str = Field(default='.?!"', description="end marks of lines to keep; empty: any")
    min_words: int = Field(default=5, ge=0, description="shortest line to keep, in words")
    count_footnotes: bool = Field(
        default=False, description="count words with footnote marks, like datatrove, not without"
    )

    def columns(self) -> ColumnTypes:
        return {
            "c4_lines": "int64",
            "c4_kept_lines": "int64",
            "c4_kept_char_share": "float32",
            **{f"c4_{name}_lines": "int64" for name in VERDICTS},
            "c4_sentences": "int64",
        }

    def rewrite(self, batch: TextBatch) -> Rewriting:
        from corpus_assets.signals.kernels import c4_lines as kernel
        from corpus_assets.signals.kernels.sentences import sentence_marks
        from corpus_assets.text.phrases import phrase_table
        from corpus_assets.text.pieces import count_chars
        from corpus_assets.text.unicode import class_table

        lines, words = batch.stripped_python_lines, self.words_of(batch)
        verdicts, sentences, pieces, rows = kernel.judge_lines(
            batch.data,
            lines.spans,
            lines.rows,
            words.spans,
            words.rows,
            code_points_of(self.end_marks),
            self.min_words,
            self.count_footnotes,
            MAX_WORD_CHARS,
            phrase_table(FILLER),
            phrase_table(JAVASCRIPT),
            phrase_table(POLICY),
            sentence_marks(),
            class_table(),
        )
        verdict_codes = (
            kernel.LONG_WORD,
            kernel.NO_END_MARK,
            kernel.FEW_WORDS,
            kernel.FILLER,
            kernel.JAVASCRIPT,
            kernel.BRACE,
            kernel.POLICY,
        )
        counts = {
            f"c4_{name}_lines": lines.sum_by_document(verdicts == verdict)
            for name, verdict in zip(VERDICTS, verdict_codes, strict=True)
        }
        left = _with_line_feeds(cut(batch, pieces, rows))
        columns = {
            "c4_lines": lines.counts,
            "c4_kept_lines": lines.sum_by_document(verdicts == kernel.KEPT),
            "c4_kept_char_share": share(count_chars(left.data, left.offsets), batch.n_chars),
            "c4_sentences": sentences,
        }
        return Rewriting(left, pieces, rows, self.record_batch(columns | counts))


def _with_line_feeds(left: TextBatch) -> TextBatch:
    """Return kept lines joined by line feeds alone, character by character."""
    import pyarrow.compute as pc

    from corpus_assets.text.batch import TextBatch

    if not pc.any(pc.match_substring_regex(left.texts, OTHER_LINE_ENDS)).as_py():
        return left
    return TextBatch.from_arrow(pc.replace_substring_regex(left.texts, OTHER_LINE_ENDS, "\n"))
