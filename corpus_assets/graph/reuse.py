"""After a takedown: what the tasks of a filtered part can take over from the results before it.

Signals, signatures, hits, final text and tokens of a document depend on that document and on
pinned files. So when documents leave a part, or another member of a cluster is promoted into
it, the rows of all others are as they were, and only rows that are new are computed. What comes
out is, byte for byte, what computing all of it would give; where an earlier result is gone, all
of it is computed.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from corpus_assets.core.errors import MissingInput
from corpus_assets.core.stage import Stage
from corpus_assets.core.store import Result
from corpus_assets.core.task import Each, EarlierResult, Task
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.ingest.purge import origin_of, result_before, standing_parts
from corpus_assets.ingest.stage import DOCUMENTS


class Before(Pipeline):
    """The same graph with the documents that stood before the last purge of each part."""

    def __init__(self, now: Pipeline) -> None:
        super().__init__(**{part.name: getattr(now, part.name) for part in fields(Pipeline)})
        self.now = now
        self._documents: dict[str | None, Sequence[Result]] = {}

    def results(self, name: str, snapshot: str | None = None) -> Sequence[Result]:
        if name != DOCUMENTS.name:
            return super().results(name, snapshot)
        if snapshot not in self._documents:
            self._documents[snapshot] = self._before(snapshot)
        return self._documents[snapshot]

    def _before(self, snapshot: str | None) -> Sequence[Result]:
        tasks = self.now.tasks(DOCUMENTS.name, snapshot)
        notes = standing_parts(self.store, (origin_of(task).base for task in tasks))
        load = partial(self.load, snapshot=snapshot)
        others: dict[int, Result] = {}
        for part, task in enumerate(tasks if notes else ()):
            found = result_before(task, load, notes.get(origin_of(task).base))
            if found is not None:
                others[part] = found
        now = self.now.results(DOCUMENTS.name, snapshot)

        def earlier(part: int, result: Result) -> Result:
            return others.get(part, result)

        return Each(earlier, now)


def with_reuse(
    pipeline: Pipeline, stage: Stage, snapshot: str | None, tasks: Sequence[Task]
) -> Sequence[Task]:
    """Return the same tasks, told where rows of an earlier result lie. Identity does not change."""
    if not stage.by_row or not pipeline.suppressions.rows:
        return tasks
    missing = np.flatnonzero(~pipeline.is_done(stage.name, snapshot, tasks)).tolist()
    if not missing:
        return tasks
    before = Before(pipeline)
    try:
        earlier = before.tasks(stage.name, snapshot)
    except MissingInput:
        return tasks
    told: dict[int, Task] = {}
    for i in missing:
        was = earlier[i]
        result = pipeline.result_of(was, snapshot)
        if result is not None and _shared(tasks[i], stage) == _shared(was, stage):
            kept = EarlierResult(was.inputs, result.outputs, result.counts, result.notes)
            told[i] = replace(tasks[i], earlier=kept)

    def with_earlier(i: int, task: Task) -> Task:
        return told.get(i, task)

    return Each(with_earlier, tasks)


def _shared(task: Task, stage: Stage) -> dict[str, Any]:
    """All that every row depends on."""
    files = {name: out.sha256 for name, out in task.inputs.items() if name not in stage.by_row}
    return {
        "settings": task.settings,
        "version": task.version,
        "files": files | dict(task.extra_inputs),
    }
