"""P4 for requests by text, where live versions read the same page differently."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from catalog.db.rows import NewTakedown, SuppressionRow
from catalog.formats.store import FileStore as CatalogStore
from catalog.formats.urls import url_key
from catalog.takedown.certificates import verify_takedown
from catalog.takedown.requests import Rematched
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.session import open_session
from corpus_assets.takedown import run
from corpus_assets.takedown.run import run_pending
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.ingest.warc_bytes import response
from corpus_assets_tests.promises.test_kept_files import _build
from corpus_assets_tests.registry_states import add_orders
from corpus_assets_tests.small_corpus import prose, stored_member

ENGINES = {"plain-1": "resiliparse", "blocks-1": "blocks"}
URL = "http://site-3.example.org/article"
COPY = "http://site-8.example.org/copy"
RECIPE = """\
name: NAME
seed: 3
sources:
  - {name: web, format: warc, domain: web, snapshots: {crawl-1: "web/*.warc.gz"}}
  - name: made
    format: jsonl
    domain: made
    fields: {key: id, derived_from: from, generator: by}
    snapshots: {made-1: made.jsonl}
documents: {extraction: {engine: ENGINE}}
signals: {families: [{family: gopher_quality}]}
selection: {rules: [{name: short, signal: n_words, min: 5}]}
tokenizer:
  train: {vocab_size: 300, special_slots: 2}
