"""Ctrl-C and SIGTERM: a command that is stopped ends soon, and never in the middle of a write.

A signal handler's exception comes out wherever Python is at that moment. In a transaction it can
leave a lock behind that is never released; in a destructor or a weak reference's callback it is
printed and lost. So writes are made `uninterrupted`, and long work asks `expect_no_stop` between
its parts.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopped:
    """Whether SIGINT or SIGTERM came, whoever handled it: libraries put in handlers of their own,
    which do not tell one from the other."""

    def __init__(self, heeded: tuple[signal.Signals, ...] = SIGNALS) -> None:
        self._heeded = heeded
        self._read, self.write_end = os.pipe()
        for end in (self._read, self.write_end):
            os.set_blocking(end, False)
        self._seen = b""

    def exit_code(self) -> int | None:
        """Return 130 or 143; None where no signal came."""
        with contextlib.suppress(OSError):  # nothing to read, or the command is over
            self._seen += os.read(self._read, 64)
        for number in self._heeded:
            if number in self._seen:
                return 128 + number
        return None

    def note(self, number: int) -> None:
        """Remember a signal; an event loop that has ended leaves no wakeup behind."""
        self._seen += bytes([number])

    def close(self) -> None:
        os.close(self._read)
        os.close(self.write_end)


_commands: list[Stopped] = []  # that run in this process, the innermost last


@contextlib.contextmanager
def stoppable() -> Iterator[Stopped]:
    """Let both signals raise KeyboardInterrupt, and remember which one came."""
    # A pool prints a trace of a signal that comes while it closes a connection, then raises it.
    pool = logging.getLogger("sqlalchemy.pool")
    if not pool.handlers:
        pool.addHandler(logging.NullHandler())
    if not _is_main_thread():
        yield Stopped()
        return
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # started with `&` by a script
    stopped = Stopped((signal.SIGTERM,) if ignored else SIGNALS)

    def stop(number: int, _: FrameType | None) -> None:
        if number != signal.SIGINT or not ignored:
            stopped.note(number)
            raise KeyboardInterrupt

    def lost(what: "sys.UnraisableHookArgs") -> None:
        if stopped.exit_code() is None:
            previous_hook(what)

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    wakeup = signal.set_wakeup_fd(stopped.write_end, warn_on_full_buffer=False)
    previous_hook, sys.unraisablehook = sys.unraisablehook, lost
    _commands.append(stopped)
    try:
        yield stopped
    finally:
        _commands.remove(stopped)
        sys.unraisablehook = previous_hook
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        stopped.close()


def expect_no_stop() -> None:
    """Raise KeyboardInterrupt if a signal came whose exception was lost."""
    if _commands and _is_main_thread() and _commands[-1].exit_code() is not None:
        raise KeyboardInterrupt


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a signal wait for the end of this block; whose handler it is does not matter."""
    if not _is_main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before: dict[int, Callable[[int, FrameType | None], object]] = {}
    for number in SIGNALS:
        if callable(handler := signal.getsignal(number)):
            signal.signal(number, lambda *received: came.append(received))
            before[number] = handler
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        for received, frame in came:
            before[received](received, frame)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
