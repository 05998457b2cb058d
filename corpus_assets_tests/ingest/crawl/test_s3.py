"""The same crawl from S3: a real server, and one that answers like S3 and misbehaves."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from catalog.cli.commands import main as catalog
from catalog.db.rows import FileRow
from catalog.errors import SourceUnavailable
from corpus_assets.core.errors import SourceError
from corpus_assets.core.home import Home
from corpus_assets.ingest.fetch.fetcher import Fetcher
from corpus_assets.ingest.fetch.settings import FetchSettings
from corpus_assets.ingest.originals import open_again, read_original
from corpus_assets.ingest.records import SourceFile
from corpus_assets.inspect.snapshots import Book, follow
from corpus_assets_tests.crawl_server import CrawlServer, every_other
from corpus_assets_tests.ingest.crawl.crawl_corpus import FIRST, NEWS, SECOND, Place, two_crawls
from corpus_assets_tests.s3_server import BUCKET, S3Server, environment, running_s3

pytest.importorskip("obstore", reason="obstore is not installed")

FAULTS = ("reset", "close", "503", "403", "429", "500", "502", "slow", "hang_up", "garbage")
"""Those an S3 client passes on; it checks lengths and ranges itself."""


@pytest.fixture(autouse=True)
def _own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def over_http(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The crawl ingested from a web server that behaves."""
    with CrawlServer(two_crawls()) as server:
        place = Place(tmp_path_factory.mktemp("http"), server.base)
        place.ingest()
    return place


