"""After a takedown: what the tasks of a filtered part can reuse of the results before it.

Signals, signatures, hits, final text and tokens of a document depend on that document and on
pinned files. So when documents leave a part, or another member of a cluster is promoted into
it, the rows of all others are as they were, and only rows that are new are computed. What comes
out is, byte for byte, what computing all of it would give; where an earlier result is gone, all
of it is computed.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from corpus_assets.core.errors import MissingInput
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.stage import Stage
from corpus_assets.core.store import Result
from corpus_assets.core.task import EarlierResult, Task
from corpus_assets.graph.pipeline import Pipeline


class Before(Pipeline):
    """The same graph over what stood before the last purge of each part."""

    def __init__(self, now: Pipeline) -> None:
        super().__init__(**{part.name: getattr(now, part.name) for part in fields(Pipeline)})
        self.now = now
        self._earlier: dict[tuple[str, str | None], Sequence[Result]] = {}

    def results(self, name: str, snapshot: str | None = None) -> Sequence[Result]:
        before_purge = self.graph[name].before_purge
        if before_purge is None:
            return super().results(name, snapshot)
        if (name, snapshot) not in self._earlier:
            self._earlier[name, snapshot] = before_purge(self.now, snapshot)
        return self._earlier[name, snapshot]


def with_reuse(
    pipeline: Pipeline, stage: Stage, snapshot: str | None, tasks: Sequence[Task]
) -> Sequence[Task]:
    """Return the same tasks, with the earlier results whose rows they can reuse. Their identity
    does not change."""
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
    reusing: dict[int, Task] = {}
    for i in missing:
        was = earlier[i]
        result = pipeline.result_of(was, snapshot)
        if result is not None and _shared(tasks[i], stage) == _shared(was, stage):
            kept = EarlierResult(was.inputs, result.outputs, result.counts, result.notes)
            reusing[i] = replace(tasks[i], earlier=kept)

    def with_earlier(i: int, task: Task) -> Task:
        return reusing.get(i, task)

    return LazySequence(with_earlier, tasks)


def _shared(task: Task, stage: Stage) -> dict[str, Any]:
    """All that every row depends on."""
    files = {name: out.sha256 for name, out in task.inputs.items() if name not in stage.by_row}
    return {
        "settings": task.settings,
        "version": task.version,
        "files": files | dict(task.extra_inputs),
    }
