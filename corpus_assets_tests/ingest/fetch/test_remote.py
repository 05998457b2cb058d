"""Reading from a server that fails in every way: the same bytes, few requests, clear ends."""

import hashlib
import io
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.core.errors import CorpusError, SourceError
from corpus_assets.ingest.fetch.fetcher import Fetcher
from corpus_assets.ingest.fetch.opening import Reach
from corpus_assets.ingest.fetch.remote_file import RemoteFile, pin_of
from corpus_assets.ingest.fetch.settings import FetchSettings
from corpus_assets.ingest.fetch.transport import Stat, host_of, shown_url
from corpus_assets.ingest.records import SourceFile
from corpus_assets_tests.crawl_server import FAULTS, CrawlServer, every_other, write_certificate

DATA = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(20_000))  # 640 kB
QUICK = FetchSettings(
    requests_per_s=1000, first_wait_s=0.001, max_wait_s=0.002, range_bytes=1 << 16
)


OPEN: list[Fetcher] = []


@pytest.fixture
def server() -> Iterator[CrawlServer]:
    with CrawlServer({"a.bin": DATA, "empty.bin": b""}) as running:
        yield running
        while OPEN:
            OPEN.pop().close()


def fetcher(server: CrawlServer, settings: FetchSettings = QUICK, **more: object) -> Fetcher:
    OPEN.append(Fetcher(settings, None, server.base, **more))  # type: ignore[arg-type]
    return OPEN[-1]


def whole(server: CrawlServer, reader: Fetcher) -> tuple[bytes, RemoteFile]:
    url = f"{server.base}a.bin"
    stream = RemoteFile(reader, url, Stat(len(DATA), server.etag("a.bin")))
    return io.BufferedReader(stream, 5000).read(), stream


def test_a_file_is_read_in_ranges_and_its_hash_is_known_at_the_end(server: CrawlServer) -> None:
    data, stream = whole(server, fetcher(server))
    assert data == DATA
    assert stream.sha256 == hashlib.sha256(DATA).hexdigest()
    assert server.requests("a.bin") == 10


def test_the_server_is_asked_for_size_and_etag_with_one_request(server: CrawlServer) -> None:
    stat = fetcher(server).stat(f"{server.base}a.bin")
    assert (stat.size, stat.etag) == (len(DATA), server.etag("a.bin"))
    assert fetcher(server).stat(f"{server.base}empty.bin").size == 0
    assert server.requests() == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_gives_the_same_bytes(server: CrawlServer, fault: str) -> None:
    server.faults = every_other([fault])
    assert fetcher(server).stat(f"{server.base}a.bin").size == len(DATA)
    data, _ = whole(server, fetcher(server))
    assert data == DATA
    assert server.requests() < 60


def test_all_faults_in_turn_give_the_same_bytes(server: CrawlServer) -> None:
    server.faults = every_other()
    data, stream = whole(server, fetcher(server))
    assert data == DATA
    assert stream.sha256 == hashlib.sha256(DATA).hexdigest()


def test_a_broken_transfer_goes_on_at_the_byte_where_it_broke(server: CrawlServer) -> None:
    server.faults = lambda path, number: "close" if number == 0 else None
    reader = fetcher(server)
    stat = Stat(len(DATA), server.etag("a.bin"))
    assert reader.range(f"{server.base}a.bin", stat, 1000, 3000) == DATA[1000:3000]
    assert [seen.range for seen in server.seen] == ["bytes=1000-2999", "bytes=2000-2999"]


def test_a_transfer_that_stalls_is_given_up_and_continued(server: CrawlServer) -> None:
    server.faults = lambda path, number: "stall" if number == 0 else None
    quick = replace(QUICK, timeout_s=0.2)
    stat = Stat(len(DATA), server.etag("a.bin"))
    url = f"{server.base}a.bin"
    assert fetcher(server, quick).range(url, stat, 0, 4000) == DATA[:4000]
    assert any(seen.range == "bytes=2000-3999" for seen in server.seen)


def test_seeking_back_reads_again_and_does_not_disturb_the_hash(server: CrawlServer) -> None:
    _, stream = whole(server, fetcher(server))
    stream.seek(100)
    assert stream.read(50) == DATA[100:150]
    assert stream.seek(-10, io.SEEK_END) == len(DATA) - 10
    assert stream.read() == DATA[-10:]
    assert stream.sha256 == hashlib.sha256(DATA).hexdigest()


