"""How often a server is asked: one pace for everybody, kept by every request. Time is made up."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from corpus_assets.ingest.fetch.fetcher import Fetcher
from corpus_assets.ingest.fetch.pace import Pace
from corpus_assets.ingest.fetch.settings import FetchSettings
from corpus_assets_tests.crawl_server import CrawlServer

DATA = bytes(range(256)) * 64
EACH_SECOND = FetchSettings(requests_per_s=1, first_wait_s=8, max_wait_s=8, range_bytes=1 << 12)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_all_processes_share_one_pace(tmp_path: Path) -> None:
    clock = Clock()
    paces = [Pace(tmp_path, "host", 10, 4, clock, clock.sleep, lambda: 0.0) for _ in range(3)]
    for i in range(30):
        with paces[i % 3].turn():
            pass
    assert clock.now == pytest.approx(1000.0 + 2.9)


def test_an_overloaded_server_is_left_alone_by_everybody(tmp_path: Path) -> None:
    clock = Clock()
    first, second = (Pace(tmp_path, "h", 10, 4, clock, clock.sleep, lambda: 0.0) for _ in range(2))
    first.hold_off(30.0)
    with second.turn():
        pass
    assert clock.now >= 1030.0


def test_no_more_connections_than_allowed_are_open_at_once(tmp_path: Path) -> None:
    clock = Clock()
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) > 3:
            raise TimeoutError

    one = Pace(tmp_path, "h", 1000, 1, clock, sleep, lambda: 0.0)
    other = Pace(tmp_path, "h", 1000, 1, clock, sleep, lambda: 0.0)
    with one.turn(), pytest.raises(TimeoutError), other.turn():
        pass
    waits.clear()
    with other.turn():
        assert waits == [] or max(waits) < 0.01


def test_a_stale_turn_from_before_a_restart_does_not_block(tmp_path: Path) -> None:
    clock = Clock()
    (tmp_path / "h.turn").write_text("99999999.0")
    with Pace(tmp_path, "h", 10, 1, clock, clock.sleep, lambda: 0.0).turn():
        assert clock.now == 1000.0


def test_a_hold_off_is_seen_by_those_who_wait_for_their_turn_already(tmp_path: Path) -> None:
    clock = Clock()
    holder = Pace(tmp_path, "h", 1, 4, clock, clock.sleep, lambda: 0.0)

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.now < 1002.0:
            holder.hold_off(30.0)

    waiting = Pace(tmp_path, "h", 1, 4, clock, sleep, lambda: 0.0)
    with holder.turn():
        pass
    with waiting.turn():
        assert clock.now == pytest.approx(1031.0)
    with waiting.turn():
        assert clock.now == pytest.approx(1032.0), "the pace goes on behind the hold-off"


def test_a_turn_written_by_an_older_release_is_understood(tmp_path: Path) -> None:
    clock = Clock()
    (tmp_path / "h.turn").write_text("1005.000000")
    with Pace(tmp_path, "h", 10, 1, clock, clock.sleep, lambda: 0.0).turn():
        assert clock.now == pytest.approx(1005.0)


class Watched:
    """A server, and the made-up time at which each request reached it."""

    def __init__(self, server: CrawlServer, *faults: str | None) -> None:
        self.server = server
        self.clock = Clock()
        self.times: list[float] = []
        self._faults = list(faults)
        server.faults = self._note

    def _note(self, path: str, number: int) -> str | None:
        self.times.append(self.clock.now - 1000.0)
        return self._faults.pop(0) if self._faults else None

    def fetcher(self, folder: Path | None, base: str = "") -> Fetcher:
        return Fetcher(
            EACH_SECOND, folder, base or self.server.base, self.clock, self.clock.sleep, lambda: 0.5
        )


@pytest.fixture
def server() -> Iterator[CrawlServer]:
    with CrawlServer({"a.bin": DATA}) as running:
        yield running


@pytest.mark.parametrize("shared", [True, False])
def test_every_request_waits_for_its_turn(
    server: CrawlServer, tmp_path: Path, shared: bool
) -> None:
    seen = Watched(server)
    url = f"{server.base}a.bin"
    with seen.fetcher(tmp_path if shared else None) as reader:
        stat = reader.stat(url)
        for start in range(0, 4000, 1000):
            reader.range(url, stat, start, start + 1000)
    assert seen.times == pytest.approx([0, 1, 2, 3, 4])


def test_a_broken_transfer_and_its_repetition_are_two_turns(
    server: CrawlServer, tmp_path: Path
) -> None:
    seen = Watched(server, None, "close", "close")
    url = f"{server.base}a.bin"
    impatient = replace(EACH_SECOND, first_wait_s=0.0)
    clock = seen.clock
    with Fetcher(impatient, tmp_path, server.base, clock, clock.sleep) as reader:
        assert reader.range(url, reader.stat(url), 0, 4000) == DATA[:4000]
    assert seen.times == pytest.approx([0, 1, 2, 3])


@pytest.mark.parametrize(
    ("status", "other_asks_at"), [("403", 4.0), ("429", 4.0), ("503", 4.0), ("500", 1.0)]
)
def test_an_overloaded_server_is_left_alone_by_the_other_readers(
    server: CrawlServer, tmp_path: Path, status: str, other_asks_at: float
) -> None:
    seen = Watched(server, status)
    url = f"{server.base}a.bin"

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    first = Fetcher(EACH_SECOND, tmp_path, server.base, seen.clock, stop, lambda: 0.5)
    with first, pytest.raises(KeyboardInterrupt):
        first.stat(url)
    with seen.fetcher(tmp_path) as other:
        other.stat(url)
    assert seen.times == pytest.approx([0.0, other_asks_at])


def test_two_readers_do_not_wait_the_same_times(server: CrawlServer) -> None:
    server.faults = lambda path, number: "500"
    waits: list[list[float]] = [[], []]
    hasty = replace(EACH_SECOND, requests_per_s=1000.0, attempts=6)
    for slept in waits:
        with (
            Fetcher(hasty, None, server.base, sleep=slept.append) as reader,
            pytest.raises(Exception, match="given up"),
        ):
            reader.stat(f"{server.base}a.bin")
    first, second = ([wait for wait in slept if wait > 0.01] for slept in waits)
    assert first != second, "times to wait are drawn"
    assert len(set(first)) == len(first)


def test_each_hop_of_a_redirect_is_a_turn(server: CrawlServer, tmp_path: Path) -> None:
    seen = Watched(server, "redirect:/b.bin", "redirect:/a.bin")
    with seen.fetcher(tmp_path) as reader:
        assert reader.stat(f"{server.base}old.bin").size == len(DATA)
    assert [each.path for each in server.seen] == ["old.bin", "b.bin", "a.bin"]
    assert seen.times == pytest.approx([0, 1, 2])


def test_a_kept_connection_that_was_closed_costs_a_turn(
    server: CrawlServer, tmp_path: Path
) -> None:
    seen = Watched(server, None, "hang_up")
    url = f"{server.base}a.bin"
    with seen.fetcher(tmp_path) as reader:
        assert reader.range(url, reader.stat(url), 0, 100) == DATA[:100]
    assert seen.times == pytest.approx([0, 1, 2])


def test_each_page_of_a_listing_is_a_turn(
    server: CrawlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore", reason="obstore is not installed")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.base.rstrip("/"))
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    names = [f"{number:05d}.gz" for number in range(2500)]
    server.files |= {f"pages/folder/{name}": b"x" for name in names}
    seen = Watched(server)
    with seen.fetcher(tmp_path, "s3://pages/") as reader:
        listed = reader.listed("s3://pages/folder/")
        assert [name for name, _ in listed] == names
        assert listed[0][1].size == 1
        reader.stat("s3://pages/folder/00000.gz")
    assert seen.times == pytest.approx([0, 1, 2, 3])
