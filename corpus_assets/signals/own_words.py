"""Words that only the language of a text has: for languages that are easily taken for others.

Where few pages are in a language, many of those that a model takes for it are in another one. The
filter is that of FineWeb2 (huggingface/fineweb-2, misc/precision_filtering): a page of such a
language stays if it has a word of its list, or if its URL has the language's code or a name of where
it is spoken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.model_choice import INSTALLED
from corpus_assets.core.word_lists import read_word_list
from corpus_assets.signals.base import FILE, model_path
from corpus_assets.signals.stop_words import StopWords

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

URL = "url:"
_IN_URL = re.compile(r"[^a-z0-9/.]+")


class OwnWords(StopWords):
    """How much speaks for the language of a text, by the list of that language.

    * `own_words`: how many different entries are words of the text. Words are those of
      `datatrove_gopher`, with punctuation apart; case counts;
    * `own_url_words`: how many entries `url:WORD` are words of its URL, and `url:*WORD*` stand in
      its letters, digits, slashes and dots; all in lowercase.

    An entry `model://NAME/FILE` is a list with one entry a line. Null for a text in a language
    without such entries. Needs the column `language`.
    """

    version: ClassVar[int] = 1

    family: Literal["own_words"] = "own_words"  # type: ignore[assignment]

    def columns(self) -> ColumnTypes:
        return {"own_words": "int64", "own_url_words": "int64"}

    def needs(self) -> tuple[str, ...]:
        return tuple(
            sorted({FILE + e for each in self.languages.values() for e in each if _is_file(e)})
        )

    def of_documents(self) -> tuple[str, ...]:
        return ("url",)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa

        words = self.words_of(batch).tokens
        urls = batch.columns["url"].to_pylist() if "url" in batch.columns else [None] * len(batch)
        in_text: list[int | None] = [None] * len(batch)
        in_url: list[int | None] = [None] * len(batch)
        documents: dict[str, list[int]] = {}
        for row, language in enumerate(batch.columns["language"].to_pylist()):
            if language in self.languages:
                documents.setdefault(language, []).append(row)
        for language, rows in documents.items():
            entries = self.languages[language]
            patterns = [entry.removeprefix(URL) for entry in entries if entry.startswith(URL)]
            listed = frozenset(
                word.encode() for word in self._entries(entries, models) if not word.startswith(URL)
            )
            for row in rows:
                if listed:
                    spans = words.spans[words.rows[row] : words.rows[row + 1]]
                    in_text[row] = len(listed & _words(batch.data, spans))
                if patterns:
                    in_url[row] = _found_in_url(patterns, urls[row] or "")
        return self.record_batch(
            {
                "own_words": pa.array(in_text, pa.int64()),
                "own_url_words": pa.array(in_url, pa.int64()),
            }
        )

    def _entries(self, entries: Iterable[str], models: Mapping[str, Path]) -> Iterable[str]:
        for entry in entries:
            if _is_file(entry):
                yield from read_word_list(model_path(models, FILE + entry, self.family))
            else:
                yield entry


def _is_file(entry: str) -> bool:
    return entry.startswith(INSTALLED)


def _words(data: npt.NDArray[np.uint8], spans: npt.NDArray[np.int64]) -> set[bytes]:
    text = data[spans[0][0] : spans[-1][1]].tobytes() if len(spans) else b""
    first = int(spans[0][0]) if len(spans) else 0
    return {text[start - first : end - first] for start, end in spans[:, :2].tolist()}


def _found_in_url(patterns: Iterable[str], url: str) -> int:
    lower = url.lower()
    within, words = _IN_URL.sub("", lower), set(re.findall(r"[a-z0-9]+", lower))
    return sum(
        pattern.strip("*") in (within if pattern.startswith("*") else words) for pattern in patterns
    )