def test_a_read_across_two_ranges_is_whole(server: CrawlServer) -> None:
    stream = RemoteFile(
        fetcher(server), f"{server.base}a.bin", Stat(len(DATA), server.etag("a.bin"))
    )
    stream.read(10)
    stream.seek((1 << 16) - 5)
    assert stream.read(1000) == DATA[(1 << 16) - 5 : (1 << 16) + 995]
    assert stream.read() == DATA[(1 << 16) + 995 :]
    assert stream.read(5) == b""


def test_a_server_without_ranges_is_asked_for_the_file_once(server: CrawlServer) -> None:
    server.faults = lambda path, number: "ignore_range"
    data, _ = whole(server, fetcher(server))
    assert data == DATA
    assert server.requests() == 2, "once to find out, once for all of it"


def test_a_changed_object_is_noticed_and_refused(server: CrawlServer) -> None:
    reader = fetcher(server)
    stat = reader.stat(f"{server.base}a.bin")
    server.files["a.bin"] = DATA[::-1]
    with pytest.raises(SourceError, match="changed since it was pinned"):
        reader.range(f"{server.base}a.bin", stat, 0, 100)
    assert server.requests() == 2, "a changed object is not asked for again"


def test_an_object_that_changes_between_two_ranges_is_never_mixed(server: CrawlServer) -> None:
    stream = RemoteFile(
        fetcher(server), f"{server.base}a.bin", Stat(len(DATA), server.etag("a.bin"))
    )
    assert stream.read(10) == DATA[:10]
    server.files["a.bin"] = DATA[::-1]
    stream.seek(1 << 17)
    with pytest.raises(SourceError, match="changed since it was pinned"):
        stream.read(10)


def test_after_the_budget_the_error_says_what_to_do(server: CrawlServer) -> None:
    server.faults = lambda path, number: "503"
    few = replace(QUICK, attempts=5)
    with pytest.raises(
        SourceError, match=r"given up after 5 attempts \(503 slow down\).*lower"
    ) as info:
        fetcher(server, few).stat(f"{server.base}a.bin")
    assert "finished parts are kept" in str(info.value)
    assert server.requests() == 5


def test_a_trickling_server_cannot_stretch_the_budget_for_ever(server: CrawlServer) -> None:
    server.faults = lambda path, number: "close"
    with pytest.raises(SourceError, match="given up"):
        whole(server, fetcher(server))
    assert server.requests() <= QUICK.attempts + 2


def test_a_missing_file_is_not_asked_for_twice(server: CrawlServer) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        fetcher(server).stat(f"{server.base}absent.bin")
    assert server.requests() == 1


def test_waiting_times_double_with_full_jitter_up_to_a_bound(server: CrawlServer) -> None:
    server.faults = lambda path, number: "500" if number < 6 else None
    slept: list[float] = []
    settings = FetchSettings(requests_per_s=1000, first_wait_s=1, max_wait_s=10, attempts=10)
    reader = fetcher(server, settings, sleep=slept.append, draw=lambda: 0.5)
    reader.stat(f"{server.base}a.bin")
    assert [s for s in slept if s >= 0.1] == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


def test_retry_after_is_honoured_and_bounded(server: CrawlServer) -> None:
    server.faults = lambda path, number: "429" if number < 2 else None
    slept: list[float] = []
    reader = fetcher(server, sleep=slept.append, draw=lambda: 0.5)
    server.retry_after = "7"
    reader.stat(f"{server.base}a.bin")
    assert 7.0 in slept
    server.seen.clear()
    server.retry_after = "86400"
    reader.stat(f"{server.base}a.bin")
    assert max(slept) <= 300.0 + 1 / QUICK.requests_per_s, "and the turn after it"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("ftp://127.0.0.1/x", "not https"),
        ("file:///etc/passwd", "not https"),
        ("http://user:secret@127.0.0.1/x", "invalid URL"),
        ("http://[::1/x", "invalid URL"),
        ("http://127.0.0.1:99999/x", "invalid URL"),
        (f"http://{'a' * 64}.example/x", "invalid URL"),
    ],
)
def test_redirects_lead_nowhere_odd(server: CrawlServer, target: str, message: str) -> None:
    server.faults = lambda path, number: f"redirect:{target}"
    with pytest.raises(SourceError, match=message) as info:
        fetcher(server).stat(f"{server.base}a.bin")
    assert "secret" not in str(info.value)
    assert server.requests() == 1


def test_redirects_on_the_same_server_are_followed_and_loops_end(server: CrawlServer) -> None:
    server.faults = lambda path, number: "redirect:/a.bin" if number == 0 else None
    assert fetcher(server).stat(f"{server.base}old.bin").size == len(DATA)
    server.faults = lambda path, number: "redirect:/a.bin"
    with pytest.raises(SourceError, match="redirects"):
        fetcher(server).stat(f"{server.base}a.bin")


