"""Tasks for the engine's tests. Workers import this module by name."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from corpus_assets.core.errors import (
    CorruptArtifact,
    RecipeError,
    SourceError,
    StoreAway,
    StoreError,
)
from corpus_assets.core.task import TaskContext
from corpus_assets.graph.engine.ray import Watch


def square(context: TaskContext) -> None:
    n = context.task.settings["n"]
    context.write_bytes("square.txt", str(n * n).encode(), rows=1)
    context.counts["n"] = n


def note_and_square(context: TaskContext) -> None:
    """As `square`, and a line in a file, so that a test can count runs over all processes."""
    with open(log_of(context), "a", encoding="ascii") as log:
        log.write(f"{context.task.settings['n']}\n")
    square(context)


def log_of(context: TaskContext) -> Path:
    """Where a task writes about itself; the path of a file that exists would be sent to it."""
    return Path(context.param("log").removeprefix("file:"))


def tries_of(context: TaskContext) -> int:
    """Write down that a task begins in a file of its own; return how often it has."""
    path = log_of(context) / f"{context.task.settings['n']}.tries"
    with open(path, "a", encoding="ascii") as log:
        log.write(f"{os.getpid()}\n")
    return len(path.read_text(encoding="ascii").split())


FAULTS: Mapping[str, Callable[[], None]] = {
    "source": lambda: _raise(SourceError("three cannot be read")),
    "surprise": lambda: _raise(ValueError("a secret of somebody")),
    "damage": lambda: _raise(CorruptArtifact("an input is damaged")),
    "memory": lambda: _raise(MemoryError()),
    "recipe": lambda: _raise(RecipeError("the recipe makes no sense")),
    "disk": lambda: _raise(StoreError("the disk is full")),
    "away": lambda: _raise(StoreAway("the server does not answer")),
    "reset": lambda: _raise(ConnectionResetError()),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(137),
    "stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}


def _raise(error: Exception) -> None:
    raise error


def faulty(context: TaskContext) -> None:
    """Task 3 fails in the way that `fault` names, as often as `times` says."""
    if context.task.settings["n"] == 3 and tries_of(context) <= int(context.param("times")):
        FAULTS[context.param("fault")]()
    square(context)


def alone_at_last(context: TaskContext) -> None:
    """Every task fails twice, and a third time where it sees another one at work."""
    tries = tries_of(context)
    mark = log_of(context) / f"{context.task.settings['n']}.running"
    mark.touch()
    try:
        time.sleep(0.05)
        if tries < 3 or len(list(mark.parent.glob("*.running"))) > 1:
            raise SourceError("not alone")
    finally:
        mark.unlink()
    square(context)


def beside(context: TaskContext) -> None:
    """Note how many such tasks are at work at once."""
    busy = Path(context.param("busy").removeprefix("file:"))
    mark = busy / f"{os.getpid()}"
    mark.touch()
    time.sleep(float(context.task.params.get("seconds", 0.1)))
    with open(log_of(context) / "beside", "a", encoding="ascii") as log:
        log.write(f"{len(list(busy.iterdir()))}\n")
    mark.unlink()
    square(context)


def sleep(context: TaskContext) -> None:
    """Say which process it is, then do what no signal but a kill ends."""
    with open(log_of(context), "a", encoding="ascii") as log:
        log.write(f"{os.getpid()}\n")
    time.sleep(600)


def environment(context: TaskContext) -> None:
    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "TOKENIZERS_PARALLELISM")
    found = " ".join(os.environ.get(name, "-") for name in names)
    context.write_bytes("environment.txt", f"{found} {os.getpid()}".encode())


def nap(context: TaskContext) -> None:
    """Say on which node of Ray and in which call it runs, then take a while; on a node that is
    `doomed`, for ever."""
    import ray

    tries_of(context)
    here = ray.get_runtime_context()
    with open(log_of(context) / "calls", "a", encoding="ascii") as log:
        log.write(f"{here.get_node_id()} {here.get_task_id()}\n")
    is_doomed = here.get_node_id() == context.task.params.get("doomed")
    time.sleep(600 if is_doomed else float(context.param("seconds")))
    square(context)


class SlowWatch(Watch):
    """A watch that takes a moment to answer."""

    def began(self, call: int, index: int, node: str) -> None:
        time.sleep(0.2)
        super().began(call, index, node)


FUNCTIONS: Mapping[str, Callable[[TaskContext], None]] = {
    "square": square,
    "note_and_square": note_and_square,
    "faulty": faulty,
    "alone_at_last": alone_at_last,
    "sleep": sleep,
    "environment": environment,
    "beside": beside,
    "nap": nap,
}


def function_of(stage: str) -> Callable[[TaskContext], None]:
    return FUNCTIONS[stage]
