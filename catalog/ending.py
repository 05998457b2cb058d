"""How a command ends that cannot go on: one line on stderr, never a trace.

Shared by `catalog` and `corpus`. Ctrl-C exits with 130, SIGTERM with 143, as shells expect.
"""

import contextlib
import errno
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator

STOPPED = "stopped; finished parts are kept, run the same command to go on"
FULL = "the disk is full; free some space and run the same command again: finished parts are kept"


class Stopped:
    """Whether SIGINT or SIGTERM came, whoever handled it: libraries put in handlers of their own,
    which do not tell one from the other."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            os.set_blocking(end, False)
        self._seen = b""

    def exit_code(self) -> int | None:
        """130 or 143; None where no signal came."""
        with contextlib.suppress(BlockingIOError):
            self._seen += os.read(self._read, 64)
        for number in (signal.SIGTERM, signal.SIGINT):
            if number in self._seen:
                return 128 + number
        return None


@contextlib.contextmanager
def stoppable() -> Iterator[Stopped]:
    """Let both signals raise KeyboardInterrupt, and remember which one came."""
    stopped = Stopped()
    # A pool prints a trace of a signal that comes while it closes a connection, then raises it.
    pool = logging.getLogger("sqlalchemy.pool")
    if not pool.handlers:
        pool.addHandler(logging.NullHandler())
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # started with `&` by a script

    def stop(number: int, _: object) -> None:
        if number != signal.SIGINT or not ignored:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    wakeup = signal.set_wakeup_fd(stopped._write, warn_on_full_buffer=False)
    try:
        yield stopped
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(stopped._read)
        os.close(stopped._write)


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Make every file and folder for its owner alone: most of them hold text or requests."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def is_full(error: BaseException | None) -> bool:
    """Whether a full disk or quota is behind an error; chains can have loops."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if "database or disk is full" in str(error):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def explained(error: Exception) -> str | None:
    """The line for an error that no part of the program expected; None for a bug."""
    if is_full(error):
        return FULL
    arrow = getattr(sys.modules.get("pyarrow"), "ArrowException", ())
    if isinstance(error, arrow):
        first = str(error).partition("\n")[0]
        return (
            f"a file of tables is damaged: {first}; `catalog verify` names it, restore it from a "
            "copy, or delete its folder and build again"
        )
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror or error}{where}; check the path, its length and its permissions"
    return None
