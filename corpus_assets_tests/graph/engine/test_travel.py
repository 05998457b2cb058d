"""What a task names by a path reaches machines that do not have it."""

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.store import LocalStore
from corpus_assets.core.task import Task
from corpus_assets.graph.engine import travel
from corpus_assets.graph.engine.travel import Packer, unpacked
from corpus_assets.ingest.records import SourceFile


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalStore:
    monkeypatch.setenv("CORPUS_CACHE", str(tmp_path / "cache"))
    travel._local.cache_clear()
    return LocalStore(tmp_path / "store")


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    folder = tmp_path / "recipe"
    for name in ("lists/a.txt", "lists/a.txt.gz", "model/config.json", "model/deep/weights.bin"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"what {name} holds")
    return folder


def test_files_and_folders_are_read_where_the_recipe_is_not(
    store: LocalStore, recipe: Path
) -> None:
    lists = [["adult", str(recipe / "lists/a.txt")], ["x", str(recipe / "lists/a.txt.gz")]]
    named = {"folder:m": str(recipe / "model"), "name": "plain", "there": "/nothing/is/here"}
    task = Task("square", 1, {"n": 1}, params={"lists": lists, "files": named})
    sent = Packer(store.url).packed(task)
    assert str(recipe) not in repr(sent)
    assert sent.fingerprint == task.fingerprint
    shutil.rmtree(recipe)
    params = unpacked(sent, store).params
    (_, first), (_, second) = params["lists"]
    assert (Path(first).name, Path(first).read_text()) == ("a.txt", "what lists/a.txt holds")
    assert (Path(second).name, Path(second).read_text()) == (
        "a.txt.gz",
        "what lists/a.txt.gz holds",
    )
    model = Path(params["files"]["folder:m"])
    assert (model / "config.json").read_text() == "what model/config.json holds"
    assert (model / "deep/weights.bin").read_text() == "what model/deep/weights.bin holds"
    assert (params["files"]["name"], params["files"]["there"]) == ("plain", "/nothing/is/here")


def test_a_source_file_stays_where_it_is(store: LocalStore, recipe: Path) -> None:
    path = recipe / "lists/a.txt"
    file = asdict(SourceFile("a.txt", str(path), path.stat().st_size, "0" * 64))
    sent = Packer(store.url).packed(Task("documents", 1, {}, params={"file": file}))
    assert sent.params["file"] == file
    assert list(store.list("sources")) == []


def test_a_list_that_was_changed_is_sent_anew(store: LocalStore, recipe: Path) -> None:
    path = recipe / "lists/a.txt"
    task = Task("square", 1, {}, params={"list": str(path)})
    packer = Packer(store.url)
    before = packer.packed(task)
    path.write_text("something longer than what it held")
    after = packer.packed(task)
    assert Path(unpacked(before, store).params["list"]).read_text() == "what lists/a.txt holds"
    assert Path(unpacked(after, store).params["list"]).read_text().startswith("something longer")


def test_a_copy_that_was_damaged_is_refused(store: LocalStore, recipe: Path) -> None:
    sent = Packer(store.url).packed(Task("s", 1, {}, params={"list": str(recipe / "lists/a.txt")}))
    [path] = store.list("sources/files")
    (store.root / path).write_text("something else")
    with pytest.raises(CorruptArtifact):
        unpacked(sent, store)


def test_a_home_that_is_elsewhere_is_replaced_by_the_cache(
    store: LocalStore, tmp_path: Path
) -> None:
    reach = {"settings": {}, "home": str(tmp_path / "home"), "base": "https://example.org/"}
    sent = Packer(store.url).packed(Task("documents", 1, {}, params={"reach": reach}))
    assert unpacked(sent, store).params["reach"]["home"] == str(tmp_path / "cache")
    (tmp_path / "home").mkdir()
    assert unpacked(sent, store).params["reach"] == reach