def test_a_redirect_into_the_local_network_is_refused_unless_the_recipe_is_there(
    server: CrawlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "corpus_assets.ingest.fetch.http._is_public", lambda address: address != "127.0.0.1"
    )
    outside = server.base.replace("127.0.0.1", "localhost")
    reader = Fetcher(replace(QUICK, allow_http=True), None, "http://192.0.2.1/")
    with pytest.raises(SourceError, match="local network"):
        reader.stat(f"{outside}a.bin")
    assert server.requests() == 0


class Names:
    """A resolver in which one name has another address each time.

    The last of `addresses` is repeated; all other names are those of the system.
    """

    def __init__(self, name: str, *addresses: str) -> None:
        self.name, self.addresses, self.asked = name, list(addresses), 0
        self._real = socket.getaddrinfo

    def __call__(self, host: str, *rest: Any, **more: Any) -> Any:
        if host == self.name:
            self.asked += 1
            host = self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]
        return self._real(host, *rest, **more)


def test_a_connection_goes_to_the_address_that_was_checked(
    server: CrawlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "corpus_assets.ingest.fetch.http._is_public", lambda address: address == "127.0.0.1"
    )
    names = Names("fickle.example", "127.0.0.1", "127.0.0.2")
    monkeypatch.setattr("socket.getaddrinfo", names)
    url = server.base.replace("127.0.0.1", "fickle.example") + "a.bin"
    once = replace(QUICK, allow_http=True, attempts=1)
    with Fetcher(once, None, url, is_public=True) as reader:
        stat = reader.stat(url)
        assert reader.range(url, stat, 5, 9) == DATA[5:9]
        assert (names.asked, server.connections) == (1, 1)
        assert server.seen[0].headers["Host"] == url.split("/")[2]
        reader.close()
        with pytest.raises(SourceError, match="fickle.example is an address of the local network"):
            reader.stat(url)
    assert server.requests() == 2


def test_a_name_with_one_address_inside_is_refused_before_any_is_asked(
    server: CrawlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("192.0.2.1", "::1")]
    dialled: list[object] = []
    monkeypatch.setattr("socket.getaddrinfo", lambda *place, **more: found)
    monkeypatch.setattr("socket.create_connection", lambda *place, **more: dialled.append(place))
    monkeypatch.setattr(
        "corpus_assets.ingest.fetch.http._is_public", lambda address: address != "::1"
    )
    with (
        Fetcher(QUICK, None, "https://two.example/", is_public=True) as reader,
        pytest.raises(SourceError, match="two.example is an address of the local network"),
    ):
        reader.stat("https://two.example/a.bin")
    assert dialled == []


def test_ranges_of_a_file_come_over_one_connection(server: CrawlServer) -> None:
    whole(server, fetcher(server))
    assert (server.requests("a.bin"), server.connections) == (10, 1)


def test_a_connection_whose_answer_was_not_read_to_its_end_is_not_used_again(
    server: CrawlServer,
) -> None:
    server.faults = lambda path, number: "ignore_range" if number == 0 else None
    reader = fetcher(server)
    stat = Stat(len(DATA), server.etag("a.bin"))
    assert reader.range(f"{server.base}a.bin", stat, 0, 100) == DATA[:100]
    assert reader.range(f"{server.base}a.bin", stat, 100, 200) == DATA[100:200]
    assert (server.requests(), server.connections) == (2, 2)


