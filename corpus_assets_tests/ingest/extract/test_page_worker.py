"""Real child processes, real signals, real limits of the kernel."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus_assets.core.errors import EngineError
from corpus_assets.ingest.extract import page_worker
from corpus_assets.ingest.extract.extractor import Extractor, engine_options
from corpus_assets.ingest.extract.page_worker import PageWorker, WorkerSpec
from corpus_assets.ingest.extract.settings import ExtractionSettings
from corpus_assets_tests.ingest.extract.idle_workers import close_idle_workers

RUDE = "corpus_assets_tests.ingest.extract.rude_child"
OPTIONS = json.dumps(engine_options(ExtractionSettings()))


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[PageWorker]:
    monkeypatch.setattr(page_worker, "CHILD", RUDE)
    worker = PageWorker(WorkerSpec(OPTIONS, max_seconds=1, max_memory_mb=128))
    yield worker
    worker.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def wait_until_gone(pid: int, limit_s: float) -> bool:
    pause = threading.Event()
    deadline = time.monotonic() + limit_s
    while is_alive(pid):
        if time.monotonic() > deadline:
            return False
        pause.wait(0.05)
    return True


def test_pages_come_back_one_by_one_through_one_child(worker: PageWorker) -> None:
    pages = ["plain", "", "Grüße \U0001f600", "lone \ud800 surrogate", "x" * 3_000_000]
    assert [worker.extract(page).text for page in pages] == pages
    first = worker._child
    assert worker.extract("more").text == "more"
    assert worker._child is first


def test_pages_sent_together_come_back_in_their_order(worker: PageWorker) -> None:
    pages = [b"%d " % number * 40_000 for number in range(40)]  # more than the pipes hold
    pages[7], pages[9] = b"", b"raise an error"
    found = worker.extract_all(pages)
    assert [page.text.encode() for page in found] == [*pages[:9], b"", *pages[10:]]
    assert [page.reason for page in found if page.reason] == ["extraction_failed"]
    first = worker._child
    assert worker.extract_all([]) == []
    assert [page.text for page in worker.extract_all([b"one"])] == ["one"]
    assert worker._child is first


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"hang in C", "extraction_timeout"),
        (b"eat memory", "extraction_memory"),
        (b"eat all memory", "extraction_memory"),
        (b"segfault", "extraction_crashed"),
    ],
)
def test_a_bad_page_costs_those_sent_with_it_nothing(
    worker: PageWorker, page: bytes, reason: str
) -> None:
    found = worker.extract_all([b"first", page, b"raise an error", b"last"])
    assert [each.text for each in found] == ["first", "", "", "last"]
    assert [each.reason for each in found] == [None, reason, "extraction_failed", None]


def test_an_error_inside_the_extractor_is_a_reason_without_its_message(worker: PageWorker) -> None:
    found = worker.extract("raise an error")
    assert (found.text, found.reason, found.detail) == ("", "extraction_failed", "RecursionError")
    assert worker.extract("next").text == "next"


def test_c_code_that_hangs_is_ended_and_the_next_page_is_served(worker: PageWorker) -> None:
    found = worker.extract("hang in C")
    assert (found.reason, found.detail) == ("extraction_timeout", "1 CPU s")
    assert worker.extract("next").text == "next"


def test_a_page_that_takes_too_much_memory_is_told_so(worker: PageWorker) -> None:
    for greed in ("eat memory", "eat all memory"):
        found = worker.extract(greed)
        assert (found.reason, found.detail) == ("extraction_memory", "128 MB")
    assert worker.extract("next").text == "next"


def test_a_page_that_crashes_its_process_is_told_so(worker: PageWorker) -> None:
    assert worker.extract("segfault")[1:3] == ("extraction_crashed", "SIGSEGV")
    assert worker.extract("leave quietly")[1:3] == ("extraction_crashed", "exit 7")
    assert worker.extract("next").text == "next"


def test_a_page_is_tried_again_alone_before_it_is_given_up(worker: PageWorker) -> None:
    assert worker.extract("first").text == "first"
    child = worker._child
    assert child is not None
    threading.Timer(0.3, child._process.send_signal, (signal.SIGSEGV,)).start()
    found = worker.extract("hang in C")  # dies of our signal, then of its own limit
    assert found.reason == "extraction_timeout"
    child = worker._child = None
    assert worker.extract("next").text == "next"


def test_a_child_that_died_between_two_pages_costs_no_page(worker: PageWorker) -> None:
    worker.extract("first")
    child = worker._child
    assert child is not None
    child._process.kill()
    child._process.wait()
    assert worker.extract("second").text == "second"


def test_a_process_ended_from_outside_twice_is_the_machine_s_fault_not_the_page_s(
    worker: PageWorker,
) -> None:
    with pytest.raises(EngineError, match="fewer --workers"):
        worker.extract("kill from outside")


def test_what_a_library_prints_does_not_get_into_a_text(worker: PageWorker) -> None:
    assert worker.extract("print noise").text == "print noise"


def test_a_child_that_cannot_start_is_an_error_that_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_worker, "CHILD", "corpus_assets_tests.ingest.extract.no_such_child")
    with pytest.raises(EngineError, match="may show why"):
        PageWorker(WorkerSpec(OPTIONS, 1, 128)).extract("page")


def test_a_killed_parent_leaves_no_child_even_one_that_is_at_work(tmp_path: Path) -> None:
    script = textwrap.dedent(
        f"""
        import sys
        from corpus_assets.ingest.extract import page_worker
        page_worker.CHILD = {RUDE!r}
        worker = page_worker.PageWorker(page_worker.WorkerSpec({OPTIONS!r}, 2, 128))
        worker.extract("ready")
        print(worker._child._process.pid, flush=True)
        worker.extract(sys.argv[1])
        sys.stdin.read()
        """
    )
    for page, limit_s in (("idle", 10), ("hang in C", 30)):
        parent = subprocess.Popen(
            [sys.executable, "-c", script, page],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
        )
        assert parent.stdout is not None
        assert parent.stdin is not None
        pid = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        parent.stdout.close()
        parent.stdin.close()
        assert wait_until_gone(pid, limit_s)


def test_ctrl_c_ends_the_child_and_not_only_the_parent() -> None:
    script = textwrap.dedent(
        f"""
        from corpus_assets.ingest.extract import page_worker
        page_worker.CHILD = {RUDE!r}
        worker = page_worker.PageWorker(page_worker.WorkerSpec({OPTIONS!r}, 30, 128))
        worker.extract("ready")
        print(worker._child._process.pid, flush=True)
        try:
            worker.extract("hang in C")
        except KeyboardInterrupt:
            print("child" if worker._child else "none", flush=True)
        """
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    threading.Event().wait(0.3)
    os.killpg(parent.pid, signal.SIGINT)  # a terminal sends it to the whole group
    assert parent.stdout.read() == "none\n"
    assert parent.wait() == 0
    parent.stdout.close()
    assert wait_until_gone(pid, 5)


def test_parts_of_a_process_share_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bytes] = []
    real = page_worker._Child

    def counted(message: bytes) -> page_worker._Child:
        started.append(message)
        return real(message)

    close_idle_workers()
    monkeypatch.setattr(page_worker, "CHILD", RUDE)
    monkeypatch.setattr(page_worker, "_Child", counted)
    for _ in range(3):
        extractor = Extractor(ExtractionSettings())
        assert extractor.extract("page").text == "page"
    close_idle_workers()
    assert len(started) == 1
