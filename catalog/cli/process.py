"""The process of a command, and how it ends where it cannot go on; shared by `catalog` and `corpus`.

It ends with one line on stderr, never a trace; Ctrl-C exits with 130, SIGTERM with 143, as shells
expect.
"""

import contextlib
import gc
import os
import sys
from collections.abc import Iterator

from catalog.errors import is_full

GARBAGE_THRESHOLDS = (10_000, 10, 10)

STOPPED = "stopped; finished parts are kept, run the same command to continue"
FULL = "the disk is full; free some space and run the same command again: finished parts are kept"


@contextlib.contextmanager
def command_process() -> Iterator[None]:
    """Set the process up for a command.

    Every file and folder is made for its owner alone: most of them hold text or requests. Garbage is
    looked for less often: a command loads much and throws little away, and to look through it took
    a tenth of a short build's time.
    """
    umask, thresholds = os.umask(0o077), gc.get_threshold()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    try:
        yield
    finally:
        os.umask(umask)
        gc.set_threshold(*thresholds)


def explained(error: Exception) -> str | None:
    """Return the line for an error that no part of the program expected; None for a bug."""
    if is_full(error):
        return FULL
    arrow = getattr(sys.modules.get("pyarrow"), "ArrowException", ())
    if isinstance(error, arrow):
        first = str(error).partition("\n")[0]
        return (
            f"a file of tables is damaged: {first}; `catalog verify` lists it, restore it from a "
            "copy, or delete its folder and build again"
        )
    if isinstance(error, ModuleNotFoundError):
        return f"a library is missing: {error}; install the package again with its dependencies"
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror or error}{where}; check the path and its permissions"
    return None
