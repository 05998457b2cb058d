"""Common Crawl from a local server: the commands, the files taken, and a server that misbehaves."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from corpus_assets.cli.main import main as corpus
from corpus_assets.core.errors import SourceError
from corpus_assets.core.home import Home
from corpus_assets.ingest.crawl.layout import choose_files, parse_paths, robots_path
from corpus_assets.ingest.crawl.settings import CrawlSettings
from corpus_assets.session import open_session
from corpus_assets_tests.crawl_server import FAULTS, CrawlServer, crawl_list, every_other
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.ingest.crawl.crawl_corpus import (
    FIRST,
    SECOND,
    Place,
    two_crawls,
    write_mirror,
)
from corpus_assets_tests.registry_states import add_orders


@pytest.fixture(scope="module")
def server() -> Iterator[CrawlServer]:
    with CrawlServer(two_crawls()) as running:
        yield running


@pytest.fixture(autouse=True)
def _calm(server: CrawlServer) -> Iterator[None]:
    yield
    server.faults = lambda path, number: None
    server.seen.clear()


@pytest.fixture(scope="module")
def clean(server: CrawlServer, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A build from a server that behaves."""
    place = Place(tmp_path_factory.mktemp("clean"), server.base)
    place.build()
    return place


def test_a_build_streams_the_crawl_and_stores_none_of_it(clean: Place, server: CrawlServer) -> None:
    assert len(clean.pinned()) == 8
    assert all(file["sha256"].startswith(f"etag:{file['size']}:") for file in clean.pinned())
    assert not list(clean.home.rglob("*.warc.gz"))
    notes = [
        json.loads(path.read_bytes())["notes"]
        for path in clean.home.glob("store/artifacts/documents/*/result.json")
    ]
    assert all(len(note["source_sha256"]) == 64 for note in notes)


def test_a_server_that_fails_in_every_way_gives_byte_identical_results(
    clean: Place, server: CrawlServer, tmp_path: Path
) -> None:
    server.faults = every_other()
    place = Place(tmp_path, server.base)
    place.build()
    assert version_files(place.home, "v") == version_files(clean.home, "v")
    assert {seen.fault for seen in server.seen} >= set(FAULTS)
    assert server.requests() < 150


def test_a_pinned_crawl_is_not_asked_for_again(clean: Place, server: CrawlServer) -> None:
    clean.build()
    assert server.requests() == 0


def test_a_local_copy_of_the_crawl_gives_the_same_documents(
    clean: Place, server: CrawlServer, tmp_path: Path
) -> None:
    place = Place(tmp_path, str(write_mirror(tmp_path / "mirror")))
    place.ingest()
    assert place.rows("documents") == clean.rows("documents")
    assert place.rows("records") == clean.rows("records")
    assert all(len(file["sha256"]) == 64 for file in place.pinned())


def test_a_changed_file_is_refused_and_the_finished_parts_are_kept(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, server.base)
    assert place.run("snapshots", "add", SECOND) == 0
    victim = place.pinned(SECOND)[2]["name"]
    server.etags[victim] = "0" * 32
    try:
        assert place.run("build", "--workers", "1") == 1
    finally:
        server.etags.clear()
    error = capsys.readouterr().err
    assert "has changed since it was pinned" in error
    assert victim in error
    assert len(list(place.home.glob("store/artifacts/documents/*/result.json"))) >= 4


@pytest.fixture
def caching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORPUS_FETCH_CACHE_GIB", "1")


@pytest.mark.usefixtures("caching")
def test_files_are_kept_in_the_home_where_the_environment_says_so(
    clean: Place, server: CrawlServer, tmp_path: Path
) -> None:
    place = Place(tmp_path, server.base)
    place.ingest()
    assert place.artifacts() == clean.artifacts()
    kept = [p for p in (place.home / "cache/sources").iterdir() if len(p.name) == 64]
    assert sorted(p.stat().st_size for p in kept) == sorted(f["size"] for f in place.pinned())


def test_discover_lists_the_crawls_that_are_not_in_the_recipe(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, server.base, files=3)
    server.faults = every_other()
    assert place.run("snapshots", "discover", "--json", "--sizes") == 0
    found = json.loads(capsys.readouterr().out)
    sizes = found[0].pop("bytes")
    assert found == [{"source": "web", "crawl": SECOND, "files": 4, "taken": 3}]
    assert 0 < sizes < sum(len(d) for p, d in server.files.items() if SECOND in p)
    assert place.run("snapshots", "discover") == 0
    assert f"{SECOND}" in capsys.readouterr().out


def test_a_folder_beside_the_crawls_is_passed_over_with_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, str(write_mirror(tmp_path / "mirror")), files=1)
    assert place.run("snapshots", "discover", "--json", "--limit", "1") == 0
    told = capsys.readouterr()
    assert [found["crawl"] for found in json.loads(told.out)] == [SECOND]
    assert "skipped CC-NEWS: it has no warc.paths.gz" in told.err