@pytest.fixture(scope="module")
def weed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server that holds the crawls below `mirror/`."""
    with running_s3(tmp_path_factory.mktemp("s3")) as started:
        client = started.client()
        for path, data in (two_crawls() | NEWS).items():
            client.put(f"mirror/{path}", data)
        yield started


@pytest.fixture
def bucket(weed: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in environment(weed.endpoint).items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/mirror/"


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> Iterator[CrawlServer]:
    """A server that answers as S3 does for the bucket `commoncrawl`, without credentials."""
    files = {f"commoncrawl/{path}": data for path, data in two_crawls().items()}
    with CrawlServer(files) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.base.rstrip("/"))
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        yield server


def test_a_crawl_on_s3_gives_the_same_artifacts_as_over_https(
    bucket: str, over_http: Place, tmp_path: Path
) -> None:
    place = Place(tmp_path, bucket)
    place.ingest()
    assert place.artifacts() == over_http.artifacts()
    assert place.pinned()[0]["uri"].startswith("s3://")


def test_crawls_on_s3_are_found_by_their_folders(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, bucket)
    assert place.run("snapshots", "discover", "--json", "--sizes") == 0
    told = capsys.readouterr()
    (found,) = json.loads(told.out)
    assert (found["crawl"], found["files"]) == (SECOND, 4)
    assert found["bytes"] > 0
    assert "skipped CC-NEWS" in told.err


def test_only_crawls_on_s3_are_followed(bucket: str, tmp_path: Path) -> None:
    place = Place(tmp_path, bucket, follow_after=FIRST)
    told: list[str] = []
    added = follow(Book.open(str(place.recipe), Home.resolve(str(place.home))), told.append)
    assert [each.snapshot for each in added] == [SECOND]
    assert told == ["skipped CC-NEWS: it has no warc.paths.gz"]


def test_a_public_bucket_is_read_without_credentials_and_with_every_fault(
    odd: CrawlServer, over_http: Place, tmp_path: Path
) -> None:
    odd.faults = every_other(FAULTS)
    place = Place(tmp_path, "s3://commoncrawl/")
    place.ingest()
    assert place.artifacts() == over_http.artifacts()
    assert {seen.fault for seen in odd.seen} >= set(FAULTS)
    assert odd.requests() < 150


def test_an_object_that_changed_on_s3_is_refused(odd: CrawlServer) -> None:
    url = f"s3://commoncrawl/crawl-data/{FIRST}/warc.paths.gz"
    with Fetcher(FetchSettings(requests_per_s=1000), None, url) as fetcher:
        stat = fetcher.stat(url)
        odd.files[url.removeprefix("s3://")] += b"more"
        with pytest.raises(SourceError, match="changed since it was pinned"):
            fetcher.range(url, stat, 0, 10)


def test_wrong_credentials_are_never_shown(weed: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(weed.endpoint).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret")
    slept: list[float] = []
    url = f"s3://{BUCKET}/mirror/collinfo.json"
    with (
        Fetcher(FetchSettings(attempts=3), None, url, sleep=slept.append) as fetcher,
        pytest.raises(SourceError) as info,
    ):
        fetcher.stat(url)
    assert "writer-key" not in str(info.value)
    assert "not-the-secret" not in str(info.value)


def test_a_bucket_that_is_not_public_says_that_requests_are_not_signed(
    weed: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(weed.endpoint).items():
        if "KEY" not in name:
            monkeypatch.setenv(name, value)
    url = f"s3://{BUCKET}/mirror/collinfo.json"
    settings = FetchSettings(attempts=3)
    with (
        Fetcher(settings, None, url, sleep=lambda seconds: None) as fetcher,
        pytest.raises(SourceError, match="not signed, since AWS_ACCESS_KEY_ID"),
    ):
        fetcher.stat(url)


def test_a_prefix_of_a_bucket_is_a_snapshot_too(
    bucket: str, over_http: Place, tmp_path: Path
) -> None:
    place = Place(tmp_path, bucket)
    raw = yaml.safe_load(place.recipe.read_text())
    source = raw["sources"][0]
    del source["crawl"]
    source["snapshots"] = {FIRST: f"{bucket}crawl-data/{FIRST}/segments/*/warc/*.warc.gz"}
    place.recipe.write_text(yaml.safe_dump(raw))
    place.ingest()
    assert place.rows("documents") == over_http.rows("documents")


def test_the_original_of_a_page_is_fetched_from_s3_again(bucket: str, tmp_path: Path) -> None:
    place = Place(tmp_path, bucket, files=2)
    place.build()
    row = next(row for row in place.rows("records") if row["reason"] is None)
    target = tmp_path / "record"
    words = ["raw", row["doc_id"].hex(), "--stored", "-o", str(target), "--home", str(place.home)]
    with pytest.raises(SystemExit) as done:
        catalog(words)
    assert done.value.code == 0
    stored = two_crawls()[row["file"]][row["offset"] : row["offset"] + row["length"]]
    assert target.read_bytes() == stored


def test_an_original_on_s3_is_the_pinned_one_or_refused(weed: S3Server, bucket: str) -> None:
    uri, data = f"{bucket}original.bin", bytes(range(256)) * 20
    client = weed.client()
    etag = str(client.put("mirror/original.bin", data)["e_tag"]).strip('"')
    pin = f"etag:{len(data)}:{etag}"

    def read() -> bytes:
        file = SourceFile("original.bin", uri, len(data), pin)
        with open_again(file, lambda seconds: None) as stream:
            stream.seek(1000)
            return stream.read(500)

    assert read() == data[1000:1500]
    client.put("mirror/original.bin", data[::-1])
    with pytest.raises(SourceError, match="has changed since"):
        read()
    client.put("mirror/original.bin", data + b"more")
    pin = ""
    with pytest.raises(SourceError, match="has changed since"):
        read()
    client.delete("mirror/original.bin")
    with pytest.raises(SourceError, match="does not exist"):
        read()


def test_an_original_that_s3_refuses_is_said_without_the_key(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = FileRow(0, "collinfo.json", f"{bucket}collinfo.json", 10)
    place = {"file": file.name, "offset": 1, "length": 10, "url": None}
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret")
    with pytest.raises(SourceUnavailable, match="check AWS_") as info:
        read_original("jsonl", file, place)
    assert "writer-key" not in str(info.value)
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(SourceUnavailable, match="set AWS_ALLOW_HTTP=true"):
        read_original("jsonl", file, place)
