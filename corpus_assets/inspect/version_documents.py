"""Single documents of a version: address, title, text; never of a suppressed one.

Every document is checked against the orders in force now, whatever the version was made under:
a takedown that was requested and not yet carried out hides it as well.
Only the row groups that hold the rows are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.ingest import covered_records
from corpus_assets.inspect.version_columns import PartFiles, VersionColumns

KEYS = ["doc_id", "offset", "url_key", "host", "title", "text_id", "derived_from", "sketch"]


@dataclass(frozen=True)
class DocumentView:
    """One document; nothing but its id where an order covers it."""

    doc_id: str
    suppressed: bool
    url: str | None = None
    title: str | None = None
    text: str | None = None


def read_documents(
    columns: VersionColumns, part: PartFiles, rows: Sequence[int], with_text: bool
) -> list[DocumentView]:
    """Read documents of one part by their rows in its tables."""
    table = take_rows(columns, part.documents, rows, [*KEYS, *(["text"] if with_text else [])])
    hidden = covered_records(
        table.select(["doc_id", "url_key", "host"]).append_column(
            "reason", pa.nulls(table.num_rows, pa.string())
        ),
        table.select(["text_id", "derived_from", "sketch"]),
        columns.orders,
    )
    urls = _urls(columns, part, table)
    pages = []
    for i, row in enumerate(table.to_pylist()):
        doc_id = row["doc_id"].hex()
        if hidden[i]:
            pages.append(DocumentView(doc_id, True))
            continue
        url = urls.get((row["doc_id"], row["offset"])) or row["url_key"]
        pages.append(DocumentView(doc_id, False, url, row["title"], row.get("text")))
    return pages


def take_rows(
    columns: VersionColumns, path: str, rows: Sequence[int], names: Sequence[str]
) -> pa.Table:
    """Read rows of one file by number, in the order asked for."""
    try:
        file = pq.ParquetFile(columns.store.local(path))
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        starts = np.append(0, np.cumsum(sizes, dtype=np.int64))
        wanted = np.asarray(rows, np.int64)
        group_of = np.searchsorted(starts, wanted, side="right") - 1
        groups = np.unique(group_of).tolist()
        table = file.read_row_groups(groups, list(names)) if groups else None
    except (pa.ArrowException, OSError) as error:
        raise CorruptArtifact(f"{path} cannot be read: {error}") from error
    if table is None:
        return file.schema_arrow.empty_table().select(list(names))
    before = dict(
        zip(groups, np.append(0, np.cumsum([sizes[g] for g in groups])[:-1]), strict=True)
    )
    places = wanted - starts[group_of] + [before[g] for g in group_of.tolist()]
    return table.take(pa.array(places))


def _urls(
    columns: VersionColumns, part: PartFiles, table: pa.Table
) -> dict[tuple[bytes, int], str | None]:
    """Return addresses as they were captured; documents hold only the sorted form."""
    records = columns.read(part.records, ["doc_id", "offset", "url"])
    some = records.filter(pc.is_in(records["doc_id"], value_set=table["doc_id"].combine_chunks()))
    return {(row["doc_id"], row["offset"]): row["url"] for row in some.to_pylist()}
