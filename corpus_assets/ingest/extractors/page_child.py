"""The process that extracts pages, one after the other, under limits the kernel enforces.

Started by `ingest.extract`, which sends some pages and waits for their texts:

1. first message: the extractor's options and the limits, as JSON; answered when all is loaded, or
   with why it cannot be;
2. every other message: pages in UTF-8; answered, when all are done, with the text of each and its
   type, the kinds of its lines and what it has of what the page declares where they are noted,
   or with what went wrong.

CPU time is limited for each page (RLIMIT_CPU: the kernel ends the process whatever it is doing, C
code included). Memory is limited by the address space, and a page that took more resident memory
than allowed is refused for it even if it got through.

It leaves when its parent is gone: the pipe ends, or a thread sees it within a second.
"""

import json
import os
import resource
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from corpus_assets.ingest.extractors.engines import Extracted

SIZE = struct.Struct("<Q")  # how many pages, and of each how many bytes
ANSWER = struct.Struct("<BQIQQIQ")
"""Status, bytes of text, type, lines' kinds, their places and recalls, CPU microseconds."""
TEXT, FAILED, MEMORY, ABSENT = 0, 1, 2, 3  # absent: a library, whatever the page
MIB = 1 << 20
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # of `ru_maxrss`


def main() -> None:
    """Serve pages from standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    source = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the answers
    first = _receive(source)
    if first is None:
        return
    start: dict[str, Any] = json.loads(first[0])
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    try:
        from corpus_assets.ingest.extractors.engines import make_reader  # with all its libraries

        read = make_reader(json.loads(start["options"]))
    except Exception as error:
        status = ABSENT if _is_absence(error) else FAILED
        _send(answers, [_answer(status, [_message(error)])])
        return
    max_memory = int(start["max_memory_mb"]) * MIB
    limit_memory(max_memory)
    _send(answers, [_answer(TEXT)])
    counted = time.process_time()
    while (pages := _receive(source)) is not None:
        done = []
        for page in pages:
            limit_cpu(time.process_time(), start["max_seconds"])
            status, *parts = _extract(read, page)
            if may_have_held(max_memory) and peak_memory() > max_memory:
                status, *parts = (MEMORY,)
            spent = time.process_time() - counted  # receiving the pages included
            counted += spent
            done.append(_answer(status, parts, spent))
        _send(answers, done)


def _is_absence(error: Exception) -> bool:
    from corpus_assets.core.errors import MissingExtra

    return isinstance(error, ImportError | MissingExtra)


def _message(error: Exception) -> bytes:
    return " ".join(f"{type(error).__name__}: {error}".split()).encode("utf-8", "replace")


def _extract(read: "Callable[[bytes], Extracted]", page: bytes) -> tuple[int, *tuple[bytes, ...]]:
    """Status, text, the type of the page, the kinds of the lines, their places and the recalls as
    JSON, nothing where they are not noted."""
    try:
        text, kind, line_kinds, places, recalls = read(page)
        found = json.dumps(recalls).encode() if recalls else b""
        written = text.encode("utf-8", "surrogatepass")
        return TEXT, written, (kind or "").encode(), line_kinds, places, found
    except MemoryError:
        return (MEMORY,)
    except ImportError as error:
        return ABSENT, _message(error)
    except Exception as error:  # one page must not stop a part, whatever it does inside
        return FAILED, type(error).__name__.encode("utf-8", "replace")


def limit_cpu(used_seconds: float, allowed_seconds: int) -> None:
    """Let this process run so many CPU seconds more, to the next full second."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used_seconds) + 1 + allowed_seconds
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def limit_memory(allowed_bytes: int) -> None:
    """Twice the allowed memory as address space on top of what is mapped; no core files.

    Twice, because address space is given out more freely than memory is used.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/statm", "rb") as stream:
            mapped = int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return  # no such limit outside Linux
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = mapped + 2 * allowed_bytes
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def may_have_held(allowed_bytes: int) -> bool:
    """Whether `peak_memory` is worth the 15 us it takes: `ru_maxrss` is never less than it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT > allowed_bytes


def peak_memory() -> int:
    """The most memory this process has held, in bytes.

    Not `ru_maxrss`: Linux lets a process inherit that from whoever started it.
    """
    try:
        with open("/proc/self/status", "rb") as stream:
            for line in stream:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT


def _receive(source: BinaryIO) -> list[bytes] | None:
    """All pages of a message; they are read before the first is answered, since whoever sends them
    does not read meanwhile."""
    head = source.read(SIZE.size)
    if len(head) < SIZE.size:
        return None
    (count,) = SIZE.unpack(head)
    sizes = source.read(count * SIZE.size)
    if len(sizes) < count * SIZE.size:
        return None
    pages = [source.read(size) for (size,) in SIZE.iter_unpack(sizes)]
    is_whole = sum(map(len, pages)) == sum(size for (size,) in SIZE.iter_unpack(sizes))
    return pages if is_whole else None


def _answer(status: int, parts: Sequence[bytes] = (), cpu_seconds: float = 0.0) -> bytes:
    parts = [*parts, *[b""] * 5][:5]
    head = ANSWER.pack(status, *map(len, parts), int(cpu_seconds * 1e6))
    return b"".join([head, *parts])


def _send(answers: BinaryIO, done: list[bytes]) -> None:
    """All at once: whoever waits for them has a limit for the first byte."""
    answers.write(b"".join(done))
    answers.flush()


def _leave_with(parent: int) -> None:
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(1.0)
    os._exit(1)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit(1)