def test_a_listed_crawl_without_its_files_does_not_hide_the_others(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, server.base)
    listed = server.files["collinfo.json"]
    server.files["collinfo.json"] = crawl_list("CC-MAIN-2023-50", FIRST, SECOND, "CC-MAIN-2024-22")
    try:
        assert place.run("snapshots", "discover", "--json", "--limit", "1") == 0
    finally:
        server.files["collinfo.json"] = listed
    told = capsys.readouterr()
    assert [found["crawl"] for found in json.loads(told.out)] == [SECOND]
    assert "skipped CC-MAIN-2024-22" in told.err
    assert server.requests("CC-MAIN-2024-22") == 1
    assert not server.requests("CC-MAIN-2023-50"), "no more is asked for than is shown"


def test_added_snapshots_are_part_of_the_recipe_from_then_on(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, server.base)
    assert place.run("snapshots", "add", SECOND, "--files", "2", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["files"], answer["taken"]) == (4, 2)
    assert answer["bytes"] == sum(file["size"] for file in place.pinned(SECOND))
    assert place.run("snapshots", "list", "--json") == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["snapshot"], first["added"], first["files"]) == (FIRST, False, None)
    assert (second["snapshot"], second["added"], second["files"]) == (SECOND, True, 2)
    assert place.run("snapshots", "add", SECOND) == 1
    assert "has a snapshot CC-MAIN-2024-18 already" in capsys.readouterr().err
    place.ingest()
    with open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        source = session.pipeline.recipe.identity()["sources"][0]
    assert list(source["snapshots"]) == [FIRST, SECOND]
    assert source["crawl"]["files_of"] == {SECOND: 2}
    assert "base" not in source["crawl"]
    assert place.run("snapshots", "list") == 0
    _, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert [row[:3] for row in rows] == [[FIRST, "web", "no"], [SECOND, "web", "yes"]]
    assert rows[1][3] == rows[1][6] == "2"  # files pinned, and ingested


def test_adding_a_crawl_that_is_not_there_says_so_and_leaves_nothing(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, server.base)
    assert place.run("snapshots", "add", "CC-MAIN-1999-01") == 1
    assert "does not exist" in capsys.readouterr().err
    assert place.run("snapshots", "add", "../../etc") == 1
    assert "'../../etc' is not a valid name for a snapshot" in capsys.readouterr().err
    assert not list(place.home.glob("store/snapshots/**/*.json"))


def test_a_recipe_without_a_snapshot_says_how_to_add_one(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, server.base)
    raw = yaml.safe_load(place.recipe.read_text())
    raw["sources"][0]["snapshots"] = []
    place.recipe.write_text(yaml.safe_dump(raw))
    assert place.run("build") == 1
    assert "corpus snapshots add" in capsys.readouterr().err
    assert place.run("snapshots", "list") == 0
    assert place.run("snapshots", "add", FIRST, "--files", "1") == 0
    assert len(place.pinned()) == 1


def test_robots_records_of_the_chosen_files_are_pinned_with_them(
    server: CrawlServer, tmp_path: Path
) -> None:
    place = Place(tmp_path, server.base, robots=True, files=2)
    assert place.run("snapshots", "add", FIRST, "--as", "again", "--files", "2") == 0
    raw = json.loads((place.home / "store/sources/again.json").read_bytes())
    assert [robots_path(file["name"]) for file in raw["files"]] == [
        file["name"] for file in raw["robots"]
    ]


def test_a_larger_number_of_files_contains_the_smaller() -> None:
    paths = [f"crawl-data/C/segments/{i % 3}/warc/f-{i:05d}.warc.gz" for i in range(500)]
    ten, fifty = (choose_files(paths, n, 7) for n in (10, 50))
    assert fifty[:10] == ten
    assert choose_files(list(reversed(paths)), 10, 7) == ten, "the list's order is no matter"
    assert choose_files(paths, 10, 8) != ten, "the seed is"
    assert sorted(choose_files(paths, None, 7)) == sorted(paths)


@pytest.mark.parametrize(
    "line",
    ["crawl-data/C/../../etc/passwd", "/etc/passwd", "https://evil/x", "crawl-data/D/x", "a b"],
)
def test_a_list_that_names_other_places_is_refused(line: str) -> None:
    data = gzip.compress(f"crawl-data/C/ok.warc.gz\n{line}\n".encode())
    with pytest.raises(SourceError, match="not a path below crawl-data/C/"):
        parse_paths(data, "warc.paths.gz", "crawl-data/C/")


