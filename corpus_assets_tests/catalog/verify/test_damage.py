"""Damage of every kind, in every file of a home and in every table: `verify` names it."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.damage import DAMAGES, named, problems, stored

GATES = ("manifest.json", "contents.json", "lock.json", "files.json")
"""Without them the rest is not known."""


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_every_damaged_file_is_named(place: Place, damage: Callable[[Path], None]) -> None:
    assert problems(place) == []
    # A folder without any file is one that was deleted whole: a build makes it again.
    left = (*GATES, "result.json") if damage is Path.unlink else GATES
    files = {path: file for path, file in stored(place).items() if not path.endswith(left)}
    for file in files.values():
        damage(file)
    assert files.keys() <= named(place)


def test_a_removed_result_is_named_and_a_folder_that_can_be_made_again_is_not_missed(
    place: Place,
) -> None:
    shutil.rmtree(place.store / "artifacts" / "tokens")
    assert problems(place) == []
    results = [path for path in stored(place) if path.endswith("result.json")]
    for path in results:
        (place.store / path).unlink()
    assert set(results) <= named(place)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("gate", GATES)
def test_every_damaged_list_is_named(
    place: Place, gate: str, damage: Callable[[Path], None]
) -> None:
    path = f"versions/{VERSION}/{gate}"
    damage(place.store / path)
    assert path in named(place)


def test_files_that_no_record_names_are_told(place: Place) -> None:
    folders = {path.parent for path in stored(place).values() if "sources" not in path.parts}
    for folder in folders:
        (folder / ".left-behind.tmp").write_bytes(b"text")
    left = {
        path.relative_to(place.store).as_posix()
        for path in place.store.rglob(".left-behind.tmp")
        if "calibrations" not in path.parts or "versions" in path.parts
    }
    assert left <= named(place)


ROWS = (
    ("versions", "UPDATE versions SET lock_digest = lock_digest || '0'"),
    ("versions", "UPDATE versions SET documents = documents + 1"),
    ("version_shards", "UPDATE version_shards SET tokens = tokens + 1"),
    ("version_lineage", "UPDATE version_lineage SET rows = rows + 1 WHERE table_name = 'signals'"),
    ("version_lineage", "DELETE FROM version_lineage WHERE table_name = 'benchmark_hits'"),
    ("version_keys", "DELETE FROM version_keys WHERE id = (SELECT min(id) FROM version_keys)"),
    ("artifacts", "UPDATE artifacts SET content_hash = fingerprint WHERE stage = 'tokens'"),
    ("artifacts", "UPDATE artifacts SET documents_out = 3 WHERE stage = 'selection'"),
    ("artifact_outputs", "UPDATE artifact_outputs SET path = path || '0'"),
    ("artifact_outputs", "UPDATE artifact_outputs SET bytes = bytes + 1"),
    ("source_files", "UPDATE source_files SET digest = name"),
    ("locks", "UPDATE locks SET json = '{}'"),
    ("recipes", "UPDATE recipes SET yaml = replace(yaml, '0.8', '0.9')"),
    ("models", "UPDATE models SET sha256 = sha256 || '0'"),
    ("sources", "DELETE FROM sources"),
)


def alter(place: Place, statement: str) -> None:
    """Change the registry behind everybody's back."""
    with sqlite3.connect(place.home / "catalog.db") as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()


@pytest.mark.parametrize(("table", "statement"), ROWS, ids=[row[1] for row in ROWS])
def test_an_altered_row_of_the_registry_is_found(place: Place, table: str, statement: str) -> None:
    alter(place, statement)
    assert problems(place), f"{table} was changed and nothing said"


def test_a_damaged_database_is_one_line(place: Place) -> None:
    with open(place.home / "catalog.db", "r+b") as handle:
        handle.seek(4096)
        handle.write(b"\xff" * 4096)
    done = CliRunner().invoke(catalog, ["verify", VERSION, "--home", str(place.home)])
    assert done.exit_code in (1, 2)
    assert "Traceback" not in done.output
