"""Several scores as one: the best rank of a document among them, after Nemotron-CC.

Su et al. 2024 ("Nemotron-CC", arXiv:2412.02595, section 2.2): scores of different classifiers are
on scales of their own, so each is turned into its rank among documents, in 20 buckets, and a
document counts as good as the classifier that likes it most says.

Ranks are read from a table of quantiles of the calibration snapshots (`score_ranks`), which the
lock pins with the seed of tie keys: a document's rank depends on its scores, its own tie key and
the lock alone. Documents of equal score are spread over the steps that they fill.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import SignalFamily, model_path

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

    Steps = npt.NDArray[np.float32]
    Table = tuple[int, Mapping[str, npt.NDArray[np.uint64]]]  # seed of tie keys; places by score

RANKS = "score_ranks"
STEPS = 50  # of the table for each bucket

MAX_DOCUMENTS = 200_000  # of the calibration snapshots, drawn for the ranks


class Ensemble(SignalFamily):
    """`ensemble_bucket`: 0 to `buckets` - 1, the highest bucket among the scores; a bucket holds an
    equal share of the calibration documents. `ensemble_score`: the same rank as a share, finer.

    Null where a document has none of the scores.
    """

    version: ClassVar[int] = 2

    family: Literal["ensemble"] = "ensemble"
    scores: tuple[str, ...] = Field(
        default=("quality_score",),
        min_length=1,
        description="columns of earlier families; higher must be better",
    )
    buckets: int = Field(default=20, ge=2, le=100)
    among: Literal["survivors", "all"] = Field(
        default="survivors",
        description="documents to rank: `survivors` pass every rule before the first that uses "
        "it, cutoffs aside",
    )
    weigh: Literal["documents", "characters"] = Field(
        default="documents",
        description="what buckets are equal shares of",
    )
    domains: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="domains to rank"
    )

    def columns(self) -> ColumnTypes:
        return {"ensemble_bucket": "int32", "ensemble_score": "float32"}

    def needs(self) -> tuple[str, ...]:
        return (RANKS,)

    def reads(self) -> tuple[str, ...]:
        return self.scores

    @property
    def steps(self) -> int:
        return self.buckets * STEPS

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.text.ties import tie_keys

        seed, table = _load(model_path(models, RANKS, self.family))
        ties = tie_keys(batch.columns["doc_id"], seed)
        places = np.full(len(batch), -1, dtype=np.int64)
        for name in self.scores:
            column = batch.columns[name]
            values = column.cast(pa.float32()).fill_null(float("nan")).to_numpy()
            found = np.searchsorted(table[name], places_of(values, ties), side="right")
            places = np.maximum(places, np.where(np.isnan(values), -1, found))
        empty = places < 0
        return self.record_batch(
            {
                "ensemble_bucket": pa.array(places // STEPS, pa.int32(), mask=empty),
                "ensemble_score": pa.array(places / self.steps, pa.float32(), mask=empty),
            }
        )


def rank_table(
    values: npt.NDArray[np.float32],
    ties: npt.NDArray[np.float32],
    steps: int,
    weights: npt.NDArray[np.int64] | None = None,
) -> list[tuple[float, float]]:
    """Return the values at 1/steps, 2/steps ... of all weight (1 each where none is given), each
    with the tie key of the document there: `steps` - 1 of them, as shortest decimals."""

    import numpy as np

    given = ~np.isnan(values)
    chosen, keys = values[given], ties[given]
    order = np.lexsort((keys, chosen))
    reached = np.cumsum(np.ones_like(order) if weights is None else weights[given][order])
    if order.size == 0 or not reached[-1]:
        return []
    asked = np.arange(1, steps, dtype=np.int64) * reached[-1] // steps
    found = order[np.searchsorted(reached, asked, side="right")]
    return [(float(str(chosen[row])), float(str(keys[row]))) for row in found]


def places_of(values: Steps, ties: Steps) -> npt.NDArray[np.uint64]:
    """uint64[n]: numbers in the order of values, then of tie keys. Floats of one sign are ordered as
    their bits are; those below 0 the other way round."""

    import numpy as np

    bits = (values + np.float32(0)).view(np.uint32)  # minus 0 is 0
    upward = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)
    return (upward << np.uint64(32)) | (ties * np.float32(2**24)).astype(np.uint64)


def _load(path: Path) -> Table:
    stat = path.stat()
    return _parse(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _parse(path: str, mtime_ns: int, n_bytes: int) -> Table:
    import numpy as np

    raw = json.loads(Path(path).read_bytes())
    by_score: Mapping[str, Iterable[tuple[float, float]]] = raw["scores"]
    pairs = {name: np.array(list(steps), np.float32) for name, steps in by_score.items()}
    return raw["seed"], {name: places_of(pair[:, 0], pair[:, 1]) for name, pair in pairs.items()}
