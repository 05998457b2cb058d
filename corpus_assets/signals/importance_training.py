"""Importance weights trained: words and pairs of words counted on both sides."""

import io
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.errors import SourceError
from corpus_assets.signals.importance import Importance
from corpus_assets.signals.importance_weights import BUCKETS, STEPS, word_places
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.exact_math import log

SMALLEST = 1e-8  # added to every probability, as DSIR does


BATCH_TEXTS = 1_000


def counted(texts: Sequence[str], family: Importance) -> npt.NDArray[np.int64]:
    """int64[buckets]: words and pairs of all texts."""
    counts = np.zeros(BUCKETS, dtype=np.int64)
    for start in range(0, len(texts), BATCH_TEXTS):
        some = pa.array(texts[start : start + BATCH_TEXTS], pa.large_string())
        words = family.reading.read(TextBatch.from_arrow(some)).words
        single, pairs, is_pair = word_places(words.hashes, words.rows, BUCKETS)
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
