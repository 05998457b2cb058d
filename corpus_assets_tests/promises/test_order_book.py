"""What was removed stays out, whatever happens to the catalog: the order book in the store tells.

A home of few files after one takedown; each test loses or alters something else of it.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from catalog.cli.commands import main as catalog_main
from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.formats.urls import url_key
from catalog.takedown import requests as takedown
from catalog.takedown.target import url_target
from corpus_assets.cli.main import cli, main
from corpus_assets.core.home import Home
from corpus_assets.takedown.run import run_pending
from corpus_assets.versions import publish
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.registry_states import revoke
from corpus_assets_tests.tiny_corpus import HOST, make_tiny_corpus

PAGE = f"https://{HOST}/page-2"


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A home with one version. Nobody may change it."""
    built = Place(tmp_path_factory.mktemp("before"), "tiny")
    make_tiny_corpus(built.folder / "corpus", vocab_size=640)
    assert built.build() == 0
    return built


def copied(place: Place, folder: Path) -> Place:
    shutil.copytree(place.folder / "corpus", folder / "corpus")
    copy_home(place.home, folder / "home")
    return Place(folder, place.name)


@pytest.fixture(scope="module")
def after(before: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = copied(before, tmp_path_factory.mktemp("book"))
    home = Home.resolve(str(place.home))
    registry, store = Registry(home.catalog_url), FileStore(home.store_url)
    takedown.request_takedown(registry, store, url_target(PAGE, set()), "asked")
    run_pending(home)
    return place


@pytest.fixture
def removed(after: Place, tmp_path: Path) -> Place:
    """A home from which one page was taken down."""
    return copied(after, tmp_path)


def _catalog(place: Place, *arguments: str) -> Result:
    return CliRunner().invoke(catalog_main, [*arguments, "--home", str(place.home)])


def _pages(place: Place) -> set[str]:
    """Addresses of all texts in the store."""
    files = place.artifacts("documents", "documents.parquet")
    return {key for file in files for key in pq.read_table(file)["url_key"].to_pylist()}


def _sql(place: Place, *statements: str) -> None:
    with closing(sqlite3.connect(place.home / "catalog.db")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


FORGET = ("DELETE FROM suppression_holders", "DELETE FROM suppressions")


def _lose(place: Place) -> None:
    for file in place.home.glob("catalog.db*"):
        file.unlink()


def test_a_lost_catalog_brings_no_removed_document_back(
    removed: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert url_key(PAGE) not in _pages(removed)
    _lose(removed)
    assert removed.build(version="small-2") == 1
    assert "catalog takedown restore" in capsys.readouterr().err
    assert url_key(PAGE) not in _pages(removed)
    restored = _catalog(removed, "takedown", "restore")
    assert restored.exit_code == 0, restored.output
    assert "1 done" in restored.output
    assert "does not know these versions in the store: small-1.td1" in restored.output
    assert removed.build(version="small-2") == 0
    assert url_key(PAGE) not in _pages(removed)
    shown = json.loads(_catalog(removed, "takedown", "show", "1", "--json").stdout)
    assert (shown["status"], len(shown["certificates"])) == ("done", 1)
    proof = _catalog(removed, "takedown", "verify", "1")
    assert "Verified." in proof.output, proof.output
    verified = _catalog(removed, "verify", "small-2")
    assert verified.exit_code == 0, verified.output


def test_an_older_catalog_is_brought_up_to_what_was_removed_since(
    removed: Place, before: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    _lose(removed)
    with (
        closing(sqlite3.connect(before.home / "catalog.db")) as older,
        closing(sqlite3.connect(removed.home / "catalog.db")) as here,
    ):
        older.backup(here)
    assert removed.build(version="small-2") == 1
    assert "an old backup was restored" in capsys.readouterr().err
    assert _catalog(removed, "takedown", "restore").exit_code == 0
    registry = Registry(Home.resolve(str(removed.home)).catalog_url)
    assert registry.version("small-1").status == "revoked"
    assert removed.build(version="small-2") == 0
    assert url_key(PAGE) not in _pages(removed)


def test_a_home_whose_store_moved_behind_a_link_goes_on(removed: Place) -> None:
    removed.store.rename(removed.folder / "elsewhere")
    removed.store.symlink_to(removed.folder / "elsewhere")
    assert removed.build(version="small-2") == 0
    assert _catalog(removed, "takedown", "verify", "1").exit_code == 0


def test_standing_orders_are_part_of_the_proof(removed: Place) -> None:
    assert _catalog(removed, "takedown", "verify", "1").exit_code == 0
    _sql(removed, *FORGET)
    proof = _catalog(removed, "takedown", "verify", "1")
    assert proof.exit_code == 1
    assert "1 of 1 suppression (url_key) not in force" in proof.output
    whole = _catalog(removed, "verify", "small-1.td1")
    assert whole.exit_code == 1
    assert "order book" in whole.output


def test_a_proof_without_a_live_version_says_that_nothing_could_be_searched(
    removed: Place,
) -> None:
    revoke(Registry(Home.resolve(str(removed.home)).catalog_url), "small-1.td1")
    proof = _catalog(removed, "takedown", "verify", "1")
    assert proof.exit_code == 1
    assert "There is no live version to search" in proof.output
    assert "Verified" not in proof.output


def test_a_run_killed_before_the_store_had_its_entry_is_completed_by_the_next_command(
    before: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = copied(before, tmp_path)
    home = Home.resolve(str(place.home))
    registry, store = Registry(home.catalog_url), FileStore(home.store_url)
    takedown.request_takedown(registry, store, url_target(PAGE, set()), "asked")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(publish, "deliver_book", die)
        with pytest.raises(KeyboardInterrupt):
            run_pending(home)
    assert registry.version("small-1").status == "revoked"
    assert len(registry.entries_to_store()) == 1
    assert place.build(version="small-2") == 0
    assert registry.entries_to_store() == []
    run_pending(home)
    assert registry.takedown(1).status == "done"


# Every command that would bring text in, write it elsewhere, or delete.

REFUSING = {
    ("corpus", "build"): ["{recipe}", "--version", "x"],
    ("corpus", "sample-page"): ["small-1.td1", "--out", "{out}/page.html"],
    ("corpus", "check-export"): ["{export}"],
    ("corpus", "cost"): ["small-1.td1"],
    ("corpus", "estimate"): ["{recipe}"],
    ("corpus", "evidence", "compare"): ["a", "b"],
    ("corpus", "evidence", "gate"): ["small-1.td1"],
    ("corpus", "evidence", "import"): ["{out}"],
    ("corpus", "evidence", "mix"): ["small-1.td1", "--budget", "9"],
    ("corpus", "evidence", "pack"): ["{out}/pack", "--plan", "0" * 64],
    ("corpus", "evidence", "plan"): ["{recipe}"],
    ("corpus", "evidence", "sweep"): ["{recipe}", "clean_text.min_chars=1,2"],
    ("corpus", "export"): ["small-1.td1", "--format", "megatron", "--out", "{out}/export"],
    ("corpus", "export-signatures"): ["small-1.td1", "--snapshot", "s", "--out", "{out}/x.parquet"],
    ("corpus", "gc"): [],
    ("corpus", "lock"): ["{recipe}"],
    ("corpus", "mix"): ["small-1.td1"],
    ("corpus", "parts", "failed"): [],
    ("corpus", "parts", "retry"): [],
    ("corpus", "plan"): ["{recipe}"],
    ("corpus", "report"): ["small-1.td1"],
    ("corpus", "signals", "import"): ["{out}/s.jsonl", "--name", "x", "--columns", "score"],
    ("corpus", "signals", "show"): ["0" * 32, "--version", "small-1.td1"],
    ("corpus", "tokenizer", "sample"): ["small-1.td1"],
    ("corpus", "tokenizer", "sweep"): ["{recipe}"],
    ("corpus", "whatif"): ["{recipe}"],
    ("catalog", "release"): ["small-1.td1"],
    ("catalog", "takedown", "import"): ["{out}/t.csv", "--reason", "x"],
    ("catalog", "takedown", "request"): ["--url", "http://a.example/", "--reason", "x"],
    ("catalog", "takedown", "run"): [],
    ("catalog", "takedown", "withdraw"): ["1"],
}
NOT_REFUSING = {
    # they answer from the catalog, or say what is wrong
    *(
        ("catalog", name)
        for name in ("cluster", "copies", "diff", "exposure", "find", "judgements")
    ),
    *(("catalog", name) for name in ("lineage", "raw", "resolve", "serve", "sql", "trace")),
    *(("catalog", name) for name in ("status", "upgrade", "verify", "versions")),
    *(("catalog", "takedown", name) for name in ("keygen", "list", "restore", "show", "verify")),
    ("corpus", "ui"),
    ("corpus", "init"),  # refuses as `corpus build` does, once it has written a recipe
    ("corpus", "recipes"),
    # they touch no home, or only lists of files and models in it
    *(("corpus", "extraction", name) for name in ("eval", "label", "train")),
    *(("corpus", "models", name) for name in ("add", "fetch", "languages", "list", "pack")),
    *(("corpus", "snapshots", name) for name in ("add", "discover", "list", "remove")),
    *(("corpus", "parts", name) for name in ("skip", "unskip")),
    *(("corpus", "tokenizer", name) for name in ("audit", "name-slots")),
    ("corpus", "contamination", "judge"),
    ("corpus", "evidence", "run"),
    ("corpus", "plan-tokens"),
}


def _leaves(group: click.Group, name: str) -> Iterator[tuple[str, ...]]:
    for key, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from ((name, *rest) for rest in _leaves(command, key))
        else:
            yield name, key


def test_every_command_is_known_to_refuse_or_not() -> None:
    commands = {*_leaves(cli, "corpus"), *_leaves(catalog_main, "catalog")}
    assert commands == REFUSING.keys() | NOT_REFUSING
    assert not REFUSING.keys() & NOT_REFUSING


def test_no_command_starts_while_rows_of_standing_orders_are_missing(
    removed: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    out = removed.folder / "out"
    out.mkdir()
    (out / "s.jsonl").write_text('{"url": "http://a.example/", "score": 1}\n')
    (out / "t.csv").write_text("url\nhttp://a.example/\n")
    export = ["export", "small-1.td1", "--format", "megatron", "--out", str(out / "export")]
    assert main([*export, "--home", str(removed.home)]) == 0
    _sql(removed, *FORGET)
    known = {path for path in removed.folder.rglob("*") if "dagster" not in str(path)}
    where = {"recipe": removed.recipe, "out": out, "export": out / "export"}
    for command, arguments in REFUSING.items():
        given = [each.format(**where) for each in arguments]
        if command[0] == "catalog":
            done = CliRunner().invoke(
                catalog_main, [*command[1:], *given, "--home", str(removed.home)]
            )
            code, told = done.exit_code, done.stderr
        else:
            code = main([*command[1:], *given, "--home", str(removed.home)])
            told = capsys.readouterr().err
        assert code != 0, (command, told)
        assert "disagree with the order book" in told, (command, told)
    now = {path for path in removed.folder.rglob("*") if "dagster" not in str(path)}
    assert {p for p in now - known if not p.name.startswith("catalog.db")} == set()
