"""Pages handed to a process that can be ended: no page stops a part, whatever C code it hangs in.

One child a process, started when the first page comes (0.3 s) and kept. Several pages go to it at
once: a page costs two copies through a pipe, a turn of both processes costs more than that. What
can become of a page:

* text;
* `extraction_failed`: the extractor raised;
* `extraction_timeout`: more CPU time than the recipe allows. CPU time and not time on the wall, so
  that a busy machine does not decide; a tenfold wall limit is for a process that stands still;
* `extraction_memory`: more memory than the recipe allows;
* `extraction_crashed`: the process died of the page (a fault in C code).

Before one of the last three is reported, the page is sent by itself, and then once more to a fresh
process: so it does not matter which pages it came with.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import IO, NamedTuple

from corpus_assets.core.errors import EngineError, MissingExtra
from corpus_assets.ingest.extractors import ABSENT, ANSWER, FAILED, MEMORY, SIZE, TEXT, Recalls

CHILD = "corpus_assets.ingest.extractors.page_child"
START_TIME_LIMIT_S = 300
PIPE_BYTES = 1 << 20
PAGES_PER_CHILD = 20_000  # libxml2 keeps every name it has ever seen
TRIES = 2
Answer = tuple[int, list[bytes], float]
"""Status; content, type of the page, kinds of its lines, their places and recalls; CPU seconds."""
OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class PageResult(NamedTuple):
    """A page's text, or the reason why there is none; its type, the kinds of its lines, their places
    (uint16, little-endian) and what it has of what the page declares, where they are noted."""

    text: str
    reason: str | None
    detail: str | None
    cpu_seconds: float
    page_type: str | None = None
    line_kinds: bytes | None = None
    line_places: bytes | None = None
    recalls: Recalls | None = None


class _Died(Exception):
    """The child is gone: `how` as a negative signal number, 0 for our own wall limit."""

    def __init__(self, how: int) -> None:
        super().__init__(how)
        self.how = how


@dataclass(frozen=True)
class WorkerSpec:
    """What a worker is started with; `options` are the engine's, as JSON."""

    options: str
    max_seconds: int
    max_memory_mb: int


