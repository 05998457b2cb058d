"""Texts as a batch: one UTF-8 buffer with offsets, split into words, lines and paragraphs once."""

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.text import raw_lines, split
from corpus_assets.text.repetition import repeated_ngram_chars
from corpus_assets.text.segment import segmented
from corpus_assets.text.tokens import split_tokens
from corpus_assets.text.unicode import class_table


class Spans:
    """Words, lines or paragraphs of a batch: `spans: int64[k, 3]` of (start, end, characters).

    Document d owns `spans[rows[d]:rows[d + 1]]`. Hashes and repeats are computed when asked for.
    """

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        spans: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int64],
    ) -> None:
        self._data = data
        self.spans = spans
        self.rows = rows
        self._ngrams: npt.NDArray[np.int64] | None = None

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """int64[n]: how many each document has."""
        return np.diff(self.rows)

    @cached_property
    def chars(self) -> npt.NDArray[np.int64]:
        """int64[n]: characters of all spans of each document."""
        return self.sum_by_document(self.spans[:, split.CHARS])

    @cached_property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """uint64[k]: one hash a span."""
        return split.hash_spans(self._data, self.spans)

    @cached_property
    def repeats(self) -> npt.NDArray[np.uint8]:
        """uint8[k]: 1 where the same span stood earlier in the document."""
        return split.mark_repeats(self.hashes, self.rows)

    @cached_property
    def occurrences(self) -> npt.NDArray[np.int64]:
        """int64[k]: how often the same span stands in the document."""
        return raw_lines.occurrences(self.hashes, self.rows)

    @cached_property
    def tokens(self) -> "Spans":
        """Words with punctuation apart (see `text.tokens`), where these spans are words."""
        return Spans(self._data, *split_tokens(self._data, self.spans, self.rows, class_table()))

    def repeated_ngrams(self, max_n: int) -> npt.NDArray[np.int64]:
        """int64[n, >= max_n + 1, 7]: see `repetition.repeated_ngram_chars`; computed once."""
        if self._ngrams is None or self._ngrams.shape[1] <= max_n:
            self._ngrams = repeated_ngram_chars(self.hashes, self.spans, self.rows, max_n)
        return self._ngrams

    def sum_by_document(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """int64[n]: the sum of one value a span, over each document's spans."""
        totals = np.zeros(values.shape[0] + 1, dtype=np.int64)
        np.cumsum(values, dtype=np.int64, out=totals[1:])
        return totals[self.rows[1:]] - totals[self.rows[:-1]]


class TextBatch:
    """Texts as one UTF-8 buffer; words, lines and paragraphs are split when first asked for."""

    def __init__(self, texts: pa.LargeStringArray) -> None:
        self.texts = texts
        _, offsets, data = texts.buffers()
        self.offsets = _read_only(offsets, np.int64, 1)[texts.offset :][: len(texts) + 1]
        self.data = _read_only(data, np.uint8, 0)
        self.columns: dict[str, pa.Array] = {}
        """Columns computed of these texts so far, for what is computed from those."""
        self.prose: TextBatch | None = None
        """What `line_kinds.prose_of` leaves of these texts, once it was asked for."""

    @classmethod
    def from_arrow(cls, texts: pa.Array | pa.ChunkedArray) -> Self:
        """Take a string column; a null text counts as empty. Copies only chunks and nulls."""
        if isinstance(texts, pa.ChunkedArray):
            texts = texts.combine_chunks()
        if texts.type != pa.large_string():
            texts = texts.cast(pa.large_string())
        if texts.null_count:
            texts = pc.fill_null(texts, "")
        return cls(texts)

    @classmethod
    def from_bytes(cls, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> Self:
        """Take a batch that a kernel wrote; `offsets: int64[n + 1]` begins with 0."""
        places, content = pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))
        return cls(pa.LargeStringArray.from_buffers(len(offsets) - 1, places, content))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_chars(self) -> npt.NDArray[np.int64]:
        """int64[n]: code points of each text."""
        return self._counted[1]

    @property
    def n_newlines(self) -> npt.NDArray[np.int64]:
        """int64[n]: line ends of each text."""
        return self._counted[2]

    @property
    def words(self) -> Spans:
        """Items of `text.split()`."""
        return self._spans[0]

    @cached_property
    def segments(self) -> Spans:
        """Words, and those of scripts without spaces taken apart (see `text.segment`)."""
        words = self.words
        spans, rows = segmented(self.data, words.spans, words.rows)
        return words if spans is words.spans else Spans(self.data, spans, rows)

    def spaced(self) -> "TextBatch":
        """Return the texts with a space between words that are written without one."""
        cuts = np.setdiff1d(
            self.segments.spans[:, split.START], self.words.spans[:, split.START], True
        )
        if not cuts.size:
            return self
        first, last = self.offsets[0], self.offsets[-1]
        data = np.insert(self.data[first:last], cuts - first, ord(" "))
        return TextBatch.from_bytes(
            data, self.offsets - first + np.searchsorted(cuts, self.offsets)
        )

    @property
    def lines(self) -> Spans:
        """Lines that are not blank, stripped."""
        return self._spans[1]

    @property
    def paragraphs(self) -> Spans:
        """Runs of lines without a blank line between them."""
        return self._spans[2]

    @cached_property
    def raw_lines(self) -> Spans:
        """Items of `text.split("\\n")`, blank ones too and not stripped: for dialects only."""
        spans, rows = raw_lines.raw_lines(self.data, self.offsets, self.n_newlines)
        return Spans(self.data, spans, rows)

    @cached_property
    def python_lines(self) -> Spans:
        """Items of `text.splitlines()`, not stripped: for dialects only."""
        return Spans(self.data, *raw_lines.python_lines(self.data, self.offsets, False))

    @cached_property
    def stripped_python_lines(self) -> Spans:
        """Those that are not blank, stripped."""
        return Spans(self.data, *raw_lines.python_lines(self.data, self.offsets, True))

    @cached_property
    def whole(self) -> Spans:
        """Each text as one span."""
        spans = np.stack([self.offsets[:-1], self.offsets[1:], self.n_chars], axis=1)
        return Spans(self.data, spans, np.arange(len(self) + 1, dtype=np.int64))

    @cached_property
    def _counted(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        return split.count_spans(self.data, self.offsets)

    @cached_property
    def _spans(self) -> tuple[Spans, Spans, Spans]:
        rows = self._counted[0]
        words, lines, paragraphs = split.fill_spans(self.data, self.offsets, rows)
        return (
            Spans(self.data, words, rows[0]),
            Spans(self.data, lines, rows[1]),
            Spans(self.data, paragraphs, rows[2]),
        )


def _read_only(
    buffer: pa.Buffer | None, dtype: type[np.generic], min_items: int
) -> npt.NDArray[Any]:
    """Return a view of an Arrow buffer. Always read-only, because numba compiles the kinds apart."""
    if buffer is None or buffer.size == 0:
        view = np.zeros(min_items, dtype=dtype)
    else:
        view = np.frombuffer(buffer, dtype=dtype)
    view.flags.writeable = False
    return view
