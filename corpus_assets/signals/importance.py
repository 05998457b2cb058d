"""Importance weights: how much likelier a text is among texts of a target than among raw ones.

After DSIR (Xie et al. 2023, "Data Selection for Language Models via Importance Resampling",
arXiv:2302.03169, and its package p-lambda/dsir): words and pairs of words are hashed into 10,000
buckets, each side is a bag of them, and a text's weight is the sum over its own of the logarithm of
the ratio of their probabilities, with 1e-8 added to each. RedPajama-V2's `*_importance` signals are
this sum.

What differs: the hash (there SHA-256, and in RedPajama-V2 Python's own, which is another in every
process), so that other words share a bucket; punctuation, each mark a word (there runs of marks
are); RedPajama-V2 keeps capitals, DSIR does not, nor does `text: words`. RedPajama-V2's correction
by a Poisson distribution of lengths is not here; `NAME_importance_mean` does not grow with length.

Both sides are texts that the recipe names under `classifiers`, target as `positives` and raw as
`negatives`; the table is a calibration, pinned in the lock. Its ratios are whole multiples of 2**-24,
so that sums are exact whatever stands beside a text in its batch.
"""

import io
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.errors import ModelError, SourceError
from corpus_assets.signals.base import TextBatch, model_path
from corpus_assets.signals.classifier import MODEL, ReadsTexts
from corpus_assets.text.exact_math import log
from textkernels.hashing import mix_all

SMALLEST = 1e-8  # added to every probability, as DSIR does
BUCKETS = 10_000  # places that words share, as there
STEPS = 1 << 24
BATCH_TEXTS = 1_000

Table = npt.NDArray[np.int64]


class Importance(ReadsTexts):
    """`NAME_importance`: the logarithm of how much likelier a text is in the target than in raw
    texts, by its words and pairs of words; `NAME_importance_mean`: the same for each of them.

    float32; null for a text without words.
    """

    version: ClassVar[int] = 1

    family: Literal["importance"] = "importance"

    def columns(self) -> dict[str, pa.DataType]:
        stem = f"{self.name}_importance"
        return {stem: pa.float32(), f"{stem}_mean": pa.float32()}

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        table = _load(model_path(models, f"{MODEL}{self.name}", self.family))
        if len(table) != BUCKETS:
            raise ModelError(
                f"signals.families ({self.name}): the lock's table has {len(table)} buckets, the "
                f"signal has {BUCKETS}: resolve it again with `--upgrade classifiers`"
            )
        words = self.reading.read(batch).words
        single, pairs, is_pair = _places(words.hashes, words.rows, len(table))
        paired = np.where(is_pair, table[pairs], 0)
        sums = words.sum_by_document(table[single]) + words.sum_by_document(paired)
        features = np.maximum(2 * words.counts - 1, 1)
        empty = words.counts == 0
        stem = f"{self.name}_importance"
        return self.record_batch(
            {
                stem: pa.array(sums / STEPS, pa.float32(), mask=empty),
                f"{stem}_mean": pa.array(sums / STEPS / features, pa.float32(), mask=empty),
            }
        )


def _places(
    hashes: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64], buckets: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Buckets of each word, and of each with the next one; whether that is of the same text."""
    size = np.uint64(buckets)
    following = np.append(hashes[1:], np.zeros(min(1, len(hashes)), np.uint64))
    pairs = mix_all(mix_all(hashes) + following) % size
    is_pair = np.ones(len(hashes), np.bool_)
    is_pair[rows[1:][np.diff(rows) > 0] - 1] = False
    return (hashes % size).astype(np.int64), pairs.astype(np.int64), is_pair


def counted(texts: Sequence[str], family: Importance) -> npt.NDArray[np.int64]:
    """int64[buckets]: words and pairs of all texts."""
    counts = np.zeros(BUCKETS, dtype=np.int64)
    for start in range(0, len(texts), BATCH_TEXTS):
        some = pa.array(texts[start : start + BATCH_TEXTS], pa.large_string())
        words = family.reading.read(TextBatch.from_arrow(some)).words
        single, pairs, is_pair = _places(words.hashes, words.rows, BUCKETS)
        counts += np.bincount(single, minlength=BUCKETS)
        counts += np.bincount(pairs[is_pair], minlength=BUCKETS)
    return counts


def train_importance(target: Sequence[str], raw: Sequence[str], family: Importance) -> bytes:
    """Return the table of log ratios, as a file of numpy's."""
    shares = []
    for side, texts in (("positives", target), ("negatives", raw)):
        counts = counted(texts, family)
        if not counts.any():
            raise SourceError(f"classifiers.{family.name}.{side}: there is no word in these texts")
        shares.append(counts / counts.sum())
    ratios = [log(t + SMALLEST) - log(r + SMALLEST) for t, r in zip(*shares, strict=True)]
    sink = io.BytesIO()
    np.save(sink, np.rint(np.array(ratios) * STEPS).astype("<i8"), allow_pickle=False)
    return sink.getvalue()


def _load(path: Path) -> Table:
    stat = path.stat()
    return _read(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _read(path: str, mtime_ns: int, n_bytes: int) -> Table:
    try:
        table: Table = np.load(path, allow_pickle=False)
    except (ValueError, OSError) as error:
        raise ModelError(
            f"{Path(path).name} holds no importance weights: name a classifier with `positives` "
            "and `negatives`, which no other family reads"
        ) from error
    return table
