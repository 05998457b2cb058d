"""Truth from another extractor: a program is given each page and writes its main text.

One process a page: markup in UTF-8 to its standard input, text in UTF-8 from its standard output.
No shell is involved. What it writes is bounded in time and size, and its whole process group is
ended with it. Why a page has no text is counted by a name:

* `failed`: it ended with another status than 0;
* `timeout`: it took longer than the limit;
* `too_long`: it wrote more than the limit;
* `not_text`: what it wrote is no UTF-8;
* `empty`: it wrote nothing.
"""

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import IO, NamedTuple

from pageblocks.charset import normalise
from pageblocks.errors import TruthError
from pageblocks.training.truth import StoredPage

_CHUNK = 1 << 16
_AHEAD = 4  # pages a worker that are read before they are needed


class LabelLimits(NamedTuple):
    """What a program may take for a page."""

    time_limit_s: float = 60
    max_output_bytes: int = 10_000_000


DEFAULT_LIMITS = LabelLimits()


class Label(NamedTuple):
    """A page's main text by another extractor, or the reason why there is none."""

    record_id: str
    url: str | None
    main_content: str
    reason: str | None


def label_pages(
    pages: Iterable[StoredPage],
    command: Sequence[str],
    count: int | None = None,
    workers: int = 1,
    limits: LabelLimits = DEFAULT_LIMITS,
) -> Iterator[Label]:
    """Ask a program for the main text of pages, in their order."""
    pages = islice(pages, count)

    def ask(page: StoredPage) -> Label:
        key, markup, url = page
        text, reason = run_extractor(command, markup, limits)
        return Label(key, url, text, reason)

    with ThreadPoolExecutor(workers) as pool:
        while some := list(islice(pages, workers * _AHEAD)):
            yield from pool.map(ask, some)


def run_extractor(
    command: Sequence[str], markup: bytes, limits: LabelLimits
) -> tuple[str, str | None]:
    """Return the text that a program finds in a page, and the reason where there is none."""
    with tempfile.TemporaryFile() as given:
        given.write(markup)
        given.seek(0)
        try:
            process = subprocess.Popen(
                command,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise TruthError(
                f"cannot run {command[0]}: {error.strerror}; give a program and its arguments "
                "after `--`"
            ) from error
    stdout = process.stdout
    if stdout is None:
        raise TruthError(f"{command[0]} has no standard output")
    deadline = time.monotonic() + limits.time_limit_s
    try:
        written, reason = _read(stdout, limits.max_output_bytes, deadline)
        if reason is None and process.wait(max(deadline - time.monotonic(), 0)):
            reason = "failed"
    except subprocess.TimeoutExpired:
        written, reason = b"", "timeout"
    finally:
        _end(process)
    if reason is not None:
        return "", reason
    try:
        text = normalise(written.decode("utf-8"))
    except UnicodeDecodeError:
        return "", "not_text"
    return (text, None) if text.strip() else ("", "empty")


def _read(stdout: IO[bytes], most: int, deadline: float) -> tuple[bytes, str | None]:
    found = bytearray()
    while True:
        ready, _, _ = select.select([stdout], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            return b"", "timeout"
        chunk = os.read(stdout.fileno(), _CHUNK)
        if not chunk:
            return bytes(found), None
        found += chunk
        if len(found) > most:
            return b"", "too_long"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and all that it started."""
    with contextlib.suppress(ProcessLookupError):  # it is gone, and left no process
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
