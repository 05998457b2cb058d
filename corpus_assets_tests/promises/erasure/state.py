"""What a version says of its documents, read back from its files, for the test of erasure."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from corpus_assets_tests.promises.erasure.build import Built
from corpus_assets_tests.promises.erasure.random_corpus import Page, RandomCorpus

Row = dict[str, Any]
SUPPRESSED = "suppressed"
LEDGERS = ("records.parquet", "decisions.parquet", ".keys")
"""Ends of the names of files that list every record, gone or not, and of indexes of these."""


class Files:
    """Rows and ids of stored tables, read once a path: a path never changes its content."""

    def __init__(self) -> None:
        self._rows: dict[Path, list[Row]] = {}
        self._ids: dict[Path, set[bytes]] = {}

    def rows(self, path: Path) -> list[Row]:
        if path not in self._rows:
            self._rows[path] = pq.ParquetFile(path).read(use_threads=False).to_pylist()
        return self._rows[path]

    def ids(self, path: Path) -> set[bytes]:
        """Every document that a table names, in whichever column."""
        if path not in self._ids:
            table = pq.ParquetFile(path)
            columns = [name for name in table.schema_arrow.names if name.endswith("doc_id")]
            columns += [name for name in table.schema_arrow.names if name == "cluster_id"]
            read = table.read(columns=columns, use_threads=False)
            self._ids[path] = {value for name in columns for value in read[name].to_pylist()}
        return self._ids[path]


@dataclass(frozen=True)
class State:
    """The documents of a version. Records are in the order of the corpus' pages."""

    records: list[Row]
    decisions: list[Row]
    texts: dict[bytes, Row]
    members: list[Row]
    final: dict[bytes, str]
    shards: dict[str, set[bytes]]

    @property
    def kept(self) -> set[bytes]:
        return set(self.final)

    @property
    def gone(self) -> set[bytes]:
        return {row["doc_id"] for row in self.records if row["reason"] == SUPPRESSED}

    def clusters(self) -> dict[tuple[str, bytes], list[Row]]:
        """Members of each cluster as the file of one snapshot lists them."""
        found: dict[tuple[str, bytes], list[Row]] = defaultdict(list)
        for row in self.members:
            found[row["snapshot"], row["cluster_id"]].append(row)
        return found


def read_state(corpus: RandomCorpus, built: Built, files: Files) -> State:
    """Read a version's tables. Its records are brought into the order of the pages."""
    pipeline = built.pipeline

    def tables(node: str, ending: str) -> Iterator[tuple[str, int, list[Row]]]:
        for snapshot in pipeline.recipe.snapshots:
            for part, result in enumerate(pipeline.results(node, snapshot)):
                for name, output in result.outputs.items():
                    if name.endswith(ending):
                        yield snapshot, part, files.rows(pipeline.store.local(output.path))

    records: dict[Page, Row] = {}
    for snapshot, part, rows in tables("documents", "records.parquet"):
        number = pipeline.recipe.snapshots.index(snapshot)
        pages = [page for page in corpus.pages if (page.snapshot, page.part) == (number, part)]
        by_place = sorted(rows, key=lambda row: row["offset"])
        records.update(zip(pages, by_place, strict=True))
    shards = {
        f"{group.id}/{shard.name}": {
            row["doc_id"] for row in files.rows(pipeline.store.local(shard.spans.path))
        }
        for group in built.version.manifest.groups
        for shard in group.shards
    }
    return State(
        [records[page] for page in corpus.pages],
        [row for _, _, rows in tables("clean_text", "decisions.parquet") for row in rows],
        {
            row["doc_id"]: row
            for _, _, rows in tables("documents", "documents.parquet")
            for row in rows
        },
        [row for *_, rows in tables("clusters", ".parquet") for row in rows],
        {
            row["doc_id"]: row["text"]
            for *_, rows in tables("clean_text", "final.parquet")
            for row in rows
        },
        shards,
    )
