"""Tasks for the engine's tests. Workers import this module by name."""

import os
import signal
import time
from collections.abc import Callable, Mapping

from corpus_assets.core.errors import SourceError
from corpus_assets.core.task import TaskContext


def square(context: TaskContext) -> None:
    n = context.task.settings["n"]
    context.write_bytes("square.txt", str(n * n).encode(), rows=1)
    context.counts["n"] = n


def note_and_square(context: TaskContext) -> None:
    """As `square`, and a line in a file, so that a test can count runs over all processes."""
    with open(context.param("log"), "a", encoding="ascii") as log:
        log.write(f"{context.task.settings['n']}\n")
    square(context)


def fail_on_three(context: TaskContext) -> None:
    if context.task.settings["n"] == 3:
        raise SourceError("three cannot be read")
    square(context)


def die_on_three(context: TaskContext) -> None:
    """Task 3 kills its worker, once another task of the run has left its result."""
    if context.task.settings["n"] == 3:
        while not any(name.endswith("/result.json") for name in context.store.list("artifacts")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    square(context)


def sleep(context: TaskContext) -> None:
    """Say which process it is, then do what no signal but a kill ends."""
    with open(context.param("log"), "a", encoding="ascii") as log:
        log.write(f"{os.getpid()}\n")
    time.sleep(600)


def environment(context: TaskContext) -> None:
    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "TOKENIZERS_PARALLELISM")
    found = " ".join(os.environ.get(name, "-") for name in names)
    context.write_bytes("environment.txt", f"{found} {os.getpid()}".encode())


FUNCTIONS: Mapping[str, Callable[[TaskContext], None]] = {
    "square": square,
    "note_and_square": note_and_square,
    "fail_on_three": fail_on_three,
    "die_on_three": die_on_three,
    "sleep": sleep,
    "environment": environment,
}


def function_of(stage: str) -> Callable[[TaskContext], None]:
    return FUNCTIONS[stage]
