"""A takedown whose files cannot be deleted says so, stays open, and ends when they can be."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from catalog.cli.commands import main as catalog_main
from catalog.db.registry import Registry
from catalog.formats.store import FileStore as CatalogStore
from catalog.formats.urls import url_key
from catalog.takedown import requests as takedown
from catalog.takedown.certificates import CheckedProof, verify_takedown
from catalog.takedown.target import url_target
from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.session import open_session
from corpus_assets.takedown import run as runs
from corpus_assets.takedown.run import run_pending
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.small_corpus import prose, sentence
from corpus_assets_tests.tiny_corpus import HOST, make_tiny_corpus

PAGE = f"https://{HOST}/page-3"
NEAR = "http://near.example.net/copy"  # the longer one, which is kept for both
NOWHERE = "http://nowhere.example.org/"
VERSION = "small-1"
ORIGINAL = prose("first", 1, sentences=24)
TEXTS = {
    "http://near.example.net/original": ORIGINAL,
    NEAR: f"{ORIGINAL.replace('spring', 'early spring', 1)} {sentence('one more')}",
}
CLUSTERS = {"clusters": {"keep": "longest", "min_similarity": 0.7}}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of few files, whose takedown run died when the new version was published and nothing
    deleted."""
    folder = tmp_path_factory.mktemp("deletion")
    home = Home.resolve(str(folder / "home"))
    recipe = make_tiny_corpus(folder, others=TEXTS, vocab_size=640)
    with open_session(str(recipe), home, overrides=CLUSTERS) as session:
        build(session, VERSION)
    registry, store = Registry(home.catalog_url), CatalogStore(home.store_url)
    for url in (PAGE, NEAR, NOWHERE):
        takedown.request_takedown(registry, store, url_target(url, set()), "asked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "load_removed", _die)
        with pytest.raises(KeyboardInterrupt):
            run_pending(home)
    assert registry.version(VERSION).status == "revoked"
    return home.root


def _die(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.fixture
def home(published: Path, tmp_path: Path) -> Home:
    copy_home(published, tmp_path / "home")
    return Home.resolve(str(tmp_path / "home"))


@pytest.fixture(scope="module")
def undisturbed(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The same home after a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed") / "home"
    copy_home(published, folder)
    run_pending(Home.resolve(str(folder)))
    return Home.resolve(str(folder))


def _certificates(home: Home) -> list[dict[str, Any]]:
    rows = Registry(home.catalog_url).certificates()
    return [json.loads((home.root / "store" / row.path).read_bytes()) for row in rows]


def _verify(home: Home, number: int = 1) -> CheckedProof:
    return verify_takedown(Registry(home.catalog_url), CatalogStore(home.store_url), number)


@contextmanager
def _immovable(path: Path) -> Iterator[None]:
    """A file that nobody can delete, not even root."""
    try:
        subprocess.run(["chattr", "+i", str(path)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this file system or user cannot make a file undeletable")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", str(path)], check=True)


def test_a_file_that_cannot_be_deleted_is_named_and_the_request_stays_open(home: Home) -> None:
    registry = Registry(home.catalog_url)
    name = f"versions/{VERSION}/report.html"
    with _immovable(home.root / "store" / name):
        done = CliRunner().invoke(catalog_main, ["takedown", "run", "--home", str(home.root)])
        assert done.exit_code == 1, done.output
        assert "1 file of revoked versions could not be deleted" in done.stderr
        assert name in done.stderr
        first, *_ = _certificates(home)
        assert first["files"]["outcome"] == "left"
        assert first["files"]["left"] == [name]
        assert f"versions/{VERSION}/manifest.json" in first["files"]["deleted"]
        assert [row.id for row in registry.takedowns("failed")] == [1, 2, 3]
        proof = _verify(home)
        assert not proof.whole
        assert proof.files_left == [name]
        run_pending(home)
        assert len(_certificates(home)) == 3, "there was nothing new to say"
    assert run_pending(home) is not None
    second = _certificates(home)[3]
    assert second["files"]["outcome"] == "deleted"
    assert second["documents"] == first["documents"]
    assert second["clusters"] == first["clusters"]
    assert {row.status for row in registry.takedowns()} == {"done"}
    assert _verify(home).whole
    assert not list((home.root / "store" / "takedowns").glob("*"))


def test_a_foreign_file_that_holds_the_text_is_named_and_keeps_its_request_open(
    home: Home,
) -> None:
    parts = (home.root / "store" / "artifacts" / "documents").glob("*/documents.parquet")
    rows = [row for part in parts for row in pq.read_table(part).to_pylist()]
    (text,) = {row["text"] for row in rows if row["url_key"] == url_key(PAGE)}
    (home.root / "notes.txt").write_text(text)
    done = CliRunner().invoke(catalog_main, ["takedown", "run", "--home", str(home.root)])
    assert done.exit_code == 1
    assert "notes.txt holds 100% of a removed text: delete it" in done.stderr
    assert text[:40] not in done.output
    (row,) = Registry(home.catalog_url).takedowns("failed")
    assert "1 file still holds removed documents: notes.txt" in (row.error or "")
    (home.root / "notes.txt").unlink()
    assert run_pending(home) is not None
    assert {row.status for row in Registry(home.catalog_url).takedowns()} == {"done"}
    assert not list((home.root / "store" / "takedowns").glob("*"))


def test_a_deleted_file_that_is_there_again_breaks_the_proof(undisturbed: Home) -> None:
    assert _verify(undisturbed).whole
    path = _certificates(undisturbed)[0]["files"]["deleted"][0]
    again = undisturbed.root / "store" / path
    again.parent.mkdir(parents=True, exist_ok=True)
    again.write_bytes(b"back")
    try:
        proof = _verify(undisturbed)
    finally:
        again.unlink()
    assert not proof.whole
    assert proof.files_left == [path]


@pytest.mark.parametrize(
    "step", ["collect_garbage", "search_live", "write_certificates", "forget_removed"]
)
def test_a_run_that_dies_at_any_step_after_publishing_can_be_repeated(
    home: Home, undisturbed: Home, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    real = getattr(runs, step)

    def die_after(*arguments: Any, **named: Any) -> Any:
        real(*arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, step, die_after)
    with pytest.raises(KeyboardInterrupt):
        run_pending(home)
    monkeypatch.setattr(runs, step, real)
    run_pending(home)
    assert {row.status for row in Registry(home.catalog_url).takedowns()} == {"done"}
    assert [_matter(body) for body in _certificates(home)] == [
        _matter(body) for body in _certificates(undisturbed)
    ]


def _matter(body: dict[str, Any]) -> dict[str, Any]:
    """A certificate without what follows from when and where it was written."""
    moving = ("issued_at", "page_sha256", "previous_sha256", "search", "book")
    return {name: value for name, value in body.items() if name not in moving}


def test_the_first_sentence_names_a_near_copy_that_this_takedown_promoted(
    undisturbed: Home,
) -> None:
    body = _certificates(undisturbed)[1]
    copy, *_ = body["copies"]
    assert copy["url"] == "http://near.example.net/original"
    assert body["search"]["holding"] == [], "files between stages hold what live documents hold"
    assert copy["promoted"]
    assert copy["in_training_data"]
    assert not copy["exact"]
    assert 30 <= copy["share_percent"] <= 100
    page = (undisturbed.root / "store" / "certificates" / "00000002.html").read_text()
    lead = page.partition('<p class="lead open">')[2].partition("</p>")[0]
    assert "no exact copy of the text was found in what is left, but" in lead
    assert "in the training data, where this takedown put it" in lead
    assert "No copy of the text is left" not in page


def test_a_request_that_removed_nothing_proves_no_removal(undisturbed: Home) -> None:
    proof = _verify(undisturbed, 3)
    assert proof.documents_removed == 0
    assert not proof.whole
    done = CliRunner().invoke(
        catalog_main, ["takedown", "verify", "3", "--home", str(undisturbed.root)]
    )
    assert done.exit_code == 1
    assert "Nothing was removed" in done.output
    assert "Verified" not in done.output
