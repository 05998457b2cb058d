"""The search of live versions as tasks on an engine: each looks through a few parts or shards and
leaves what it found as the notes of its result. The process that asks reads these and deletes them.

The stage is none of the graph: nothing is made from its results.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.figures import counted
from corpus_assets.core.store import RESULT, Output, Store, artifact_folder, sha256_hex
from corpus_assets.core.task import Finished, Task, TaskContext
from corpus_assets.graph import Engine, PartsFailed
from corpus_assets.stages import function_of
from corpus_assets.takedown.scan import (
    Findings,
    Part,
    Piece,
    Scanner,
    Shard,
    Sought,
    Spelling,
    look_through,
)

STAGE, VERSION = "takedown_search", 1
SOUGHT = "sought"


def function_of_search(stage: str) -> Callable[[TaskContext], None]:
    """Return what a worker does with a task of the search, or of a stage of the graph."""
    return _run if stage == STAGE else function_of(stage)


class EngineSearch:
    """Looks through pieces on an engine."""

    def __init__(self, store: Store, engine: Engine, sought: Output) -> None:
        self._store, self._engine, self._sought = store, engine, sought

    def look_through(self, pieces: Sequence[Piece]) -> Findings:
        """Look through pieces, in any order; nothing of the tasks is left."""
        found = Findings()
        tasks = [
            Task(STAGE, VERSION, _to_json(piece), {SOUGHT: self._sought}, label=_label(piece))
            for piece in pieces
        ]

        def on_done(_: int, done: Finished) -> None:
            found.add(Findings.from_json(done.result.notes))

        try:
            self._engine.run(tasks, on_done)
        except PartsFailed as error:
            raise error.failures[0].error from None
        finally:
            for task in tasks:
                self._store.delete(f"{artifact_folder(STAGE, task.fingerprint)}/{RESULT}")
        return found


@contextmanager
def engine_search(store: Store, engine: Engine, sought: Sought) -> Iterator[EngineSearch]:
    """Give workers what is looked for, as a file of the store: ids and digests, no text."""
    data = _sought_bytes(sought)
    digest = sha256_hex(data)
    path = f"takedowns/sought-{digest}.parquet"
    store.write(path, data)
    try:
        yield EngineSearch(store, engine, Output(path, digest, len(data), len(sought.text_ids)))
    finally:
        store.delete(path)


def _run(context: TaskContext) -> None:
    table = context.table(SOUGHT)
    watched = (table.schema.metadata or {}).get(b"watched", b"").decode().split()
    names = table["doc_id"].to_pylist()
    text_ids = dict(zip(names, table["text_id"].to_pylist(), strict=True))
    digests = dict(zip(names, table["gram_digests"].to_pylist(), strict=True))
    scanner = Scanner(Sought(text_ids, digests, watched))
    look_through(context.store, scanner, _from_json(context.task.settings))
    context.notes.update(scanner.found.to_json())


def _sought_bytes(sought: Sought) -> bytes:
    columns = {
        "doc_id": pa.array(sought.text_ids.keys(), pa.string()),
        "text_id": pa.array(sought.text_ids.values(), pa.binary()),
        "gram_digests": pa.array(
            [list(sought.digests[name]) for name in sought.text_ids], pa.list_(pa.string())
        ),
    }
    table = pa.table(columns).replace_schema_metadata({"watched": " ".join(sorted(sought.watched))})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _label(piece: Piece) -> str:
    what, n = ("part", len(piece.parts)) if piece.parts else ("shard", len(piece.shards))
    return f"{counted(n, what)} of {piece.snapshot}"


def _to_json(piece: Piece) -> dict[str, Any]:
    """Return a piece as the settings of a task."""
    return asdict(piece)


def _from_json(settings: Any) -> Piece:
    def output(raw: Any) -> Output:
        return Output(**raw)

    parts = (
        Part(tuple(map(output, raw["texts"])), raw["keys"] and output(raw["keys"]))
        for raw in settings["parts"]
    )
    shards = (
        Shard(output(raw["bin"]), output(raw["spans"]), raw["tokens"], raw["documents"])
        for raw in settings["shards"]
    )
    spelling, doc_ids = settings["spelling"], settings["doc_ids"]
    return Piece(
        settings["snapshot"],
        tuple(parts),
        tuple(shards),
        Spelling(**spelling) if spelling is not None else None,
        tuple(doc_ids) if doc_ids is not None else None,
    )
