"""Categories of a page's address, by lists of hosts: RedPajama-V2's UT1 signal, or any list."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.urls import address_of, listed_names
from corpus_assets.signals.base import FILE, NamedLists, model_path

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch


class UrlCategories(NamedLists):
    """In which lists the page stands: its host or one above it, or the begin of its path.

    * `url_category`: their names, sorted and joined by commas; null for none of them;
    * `url_categories`: how many they are; null for a document without a web address.

    Nothing is dropped: `blocked_categories` does that before extraction. Entries are in ASCII, as
    those of UT1.
    """

    version: ClassVar[int] = 1

    family: Literal["url_categories"] = "url_categories"

    def columns(self) -> ColumnTypes:
        return {"url_category": "string", "url_categories": "int64"}

    def of_documents(self) -> tuple[str, ...]:
        return ("url",)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa

        urls = batch.columns["url"].to_pylist() if "url" in batch.columns else [None] * len(batch)
        found: list[set[str] | None] = [None] * len(batch)
        rows: dict[str, list[int]] = {}
        for row, url in enumerate(urls):
            address = address_of(url) if url else None
            if address is not None:
                found[row] = set()
                for name in listed_names(address):
                    rows.setdefault(name, []).append(row)
        for category, paths in self.lists.items():
            for path in paths:
                file = model_path(models, FILE + path, self.family)
                for name in _those_listed(file, rows):
                    for row in rows[name]:
                        named = found[row]
                        if named is not None:
                            named.add(category)
        return self.record_batch(
            {
                "url_category": pa.array([",".join(sorted(f)) if f else None for f in found]),
                "url_categories": pa.array([None if f is None else len(f) for f in found]),
            }
        )


def _those_listed(path: Path, names: Mapping[str, object]) -> list[str]:
    """Return the names that stand in a file, which may have millions of lines: about .2 us each."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    from corpus_assets.core.errors import ModelError

    try:
        read = csv.read_csv(
            path,
            csv.ReadOptions(column_names=["entry"], use_threads=False),
            csv.ParseOptions(delimiter="\x01", quote_char=False),
            csv.ConvertOptions(column_types={"entry": pa.binary()}),
        )
    except (pa.ArrowException, OSError) as error:
        if path.exists() and not path.stat().st_size:
            return []
        raise ModelError(f"{path} is not a readable list of hosts: {error}") from error
    found: list[str] = []
    wanted = pa.array(list(names), pa.string())
    for chunk in read["entry"].chunks:
        entries = pc.ascii_lower(pc.ascii_trim_whitespace(chunk.view(pa.string())))
        entries = pc.ascii_rtrim(entries, "/")
        found += entries.filter(pc.is_in(entries, wanted)).to_pylist()
    return found
