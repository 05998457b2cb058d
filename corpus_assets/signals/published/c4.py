"""Document statistics of C4 and mC4, on the text as it is (Raffel et al. 2020; Xue et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import SignalFamily, code_points_of, share

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

END_MARKS = '.?!"'  # what a finished line ends in
LONG_LINE_CHARS = 200  # of the shortest line that is long
FILLER = ("lorem ipsum",)
JAVASCRIPT = ("javascript",)
POLICY = (
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)


class C4(SignalFamily):
    """What C4's rules look at, as counts; `c4_lines` is the step that applies its line rules.

    * `curly_braces` (none), `lorem_ipsum` (none): occurrences of `{`, and of the filler phrase;
    * `javascript_line_share`, `policy_line_share`: lines with one of the phrases;
    * `end_mark_line_share`: lines that end in one of `.?!"`;
    * `sentences`: counted by end marks, line by line (see `signals.kernels.sentences`);
    * `long_lines` (at least 3, mC4): lines of at least 200 characters.

    Lines are stripped and blank ones left out. In brackets: what C4 or mC4 asks of a page.
    """

    version: ClassVar[int] = 1

    family: Literal["c4"] = "c4"

    def columns(self) -> ColumnTypes:
        return {
            "curly_braces": "int64",
            "lorem_ipsum": "int64",
            "javascript_line_share": "float32",
            "policy_line_share": "float32",
            "end_mark_line_share": "float32",
            "sentences": "int64",
            "long_lines": "int64",
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        from corpus_assets.signals.kernels.line_dialects import ends_with
        from corpus_assets.signals.kernels.sentences import count_sentences, sentence_marks
        from corpus_assets.text.phrases import count_phrases, phrase_table
        from corpus_assets.text.split import CHARS
        from corpus_assets.text.unicode import class_table

        lines, classes = batch.lines, class_table()
        marks = code_points_of(END_MARKS)
        found = {
            name: count_phrases(batch.data, lines.spans, phrase_table(phrases), False, classes)
            for name, phrases in (("javascript", JAVASCRIPT), ("policy", POLICY))
        }
        sentences = count_sentences(batch.data, lines.spans, sentence_marks())
        return self.record_batch(
            {
                "curly_braces": _in_documents(batch, ("{",)),
                "lorem_ipsum": _in_documents(batch, FILLER),
                **{
                    f"{name}_line_share": share(lines.sum_by_document(hits > 0), lines.counts)
                    for name, hits in found.items()
                },
                "end_mark_line_share": share(
                    lines.sum_by_document(ends_with(batch.data, lines.spans, marks, False)),
                    lines.counts,
                ),
                "sentences": lines.sum_by_document(sentences),
                "long_lines": lines.sum_by_document(lines.spans[:, CHARS] >= LONG_LINE_CHARS),
            }
        )


def _in_documents(batch: TextBatch, phrases: tuple[str, ...]) -> pa.Array:
    import pyarrow as pa

    from corpus_assets.text.phrases import count_phrases, phrase_table
    from corpus_assets.text.unicode import class_table

    table = phrase_table(phrases)
    return pa.array(count_phrases(batch.data, batch.whole.spans, table, False, class_table()))
