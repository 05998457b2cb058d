"""The rules of MADLAD-400 for sentences that Olmo 3 takes over (Kudugunta et al. 2023, section 2.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.errors import ModelError
from corpus_assets.core.word_lists import read_lines
from corpus_assets.signals.base import FILE, SignalFamily, model_path, share

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

SENTENCE_END = re.compile(r"[.!?]+\s+")
WORD = re.compile(r"\w+(?:[.'’:·]\w+)*")
MIN_CASE_WORDS = 12  # of a sentence whose capitals are counted
MAX_CAPITAL_SHARE = 0.5
NO_CAPITALS = bytes(code for code in range(128) if not chr(code).isupper())
N_PATTERNS = 4  # lines at the end of the published file that are regular expressions

Strings = tuple[str, ...]


class Madlad(SignalFamily):
    """Questionable sentences; those of Olmo 3 are of rules 2 and 5.

    A sentence ends at full stops, exclamation and question marks with white space behind them.

    * `madlad_sentences` (at least 5): how many there are;
    * `madlad_capital_sentence_share`: those of 12 words or more of which more than half begin with
      a capital letter (rule 2);
    * `madlad_cursed_sentence_share`: those that hold an entry of `cursed` (rule 5), case and spaces
      as listed;
    * `madlad_questionable_share` (less than 0.2): those that are one or the other.

    In brackets: what Olmo 3 asks of a page.
    """

    version: ClassVar[int] = 1

    family: Literal["madlad"] = "madlad"
    cursed: Strings = Field(
        default=(),
        description="files with one entry per line, the last four regular expressions, or "
        "`model://NAME` (Olmo 3: `model://madlad-cursed`)",
    )

    def columns(self) -> ColumnTypes:
        shares = ("capital_sentence", "cursed_sentence", "questionable")
        return {
            "madlad_sentences": "int64",
            **{f"madlad_{name}_share": "float32" for name in shares},
        }

    def needs(self) -> tuple[str, ...]:
        return tuple(FILE + path for path in self.cursed)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np

        entries, patterns = self._entries(models)
        counts = np.zeros((len(batch), 4), dtype=np.int64)
        for row, text in enumerate(batch.texts.to_pylist()):
            sentences = [each for each in SENTENCE_END.split(text) if each.strip()]
            capital = {n for n, each in enumerate(sentences) if _is_capital(each)}
            cursed = {n for one in patterns for n, each in enumerate(sentences) if one.search(each)}
            for entry in entries:
                if entry in text:
                    cursed.update(n for n, each in enumerate(sentences) if entry in each)
            counts[row] = len(sentences), len(capital), len(cursed), len(capital | cursed)
        n_sentences = counts[:, 0]
        return self.record_batch(
            {
                "madlad_sentences": n_sentences,
                "madlad_capital_sentence_share": share(counts[:, 1], n_sentences),
                "madlad_cursed_sentence_share": share(counts[:, 2], n_sentences),
                "madlad_questionable_share": share(counts[:, 3], n_sentences),
            }
        )

    def _entries(self, models: Mapping[str, Path]) -> tuple[list[str], list[re.Pattern[str]]]:
        entries: list[str] = []
        patterns: list[re.Pattern[str]] = []
        for name in self.needs():
            path = model_path(models, name, self.family)
            lines = [line for line in read_lines(path) if line]
            entries += lines[:-N_PATTERNS]
            patterns += _compiled(lines[-N_PATTERNS:], path)
        return entries, patterns


def _compiled(lines: Sequence[str], path: Path) -> list[re.Pattern[str]]:
    """Return regular expressions; `$` is the very end of a sentence."""
    try:
        return [re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", line)) for line in lines]
    except re.error as error:
        raise ModelError(
            f"{path} does not end in four regular expressions: {error}; see `cursed` in the settings"
        ) from error


def _is_capital(sentence: str) -> bool:
    if len(sentence.encode().translate(None, NO_CAPITALS)) <= MAX_CAPITAL_SHARE * MIN_CASE_WORDS:
        return False  # too few letters that may be capitals, which is quick to see
    words = WORD.findall(sentence)
    if len(words) < MIN_CASE_WORDS:
        return False
    n_capital: int = sum(word[0].isupper() for word in words)
    return n_capital > MAX_CAPITAL_SHARE * len(words)
