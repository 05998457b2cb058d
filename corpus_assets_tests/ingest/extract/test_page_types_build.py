"""Types of pages in a build: a rule asks for them, groups and the mixture know them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from catalog.db.registry import Registry
from catalog.formats.store import FileStore as CatalogStore
from catalog.lineage.tables import Lineage
from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.session import open_session
from corpus_assets_tests.ingest.warc_bytes import members, response
from corpus_assets_tests.shards.three_sources import RECIPE, write
from corpus_assets_tests.small_corpus import prose
from corpus_assets_tests.versions.test_report_numbers import Report

GENERATORS = {"forum": "phpBB 3", "documentation": "Sphinx 7.2"}
CHANGES: dict[str, Any] = {
    "sources": [
        {"name": "forum", "format": "warc", "domain": "web",
         "snapshots": {"forum-1": "pages.warc.gz"}},
        RECIPE["sources"][2],
    ],
    "documents": {"extraction": {"engine": "blocks", "page_type": True}},
    "signals.families": [{"family": "gopher_quality"}, {"family": "page_notes"}],
    "selection.rules": [
        {"name": "kind", "signal": "page_type", "in": ["forum", "documentation"],
         "only_languages": None},
    ],
    "selection.tiers": None,
    "clusters": {"min_similarity": None},
    "shards.group_by": {"page_type": ["forum"]},
    "mixture.weights": {"page_type": {"forum": 3}},
    "mixture.block_samples": 2000,
}  # fmt: skip


def page(kind: str, number: int) -> bytes:
    text = "".join(f"<p>{prose(f'{kind} {n}', number)}</p>" for n in range(4))
    named = f"<meta name=generator content='{GENERATORS.get(kind, '')}'>"
    said = '<meta property="og:type" content="article">' if kind == "article" else named
    lines = [prose(f"{kind} 0", number).splitlines()[0], f"{number} words that stand nowhere"]
    thing = {"@type": "DiscussionForumPosting", "text": "\n".join(lines)}
    if kind == "forum":
        said += f"<script type=application/ld+json>{json.dumps(thing)}</script>"
    made = f"<html><head>{said}<title>{kind} {number}</title></head><body><h1>{kind} {number}</h1>"
    return f"{made}<article>{text}</article></body></html>".encode()


def test_types_of_pages_decide_in_selection_and_mixture(tmp_path: Path) -> None:
    recipe = write(tmp_path / "in", CHANGES)
    pages = [
        response(f"https://a.test/{kind}/{number}", page(kind, number))
        for kind in ("forum", "documentation", "article")
        for number in range(6)
    ]
    (recipe.parent / "pages.warc.gz").write_bytes(members(*pages))
    home = Home.resolve(str(tmp_path / "home"))
    with open_session(str(recipe), home, workers=1) as session:
        made = build(session, "v").manifest
    with Lineage(Registry(home.catalog_url), CatalogStore(home.store_url), "v") as tables:
        rows = tables.connection.execute(
            f"SELECT s.page_type, d.reason "
            f"FROM {tables.scan('signals')} AS s "
            f"JOIN {tables.scan('decisions')} AS d USING (doc_id) "
            "WHERE s.page_type IS NOT NULL"
        ).fetchall()
    found = Counter((kind, reason) for kind, reason in rows)
    assert found == {("forum", None): 6, ("documentation", None): 6, ("article", "kind"): 6}
    report = Report((tmp_path / "home/store/versions/v/report.html").read_text(encoding="utf-8"))
    (rows,) = report.tables("Yield by page type and language")
    assert [row for row in rows if row[0] in ("forum", "documentation", "article")] == [
        ["article", "unknown", 6, 0, "0.0%", 0, 6, "100.0%", "selection/kind 6"],
        ["documentation", "unknown", 6, 6, "100.0%", 0, 0, "0.0%", ""],
        ["forum", "unknown", 6, 6, "100.0%", 0, 0, "0.0%", ""],
    ]
    (rows,) = report.tables("What pages declare and their text has")
    assert rows == [["DiscussionForumPosting", 6, 12, "50.0%", "0.0%"]]
    of_pages = {
        group.labels["page_type"]: group for group in made.groups if group.snapshot == "forum-1"
    }
    assert {kind: group.documents for kind, group in of_pages.items()} == {"forum": 6, "other": 6}
    [phase] = made.phases
    rates = {kind: phase.counts[group.id] / group.samples for kind, group in of_pages.items()}
    assert 2.7 < rates["forum"] / rates["other"] < 3.3
