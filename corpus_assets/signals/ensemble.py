"""Several scores as one: the best rank of a document among them, after Nemotron-CC.

Su et al. 2024 ("Nemotron-CC", arXiv:2412.02595, section 2.2): scores of different classifiers are
on scales of their own, so each is turned into its rank among documents, in 20 buckets, and a
document counts as good as the classifier that likes it most says.

Ranks are read from a table of quantiles of the calibration snapshots (`score_ranks`), which the
lock pins: a document's rank depends on its scores and the lock alone.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.signals.base import SignalFamily, TextBatch, model_path

RANKS = "score_ranks"
STEPS = 50  # of the table for each bucket

Table = Mapping[str, npt.NDArray[np.float32]]


class Ensemble(SignalFamily):
    """`ensemble_bucket`: 0 to `buckets` - 1, the highest bucket among the scores; a bucket holds an
    equal share of the calibration documents. `ensemble_score`: the same rank as a share, finer.

    Null where a document has none of the scores.
    """

    version: ClassVar[int] = 1

    family: Literal["ensemble"] = "ensemble"
    scores: tuple[str, ...] = Field(
        default=("quality_score",),
        min_length=1,
        description="columns of families before it; higher is better in all",
    )
    buckets: int = Field(default=20, ge=2, le=100)
    max_documents: int = Field(
        default=200_000, ge=1, description="of the calibration snapshots, drawn for the ranks"
    )
    among: Literal["survivors", "all"] = Field(
        default="survivors",
        description="documents that are ranked: of those drawn the ones that pass every rule before "
        "the first that reads the ensemble, rules by cutoff aside; or all of them",
    )
    weigh: Literal["documents", "characters"] = Field(
        default="documents",
        description="what buckets are equal shares of: documents, or their characters, which stand "
        "for tokens",
    )
    domains: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="whose documents make the ranks; default all"
    )

    def columns(self) -> dict[str, pa.DataType]:
        return {"ensemble_bucket": pa.int32(), "ensemble_score": pa.float32()}

    def needs(self) -> tuple[str, ...]:
        return (RANKS,)

    def reads(self) -> tuple[str, ...]:
        return self.scores

    @property
    def steps(self) -> int:
        return self.buckets * STEPS

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        table = _load(model_path(models, RANKS, self.family))
        places = np.full(len(batch), -1, dtype=np.int64)
        for name in self.scores:
            column = batch.columns[name]
            values = column.cast(pa.float32()).fill_null(float("nan")).to_numpy()
            found = np.searchsorted(table[name], values, side="right")
            places = np.maximum(places, np.where(np.isnan(values), -1, found))
        empty = places < 0
        return self.record_batch(
            {
                "ensemble_bucket": pa.array(places // STEPS, pa.int32(), mask=empty),
                "ensemble_score": pa.array(places / self.steps, pa.float32(), mask=empty),
            }
        )


def rank_table(
    values: npt.NDArray[np.float32], steps: int, weights: npt.NDArray[np.int64] | None = None
) -> list[float]:
    """Return the values at 1/steps, 2/steps ... of all weight (1 each where none is given):
    `steps` - 1 of them, as shortest decimals."""
    given = ~np.isnan(values)
    chosen = values[given]
    order = np.argsort(chosen, kind="stable")
    reached = np.cumsum(np.ones_like(order) if weights is None else weights[given][order])
    if order.size == 0 or not reached[-1]:
        return []
    asked = np.arange(1, steps, dtype=np.int64) * reached[-1] // steps
    found = chosen[order[np.searchsorted(reached, asked, side="right")]]
    return [float(str(value)) for value in found]


def _load(path: Path) -> Table:
    stat = path.stat()
    return _parse(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _parse(path: str, mtime_ns: int, n_bytes: int) -> Table:
    raw: Mapping[str, Iterable[float]] = json.loads(Path(path).read_bytes())
    return {name: np.array(values, dtype=np.float32) for name, values in raw.items()}
