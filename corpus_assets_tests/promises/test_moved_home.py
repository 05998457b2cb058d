"""A home that was copied, moved or renamed keeps its originals and its proofs."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.lineage.tables import Lineage
from corpus_assets.cli.main import main as corpus
from corpus_assets_tests.conftest import VERSION
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.tiny_corpus import HOST, make_tiny_corpus

URL = f"https://{HOST}/page-3"
Moved = Callable[[Path, Path], None]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with its sources inside it; tests work on copies."""
    home = tmp_path_factory.mktemp("built") / "home"
    recipe = make_tiny_corpus(home / "corpus", vocab_size=640)
    options = ["--home", str(home), "--version", VERSION, "--workers", "1"]
    assert corpus(["build", str(recipe), *options]) == 0
    return home


def moved(old: Path, new: Path) -> None:
    old.rename(new)


def linked(old: Path, new: Path) -> None:
    """The home itself is elsewhere now, and its old place leads there."""
    old.rename(new)
    old.symlink_to(new)


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(copy_home, id="copied"),
        pytest.param(moved, id="moved", marks=pytest.mark.slow),
        pytest.param(linked, id="linked", marks=pytest.mark.slow),
    ],
)
def test_a_home_can_be_moved(
    how: Moved, built: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    copy_home(built, old)
    how(old, new)
    at = ["--home", str(new)]
    assert run(catalog, ["raw", find_doc(new), *at]) == 0
    assert run(catalog, ["takedown", "request", "--url", URL, "--reason", "asked", *at]) == 0
    assert run(catalog, ["takedown", "run", *at]) == 0
    assert "delete" not in capfd.readouterr().err
    assert run(catalog, ["takedown", "verify", "1", *at]) == 0
    assert str(old) not in capfd.readouterr().out


def test_a_second_copy_of_a_source_is_known_by_its_content(
    built: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody is told to delete a file that a snapshot pins, whatever it is called."""
    home = tmp_path / "home"
    copy_home(built, home)
    shutil.copy(home / "corpus" / "pages.jsonl", home / "backup")
    at = ["--home", str(home)]
    assert run(catalog, ["takedown", "request", "--url", URL, "--reason", "asked", *at]) == 0
    assert run(catalog, ["takedown", "run", *at]) == 0
    assert "delete" not in capfd.readouterr().err
    assert run(catalog, ["takedown", "verify", "1", *at]) == 0


def test_a_build_in_a_moved_home_reads_no_source_again(
    built: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new"
    copy_home(built, new)
    recipe = str(new / "corpus" / "tiny.yaml")
    assert corpus(["plan", recipe, "--home", str(new)]) == 0
    assert "compute " not in capfd.readouterr().out


def find_doc(home: Path) -> str:
    registry = Registry(f"sqlite:///{home}/catalog.db", home=home)
    with Lineage(registry, FileStore(home / "store"), VERSION) as lineage:
        row = lineage.query(
            f"SELECT doc_id FROM {lineage.scan('records')} WHERE reason IS NULL LIMIT 1"
        )[0]
    return str(row["doc_id"].hex())


def run(command: Callable[..., int], arguments: list[str]) -> int:
    try:
        return command(arguments) or 0
    except SystemExit as end:
        return int(end.code or 0)
