"""How often a task is tried, whatever engine runs it.

A part's own failure (an exception, a process that died) is tried three times in all, the last time
with nothing beside it; a failure of the world (a store whose server does not answer, a node that is
gone) twenty times, with growing pauses. A task that fails for good is quarantined: the others go on,
and the run ends with `PartsFailed`. What no further try could mend (a wrong recipe, a missing
library, a damaged store, a full disk, a lost lease, a node with other code) ends the run at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from catalog.errors import CatalogError, is_full
from catalog.figures import counted
from corpus_assets.core.errors import (
    EngineError,
    MissingExtra,
    MissingInput,
    ModelError,
    NodeLost,
    OtherCode,
    RecipeError,
    StoreAway,
    StoreError,
)
from corpus_assets.core.known_errors import KNOWN_ERRORS
from corpus_assets.core.task import Task

OWN_TRIES = 3
WORLD_TRIES = 20
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 60.0


class Fault(Enum):
    """Whose fault a failure is."""

    PART = "part"
    WORLD = "world"
    BUILD = "build"


def fault_of(error: BaseException) -> Fault:
    """Tell whether another try, a later try or nothing at all may help."""
    if isinstance(error, StoreAway | NodeLost | ConnectionError | TimeoutError):
        return Fault.WORLD
    of_all = (
        RecipeError,
        ModelError,
        MissingExtra,
        MissingInput,
        OtherCode,
        StoreError,
        CatalogError,
        ImportError,  # a library that is not installed
    )
    if isinstance(error, of_all) or not isinstance(error, Exception) or is_full(error):
        return Fault.BUILD
    return Fault.PART


@dataclass
class Tries:
    """What became of a task so far."""

    own: int = 0
    world: int = 0

    def failed(self, error: BaseException) -> bool:
        """Count a failure; return whether the task is to be tried again."""
        if fault_of(error) is Fault.WORLD:
            self.world += 1
            return self.world < WORLD_TRIES
        self.own += 1
        return self.own < OWN_TRIES

    @property
    def is_last(self) -> bool:
        """Whether the next try is the last of its own, to be made alone."""
        return self.own == OWN_TRIES - 1

    @property
    def pause_s(self) -> float:
        """How long to wait for the world."""
        return min(FIRST_PAUSE_S * 2 ** (self.world - 1), LONGEST_PAUSE_S) if self.world else 0.0


@dataclass(frozen=True)
class FailedTask:
    """A task that was given up."""

    task: Task
    error: Exception
    tries: Tries
    number: int = 0  # among the tasks of its run

    @property
    def reason(self) -> str:
        """Say what went wrong in one line, without anything of a document: the message of an
        unexpected error may quote one."""
        if isinstance(self.error, KNOWN_ERRORS):
            return " ".join(str(self.error).split())
        return f"{type(self.error).__name__} at {place_of(self.error)}"


def place_of(error: BaseException) -> str:
    """Name the line of code that an error comes from; a worker notes it as `place`."""
    trace = error.__traceback__
    if hasattr(error, "place") or trace is None:
        return str(getattr(error, "place", "an unknown place"))
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


class PartsFailed(EngineError):
    """Some tasks failed for good; all others are done."""

    def __init__(self, failures: Sequence[FailedTask]) -> None:
        first = failures[0]
        super().__init__(
            f"{counted(len(failures), 'part')} of {first.task.stage} failed; {first.task.label}: {first.reason}"
        )
        self.failures = tuple(failures)
