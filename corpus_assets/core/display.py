"""Progress as a person sees it: bars on a terminal, plain lines elsewhere.

Dagster points descriptors 1 and 2 at files of its own while a run is under way, so what is drawn
goes to a duplicate of standard error that was made before.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from catalog.figures import counted


class PlainLog:
    """One line when an asset of a snapshot is done."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._began: dict[tuple[str, str | None], float] = {}
        self._documents: dict[tuple[str, str | None], int] = {}

    def started(self, asset: str, snapshot: str | None, parts: int) -> None:
        self._began.setdefault((asset, snapshot), time.monotonic())

    def advanced(self, asset: str, snapshot: str | None, documents: int, cached: bool) -> None:
        key = (asset, snapshot)
        self._documents[key] = self._documents.get(key, 0) + (0 if cached else documents)

    def finished(self, asset: str, snapshot: str | None, cached: int, ran: int) -> None:
        now = time.monotonic()
        seconds = now - self._began.pop((asset, snapshot), now)
        documents = self._documents.pop((asset, snapshot), 0)
        speed = f", {documents / seconds:,.0f} documents/s" if documents and seconds > 0 else ""
        found = f", {cached:,} cached" if cached else ""
        name = f"{asset} {snapshot}" if snapshot else asset
        self._write(f"{name}: {counted(ran, 'part')} computed{found} in {seconds:.1f} s{speed}")

    def log(self, line: str) -> None:
        self._write(line)


class LiveBars:
    """A bar for the asset at work: parts done, documents a second, time left."""

    def __init__(self, console: Console) -> None:
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.fields[name]:<44}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("parts {task.fields[speed]:>16}"),
            TimeRemainingColumn(),
            console=console,
            transient=False,
        )
        self._task: TaskID | None = None
        self._began = 0.0
        self._documents = 0

    def __enter__(self) -> "LiveBars":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def started(self, asset: str, snapshot: str | None, parts: int) -> None:
        if self._task is None:
            name = f"{asset} {snapshot}" if snapshot else asset
            self._task = self._bars.add_task("", total=parts, name=name, speed="")
            self._began, self._documents = time.monotonic(), 0
        else:
            known = self._bars.tasks[-1].total or 0
            self._bars.update(self._task, total=known + parts)

    def advanced(self, asset: str, snapshot: str | None, documents: int, cached: bool) -> None:
        if self._task is None:
            return
        self._documents += 0 if cached else documents
        seconds = max(time.monotonic() - self._began, 1e-6)
        speed = f"{self._documents / seconds:,.0f} docs/s" if self._documents else "cached"
        self._bars.update(self._task, advance=1, speed=speed)

    def finished(self, asset: str, snapshot: str | None, cached: int, ran: int) -> None:
        self._task = None

    def log(self, line: str) -> None:
        self._bars.console.print(line, markup=False)


@contextlib.contextmanager
def display() -> Iterator[LiveBars | PlainLog]:
    """Yield what shows the progress of a command: enter it before a run of Dagster's begins."""
    with _own_error() as error:
        if error.isatty():
            with LiveBars(Console(file=error, force_terminal=True)) as bars:
                yield bars
        else:
            yield PlainLog(lambda line: print(line, file=error, flush=True))


@contextlib.contextmanager
def _own_error() -> Iterator[TextIO]:
    """Yield standard error by a descriptor of its own; as it is where a caller put a stream without
    one in its place."""
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):
        yield sys.stderr
        return
    with open(descriptor, "w", encoding=sys.stderr.encoding, errors="backslashreplace") as error:
        yield error
