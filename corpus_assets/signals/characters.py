"""Characters by class and script, and their repetition: for languages without spaces too."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import SignalFamily, share

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

COLUMNS = (
    *("latin", "cyrillic", "greek", "arabic", "hebrew", "devanagari", "thai"),
    *("han", "hiragana", "katakana", "hangul"),
)
"""Scripts that have a column."""

DUP_NGRAMS = (10, 20)


class Characters(SignalFamily):
    """What a text is made of, without asking where its words begin.

    * `letter_char_share`, `digit_char_share`, `punctuation_char_share`, `symbol_char_share`,
      `space_char_share`: of all characters, by Unicode 14's general categories;
    * `tab_chars`, `replacement_chars`: tabs, and U+FFFD, which stands where a character was lost;
      `replacement_char_share`: of all characters;
    * `space_run_char_share`: white space after white space in the same line, of all characters;
    * `uppercase_letter_share`: capitals, of letters;
    * `main_script`, `main_script_share`: the script of most letters (the first of the list
      where two tie; null without letters), and its share of letters;
    * `script_NAME_share`: of letters, for eleven scripts;
    * `dup_char_N_gram_share`: characters inside a run of N characters that stands twice, of all
      but white space.
    """

    version: ClassVar[int] = 2

    family: Literal["characters"] = "characters"

    def columns(self) -> ColumnTypes:
        return {
            "letter_char_share": "float32",
            "digit_char_share": "float32",
            "punctuation_char_share": "float32",
            "symbol_char_share": "float32",
            "space_char_share": "float32",
            "tab_chars": "int64",
            "replacement_chars": "int64",
            "replacement_char_share": "float32",
            "space_run_char_share": "float32",
            "uppercase_letter_share": "float32",
            "main_script": "string",
            "main_script_share": "float32",
            **{f"script_{name}_share": "float32" for name in COLUMNS},
            **{f"dup_char_{n}_gram_share": "float32" for n in DUP_NGRAMS},
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.signals.kernels import char_counts as kernel
        from corpus_assets.text import unicode as classes
        from corpus_assets.text.unicode import SCRIPTS, script_table

        counts = kernel.class_counts(batch.data, batch.offsets, _classes())
        of = {1 << k: counts[:, k] for k in range(kernel.N_CLASSES)}
        by_script = kernel.script_counts(batch.data, batch.offsets, script_table(), len(SCRIPTS))
        letters = by_script[:, 1:].sum(axis=1)
        best = by_script[:, 1:].argmax(axis=1)
        spaces = counts[:, kernel.SPACE]
        sizes = np.array(DUP_NGRAMS, dtype=np.int64)
        runs = kernel.repeated_runs(batch.data, batch.offsets, sizes)
        values: dict[str, Any] = {
            "letter_char_share": share(of[classes.LETTER], batch.n_chars),
            "digit_char_share": share(of[classes.DIGIT], batch.n_chars),
            "punctuation_char_share": share(of[classes.PUNCTUATION], batch.n_chars),
            "symbol_char_share": share(of[classes.SYMBOL] + of[classes.MATHEMATICS], batch.n_chars),
            "space_char_share": share(spaces, batch.n_chars),
            "tab_chars": counts[:, kernel.TABS],
            "replacement_chars": counts[:, kernel.REPLACEMENTS],
            "replacement_char_share": share(counts[:, kernel.REPLACEMENTS], batch.n_chars),
            "space_run_char_share": share(counts[:, kernel.SPACE_RUNS], batch.n_chars),
            "uppercase_letter_share": share(of[classes.UPPER], of[classes.LETTER]),
        }
        values["main_script"] = pa.array(SCRIPTS).take(pa.array(best, mask=letters == 0))
        most = by_script[:, 1:].max(axis=1, initial=0)
        values["main_script_share"] = share(most, letters)
        for name in COLUMNS:
            column = by_script[:, 1 + SCRIPTS.index(name)]
            values[f"script_{name}_share"] = share(column, letters)
        for k, n in enumerate(DUP_NGRAMS):
            values[f"dup_char_{n}_gram_share"] = share(runs[:, k], batch.n_chars - spaces)
        return self.record_batch(values)


@lru_cache(maxsize=1)
def _classes() -> npt.NDArray[np.uint8]:
    """Return the classes with capitals among letters only: a circled or roman numeral can be one
    too."""

    from corpus_assets.text import unicode as classes

    table = classes.class_table().copy()
    table[table & classes.LETTER == 0] &= 0xFF ^ classes.UPPER
    return table
