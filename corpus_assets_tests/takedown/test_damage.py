"""A takedown refuses a home that is not as it was published, and leaves it as it is."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from catalog.errors import CatalogError
from catalog.formats.store import FileStore as CatalogStore
from catalog.verify.version import verify
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.store import LocalStore, load_result, sealed_json
from corpus_assets.takedown.run import run_pending
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.damage import AFTER, flip, home_of, named, order, registry_of, take_out


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


def test_a_takedown_reads_no_file_that_both_versions_have_and_verify_does(place: Place) -> None:
    order(place)
    shared = [outputs(place, "shards", ".bin")[-1], outputs(place, "lineage_keys", ".keys")[-1]]
    for path in shared:
        flip(place.store / path)
    take_out(place)
    store = CatalogStore(home_of(place).store_url)
    found = verify(registry_of(place), store, AFTER).problems
    assert set(shared) <= {problem.subject for problem in found}


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
