"""After a takedown: what the tasks of a filtered part can take over from the results before it.

Signals, signatures, hits, final text and tokens of a document depend on that document and on
pinned files. So when documents leave a part, or another member of a cluster is promoted into
it, the rows of all others are as they were, and only rows that are new are computed. What comes
out is, byte for byte, what computing all of it would give; where an earlier result is gone, all
of it is computed.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from corpus_assets.core.errors import MissingInput
from corpus_assets.core.store import Output, Result
from corpus_assets.core.task import Task
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.ingest.parts import result_before

REUSING: Mapping[str, frozenset[str]] = {
    "signals": frozenset({"documents"}),
    "signatures": frozenset({"documents"}),
    "contamination": frozenset({"documents"}),
    "line_keys": frozenset({"documents"}),
    "clean_text": frozenset({"documents", "records", "selection", "members", "hits"}),
    "tokens": frozenset({"final", "shard_counts"}),
}
"""Nodes with one task a part that know how to take rows over, and the inputs that they compare
row by row; every other input must be the same file as before."""


class Before(Pipeline):
    """The same graph with the documents that stood before the last purge of each part."""

    def __init__(self, now: Pipeline) -> None:
        super().__init__(**{part.name: getattr(now, part.name) for part in fields(Pipeline)})
        self.now = now

    def results(self, node: str, snapshot: str | None = None) -> list[Result]:
        key = (node, snapshot)
        if node == "documents" and key not in self._known:
            found = [
                result_before(self.store, task, self.load) or result
                for task, result in zip(
                    self.now.tasks(node, snapshot), self.now.results(node, snapshot), strict=True
                )
            ]
            self._known[key] = found
        return super().results(node, snapshot)


def with_reuse(graph: Pipeline, node: str, snapshot: str | None, tasks: list[Task]) -> list[Task]:
    """The same tasks, told where rows of an earlier result lie. Identity does not change."""
    if node not in REUSING or not graph.suppressions.rows:
        return tasks
    missing = [i for i, task in enumerate(tasks) if graph.result_of(task) is None]
    if not missing:
        return tasks
    before = Before(graph)
    try:
        earlier = before.tasks(node, snapshot)
    except MissingInput:
        return tasks
    told = list(tasks)
    for i in missing:
        result = graph.result_of(earlier[i])
        if result is not None and _shared(tasks[i], REUSING[node]) == _shared(
            earlier[i], REUSING[node]
        ):
            reuse = {
                "inputs": _plain(earlier[i].inputs),
                "outputs": _plain(result.outputs),
                "counts": dict(result.counts),
                "notes": dict(result.notes),
            }
            told[i] = replace(tasks[i], params=dict(tasks[i].params) | {"reuse": reuse})
    return told


def _shared(task: Task, compared: frozenset[str]) -> dict[str, Any]:
    """All that every row depends on."""
    files = {name: out.sha256 for name, out in task.inputs.items() if name not in compared}
    return {
        "settings": task.settings,
        "version": task.version,
        "files": files | dict(task.extra_inputs),
    }


def _plain(outputs: Mapping[str, Output]) -> dict[str, Any]:
    return {name: asdict(output) for name, output in outputs.items()}
