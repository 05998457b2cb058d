"""P4, read aloud: after a takedown no file of the home, decoded, has a word of the documents."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from catalog.cli.takedown_views import show_verified
from catalog.db.registry import Registry
from catalog.formats.store import FileStore as CatalogStore
from catalog.lineage.tables import Lineage
from catalog.review.records import new_judgement
from catalog.takedown import requests as takedown
from catalog.takedown.certificates import verify_takedown
from catalog.takedown.target import domain_target
from corpus_assets.build import build
from corpus_assets.cli.export import LAYOUTS
from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets.defs.runs import DagsterRuns
from corpus_assets.lineage.text_digests import DigestIndex
from corpus_assets.session import open_session
from corpus_assets.shards.tokens import Encoder
from corpus_assets.takedown.contents import Reader
from corpus_assets.takedown.home_search import Found
from corpus_assets.takedown.run import run_pending
from corpus_assets_tests.ingest.warc_bytes import response
from corpus_assets_tests.small_corpus import (
    EVAL_TEXT,
    html,
    make_small_corpus,
    prose,
    spam,
    stored_member,
)

HOST = "gone.example"
FOREIGN = "notes/from-a-colleague.txt"
PAGE = "pages/sample.html"


def _said(name: str, text: str) -> str:
    """A text with a name in it that stands nowhere else, in three sentences."""
    return (
        f"{text}\nThe letters of {name} were found in an attic, and {name} had signed each of them "
        f"with a small drawing of a heron. Nobody but {name} could have drawn it in that way."
    )


def _pages() -> dict[str, tuple[str, bytes]]:
    """Name -> address and page: one for every way that text can go."""
    kept = _said("Quorvanthel Oxmoor", prose("gone", 1, sentences=24))
    return {
        "Quorvanthel": ("kept", html(kept, "The heron letters of Tremblewick Dray")),
        "Tremblewick": ("exact", html(kept, "The heron letters of Tremblewick Dray")),
        "Vexingham": ("near", html(f"{kept} Vexingham Purlow heard of it.", "More on herons")),
        "Brumbeltarn": (
            "quiz",
            html(f"{EVAL_TEXT}\n{_said('Brumbeltarn Ives', prose('gone', 2))}", "Lamps"),
        ),
        "Skellowmere": ("spam", html(_said("Skellowmere Jot", spam("gone")), "Deals")),
        "Fennimartle": ("short", html("Fennimartle Roo was here.", "Note")),
        "Dandlewhisk": (
            "mail",
            html(
                f"{_said('Dandlewhisk Crumb', prose('gone', 3))}\nWrite to dandlewhisk@gone.example"
            ),
        ),
    }


class _Grep(Found):
    """Stands where the search for digests stands, and looks for words."""

    def __init__(self) -> None:
        super().__init__({}, DigestIndex({}, 0.3))
        self.words: set[str] = set()

    def texts(self, texts: Sequence[str]) -> None:
        lowered = "\n".join(texts).lower()
        self.words |= {name for name in _pages() if name.lower() in lowered}


def _copy_of(path: str, copies: set[str]) -> str:
    return next((name for name in copies if f"{path}/".startswith(f"{name}/")), path)


def _words_left(home: Home, version: str) -> dict[str, set[str]]:
    """File -> names in it, over every file of the home, decoded."""
    folder = home.root / "store" / "versions" / version
    lock = Registry(home.catalog_url)
    tokenizer = next(row for row in lock.models("tokenizer") if version in row.path)
    encoder = Encoder((home.root / "store" / tokenizer.path).read_bytes())
    assert folder.is_dir()
    found = {}
    for path in sorted(home.root.rglob("*")):
        if path.is_file():
            grep = _Grep()
            with path.open("rb") as stream:
                Reader(grep, [encoder]).file(stream, path)
            if grep.words:
                found[path.relative_to(home.root).as_posix()] = grep.words
    return found


def _make_copies(home: Home) -> set[str]:
    """Exports of every kind, a stopped one, and a page to look at, all inside the home."""
    exports = home.root / "exports"
    (home.root / PAGE).parent.mkdir()
    for layout in LAYOUTS:
        _corpus(home, "export", "small-1", "--format", layout, "--out", exports / layout)
    traced = ("--format", "mds", "--lineage", "--out", exports / "traced")
    _corpus(home, "export", "small-1", *traced)
    _corpus(
        home, "sample-page", "small-1", "--per-reason", 50, "--chars", 40, "--out", home.root / PAGE
    )
    stopped = exports / "stopped.partial"
    shutil.copytree(exports / "mds", stopped)
    (stopped / ".parts").mkdir()
    (stopped / "export.json").rename(stopped / ".parts" / "plan.json")
    return {f"exports/{name}" for name in (*LAYOUTS, "traced", "stopped.partial")} | {PAGE}


def _judge_everything(registry: Registry, store: CatalogStore) -> None:
    """Judge every record of the version, and quote those of the host."""
    names = {f"http://{HOST}/{address}": name for name, (address, _) in _pages().items()}
    with Lineage(registry, store, "small-1") as lineage:
        records = lineage.query(f"SELECT * FROM {lineage.scan('records')}")
        for row in records:
            place = {name: str(row[name]) for name in ("snapshot", "part", "offset")}
            place["doc_id"] = row["doc_id"].hex()
            name = names.get(row["url"])
            why = f"it is about {name}, see above" if name else "nothing of note"
            registry.judge(new_judgement(lineage, place, True, why, "ann"))


def _corpus(home: Home, *arguments: object) -> None:
    assert main([*map(str, arguments), "--home", str(home.root)]) == 0


@pytest.mark.slow
def test_no_word_of_a_removed_document_is_left_in_any_file_of_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL"):
        monkeypatch.delenv(name, raising=False)
    recipe = make_small_corpus(tmp_path / "corpus")
    recipe.write_text(recipe.read_text() + "gate: {review: {min_judged: 30}}\n")
    records = [response(f"http://{HOST}/{address}", page) for address, page in _pages().values()]
    crawl = tmp_path / "corpus" / "web" / "crawl-1" / "part-00002.warc.gz"
    crawl.write_bytes(b"".join(map(stored_member, records)))
    home = Home.resolve(str(tmp_path / "home"))
    with open_session(str(recipe), home) as session:
        build(session, "small-1", DagsterRuns())
    before = _words_left(home, "small-1")
    assert {path.split("/")[2] for path in before if "/artifacts/" in path} >= {
        "documents",
        "clean_text",
        "shards",
    }
    assert set().union(*before.values()) >= set(_pages()) - {"Fennimartle"}
    registry, store = Registry(home.catalog_url), CatalogStore(home.store_url)
    copies = _make_copies(home)
    _judge_everything(registry, store)
    assert set().union(*(v for k, v in _words_left(home, "small-1").items() if "catalog.db" in k))
    takedown.request_takedown(registry, store, domain_target(HOST), "asked")
    outcome = run_pending(home, runner=DagsterRuns())
    assert list(home.dagster.rglob("*.db"))  # its records are among what is looked at
    assert outcome is not None
    assert outcome.residue is not None
    assert registry.judgements("small-1") == []
    handed_on = registry.judgements("small-1.td1")
    assert {row.why for row in handed_on} == {"nothing of note"}
    assert "reviewers disagree with" in next(
        gate.detail["message"] for gate in registry.gates("small-1.td1") if gate.name == "review"
    )
    assert outcome.deletion.copies == [PAGE]
    copies.remove(PAGE)
    left = _words_left(home, "small-1.td1")
    assert {_copy_of(path, copies) for path in left} == copies
    assert {held.file for held in outcome.residue.holding} == copies
    page = (home.root / "store/certificates/00000001.html").read_text()
    assert all(name in page for name in copies)
    lead = page.partition('<p class="lead')[2].partition("</p>")[0]
    assert f"{len(copies)} other files were found to hold the text" in lead
    proof = verify_takedown(registry, store, 1, home=home.root)
    assert not proof.whole
    capsys.readouterr()
    show_verified(proof)
    said = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in said if "removed documents: delete it" in line]
    assert set(named) == copies
    for name in copies:
        path = home.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert _words_left(home, "small-1.td1") == {}
    assert registry.takedown(1).status == "pending"
    run_pending(home)
    assert registry.takedown(1).status == "done"
    for command in (["export", "small-1.td1", "--format", "mds"], ["sample-page", "small-1.td1"]):
        _corpus(home, *command, "--out", home.root / f"{command[0]}-of-what-is-left")
    assert verify_takedown(registry, store, 1, home=home.root).whole

    text = _said("Quorvanthel Oxmoor", prose("gone", 1, sentences=24))
    (home.root / "notes").mkdir()
    (home.root / FOREIGN).write_text(text)
    proof = verify_takedown(registry, store, 1, home=home.root)
    assert [held["file"] for held in proof.search["holding"]] == [FOREIGN]
    assert not proof.whole
