"""After a takedown: what the tasks of a filtered part can take over from the results before it.

Signals, signatures, hits, final text and tokens of a document depend on that document and on
pinned files. So when documents leave a part, or another member of a cluster is promoted into
it, the rows of all others are as they were, and only rows that are new are computed. What comes
out is, byte for byte, what computing all of it would give; where an earlier result is gone, all
of it is computed.
"""

from dataclasses import fields, replace
from typing import Any

from corpus_assets.core.errors import MissingInput
from corpus_assets.core.stage import Stage
from corpus_assets.core.store import Result
from corpus_assets.core.task import EarlierResult, Task
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.ingest.purge import result_before
from corpus_assets.ingest.stage import DOCUMENTS


class Before(Pipeline):
    """The same graph with the documents that stood before the last purge of each part."""

    def __init__(self, now: Pipeline) -> None:
        super().__init__(**{part.name: getattr(now, part.name) for part in fields(Pipeline)})
        self.now = now

    def results(self, name: str, snapshot: str | None = None) -> list[Result]:
        key = (name, snapshot)
        if name == DOCUMENTS.name and key not in self._known:
            found = [
                result_before(self.store, task, self.load) or result
                for task, result in zip(
                    self.now.tasks(name, snapshot), self.now.results(name, snapshot), strict=True
                )
            ]
            self._known[key] = found
        return super().results(name, snapshot)


def with_reuse(
    graph: Pipeline, stage: Stage, snapshot: str | None, tasks: list[Task]
) -> list[Task]:
    """Return the same tasks, told where rows of an earlier result lie. Identity does not change."""
    if not stage.by_row or not graph.suppressions.rows:
        return tasks
    missing = [i for i, task in enumerate(tasks) if graph.result_of(task) is None]
    if not missing:
        return tasks
    before = Before(graph)
    try:
        earlier = before.tasks(stage.name, snapshot)
    except MissingInput:
        return tasks
    told = list(tasks)
    for i in missing:
        result = graph.result_of(earlier[i])
        if result is not None and _shared(tasks[i], stage) == _shared(earlier[i], stage):
            kept = EarlierResult(earlier[i].inputs, result.outputs, result.counts, result.notes)
            told[i] = replace(tasks[i], earlier=kept)
    return told


def _shared(task: Task, stage: Stage) -> dict[str, Any]:
    """All that every row depends on."""
    files = {name: out.sha256 for name, out in task.inputs.items() if name not in stage.by_row}
    return {
        "settings": task.settings,
        "version": task.version,
        "files": files | dict(task.extra_inputs),
    }
