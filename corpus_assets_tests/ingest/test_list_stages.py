"""Robots, categories, text folders and code trees through the graph, down to the documents."""

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from corpus_assets.cli.main import main
from corpus_assets.core.errors import RecipeError, SourceError
from corpus_assets.core.home import Home
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import AssetReport, pin_snapshot, run_asset
from corpus_assets.recipe.load import parse_recipe
from corpus_assets.session import open_session
from corpus_assets_tests.ingest.gates.licence_samples import MIT
from corpus_assets_tests.ingest.warc_bytes import members, page, response

RECIPE: dict[str, Any] = {
    "name": "lists",
    "seed": 1,
    "sources": [
        {
            "name": "web",
            "format": "warc",
            "snapshots": {"web-1": "web.warc.gz"},
            "site_files": {"web-1": "sites"},
        },
        {"name": "notes", "format": "text", "domain": "books", "snapshots": {"notes-1": "notes"}},
        {
            "name": "code",
            "format": "code",
            "domain": "code",
            "snapshots": {"code-1": "tree"},
        },
    ],
    "blocked_categories": {"gambling": "ut1/gambling"},
    "documents": {"gates": {"robots": {"agents": ["GPTBot"]}}},
    "signals": {"families": [{"family": "gopher_quality"}]},
    "selection": {"rules": [{"name": "words", "signal": "n_words", "min": 1}]},
    "tokenizer": {"train": {"vocab_size": 300, "special_slots": 2}},
    "mixture": {"temperature": {"domain": 100}},
}
CLOSED = "User-agent: gptbot\nDisallow: /closed\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    urls = ["http://a.test/open", "http://a.test/closed/1", "http://bets.test/x", "http://c.test/"]
    write(tmp_path, "web.warc.gz", members(*(response(url, page(url * 9)) for url in urls)))
    write(tmp_path, "sites/a.test/robots.txt", CLOSED.encode())
    write(tmp_path, "ut1/gambling/domains", b"bets.test\n")
    write(tmp_path, "notes/one.md", b"# One\n\nA note on tides.\n")
    write(tmp_path, "tree/LICENSE", MIT.encode())
    write(tmp_path, "tree/a.py", b"tide = 1\n")
    write(tmp_path, "tree/b.py", b"tide = 2\n")
    write(tmp_path, "tree/node_modules/c.js", b"let tide = 3\n")
    return tmp_path


def write(folder: Path, name: str, data: bytes) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def build(
    place: Path, recipe: dict[str, Any] | None = None
) -> tuple[Pipeline, dict[str, AssetReport]]:
    (place / "recipe.yaml").write_text(yaml.safe_dump(recipe or RECIPE))
    reports = {}
    with open_session(str(place / "recipe.yaml"), Home.resolve(str(place / "home"))) as session:
        for snapshot in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, snapshot)
            reports[snapshot] = run_asset(
                session.pipeline,
                session.engine,
                session.registry,
                session.progress,
                "documents",
                snapshot,
            )
        return session.pipeline, reports


def fates(pipeline: Pipeline, snapshot: str) -> dict[str, tuple[str | None, str | None]]:
    found = {}
    for part in pipeline.results("documents", snapshot):
        table = pq.read_table(pipeline.store.local(part.outputs["records.parquet"].path))
        for row in table.to_pylist():
            found[row["url"] or row["file"]] = (row["reason"], row["detail"])
    return found


def test_robots_and_categories_decide_which_pages_become_documents(place: Path) -> None:
    pipeline, reports = build(place)
    assert fates(pipeline, "web-1") == {
        "http://a.test/open": (None, None),
        "http://a.test/closed/1": ("robots_disallowed", "GPTBot"),
        "http://bets.test/x": ("blocked_category", "gambling"),
        "http://c.test/": (None, None),
    }
    assert fates(pipeline, "notes-1") == {"one.md": (None, None)}
    assert fates(pipeline, "code-1") == {
        "LICENSE": ("unknown_file_type", None),
        "a.py": (None, None),
        "b.py": (None, None),
        "node_modules/c.js": ("vendored_path", "node_modules"),
    }
    assert len(pipeline.results("documents", "code-1")) == 1
    assert reports["web-1"].reasons["robots_disallowed"] == 1
    again = build(place)[1]
    assert all(report.cached == report.parts for report in again.values())