def test_a_list_of_several_gzip_members_is_read_to_its_end() -> None:
    lines = [f"crawl-data/C/{number}.warc.gz" for number in range(3)]
    data = b"".join(gzip.compress(f"{line}\n".encode()) for line in lines)
    assert parse_paths(data, "warc.paths.gz", "crawl-data/C/") == lines


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-3], "is truncated; run the same command again"),
        (lambda data: data + data[: len(data) // 2], "is truncated"),
        (lambda data: data + b"garbage", "has trailing bytes"),
        (lambda data: data[:-8] + b"\0" + data[-7:], "is damaged"),
        (lambda data: data[:12] + b"\xff\xff\xff" + data[15:], "is damaged"),
        (lambda data: b"<html>no</html>", "is not gzip; check `crawl.base`"),
        (lambda data: b"", "names no file"),
    ],
)
def test_a_list_that_is_not_whole_is_refused(
    change: Callable[[bytes], bytes], message: str
) -> None:
    data = gzip.compress(b"crawl-data/C/a.warc.gz\ncrawl-data/C/b.warc.gz\n", mtime=0)
    with pytest.raises(SourceError, match=message):
        parse_paths(change(data), "warc.paths.gz", "crawl-data/C/")


def test_a_list_that_inflates_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpus_assets.ingest.crawl.layout.MAX_INFLATED_BYTES", 1000)
    data = gzip.compress(b"crawl-data/C/a\n" * 50) * 2
    with pytest.raises(SourceError, match="far too long"):
        parse_paths(data, "warc.paths.gz", "crawl-data/C/")


def test_where_files_come_from_is_no_identity() -> None:
    one = CrawlSettings(base="https://data.commoncrawl.org/", files=3)
    other = CrawlSettings(base="s3://commoncrawl", files=3)
    assert one.identity() == other.identity()
    assert one.identity() != CrawlSettings(files=4).identity()


def test_the_original_of_a_streamed_page_is_fetched_again_by_its_range(
    clean: Place, server: CrawlServer, tmp_path: Path
) -> None:
    row = next(row for row in clean.rows("records") if row["reason"] is None)
    target = tmp_path / "record"
    words = ["raw", row["doc_id"].hex(), "--stored", "-o", str(target), "--home", str(clean.home)]
    with pytest.raises(SystemExit) as done:
        catalog(words)
    assert done.value.code == 0
    stored = server.files[row["file"]][row["offset"] : row["offset"] + row["length"]]
    assert target.read_bytes() == stored
    assert len(server.seen) == 1


@pytest.mark.slow
def test_the_shipped_recipe_runs_from_two_files(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {
        "sources.commoncrawl.crawl.base": server.base,
        "selection.rules": "[{name: language, signal: language, in: [en]}]",
        "tokenizer.train.vocab_size": "640",
        "shards.seq_len": "64",
        "mixture.block_samples": "4",
        "mixture.max_epochs": "50",
    }
    more = ["--home", str(tmp_path / "home")]
    for key, value in changes.items():
        more += ["--set", f"{key}={value}"]
    server.faults = every_other()
    assert corpus(["build", "commoncrawl", *more]) == 1
    assert "has no snapshot yet" in capsys.readouterr().err
    assert corpus(["snapshots", "discover", "commoncrawl", *more]) == 0
    assert FIRST in capsys.readouterr().out
    assert corpus(["snapshots", "add", "commoncrawl", FIRST, "--files", "2", *more]) == 0
    assert "2 of 8 files" in capsys.readouterr().out
    assert corpus(["build", "commoncrawl", "--version", "cc-1", "--workers", "1", *more]) == 0
    assert "Version cc-1" in capsys.readouterr().out


@pytest.mark.usefixtures("caching")
def test_a_takedown_asks_no_server_and_lets_go_of_the_cached_file(
    server: CrawlServer, tmp_path: Path
) -> None:
    place = Place(tmp_path, server.base, files=2)
    place.build()
    copies = place.home / "cache/sources"
    before = {path.name for path in copies.glob("?" * 64)}
    page = next(row for row in place.rows("records") if row["reason"] is None)
    for words in (
        ["takedown", "request", "--url", page["url"], "--reason", "asked"],
        ["takedown", "run"],
    ):
        server.seen.clear()
        with pytest.raises(SystemExit) as done:
            catalog([*words, "--home", str(place.home)])
        assert done.value.code in (0, None)
    assert server.requests() == 0
    assert len(before) == 2
    assert len({path.name for path in copies.glob("?" * 64)}) == 1


@pytest.mark.usefixtures("caching")
def test_a_file_that_is_read_under_an_order_in_force_is_not_kept_in_the_cache(
    server: CrawlServer, tmp_path: Path
) -> None:
    first = Place(tmp_path / "first", server.base, files=2)
    first.ingest()
    page = next(row for row in first.rows("records") if row["reason"] is None)
    later = Place(tmp_path / "later", server.base, files=2)
    registry = Registry(Home.resolve(str(later.home)).catalog_url)
    registry.upgrade()
    add_orders(registry, [SuppressionRow("url_key", page["url_key"])])
    later.ingest()
    assert len(list((first.home / "cache/sources").glob("?" * 64))) == 2
    assert len(list((later.home / "cache/sources").glob("?" * 64))) == 1