shards: {seq_len: 64, tokens_per_shard: 1024}
mixture: {shares: {domain: {web: 0.5, made: 0.5}}}
"""


def page(text: str) -> bytes:
    """A page that engines read differently: with and without what stands around the article."""
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    menu = "".join(f"<li><a href='/{i}'>Part {i} of the archive</a></li>" for i in range(4))
    return (
        f"<html><head><title>Notes</title></head><body><ul class='nav'>{menu}</ul><article>"
        f"<h1>Notes</h1>{paragraphs}</article><div class='footer'>All notes are kept by the "
        "harbour office and may be read at any time of the year.</div></body></html>"
    ).encode()


@pytest.fixture(autouse=True, scope="module")
def _settings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL", "DAGSTER_HOME"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two live versions of one crawl, and of a text made from one of its pages."""
    folder = tmp_path_factory.mktemp("by-text")
    pages = [response(f"http://site-{i}.example.org/article", page(prose(i))) for i in range(7)]
    pages.append(response(COPY, page(prose(3))))
    (folder / "web").mkdir()
    (folder / "web/a.warc.gz").write_bytes(b"".join(map(stored_member, pages)))
    made = [
        {"id": f"m-{i}", "text": prose("made", i), "by": "rewriter",
         "from": f"http://site-{i}.example.org/article"}
        for i in range(5)
    ]  # fmt: skip
    (folder / "made.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    for version, engine in ENGINES.items():
        recipe = folder / f"{version}.yaml"
        recipe.write_text(RECIPE.replace("NAME", version).replace("ENGINE", engine))
        assert yaml.safe_load(recipe.read_text())
        with open_session(str(recipe), Home.resolve(str(folder / "home"))) as session:
            _build(session, version)
    return folder


def registry_of(home: Path) -> Registry:
    return Registry(Home.resolve(str(home)).catalog_url)


def documents(home: Path, version: str, table: str = "documents") -> dict[str, dict[str, Any]]:
    """Rows of a version's documents, by id."""
    rows = [
        row
        for file in registry_of(home).lineage_files(version, table)
        for row in pq.read_table(home / "store" / file.path).to_pylist()
    ]
    return {row["doc_id"].hex(): row for row in rows}


def victim(home: Path, version: str) -> dict[str, Any]:
    """The page of which another text was made."""
    return next(r for r in documents(home, version).values() if r["url_key"] == url_key(URL))


def request(home: Path, *arguments: str) -> dict[str, Any]:
    asked = ["takedown", "request", *arguments, "--reason", "asked", "--home", str(home), "--json"]
    done = CliRunner().invoke(catalog, asked)
    assert done.exit_code == 0, done.output
    answer: dict[str, Any] = json.loads(done.output)
    return answer


def by_text(home: Path, version: str, kind: str, folder: Path) -> None:
    """File a request for the text that a version has of the page."""
    row = victim(home, version)
    if kind == "file":
        (folder / "text.txt").write_text(row["text"])
        request(home, "--text-file", str(folder / "text.txt"))
    elif kind == "sha256":
        request(home, "--text-sha256", hashlib.sha256(row["text"].encode()).hexdigest())
    else:
        (folder / "asked.csv").write_text(f"text_id,reason\n{row['text_id'].hex()},asked\n")
        asked = ["takedown", "import", str(folder / "asked.csv"), "--home", str(home)]
        assert CliRunner().invoke(catalog, asked).exit_code == 0


def never_seen(base: Path, home: Path, scratch: Path) -> dict[str, dict[str, str]]:
    """Files of both versions in a home that knew the orders first, under the same locks."""
    orders = [SuppressionRow(r.kind, r.value) for r in registry_of(home).suppressions()]
    place = Home.resolve(str(scratch))
    registry = Registry(place.catalog_url)
    registry.upgrade()
    add_orders(registry, orders)
    for version in ENGINES:
        lock = str(base / "home/store/versions" / version / "lock.json")
        with open_session(str(base / f"{version}.yaml"), place, lock=lock) as session:
            _build(session, f"{version}.td1")
    return {version: version_files(scratch, f"{version}.td1") for version in ENGINES}


@pytest.mark.parametrize(
    ("kind", "asked_of"),
    [("file", "plain-1"), ("sha256", "blocks-1"), ("text_id", "plain-1")],
)
def test_a_text_of_one_version_takes_its_documents_out_of_all(
    base: Path, tmp_path: Path, kind: str, asked_of: str
) -> None:
    home = tmp_path / "home"
    copy_home(base / "home", home)
    rows = {version: victim(home, version) for version in ENGINES}
    assert len({row["doc_id"] for row in rows.values()}) == 1
    assert len({row["text_id"] for row in rows.values()}) == 2, "the engines should differ"
    gone = {
        doc_id
        for doc_id, row in documents(home, asked_of).items()
        if row["url_key"] in (url_key(URL), url_key(COPY), "made:m-3")
    }
    assert len(gone) == 3
    by_text(home, asked_of, kind, tmp_path)
    outcome = run_pending(Home.resolve(str(home)))
    assert outcome is not None
    assert {c.before for c in outcome.changes} == set(ENGINES)
    for version in ENGINES:
        for table in ("documents", "final_text", "spans"):
            assert gone.isdisjoint(documents(home, f"{version}.td1", table))
    registry = registry_of(home)
    assert [row.status for row in registry.takedowns()] == ["done"]
    proof = verify_takedown(registry, CatalogStore(str(home / "store")), 1)
    assert proof.whole
    assert proof.documents_removed == 3
    for version in ENGINES:
        before, after = (
            next(gate for gate in registry.gates(name) if gate.name == "audit")
            for name in (version, f"{version}.td1")
        )
        assert (before.outcome, after.outcome) == ("passed", "not measured")
        assert "audit ran on 0 held-out texts: not measured" in after.detail["message"]
        assert after.passed, "it closes nothing"
    if kind == "file":
        made = {version: version_files(home, f"{version}.td1") for version in ENGINES}
        assert made == never_seen(base, home, tmp_path / "scratch")


def test_a_run_that_leaves_a_removed_document_in_a_version_is_not_done(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    copy_home(base / "home", home)
    registry = registry_of(home)
    text_id = victim(home, "plain-1")["text_id"].hex()
    asked = NewTakedown("text_id", text_id, False, "asked", suppressions=(("text_id", text_id),))
    registry.file_takedowns([asked])
    monkeypatch.setattr(run, "look_again", lambda *_: Rematched({}, [], []))
    with pytest.raises(CorpusError, match=r"2 removed documents still in blocks-1: "):
        run_pending(Home.resolve(str(home)))
    (row,) = registry.takedowns()
    assert (row.status, registry.certificates()) == ("pending", [])
    assert row.error is not None
    assert "still in blocks-1" in row.error
    monkeypatch.undo()
    for doc_id in re.findall("[0-9a-f]{32}", row.error):
        request(home, "--doc-id", doc_id)
    run_pending(Home.resolve(str(home)))
    assert {row.status for row in registry.takedowns()} == {"done"}
    for row in registry.takedowns():
        assert verify_takedown(registry, CatalogStore(str(home / "store")), row.id).whole
