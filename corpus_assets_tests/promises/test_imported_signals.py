"""Annotations of others in a build, and P4 over them: rows go with the page they speak of."""

import contextlib
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.formats.urls import url_key
from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets.session import open_session
from corpus_assets.takedown.run import run_pending
from corpus_assets_tests.cli.test_commands import said
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.promises.test_kept_files import AFTER, BASE, URL, _build, _read_all_again
from corpus_assets_tests.registry_states import add_orders
from corpus_assets_tests.small_corpus import RECIPE, make_small_corpus

Captured = pytest.CaptureFixture[str]
COLUMNS = "topic=page_topic,audience"


@pytest.fixture(autouse=True, scope="module")
def _settings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL", "DAGSTER_HOME"):
            patch.delenv(name, raising=False)
        yield


def annotations(folder: Path) -> Path:
    path = folder / "released.jsonl"
    rows = [
        {
            "url": f"https://www.site-{i}.example.org/article#top",
            "page_topic": ("law", "health")[i % 2],
            "audience": {"level": "adult", "score": i},
        }
        for i in range(30)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def bring_in(file: Path, home: Path) -> dict[str, Any]:
    command = ("signals", "import", str(file), "--name", "released", "--columns", COLUMNS)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main([*command, "--home", str(home), "--json"]) == 0
    made: dict[str, Any] = json.loads(printed.getvalue())
    return made


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Path:
    """Copies of both homes."""
    for name in ("home", "scratch"):
        copy_home(built / name, tmp_path / name)
    return tmp_path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a version, and one that never saw the page under the version's lock."""
    folder = tmp_path_factory.mktemp("imported")
    make_small_corpus(folder)
    file = annotations(folder)
    family = bring_in(file, folder / "home")["family"]
    recipe = yaml.safe_load(RECIPE)
    recipe["signals"]["families"].append(family)
    recipe["selection"]["rules"].append(
        {"name": "topic", "signal": "topic", "in": ["law"],
         "where": {"signal": "audience.score", "min": 5}}
    )  # fmt: skip
    (folder / "small.yaml").write_text(yaml.safe_dump(recipe))
    with open_session(str(folder / "small.yaml"), Home.resolve(str(folder / "home"))) as session:
        _build(session, BASE)
    scratch = Home.resolve(str(folder / "scratch"))
    registry = Registry(scratch.catalog_url)
    registry.upgrade()
    add_orders(registry, [SuppressionRow("url_key", url_key(URL))])
    again = bring_in(file, scratch.root)
    assert (again["family"], again["removed"]) == (family, 1), "named as it was, without the page"
    lock = folder / "home/store/versions" / BASE / "lock.json"
    with open_session(str(folder / "small.yaml"), scratch, lock=str(lock)) as session:
        _build(session, AFTER)
    return folder


def holds(home: Path, text: str) -> list[str]:
    return [p.name for p in (home / "store/imports").rglob("*") if text.encode() in p.read_bytes()]


@pytest.mark.parametrize("lost", [False, True])
def test_rows_go_with_their_page_and_the_rest_is_as_if_it_had_never_been(
    place: Path, lost: bool
) -> None:
    home = Home.resolve(str(place / "home"))
    report = (home.root / "store/versions" / BASE / "report.html").read_text()
    assert "Imported signals" in report
    assert holds(home.root, url_key(URL)) != []
    if lost:
        _read_all_again(home)
    asked = ["takedown", "request", "--url", URL, "--reason", "asked", "--home", str(home.root)]
    assert CliRunner().invoke(catalog, asked).exit_code == 0
    run_pending(home)
    assert version_files(home.root, AFTER) == version_files(place / "scratch", AFTER)
    assert holds(home.root, url_key(URL)) == []
    assert holds(home.root, url_key("http://site-4.example.org/article")) != []


@pytest.mark.slow
def test_rows_by_address_go_with_a_document_that_was_asked_for_by_its_id(
    place: Path, capsys: Captured
) -> None:
    """A row that another capture of the address, or another copy of the text, is joined with
    stays: that document's signals may not change."""
    home = Home.resolve(str(place / "home"))
    texts = {row["url_key"]: row for row in live_texts(home.root, BASE)}
    alone, copied = (url_key(f"http://site-{i}.example.org/article") for i in (4, 3))
    again = url_key("http://site-5.example.org/article")  # in both crawls
    by_text = place / "by-text.jsonl"
    ids = {key: texts[key]["text_id"].hex() for key in (alone, copied)}
    by_text.write_text("".join(json.dumps({"id": i, "note": "x"}) + "\n" for i in ids.values()))
    said(capsys, "signals", "import", str(by_text), "--name", "notes", "--columns", "note",
         "--key", "text_id", "--key-column", "id", "--home", str(home.root))  # fmt: skip
    for key in (alone, copied, again):
        asked = ["takedown", "request", "--doc-id", texts[key]["doc_id"].hex(), "--reason", "asked"]
        assert CliRunner().invoke(catalog, [*asked, "--home", str(home.root)]).exit_code == 0
    run_pending(home)
    assert holds(home.root, alone) == holds(home.root, copied) == []
    assert holds(home.root, again) != []
    assert holds(home.root, ids[alone]) == []
    assert holds(home.root, ids[copied]) != []


def live_texts(home: Path, version: str) -> list[dict[str, Any]]:
    registry = Registry(Home.resolve(str(home)).catalog_url)
    return [
        row
        for file in registry.lineage_files(version, "documents")
        for row in pq.read_table(home / "store" / file.path).to_pylist()
    ]


def test_the_command_says_what_to_write_into_a_recipe(tmp_path: Path, capsys: Captured) -> None:
    file = annotations(tmp_path)
    file.write_text(file.read_text() + file.read_text() + '{"page_topic": "x"}\n')
    shutil.copy(file, tmp_path / "other.jsonl")
    told = said(capsys, "signals", "import", str(tmp_path / "other.jsonl"), "--name", "released",
                "--columns", COLUMNS, "--home", str(tmp_path / "home"))  # fmt: skip
    first, _, line = told.strip().splitlines()
    assert first == "30 rows; 1 more have no url, 30 repeat one"
    (family,) = yaml.safe_load(line)
    assert family["columns"] == {
        "topic": "label",
        "audience": {"level": "label", "score": "number"},
    }
    assert family["sha256"] == bring_in(file, tmp_path / "home")["sha256"]
    wrong = [
        "signals",
        "import",
        str(file),
        "--name",
        "a",
        "--columns",
        "none",
        "--home",
        str(tmp_path),
    ]
    assert main(wrong) == 1
    assert "released.jsonl cannot be read" in capsys.readouterr().err
