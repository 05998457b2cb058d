"""Documents drawn from a part by keyed hash of their ids, with a bound.

The `max_documents` with the smallest hashes are drawn, of each part and then of all parts
together: the same documents, however a snapshot is cut into parts. Only their text is stored.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.identity import keyed_hash
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.signals.base import TextBatch
from corpus_assets.signals.language import Language
from corpus_assets.signals.stages.page_list import PageList

AT_ONCE = 1_000  # documents whose language is looked at together

SAMPLE = pa.schema([("doc_id", DOC_ID), ("place", pa.uint64()), ("text", pa.large_string())])


def places(doc_ids: pa.ChunkedArray, seed: int) -> npt.NDArray[np.uint64]:
    """Where each document stands in the draw."""
    key = f"corpus-assets/classifier-sample/{seed}".encode()
    return np.array([keyed_hash(key, doc_id) for doc_id in doc_ids.to_pylist()], dtype=np.uint64)


def draw_documents(
    documents: pa.Table,
    seed: int,
    max_documents: int,
    pages: PageList | None = None,
    languages: Sequence[str] | None = None,
    lid: Path | None = None,
) -> pa.Table:
    """SAMPLE rows of `documents`, first in the draw first; `pages` and `languages` say of which."""
    place = places(documents["doc_id"], seed)
    order = np.argsort(place, kind="stable")  # rows are sorted by id, so ties are too
    if pages is not None:
        listed = pages.match(documents["url_key"], documents["host"])
        order = order[listed[order]]
    if languages is not None and lid is not None:
        order = _in_languages(documents["text"], order, max_documents, languages, lid)
    rows = pa.array(order[:max_documents])
    columns = [documents["doc_id"].take(rows), pa.array(place).take(rows)]
    return pa.Table.from_arrays([*columns, documents["text"].take(rows)], schema=SAMPLE)


def first_drawn(tables: Iterable[pa.Table], max_documents: int) -> pa.Table:
    """The first in the draw of several tables with `place`."""
    together = pa.concat_tables(tables)
    order = np.argsort(together["place"].to_numpy(), kind="stable")
    return together.take(pa.array(order[:max_documents]))


def _in_languages(
    texts: pa.ChunkedArray,
    order: npt.NDArray[np.int64],
    max_documents: int,
    languages: Sequence[str],
    lid: Path,
) -> npt.NDArray[np.int64]:
    """The rows of `order` in some languages, until there are enough."""
    found: list[npt.NDArray[np.int64]] = []
    n_found = 0
    for start in range(0, len(order), AT_ONCE):
        rows = order[start : start + AT_ONCE]
        batch = TextBatch.from_arrow(texts.take(pa.array(rows)))
        labels = Language().compute(batch, {"lid": lid}).column("language").to_pylist()
        kept = rows[np.array([label in languages for label in labels], dtype=np.bool_)]
        found.append(kept)
        n_found += len(kept)
        if n_found >= max_documents:
            break
    return np.concatenate(found) if found else order[:0]