def test_lists_are_pinned_and_where_they_lie_is_no_identity(place: Path) -> None:
    pipeline, reports = build(place)
    pins = pipeline.inputs()
    assert [pin.name for pin in pins["blocked_categories/gambling"]] == ["domains"]
    assert [pin.name for pin in pins["site_files/web-1"]] == ["files-00000"]
    digest = pipeline.recipe.digest
    moved = copy.deepcopy(RECIPE)
    (place / "ut1").rename(place / "lists")
    (place / "sites").rename(place / "robots")
    moved["blocked_categories"]["gambling"] = "lists/gambling"
    moved["sources"][0]["site_files"]["web-1"] = "robots"
    pipeline, again = build(place, moved)
    assert pipeline.recipe.digest == digest
    assert {name: report.content_hash for name, report in again.items()} == {
        name: report.content_hash for name, report in reports.items()
    }
    assert again["web-1"].cached == again["web-1"].parts


def test_changed_site_files_are_seen_and_change_only_what_they_govern(place: Path) -> None:
    _, before = build(place)
    write(place, "sites/a.test/robots.txt", CLOSED.replace("closed", "shut").encode())
    pipeline, after = build(place)
    assert fates(pipeline, "web-1")["http://a.test/closed/1"] == (None, None)
    assert after["web-1"].content_hash != before["web-1"].content_hash
    assert after["notes-1"].cached == after["notes-1"].parts


def test_robots_records_of_an_archive_serve_as_well_as_a_folder(place: Path) -> None:
    robots = response(
        "https://a.test/robots.txt", CLOSED.encode(), headers="Content-Type: text/plain"
    )
    write(place, "robotstxt/r.warc.gz", members(robots))
    recipe = copy.deepcopy(RECIPE)
    recipe["sources"][0]["site_files"]["web-1"] = "robotstxt"
    pipeline, _ = build(place, recipe)
    assert fates(pipeline, "web-1")["http://a.test/closed/1"] == ("robots_disallowed", "GPTBot")


def test_a_category_without_lists_and_robots_without_files_are_errors(place: Path) -> None:
    recipe = copy.deepcopy(RECIPE)
    recipe["blocked_categories"] = {"warez": "ut1/warez"}
    with pytest.raises(SourceError, match="warez holds neither `domains` nor `urls`"):
        build(place, recipe)
    recipe = copy.deepcopy(RECIPE)
    del recipe["sources"][0]["site_files"]
    with pytest.raises(RecipeError, match="web-1 has no robots.txt"):
        parse_recipe(recipe, "r.yaml")
    recipe = copy.deepcopy(RECIPE)
    recipe["sources"][0]["site_files"]["web-9"] = "x"
    with pytest.raises(RecipeError, match="site_files names web-9"):
        parse_recipe(recipe, "r.yaml")


def preferences(pipeline: Pipeline) -> dict[str, tuple[str, str | None, str | None]]:
    (part,) = pipeline.results("documents", "web-1")
    table = pq.read_table(pipeline.store.local(part.outputs["records.parquet"].path))
    names = ("preference", "preference_source", "reason")
    return {row["url"]: tuple(row[name] for name in names) for row in table.to_pylist()}


def test_what_sites_say_about_training_is_recorded_and_by_default_obeyed(place: Path) -> None:
    pages = [
        response("http://a.test/blog/1", page("Of tides. ")),
        response("http://a.test/free/1", page("Of boats. ")),
        response(
            "http://b.test/",
            page("Of nets. "),
            headers="Content-Type: text/html\r\nContent-Usage: train-ai=n",
        ),
        response("http://c.test/", page("Of oars. ", head='<meta name="robots" content="noai">')),
        response("http://d.test/", page("Of rope. ")),
        response("http://e.test/", page("Of sails. "), status=404),
        response("http://f.test/free/1", page("Of masts. ")),
    ]
    write(place, "web.warc.gz", members(*pages))
    signals = "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /free/ train-ai=y\n"
    write(place, "sites/a.test/robots.txt", signals.encode())
    both = "User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: /free/ train-ai=y\n"
    write(place, "sites/f.test/robots.txt", both.encode())
    write(place, "sites/d.test/robots.txt", b"License: https://d.test/rsl.xml\n")
    recipe = copy.deepcopy(RECIPE)
    recipe["documents"]["gates"] = {}
    pipeline, reports = build(place, recipe)
    signal = "file robots.txt Content-Usage: train-ai=n"
    refused = "file robots.txt Content-Signal: ai-train=no"
    expected = {
        "http://a.test/blog/1": ("disallow", signal, "training_disallowed"),
        "http://a.test/free/1": ("allow", "file robots.txt Content-Usage: train-ai=y", None),
        "http://b.test/": ("disallow", "header Content-Usage: train-ai=n", "training_disallowed"),
        "http://c.test/": ("disallow", "meta noai", "opted_out"),
        "http://d.test/": ("unknown", "file robots.txt License: https://d.test/rsl.xml", None),
        "http://e.test/": ("unknown", None, "http_status"),
        "http://f.test/free/1": (
            "disallow",
            f"{refused}; file robots.txt Content-Usage: train-ai=y",
            "training_disallowed",
        ),
    }
    assert preferences(pipeline) == expected
    assert reports["web-1"].reasons["training_disallowed"] == 3
    assert fates(pipeline, "web-1")["http://a.test/blog/1"] == ("training_disallowed", signal)
    recipe["documents"]["gates"] = {"optout": {"on_disallow": "record"}}
    pipeline, _ = build(place, recipe)
    assert preferences(pipeline) == {
        url: (value, source, reason if reason == "http_status" else None)
        for url, (value, source, reason) in expected.items()
    }


