"""The promises with what the demo leaves off: a crawl from a server with its URL index and
robots.txt, the language gate with its sample, and resiliparse."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.formats.store import FileStore as CatalogStore
from catalog.takedown import requests as takedown
from catalog.takedown.target import url_target
from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.ingest.stage import DOCUMENTS
from corpus_assets.session import open_session
from corpus_assets.takedown.run import run_pending
from corpus_assets_tests.crawl_server import CrawlServer, crawl_files
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.ingest.crawl.crawl_corpus import FIRST, Place, archives, two_crawls
from corpus_assets_tests.ingest.warc_bytes import response
from corpus_assets_tests.registry_states import add_orders
from corpus_assets_tests.small_corpus import first_crawl, stored_member

GATES = {
    "language_gate": {"languages": ["en"], "min_chars": 200, "sample_share": 1.0},
    "robots": {"agents": ["CCBot"]},
}


@pytest.fixture(scope="module")
def server() -> Iterator[CrawlServer]:
    copies = [
        response(
            "http://spam.example.com/robots.txt",
            b"User-agent: *\n" + rules,
            headers="Content-Type: text/plain",
            date=date,
        )
        for rules, date in [
            (b"Allow: /\n", "2024-03-02T00:00:00Z"),  # after the pages
            (b"Disallow: /\n", "2024-03-01T12:00:00Z"),
        ]
    ]
    pages = archives(first_crawl(), FIRST, 8)
    robots = {name: stored_member(copies[place % 2]) for place, name in enumerate(sorted(pages))}
    with CrawlServer(two_crawls() | crawl_files(FIRST, pages, robots=robots)) as running:
        yield running


def _place(folder: Path, server: CrawlServer) -> Place:
    place = Place(folder, server.base, robots=True, index=True)
    raw = yaml.safe_load(place.recipe.read_text())
    raw["documents"] = {"gates": GATES, "extraction": {"engine": "resiliparse"}}
    place.recipe.write_text(yaml.safe_dump(raw))
    return place


@pytest.fixture(scope="module")
def built(server: CrawlServer, tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = _place(tmp_path_factory.mktemp("gated"), server)
    place.build()
    return place


def test_every_gate_met_something(built: Place) -> None:
    """Else the tests below would say nothing of them."""
    reasons = Counter(row["reason"] for row in built.rows("records"))
    wanted = {None, "gate_language", "gate_too_short", "robots_disallowed"}
    assert wanted <= reasons.keys(), reasons
    assert any(str(reason).startswith("index_") for reason in reasons), reasons
    assert all(DOCUMENTS.is_reason(reason) for reason in reasons if reason), reasons


@pytest.mark.slow
def test_another_number_of_workers_gives_the_same_bytes(
    built: Place, server: CrawlServer, tmp_path: Path
) -> None:
    other = _place(tmp_path, server)
    assert other.run("build", "--version", "v", "--workers", "2") == 0
    assert version_files(other.home, "v") == version_files(built.home, "v")
    assert other.artifacts() == built.artifacts()


def test_the_report_shows_the_false_drop_rate_of_the_snapshot(built: Place) -> None:
    details = [row["detail"] or "" for row in built.rows("records")]
    sampled = [detail for detail in details if detail.endswith(("/sampled", "/false_drop"))]
    wrong = [detail for detail in sampled if detail.endswith("/false_drop")]
    report = next(built.home.glob("store/versions/v/report.html")).read_text()
    section = report[report.index("Language gate</h2>") :]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", section)[:5]
    assert cells[0] == FIRST
    assert cells[1:4] == [str(len(sampled)), str(len(sampled)), str(len(wrong))]
    assert cells[4] == f"{len(wrong) / len(sampled):.1%}"


def test_a_takedown_leaves_what_a_build_without_the_page_gives(
    built: Place, server: CrawlServer, tmp_path: Path
) -> None:
    urls = [row["url"] for row in built.rows("records") if row["url"]]
    kept = {row["doc_id"] for row in built.rows("documents")}
    once = (row for row in built.rows("records") if urls.count(row["url"]) == 1)
    gone = next(row for row in once if row["doc_id"] in kept)
    home = Home.resolve(str(tmp_path / "incremental"))
    shutil.copytree(built.home, home.root)
    registry = Registry(home.catalog_url)
    target = url_target(gone["url"], {"web"})
    takedown.request_takedown(registry, CatalogStore(home.store_url), target, "asked")
    assert run_pending(home) is not None
    scratch = Home.resolve(str(tmp_path / "scratch"))
    orders = [SuppressionRow(row.kind, row.value) for row in registry.suppressions()]
    new = Registry(scratch.catalog_url)
    new.upgrade()
    add_orders(new, orders)
    lock = built.home / "store/versions/v/lock.json"
    with open_session(str(built.recipe), scratch, lock=str(lock)) as session:
        build(session, "v.td1")
    assert version_files(home.root, "v.td1") == version_files(scratch.root, "v.td1")
    manifests = [built.home / "store/versions/v", home.root / "store/versions/v.td1"]
    before, after = (json.loads((path / "manifest.json").read_bytes()) for path in manifests)
    assert before["groups"] != after["groups"]
