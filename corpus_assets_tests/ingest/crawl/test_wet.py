"""A crawl's own plain text, `format: wet`: found, pinned and built from its own list."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from corpus_assets_tests.crawl_server import CrawlServer, crawl_files, crawl_list, every_other
from corpus_assets_tests.ingest.crawl.crawl_corpus import FIRST, SECOND, Place
from corpus_assets_tests.ingest.formats.test_wet import conversion
from corpus_assets_tests.ingest.warc_bytes import members
from corpus_assets_tests.small_corpus import prose

PAGES = {f"http://site-{number}.example.org/": prose("wet", number) for number in range(24)}


def archives(crawl: str) -> dict[str, bytes]:
    pages = [
        conversion(text, url, record_id=f"<urn:uuid:{crawl}-{number}>")
        for number, (url, text) in enumerate(PAGES.items())
    ]
    return {f"{crawl}-{part:05d}.warc.wet.gz": members(*pages[part::3]) for part in range(3)}


@pytest.fixture
def server() -> Iterator[CrawlServer]:
    """One crawl with plain text, and a newer one with pages only."""
    files = crawl_files(FIRST, archives(FIRST), kind="wet")
    files |= crawl_files(SECOND, {f"{SECOND}-00000.warc.gz": b"never read"})
    files["collinfo.json"] = crawl_list(FIRST, SECOND)
    with CrawlServer(files) as running:
        yield running


def wet_place(folder: Path, base: str, snapshots: list[str]) -> Place:
    place = Place(folder, base)
    raw = yaml.safe_load(place.recipe.read_text())
    raw["sources"][0] |= {"format": "wet", "snapshots": snapshots}
    place.recipe.write_text(yaml.safe_dump(raw))
    return place


def test_a_crawls_own_text_is_built_from_a_server_that_fails(
    server: CrawlServer, tmp_path: Path
) -> None:
    server.faults = every_other()
    place = wet_place(tmp_path, server.base, [FIRST])
    place.build()
    names = [file["name"] for file in place.pinned()]
    assert len(names) == 3
    assert all("/wet/" in name and name.endswith(".warc.wet.gz") for name in names)
    addresses = {row["doc_id"]: row["url"] for row in place.rows("records")}
    documents = place.rows("documents")
    assert {addresses[row["doc_id"]]: row["text"] for row in documents} == PAGES
    assert not server.requests("/warc/")


def test_only_crawls_with_plain_text_are_found(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = wet_place(tmp_path, server.base, [])
    assert place.run("snapshots", "discover", "--json") == 0
    told = capsys.readouterr()
    (found,) = json.loads(told.out)
    assert (found["crawl"], found["files"]) == (FIRST, 3)
    assert f"skipped {SECOND}: it has no wet.paths.gz" in told.err
