"""How a documents task reads its file where that is more than opening it: servers and indexes.

Where a file lies and how it is fetched travels in a task's params, which are no identity. The
rows of a URL index are an input of the task, by their hash.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from corpus_assets.core.store import Output
from corpus_assets.core.task import TaskContext
from corpus_assets.ingest.crawl import IndexSettings, read_indexed
from corpus_assets.ingest.entry import SourceEntry
from corpus_assets.ingest.fetch import Opener, Reach, forget_cached, is_remote, open_pinned
from corpus_assets.ingest.formats import read_records
from corpus_assets.ingest.gates import GateSettings
from corpus_assets.ingest.locations import Locations
from corpus_assets.ingest.records import RawRecord, SourceFile
from corpus_assets.ingest.snapshot_listing import reach_of
from corpus_assets.ingest.snapshots import SnapshotFiles
from corpus_assets.ingest.source import SourceSpec

INDEX = "url_index"


def reading_params(
    source: SourceEntry, locations: Locations, snapshot: str, file: SourceFile
) -> dict[str, Any]:
    """Return what a task needs to reach a file; nothing for one on this machine."""
    if not is_remote(file.uri):
        return {}
    return {"reach": reach_of(source, locations, snapshot).params()}


def index_settings(source: SourceEntry) -> dict[str, Any]:
    """Return the rules of the URL index as settings of a documents task; none without an index."""
    if source.crawl is None or source.crawl.index is None:
        return {}
    return {INDEX: source.crawl.index.identity()}


def index_input(source: SourceEntry, pinned: SnapshotFiles, part: int) -> dict[str, Output]:
    """Return the index rows of a part's file, where an index is used."""
    return {INDEX: pinned.indexes[part]} if index_settings(source) else {}


@contextmanager
def open_records(
    context: TaskContext, spec: SourceSpec, file: SourceFile, gates: GateSettings
) -> Iterator[Iterator[RawRecord]]:
    """Open the records of a task's file. The SHA-256 of one that was streamed is noted with the
    result: the pin of a file on a server may be its ETag only."""
    reach = Reach.of(context.param("reach")) if "reach" in context.task.params else None
    if context.has(INDEX):
        open_file = open_pinned if reach is None else partial(reach.open, exact=True)
        yield _indexed(context, file, gates, open_file)
        return
    yield read_records(spec, file, gates.max_bytes, open_pinned if reach is None else reach.open)
    if reach is not None and file.name in reach.sha256:
        context.notes["source_sha256"] = reach.sha256[file.name]


def forget_source(context: TaskContext) -> None:
    """Remove the cached copy of a file of which an order takes something out."""
    if "reach" in context.task.params:
        reach = Reach.of(context.param("reach"))
        forget_cached(reach, SourceFile(**context.param("file")))


def _indexed(
    context: TaskContext, file: SourceFile, gates: GateSettings, open_file: Opener
) -> Iterator[RawRecord]:
    settings = IndexSettings.model_validate(context.task.settings[INDEX])
    with open_file(file) as stream:
        yield from read_indexed(stream, file.name, file.size, context.table(INDEX), settings, gates)