@pytest.mark.parametrize("name", ["files.example", "other.example"])
def test_the_certificate_is_of_the_name_and_not_of_the_address(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("socket.getaddrinfo", Names(name, "127.0.0.1"))
    with CrawlServer({"a.bin": DATA}) as server:
        certificate = write_certificate(tmp_path / "files.pem", "files.example")
        said = server.encrypt(certificate)
        url = server.base.replace("127.0.0.1", name) + "a.bin"
        few = replace(QUICK, attempts=2)

        def size() -> int:
            with Fetcher(few, None, url) as reader:
                return reader.stat(url).size

        with pytest.raises(SourceError, match="its certificate is not trusted"):
            size()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        if name == "files.example":
            assert size() == len(DATA)
        else:
            with pytest.raises(SourceError, match="its certificate is not trusted .*other.example"):
                size()
        assert set(said) == {name}


def test_plain_http_needs_a_setting_except_on_this_machine() -> None:
    with pytest.raises(SourceError, match="CORPUS_FETCH_ALLOW_HTTP"):
        Fetcher(QUICK, None, "http://192.0.2.1/").stat("http://192.0.2.1/a")


def test_a_proxy_is_asked_where_the_environment_names_one(
    server: CrawlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["http://192.0.2.1/a.bin"] = DATA
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", server.base.replace("//", "//me:secret@"))
    outside = replace(QUICK, allow_http=True)
    with Fetcher(outside, None, "http://192.0.2.1/") as reader:
        assert reader.stat("http://192.0.2.1/a.bin").size == len(DATA)
    assert server.seen[-1].headers["Proxy-Authorization"].startswith("Basic ")
    with Fetcher(QUICK, None, server.base) as reader:
        assert reader.stat(f"{server.base}a.bin").size == len(DATA), "this machine needs no proxy"


def test_letters_that_are_not_ascii_are_sent_as_utf8(server: CrawlServer) -> None:
    server.files["gr%C3%B6%C3%9Fe.bin?%C3%A4=%2f"] = DATA
    assert fetcher(server).stat(f"{server.base}größe.bin?ä=%2f").size == len(DATA)


@pytest.mark.parametrize(
    "url",
    [
        *("https://user:pw@host/x", "https:///x", "s3://", "https://h/a b", "https://h:99999/x"),
        *("https://h:port/x", "https://[zz]/x", "https://a..b/x", f"https://{'a' * 64}.example/x"),
    ],
)
def test_odd_addresses_are_refused_without_showing_secrets(url: str) -> None:
    with pytest.raises(SourceError, match="not an address") as info:
        host_of(url)
    assert "pw" not in str(info.value)
    assert shown_url("https://h/a?token=abc") == "https://h/a"


def pinned(server: CrawlServer, digest: str | None = None) -> SourceFile:
    stat = Stat(len(DATA), server.etag("a.bin"))
    return SourceFile("a.bin", f"{server.base}a.bin", len(DATA), digest or str(pin_of(stat)))


def test_the_environment_says_how_files_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"REQUESTS_PER_S": "0.5", "CONNECTIONS": "2", "ATTEMPTS": "7", "CACHE_GIB": "3"}
    for name, value in (said | {"ALLOW_HTTP": "1"}).items():
        monkeypatch.setenv(f"CORPUS_FETCH_{name}", value)
    found = FetchSettings.of_environment()
    assert (found.requests_per_s, found.connections, found.attempts) == (0.5, 2, 7)
    assert (found.cache_bytes, found.allow_http) == (3 << 30, True)
    monkeypatch.setenv("CORPUS_FETCH_CONNECTIONS", "0")
    with pytest.raises(CorpusError, match="CORPUS_FETCH_CONNECTIONS is 0; expected 1 or more"):
        FetchSettings.of_environment()


def test_a_pinned_file_is_streamed_and_its_sha256_recorded(
    server: CrawlServer, tmp_path: Path
) -> None:
    reach = Reach(QUICK, tmp_path, server.base)
    with reach.open(pinned(server)) as stream:
        assert stream.read() == DATA
    assert reach.sha256 == {"a.bin": hashlib.sha256(DATA).hexdigest()}
    assert not list(tmp_path.glob("cache/**/*"))


def test_a_file_pinned_by_sha256_is_refused_when_it_is_another(
    server: CrawlServer, tmp_path: Path
) -> None:
    reach = Reach(QUICK, tmp_path, server.base)
    with reach.open(pinned(server, hashlib.sha256(DATA).hexdigest())) as stream:
        stream.read(10)
    with (
        pytest.raises(SourceError, match="not the file that was pinned"),
        reach.open(pinned(server, "0" * 64)) as stream,
    ):
        stream.read(10)


def test_cached_files_are_fetched_once_checked_and_bounded(
    server: CrawlServer, tmp_path: Path
) -> None:
    server.files["b.bin"] = DATA[:1000]
    caching = replace(QUICK, cache_bytes=len(DATA))
    reach = Reach(caching, tmp_path, server.base)
    for _ in range(2):
        with reach.open(pinned(server)) as stream:
            assert stream.read() == DATA
    assert server.requests("a.bin") == 1
    copy = next(p for p in (tmp_path / "cache/sources").iterdir() if p.stat().st_size == len(DATA))
    copy.write_bytes(DATA[::-1])
    with reach.open(pinned(server)) as stream:
        assert stream.read() == DATA, "a damaged copy is fetched again"
    other = SourceFile(
        "b.bin", f"{server.base}b.bin", 1000, str(pin_of(Stat(1000, server.etag("b.bin"))))
    )
    with reach.open(other) as stream:
        assert stream.read() == DATA[:1000]
    assert not copy.exists(), "the older copy made room"