class PageWorker:
    """A child process and the way to talk to it. Not for two threads at once."""

    def __init__(self, spec: WorkerSpec) -> None:
        self.spec = spec
        self._limits = f"{spec.max_seconds} CPU s", f"{spec.max_memory_mb} MB"
        self._wall_limit_s = 10 * spec.max_seconds + 60
        self._child: _Child | None = None

    def extract_all(self, pages: Sequence[bytes]) -> list[PageResult]:
        """Texts of pages in UTF-8. Where one of them goes wrong, each is sent by itself."""
        if len(pages) > 1:
            try:
                answers = self._ask(pages, is_alone=False)
            except _Died:
                pass
            except BaseException:
                self.close()
                raise
            else:
                if not any(status == MEMORY for status, *_ in answers):
                    return [_result(*answer) for answer in answers]
                self.close()
        return [self.extract(page) for page in pages]

    def extract(self, html: str | bytes) -> PageResult:
        """Text of one page, given as text or in UTF-8.

        Raises EngineError when somebody else keeps ending the child.
        """
        page = html if isinstance(html, bytes) else html.encode("utf-8", "surrogatepass")
        cpu_seconds = 0.0
        status, parts, reason, detail = FAILED, [b""] * 4, None, None
        killed_outside = False
        for attempt in range(TRIES):
            try:
                [(status, parts, spent)] = self._ask([page], is_alone=attempt > 0)
            except _Died as death:
                killed_outside = -death.how in OUTSIDE
                reason, detail = self._reason(death.how)
                continue
            except BaseException:
                self.close()  # Ctrl-C while it works: its answer must not meet another page
                raise
            cpu_seconds += spent
            if status != MEMORY:
                break
            self.close()
            killed_outside = False
            reason, detail = "extraction_memory", self._limits[1]
        else:
            if killed_outside:
                raise EngineError(
                    "the extraction process was killed twice, as the kernel does when memory "
                    "runs out: run the same command again with fewer --workers"
                )
            return PageResult("", reason, detail, cpu_seconds)
        return _result(status, parts, cpu_seconds)

    def close(self) -> None:
        """End the child now; the next page starts another."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _ask(self, pages: Sequence[bytes], is_alone: bool) -> list[Answer]:
        if is_alone or (self._child is not None and self._child.pages >= PAGES_PER_CHILD):
            self.close()
        if self._child is None:
            self._child = _Child(json.dumps(asdict(self.spec)).encode())
        try:
            return self._child.ask(pages, self._wall_limit_s)
        except _Died:
            self._child = None
            raise

    def _reason(self, how: int) -> tuple[str, str]:
        if how in (0, -signal.SIGXCPU):
            return "extraction_timeout", self._limits[0]
        with contextlib.suppress(ValueError):
            return "extraction_crashed", signal.Signals(-how).name
        return "extraction_crashed", f"exit {how}"


def _missing(message: bytes) -> MissingExtra:
    return MissingExtra(
        "the extraction process lacks a library, so no page can be extracted: "
        f"{message.decode('utf-8', 'replace')}; install corpus-assets again with its dependencies"
    )


def _result(status: int, parts: Sequence[bytes], cpu_seconds: float) -> PageResult:
    content, kind, kinds, places, recalls = parts
    if status == ABSENT:
        raise _missing(content)
    if status == FAILED:
        name = content.decode("utf-8", "replace")
        return PageResult("", "extraction_failed", name, cpu_seconds)
    text = content.decode("utf-8", "surrogatepass")
    found = [(name, n, has) for name, n, has in json.loads(recalls)] if recalls else None
    lines = kinds or None, places or None
    return PageResult(text, None, None, cpu_seconds, kind.decode() or None, *lines, found)


class _Child:
    def __init__(self, start_message: bytes) -> None:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
        )
        self._finalizer = weakref.finalize(self, _end, self._process)
        self.pages = 0
        _widen(self._process)
        try:
            [(status, [message, *_], _)] = self.ask([start_message], START_TIME_LIMIT_S)
        except _Died as death:
            how = f"it ended with {death.how}" if death.how else "it does not answer"
            raise EngineError(
                f"the extraction process could not be started: {how}; `python -c 'import {CHILD}'` "
                "may show why"
            ) from death
        if status == ABSENT:
            raise _missing(message)
        if status != TEXT:
            raise EngineError(
                "the extraction process could not be started: " + message.decode("utf-8", "replace")
            )
        self.pages = 0

    def ask(self, pages: Sequence[bytes], wall_limit_s: float) -> list[Answer]:
        """Send pages, wait until all are done."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise EngineError("the extraction process has no pipes")
        head = [SIZE.pack(len(pages)), *(SIZE.pack(len(page)) for page in pages)]
        try:
            stdin.write(b"".join([*head, *pages]))
            stdin.flush()
        except BrokenPipeError:
            raise self._death() from None
        if not _readable(stdout.fileno(), wall_limit_s):
            self.end()
            raise _Died(0)
        answers = [self._answer(stdout) for _ in pages]
        self.pages += len(pages)
        return answers

    def _answer(self, stdout: IO[bytes]) -> Answer:
        head = stdout.read(ANSWER.size)
        if len(head) < ANSWER.size:
            raise self._death()
        status, *sizes, cpu_microseconds = ANSWER.unpack(head)
        parts = [stdout.read(size) for size in sizes]
        if list(map(len, parts)) != sizes:
            raise self._death()
        return status, parts, cpu_microseconds / 1e6

    def end(self) -> None:
        self._finalizer()

    def _death(self) -> _Died:
        try:
            how = self._process.wait(timeout=START_TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            how = 0
        self.end()
        return _Died(how)


def _readable(descriptor: int, limit_s: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(limit_s * 1000))


def _widen(process: "subprocess.Popen[bytes]") -> None:
    """Pipes that take most pages whole, where the system knows how."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        for stream in (process.stdin, process.stdout):
            if stream is not None:
                fcntl.fcntl(stream.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # what it was not sent whole is of no use now
                stream.close()
    process.wait()


_IDLE: dict[tuple[int, WorkerSpec], list[PageWorker]] = {}


def borrow_worker(spec: WorkerSpec) -> PageWorker:
    """Return an idle worker of this process, or a new one."""
    idle = _IDLE.setdefault((os.getpid(), spec), [])
    try:
        return idle.pop()
    except IndexError:
        return PageWorker(spec)


def give_back(worker: PageWorker) -> None:
    """Let the next page have it."""
    _IDLE.setdefault((os.getpid(), worker.spec), []).append(worker)
