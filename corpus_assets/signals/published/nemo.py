"""Statistics of NeMo Curator's list of heuristic filters that no other family has (NVIDIA, 2024)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import SignalFamily, share

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

    Ints = npt.NDArray[np.int64]

URL = "https?://[!$-_a-z]+"
WIDE_BRACKETS = "[⟨⟩]"
PHRASES = (
    "terms of use", "privacy policy", "cookie policy", "uses cookies", "privacy overview",
    "use of cookies", "use cookies", "privacy & cookies policy", "privacy and cookies policy",
)  # fmt: skip


class NeMo(SignalFamily):
    """Names begin with `nemo_`; thresholds in brackets. A text without characters has 1 for every
    share of them.

    * `non_alphanumeric_share` (at most 0.25): characters that are neither ASCII letters and digits
      nor line ends nor one of `?!,.`; spaces count;
    * `url_char_share` (at most 0.2): characters of addresses that begin with `http`;
    * `bracket_share` (at most 0.1): round, square, curly and angle brackets `⟨⟩`, of characters;
    * `boilerplate_paragraph_share` (at most 0.4): paragraphs, divided by empty lines, that hold one
      of `phrases`; 1 where one holds "lorem ipsum";
    * `unfinished_line_share` (at most 0.85): lines that do not end in one of `.?!"'`;
    * `max_word_chars` (at most 1000): of the longest word.
    """

    version: ClassVar[int] = 1

    family: Literal["nemo"] = "nemo"

    def columns(self) -> ColumnTypes:
        shares = ("non_alphanumeric", "url_char", "bracket", "boilerplate_paragraph")
        return {
            **{f"nemo_{name}_share": "float32" for name in (*shares, "unfinished_line")},
            "nemo_max_word_chars": "int64",
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow.compute as pc

        from corpus_assets.text.split import END

        plain = _count(
            batch, b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789\n?!,."
        )
        brackets = _count(batch, b"{}[]()") + _ints(
            pc.count_substring_regex(batch.texts, WIDE_BRACKETS)
        )
        lines = batch.lines
        ends = np.isin(batch.data[lines.spans[:, END] - 1], np.frombuffer(b".?!\"'", np.uint8))
        values = {
            "non_alphanumeric_share": self._of_chars(batch, batch.n_chars - plain),
            "url_char_share": self._of_chars(batch, _url_chars(batch)),
            "bracket_share": self._of_chars(batch, brackets),
            "boilerplate_paragraph_share": self._boilerplate(batch),
            "unfinished_line_share": share(lines.sum_by_document(~ends), lines.counts),
            "max_word_chars": _longest_words(batch),
        }
        return self.record_batch({f"nemo_{name}": value for name, value in values.items()})

    def _of_chars(self, batch: TextBatch, part: Ints) -> npt.NDArray[np.float32]:
        found = share(part, batch.n_chars)
        found[batch.n_chars == 0] = 1
        return found

    def _boilerplate(self, batch: TextBatch) -> npt.NDArray[np.float32]:
        import numpy as np
        import pyarrow.compute as pc

        paragraphs = pc.split_pattern(batch.texts, "\n\n")
        each, owner = paragraphs.flatten(), pc.list_parent_indices(paragraphs).to_numpy()
        either = "|".join(map(re.escape, PHRASES))
        held = pc.match_substring_regex(each, either, ignore_case=True)
        filler = pc.match_substring_regex(each, "lorem ipsum", ignore_case=True)
        counts = [
            np.bincount(owner[mask.to_numpy(zero_copy_only=False)], minlength=len(batch))
            for mask in (held, filler)
        ]
        found = share(counts[0], _ints(pc.list_value_length(paragraphs)))
        found[counts[1] > 0] = 1
        return found


def _ints(values: pa.Array) -> Ints:
    import numpy as np

    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.int64)


def _count(batch: TextBatch, some: bytes) -> Ints:
    """How many of these ASCII characters each text has."""

    import numpy as np

    known = np.zeros(256, dtype=np.bool_)
    known[np.frombuffer(some, np.uint8)] = True
    totals = np.concatenate([[0], np.cumsum(known[batch.data], dtype=np.int64)])
    found: Ints = totals[batch.offsets[1:]] - totals[batch.offsets[:-1]]
    return found


def _url_chars(batch: TextBatch) -> Ints:
    """Characters of addresses, which are ASCII: what taking them out leaves is shorter by them."""

    import numpy as np
    import pyarrow.compute as pc

    left = pc.replace_substring_regex(batch.texts, URL, "")
    return np.diff(batch.offsets) - _ints(pc.binary_length(left))


def _longest_words(batch: TextBatch) -> Ints:
    import numpy as np

    from corpus_assets.text.split import CHARS

    words = batch.words
    found = np.zeros(len(batch), dtype=np.int64)
    some = words.counts > 0
    if some.any():
        found[some] = np.maximum.reduceat(words.spans[:, CHARS], words.rows[:-1][some])
    return found