def test_a_page_is_judged_by_the_robots_txt_of_its_own_time(place: Path) -> None:
    def at(day: int) -> str:
        return f"2024-03-{day:02d}T12:00:00Z"

    def robots(host: str, content: str, day: int) -> bytes:
        url, kind = f"https://{host}/robots.txt", "Content-Type: text/plain"
        return response(url, content.encode(), headers=kind, date=at(day))

    agent, signal = "User-agent: *\n", "Content-Signal: ai-train=no\n"
    terms = "License: https://b.test/rsl.xml\n"
    later = [robots("a.test", agent, 8), robots("b.test", agent + signal, 5)]
    earlier = [
        robots("a.test", agent + "Disallow: /\n", 5),
        robots("b.test", terms, 2),
        robots("a.test", agent, 2),
    ]
    write(place, "robotstxt/1.warc.gz", members(*later))
    write(place, "robotstxt/2.warc.gz", members(*earlier))
    pages = [(f"http://{host}.test/{day}", day) for day in (9, 6, 3, 1) for host in "ab"]
    write(
        place,
        "web.warc.gz",
        members(*(response(url, page(url * 9), date=at(n)) for url, n in pages)),
    )
    texts = [{"url": f"http://{host}.test/0", "text": "Of tides. " * 9} for host in "ab"]
    write(place, "texts.jsonl", "\n".join(map(json.dumps, texts)).encode())
    recipe = copy.deepcopy(RECIPE)
    recipe["sources"][0]["site_files"]["web-1"] = "robotstxt"
    recipe["sources"][1] = {
        "name": "notes",
        "format": "jsonl",
        "fields": {"url": "url"},
        "domain": "books",
        "snapshots": {"notes-1": "texts.jsonl"},
        "site_files": {"notes-1": "robotstxt"},
    }
    pipeline, _ = build(place, recipe)
    said, named = f"file robots.txt {signal.strip()}", f"file robots.txt {terms.strip()}"
    assert preferences(pipeline) == {
        "http://a.test/1": ("unknown", None, None),
        "http://a.test/3": ("unknown", None, None),
        "http://a.test/6": ("unknown", None, "robots_disallowed"),
        "http://a.test/9": ("unknown", None, None),
        "http://b.test/1": ("unknown", named, None),
        "http://b.test/3": ("unknown", named, None),
        "http://b.test/6": ("disallow", said, "training_disallowed"),
        "http://b.test/9": ("disallow", said, "training_disallowed"),
    }
    assert fates(pipeline, "notes-1") == {  # rows have no time: the last copy counts
        "http://a.test/0": (None, None),
        "http://b.test/0": ("training_disallowed", said),
    }


def test_the_agents_that_train_are_identity_and_a_recipe_replaces_them(place: Path) -> None:
    write(place, "sites/a.test/robots.txt", b"User-agent: Mine\nContent-Usage: train-ai=n\n")
    recipe = copy.deepcopy(RECIPE)
    recipe["documents"]["gates"] = {}
    pipeline, _ = build(place, recipe)
    usual = pipeline.recipe.digest
    assert fates(pipeline, "web-1")["http://a.test/open"] == (None, None)
    recipe["documents"]["gates"] = {"optout": {"agents": ["Mine"]}}
    pipeline, _ = build(place, recipe)
    assert fates(pipeline, "web-1")["http://a.test/open"][0] == "training_disallowed"
    assert pipeline.recipe.digest != usual


def test_a_plan_says_that_documents_wait_for_their_lists(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "recipe.yaml").write_text(yaml.safe_dump(RECIPE))
    assert main(["plan", str(place / "recipe.yaml"), "--home", str(place / "home")]) == 0
    assert "documents" in capsys.readouterr().out
