"""Contamination: benchmark items that stand in documents.

`scan_contamination` reads text and records every item of which a document holds a good share, lightly edited
copies and renamed code included; what follows from a hit is decided by `decontam.verdicts`,
which reads only those rows. So a changed drop threshold recomputes no text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.schemas import HITS
from corpus_assets.decontam.eval_index import EvalIndex
from corpus_assets.decontam.kernels.gram_places import item_places
from corpus_assets.decontam.kernels.near_misses import find_near_misses
from corpus_assets.decontam.paraphrases import Paraphrases
from corpus_assets.decontam.settings import (
    CommonSettings,
    ContaminationSettings,
    ScanSettings,
    VerdictSettings,
)
from corpus_assets.decontam.text_places import Ints, in_chars
from corpus_assets.decontam.verdicts import (
    CODE,
    PARAPHRASE,
    REASON,
    TEXT,
    VERDICTS,
    merged,
    verdicts,
)
from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.ngrams import find_items

__all__ = [
    "REASON",
    "VERDICTS",
    "VERSION",
    "CommonSettings",
    "ContaminationSettings",
    "ScanSettings",
    "VerdictSettings",
    "scan_contamination",
    "verdicts",
]

VERSION = 4

_ROWS_PER_BATCH = 1 << 16
_GAP_WORDS = 3  # stretches of an item that are no farther apart are one place


SEED_WORDS = 5  # in a row, which an edit must have left alone
MIN_EDITED_WORDS = 13  # a shorter item is not looked for in edited form


@dataclass
class _Found:
    """What is known about one item, or one form of it, in one document."""

    total: int
    matched: int = 0
    similarity: float | None = None
    places: list[tuple[int, int]] = field(default_factory=list)

    def add(self, other: "_Found") -> None:
        """Take another form of the item in: the one with the larger share counts, then the
        longer one; both say where."""
        mine = (self.matched / max(1, self.total), self.total)
        if (other.matched / max(1, other.total), other.total) > mine:
            self.matched, self.total = other.matched, other.total
        if other.similarity is not None:
            self.similarity = max(other.similarity, self.similarity or 0.0)
        self.places += other.places


def scan_contamination(
    documents: pa.Table,
    index: EvalIndex,
    settings: ScanSettings,
    paraphrases: Paraphrases | None = None,
) -> pa.Table:
    """Return schema HITS, ordered by (row, kind, benchmark, item_id).

    A row stands for a share >= report_share, or for a near miss. Matches are confirmed word by
    word or token by token, so `confirmed` is always true, but for a near miss alone. `paraphrases`
    is asked where it is given; of its rows `matched` and `total` are weights of words.
    """
    rows: list[dict[str, object]] = []
    domains = documents["domain"].to_pylist() if "domain" in documents.column_names else None
    first = 0
    for chunk in documents.column("text").chunks:
        for start in range(0, len(chunk), _ROWS_PER_BATCH):
            texts = chunk.slice(start, _ROWS_PER_BATCH)
            of_batch = domains and domains[first : first + len(texts)]
            rows += _scan_batch(texts, of_batch, first, index, settings, paraphrases)
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
    paraphrases: Paraphrases | None,
) -> Iterator[dict[str, object]]:
    of_kind = {
        CODE: _code_found(texts, domains, index, settings),
        PARAPHRASE: _paraphrases_found(texts, paraphrases),
        TEXT: _words_found(texts, index, settings),
    }
    for row in sorted({row for found in of_kind.values() for row in found}):
        for kind, by_row in of_kind.items():
            for item, one in sorted(by_row.get(row, {}).items()):
                yield {
                    "row": first + row,
                    "benchmark": index.benchmarks[item].as_py(),
                    "item_id": index.item_ids[item].as_py(),
                    "kind": kind,
                    "matched": one.matched,
                    "total": one.total,
                    "similarity": one.similarity,
                    "confirmed": one.matched > 0 and kind != PARAPHRASE,
                    "places": [{"start": low, "end": high} for low, high in merged(one.places)],
                }


def _words_found(
    texts: pa.Array, index: EvalIndex, settings: ScanSettings
) -> dict[int, dict[int, _Found]]:
    """Items by their words, by row and ordinal of the first form."""
    totals = index.grams.item_totals.tolist()
    searched = nfkc(texts)
    data, offsets = text_buffers(searched)
    tables = char_tables()
    by_row: dict[int, dict[int, _Found]] = {}
    hits = find_items(data, offsets, tables, index.grams, index.lookup, settings.report_share)
    for row, item, matched in zip(*(part.tolist() for part in hits), strict=True):
        by_row.setdefault(row, {})[item] = _Found(totals[item], matched)
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
        seeds = index.seeds(SEED_WORDS, MIN_EDITED_WORDS)
        missed = find_near_misses(data, offsets, tables, seeds, SEED_WORDS, near)
        for row, item, share, low, high in zip(*missed, strict=True):
            found = by_row.setdefault(int(row), {})
            one = found.setdefault(int(item), _Found(totals[int(item)]))
            one.similarity = float(share)
            part = data[offsets[row] : offsets[row + 1]]
            place = (np.array([int(item)]), np.array([low]), np.array([high]))
            _add_places(found, texts[int(row)].as_py(), part, place)
    return {row: _by_item(forms, index) for row, forms in by_row.items()}


def _by_item(forms: dict[int, _Found], index: EvalIndex) -> dict[int, _Found]:
    found: dict[int, _Found] = {}
    for form, one in sorted(forms.items()):
        item = int(index.items[form])
        if item in found:
            found[item].add(one)
        else:
            found[item] = one
    return found


def _paraphrases_found(
    texts: pa.Array, paraphrases: Paraphrases | None
) -> dict[int, dict[int, _Found]]:
    by_row: dict[int, dict[int, _Found]] = {}
    for one in paraphrases.find(texts) if paraphrases is not None else ():
        found = _Found(one.total, one.matched, one.similarity, [(one.start, one.end)])
        by_row.setdefault(one.row, {})[one.item] = found
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
            total = int(code.grams.item_totals[piece])
            own.setdefault(row, {})[int(code.items[piece])] = _Found(total, matched)
        for row, found in own.items():
            part = data[offsets[row] : offsets[row + 1]]
            pieces, starts, stops = code.places(part, np.isin(code.items, list(found)))
            _add_places(found, some[row].as_py(), part, (code.items[pieces], starts, stops))
            by_row.setdefault(int(chosen[row]), {}).update(found)
    return by_row


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
