"""Damage of every kind, in every file of a home: `verify` names it, a takedown refuses it."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.errors import CatalogError
from catalog.formats.store import Store as CatalogStore
from catalog.verify.version import Problem, verify
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.core.store import LocalStore, load_result, sealed_json
from corpus_assets.session import reopen_session
from corpus_assets.takedown.run import run_pending
from corpus_assets.versions.publish import publish_version
from corpus_assets.versions.published import check_artifact_rows
from corpus_assets.versions.version import make_version
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.promises.erasure.build import run_all
from corpus_assets_tests.registry_states import add_orders

AFTER = f"{VERSION}.td1"
GATES = ("manifest.json", "contents.json", "lock.json", "files.json")
"""Without them the rest is not known."""


def home_of(place: Place) -> Home:
    return Home.resolve(str(place.home))


def registry_of(place: Place) -> Registry:
    return Registry(home_of(place).catalog_url)


def problems(place: Place) -> list[Problem]:
    store = CatalogStore(home_of(place).store_url)
    return verify(registry_of(place), store, VERSION).problems


def named(place: Place) -> set[str]:
    return {problem.subject for problem in problems(place)}


def stored(place: Place) -> dict[str, Path]:
    """Every file of the store by its path there."""
    files = (path for path in place.store.rglob("*") if path.is_file())
    return {path.relative_to(place.store).as_posix(): path for path in files}


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def replace(path: Path) -> None:
    """Another file of the same form: a number changed in JSON, else what anyone could write."""
    try:
        body = json.loads(path.read_bytes())
    except ValueError:
        path.write_bytes(b"something else")
    else:
        path.write_bytes(json.dumps({"extra": 1} | body if isinstance(body, dict) else 1).encode())


DAMAGES: tuple[Callable[[Path], None], ...] = (flip, cut, replace, Path.unlink)


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


def take_out(place: Place) -> None:
    """What a takedown run builds and publishes, without Dagster."""
    check_artifact_rows(registry_of(place))
    with reopen_session(home_of(place), VERSION) as session:
        run_all(session)
        made = make_version(session.pipeline, AFTER)
        publish_version(session.pipeline, session.registry, made, session.replaces)


def order(place: Place, host: str = "site-0.example.org") -> None:
    add_orders(registry_of(place), [SuppressionRow("host", host)])


def outputs(place: Place, stage: str, name: str) -> list[str]:
    """Files of a stage, those that hold `site-0` (part 0 of crawl-1) first."""
    rows = registry_of(place).artifacts(stage)
    first = sorted(rows, key=lambda row: (row.snapshot != "crawl-1", row.part))
    return [out.path for row in first for out in row.outputs if out.name.endswith(name)]


def kept(place: Place, name: str) -> str:
    """Where the copy of the one file that a setting names lies."""
    listed = json.loads((place.store / "versions" / VERSION / "files.json").read_bytes())
    (file,) = listed["files"][name]
    return f"sources/files/{file['sha256']}"


TRUSTED: dict[str, Callable[[Place], Iterable[str]]] = {
    "the recipe's copy": lambda p: ["sources/recipes/" + one.name
                                    for one in (p.store / "sources/recipes").iterdir()],
    "the lock": lambda p: [f"versions/{VERSION}/lock.json"],
    "the manifest": lambda p: [f"versions/{VERSION}/manifest.json"],
    "the list of contents": lambda p: [f"versions/{VERSION}/contents.json"],
    "the list of kept files": lambda p: [f"versions/{VERSION}/files.json"],
    "a kept list": lambda p: [kept(p, "blocklists")],
    "a snapshot's pins": lambda p: ["sources/books-1.json"],
    "a text that is filtered": lambda p: outputs(p, "documents", "documents.parquet")[:1],
    "records that are compared": lambda p: outputs(p, "documents", "records.parquet")[-1:],
    "signals that are shared": lambda p: outputs(p, "signals", "signals.parquet")[-1:],
    "signatures": lambda p: outputs(p, "signatures", "ties.bin")[:1],
    "a shard that is shared": lambda p: outputs(p, "shards", ".bin")[-1:],
    "a shard's index": lambda p: outputs(p, "shards", ".idx")[-1:],
    "a key file that is shared": lambda p: outputs(p, "lineage_keys", ".keys")[-1:],
    "a result": lambda p: [outputs(p, "shards", ".bin")[-1].rpartition("/")[0] + "/result.json"],
}  # fmt: skip


@pytest.mark.parametrize("what", TRUSTED)
def test_a_takedown_refuses_what_is_not_as_it_was_published(place: Place, what: str) -> None:
    order(place)
    (path,) = TRUSTED[what](place)
    flip(place.store / path)
    with pytest.raises(CorpusError, match=path.rpartition("/")[2]) as caught:
        take_out(place)
    assert "\n" not in str(caught.value)
    assert [row.status for row in registry_of(place).versions()] == ["live"]
    assert not (place.store / "versions" / AFTER).exists()
    assert (place.store / path).exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE versions SET lock_digest = (SELECT digest FROM locks), recipe_digest = 'x'",
        "UPDATE version_lineage SET part = part + 1 WHERE table_name = 'documents'",
        "UPDATE artifacts SET content_hash = fingerprint WHERE stage = 'signals'",
        "UPDATE artifact_outputs SET path = 'versions/small-t/manifest.json' WHERE rows = 0",
    ],
)
def test_a_takedown_refuses_a_registry_that_was_altered(place: Place, statement: str) -> None:
    order(place)
    connection = sqlite3.connect(place.home / "catalog.db", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute(statement)
    connection.close()
    with pytest.raises((CorpusError, CatalogError)):
        take_out(place)
    assert not (place.store / "versions" / AFTER).exists()


def test_a_number_altered_in_the_recipes_copy_takes_nothing_out(place: Place) -> None:
    (copy,) = (place.store / "sources/recipes").iterdir()
    body = json.loads(copy.read_bytes())
    body["recipe"]["selection"]["rules"][1]["min"] = 300
    copy.write_bytes(json.dumps(body).encode())
    asked = ["takedown", "request", "--url", "http://site-0.example.org/article"]
    runner = CliRunner()
    usual = ["--reason", "asked", "--home", str(place.home)]
    assert runner.invoke(catalog, [*asked, *usual]).exit_code == 0
    with pytest.raises(CorpusError, match=copy.name):
        run_pending(home_of(place))
    (row,) = registry_of(place).takedowns()
    assert (row.status, row.error is not None) == ("pending", True)
    assert [version.name for version in registry_of(place).versions()] == [VERSION]
    assert named(place) == {f"sources/recipes/{copy.name}"}


def test_a_result_of_another_task_is_refused(place: Place) -> None:
    one, other, *_ = place.artifacts("signals", "result.json")
    shutil.copyfile(other, one)
    with pytest.raises(CorpusError, match="is the result of signals"):
        load_result(LocalStore(place.store), "signals", one.parent.name)


def test_a_forged_result_does_not_fit_the_registry(place: Place) -> None:
    """Sealed anew, but with another content than the registry recorded."""
    order(place)
    result = place.artifacts("selection", "result.json")[0]
    body: dict[str, Any] = json.loads(result.read_bytes())
    del body["checksum"]
    body["outputs"]["selection.parquet"]["sha256"] = "0" * 64
    result.write_bytes(sealed_json(body))
    path = f"artifacts/selection/{result.parent.name}/result.json"
    assert path in named(place)
    with pytest.raises((CorpusError, CatalogError), match="recorded"):
        take_out(place)


def test_damage_in_what_calibrations_were_made_from_plays_no_part(place: Place) -> None:
    order(place)
    for stage in ("tokenizer", "tokenizer_sample", "line_counts", "eval_index", "classifiers"):
        for file in place.artifacts(stage):
            flip(file)
    take_out(place)
    assert (place.store / "versions" / AFTER / "manifest.json").exists()
