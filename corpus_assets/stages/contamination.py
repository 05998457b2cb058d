"""Contamination: benchmark items that stand in documents.

`scan` reads text and records every item of which a document holds a good share, near misses
included; `verdicts` reads only those hits. So a changed drop threshold recomputes no text.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from corpus_assets.documents import DOC_ID, HITS
from corpus_assets.kernels.characters import char_tables, nfkc, text_buffers
from corpus_assets.kernels.ngrams import find_items
from corpus_assets.stages.eval_index import EvalIndex
from corpus_assets.step import Settings

VERSION = 1

REASON = "contains_eval_item"

VERDICTS = pa.schema(
    [
        ("row", pa.int32()),
        ("doc_id", DOC_ID),
        ("benchmark", pa.string()),
        ("item_id", pa.string()),
    ]
)

_ROWS_PER_BATCH = 1 << 16


class ScanSettings(Settings):
    """What `scan` reads: the smallest share of an item's distinct n-grams worth recording."""

    report_share: float = Field(default=0.3, gt=0, le=1)


class VerdictSettings(Settings):
    """What `verdicts` reads: the share of an item's distinct n-grams that drops a document."""

    drop_share: float = Field(default=0.8, gt=0, le=1)


class ContaminationSettings(ScanSettings, VerdictSettings):
    """Both, as a recipe writes them; give `scan` and `verdicts` their own halves."""

    @model_validator(mode="after")
    def _drops_are_recorded(self) -> "ContaminationSettings":
        if self.drop_share < self.report_share:
            raise ValueError("drop_share must not be below report_share: such hits are not kept")
        return self

    @property
    def scan(self) -> ScanSettings:
        """The half that belongs to the fingerprint of `scan`."""
        return ScanSettings(report_share=self.report_share)

    @property
    def verdict(self) -> VerdictSettings:
        """The half that belongs to the fingerprint of `verdicts`."""
        return VerdictSettings(drop_share=self.drop_share)


def scan(documents: pa.Table, index: EvalIndex, settings: ScanSettings) -> pa.Table:
    """Schema HITS, ordered by (row, benchmark, item_id): every share >= report_share.

    Matches are confirmed word by word, so `confirmed` is always true.
    """
    rows: list[np.ndarray] = []
    items: list[np.ndarray] = []
    matched: list[np.ndarray] = []
    first = 0
    for chunk in documents.column("text").chunks:
        for start in range(0, len(chunk), _ROWS_PER_BATCH):
            texts = nfkc(chunk.slice(start, _ROWS_PER_BATCH))
            data, offsets = text_buffers(texts)
            found = find_items(
                data, offsets, char_tables(), index.grams, index.lookup, settings.report_share
            )
            order = np.lexsort((found[1], found[0]))
            rows.append(found[0][order] + first)
            items.append(found[1][order])
            matched.append(found[2][order])
            first += len(texts)
    row = np.concatenate([np.empty(0, np.int64), *rows])
    item = np.concatenate([np.empty(0, np.int64), *items])
    return pa.table(
        [
            documents.column("doc_id").take(pa.array(row)),
            pa.array(row.astype(np.int32)),
            index.benchmarks.take(pa.array(item)),
            index.item_ids.take(pa.array(item)),
            pa.array(np.concatenate([np.empty(0, np.int64), *matched]).astype(np.int32)),
            pa.array(index.grams.item_totals[item].astype(np.int32)),
            pa.array(np.ones(row.size, bool)),
        ],
        schema=HITS,
    )


def verdicts(hits: pa.Table, settings: VerdictSettings) -> pa.Table:
    """Schema VERDICTS, by row: documents to drop, each with its worst confirmed hit.

    Worst is the largest share, then the longest item, then (benchmark, item_id).
    """
    share = pc.divide(hits.column("matched").cast("float64"), hits.column("total").cast("float64"))
    worst = (
        hits.append_column("share", share)
        .filter(pc.and_(pc.greater_equal(share, settings.drop_share), hits.column("confirmed")))
        .sort_by(
            [
                ("row", "ascending"),
                ("share", "descending"),
                ("total", "descending"),
                ("benchmark", "ascending"),
                ("item_id", "ascending"),
            ]
        )
    )
    rows = worst.column("row").to_numpy()
    is_first = np.ones(rows.size, bool)
    is_first[1:] = rows[1:] != rows[:-1]
    return worst.filter(pa.array(is_first)).select(VERDICTS.names).cast(VERDICTS)
