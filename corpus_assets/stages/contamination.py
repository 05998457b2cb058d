"""Contamination: benchmark items that stand in documents.

`scan` reads text and records every item of which a document holds a good share, lightly edited
copies and renamed code included; what follows from a hit is said by `contamination_verdicts`,
which reads only those rows. So a changed drop threshold recomputes no text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, model_validator

from corpus_assets.documents import HITS
from corpus_assets.kernels.characters import char_tables, nfkc
from corpus_assets.kernels.gram_places import item_places
from corpus_assets.kernels.near_misses import find_near_misses
from corpus_assets.kernels.ngrams import find_items
from corpus_assets.kernels.unicode_text import text_buffers
from corpus_assets.kernels.words import MAX_NGRAM
from corpus_assets.stages.code_index import CodeIndex
from corpus_assets.stages.contamination_verdicts import (
    REASON,
    VERDICTS,
    CommonSettings,
    VerdictSettings,
    merged,
    verdicts,
)
from corpus_assets.stages.eval_index import EvalIndex
from corpus_assets.stages.text_places import in_chars
from corpus_assets.step import Settings

__all__ = [
    "REASON",
    "VERDICTS",
    "VERSION",
    "CommonSettings",
    "ContaminationSettings",
    "NearMissSettings",
    "ScanSettings",
    "VerdictSettings",
    "scan",
    "verdicts",
]

VERSION = 2

TEXT, CODE = "text", "code"

_ROWS_PER_BATCH = 1 << 16
_GAP_WORDS = 3  # stretches of an item that are no farther apart are one place

Ints = npt.NDArray[np.int64]


class NearMissSettings(Settings):
    """Lightly edited items: found for people to look at, never a reason to drop."""

    seed_words: int = Field(
        default=5, ge=3, le=MAX_NGRAM, description="words in a row that must have been left alone"
    )
    min_words: int = Field(
        default=13, ge=3, description="a shorter item is not looked for in edited form"
    )
    min_similarity: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="1 - words put in, left out or replaced / words of the item",
    )


class ScanSettings(Settings):
    """What `scan` reads."""

    report_share: float = Field(
        default=0.3, gt=0, le=1, description="share of an item's n-grams that is worth a row"
    )
    near_misses: NearMissSettings | None = NearMissSettings()
    code_domains: tuple[str, ...] | None = Field(
        default=None, description="domains searched for the code of suites; null: all"
    )


class ContaminationSettings(ScanSettings, VerdictSettings, CommonSettings):
    """All of it, as a recipe writes it; each step is given its own part."""

    @model_validator(mode="after")
    def _drops_are_recorded(self) -> "ContaminationSettings":
        if self.drop_share < self.report_share:
            raise ValueError("drop_share must not be below report_share: such hits are not kept")
        return self

    @property
    def scan(self) -> ScanSettings:
        """The part that belongs to the fingerprint of `scan`."""
        return ScanSettings(**{name: getattr(self, name) for name in ScanSettings.model_fields})

    @property
    def verdict(self) -> VerdictSettings:
        """The part that belongs to the fingerprint of `verdicts`."""
        return VerdictSettings(
            **{name: getattr(self, name) for name in VerdictSettings.model_fields}
        )

    @property
    def common(self) -> CommonSettings:
        """The part that belongs to the calibration of common items."""
        return CommonSettings(common_documents=self.common_documents)


@dataclass
class _Found:
    """What is known about one item in one document."""

    matched: int = 0
    similarity: float | None = None
    places: list[tuple[int, int]] = field(default_factory=list)


def scan(documents: pa.Table, index: EvalIndex, settings: ScanSettings) -> pa.Table:
    """Schema HITS, ordered by (row, kind, benchmark, item_id).

    A row stands for a share >= report_share, or for a near miss. Matches are confirmed word by
    word or token by token, so `confirmed` is always true, but for a near miss alone.
    """
    rows: list[dict[str, object]] = []
    domains = documents["domain"].to_pylist() if "domain" in documents.column_names else None
    first = 0
    for chunk in documents.column("text").chunks:
        for start in range(0, len(chunk), _ROWS_PER_BATCH):
            texts = chunk.slice(start, _ROWS_PER_BATCH)
            of_batch = domains and domains[first : first + len(texts)]
            rows += _scan_batch(texts, of_batch, first, index, settings)
            first += len(texts)
    taken = pa.array([row["row"] for row in rows], pa.int64())
    ids = documents.column("doc_id").take(taken)
    table = pa.Table.from_pylist(rows, schema=HITS.remove(0))
    return table.add_column(0, HITS.field("doc_id"), ids).cast(HITS)


def _scan_batch(
    texts: pa.Array,
    domains: list[str] | None,
    first: int,
    index: EvalIndex,
    settings: ScanSettings,
) -> Iterator[dict[str, object]]:
    words = _words_found(texts, index, settings)
    code = _code_found(texts, domains, index, settings)
    for row in sorted(words.keys() | code.keys()):
        for kind, found in ((CODE, code.get(row, {})), (TEXT, words.get(row, {}))):
            for item in sorted(found):
                total, one = int(index.grams.item_totals[item]), found[item]
                if kind == CODE:
                    total = _code_total(index, item)
                yield {
                    "row": first + row,
                    "benchmark": index.benchmarks[item].as_py(),
                    "item_id": index.item_ids[item].as_py(),
                    "kind": kind,
                    "matched": one.matched,
                    "total": total,
                    "similarity": one.similarity,
                    "confirmed": one.matched > 0,
                    "places": [{"start": low, "end": high} for low, high in merged(one.places)],
                }


def _words_found(
    texts: pa.Array, index: EvalIndex, settings: ScanSettings
) -> dict[int, dict[int, _Found]]:
    """Items by their words, by row and ordinal."""
    searched = nfkc(texts)
    data, offsets = text_buffers(searched)
    tables = char_tables()
    by_row: dict[int, dict[int, _Found]] = {}
    hits = find_items(data, offsets, tables, index.grams, index.lookup, settings.report_share)
    for row, item, matched in zip(*(part.tolist() for part in hits), strict=True):
        by_row.setdefault(row, {})[item] = _Found(matched)
    places = item_places(
        data, offsets, tables, index.grams, index.lookup, hits[0], hits[1], _GAP_WORDS
    )
    edges = np.searchsorted(places[0], np.arange(len(texts) + 1))
    for row, found in by_row.items():
        part = data[offsets[row] : offsets[row + 1]]
        own = slice(edges[row], edges[row + 1])
        where = (places[1][own], places[2][own], places[3][own])
        _add_places(found, texts[row].as_py(), part, where)
    near = settings.near_misses
    if near is not None:
        seeds = index.seeds(near.seed_words, near.min_words)
        missed = find_near_misses(
            data, offsets, tables, seeds, near.seed_words, near.min_similarity
        )
        for row, item, share, low, high in zip(*missed, strict=True):
            found = by_row.setdefault(int(row), {})
            one = found.setdefault(int(item), _Found())
            one.similarity = float(share)
            part = data[offsets[row] : offsets[row + 1]]
            place = (np.array([int(item)]), np.array([low]), np.array([high]))
            _add_places(found, texts[int(row)].as_py(), part, place)
    return by_row


def _code_found(
    texts: pa.Array, domains: list[str] | None, index: EvalIndex, settings: ScanSettings
) -> dict[int, dict[int, _Found]]:
    """Items by their code, by row and ordinal. The text is searched as it is."""
    wanted_domains = settings.code_domains
    chosen = np.arange(len(texts))
    if wanted_domains is not None and domains is not None:
        chosen = np.array([i for i, name in enumerate(domains) if name in wanted_domains], np.int64)
    by_row: dict[int, dict[int, _Found]] = {}
    if not index.code or not chosen.size:
        return by_row
    some = texts.take(pa.array(chosen)).cast(pa.large_string()).fill_null("")
    data, offsets = text_buffers(some)
    for code in index.code:
        hits = code.find(some, settings.report_share)
        own: dict[int, dict[int, _Found]] = {}
        for row, piece, matched in zip(*(part.tolist() for part in hits), strict=True):
            own.setdefault(row, {})[int(code.items[piece])] = _Found(matched)
        for row, found in own.items():
            part = data[offsets[row] : offsets[row + 1]]
            pieces, starts, stops = code.places(part, np.isin(code.items, list(found)))
            _add_places(found, some[row].as_py(), part, (code.items[pieces], starts, stops))
            by_row.setdefault(int(chosen[row]), {}).update(found)
    return by_row


def _code_total(index: EvalIndex, item: int) -> int:
    totals = (_total_in(code, item) for code in index.code)
    return max(totals, default=0)


def _total_in(code: CodeIndex, item: int) -> int:
    place = int(np.searchsorted(code.items, item))
    is_there = place < code.items.size and int(code.items[place]) == item
    return int(code.grams.item_totals[place]) if is_there else 0


def _add_places(
    found: dict[int, _Found],
    text: str,
    searched: npt.NDArray[np.uint8],
    where: tuple[Ints, Ints, Ints],
) -> None:
    items, starts, stops = where
    spans = in_chars(text, searched, starts, stops).tolist()
    for item, (low, high) in sorted(zip(items.tolist(), spans, strict=True)):
        found[item].places.append((low, high))
