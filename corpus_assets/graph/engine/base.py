"""What an engine is: it runs tasks and says when each one is done.

Engines differ in where tasks run, never in what comes out: a task is pure data and its result
goes to the store, so any mix of engines, orders and retries gives the same bytes.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from corpus_assets.core.task import Finished, Task

OnDone = Callable[[int, Finished], None]
"""Told of every result, with the number of its task."""


class Cleared(NamedTuple):
    """A machine, and how many copies of files were deleted there; None: it did not answer."""

    node: str
    files: int | None


class Engine(Protocol):
    def run(self, tasks: Sequence[Task], on_done: OnDone) -> None:
        """Run all tasks and hand over each result as it comes. Neither tasks nor results are kept:
        `tasks` may make each when it is asked for.

        One that fails is tried again, as `engine.tries` says. `PartsFailed` names those that were
        given up, once all others are done. An error that concerns the whole build is raised as
        soon as the tasks already running have ended, so that their finished work is kept.
        """
        ...

    def allow_until(self, moment: float) -> None:
        """Set the moment (by `catalog.db.database.clock`) after which no result is stored, 0 for
        never again: a worker may outlive the lease that its build holds."""
        ...

    def forget_copies(self) -> list[Cleared]:
        """Delete the copies of files that other machines keep, which hold text; return which
        machines were asked."""
        ...

    def close(self) -> None: ...
