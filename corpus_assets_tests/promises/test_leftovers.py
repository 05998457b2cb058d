"""What killed runs leave: temporary files go, finished work stays for the next run."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.formats.store import FileStore as CatalogStore
from catalog.formats.temporary_files import leftovers
from catalog.formats.urls import url_key
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.session import open_session
from corpus_assets.takedown.run import run_pending
from corpus_assets.versions.gc import collect_garbage
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.killed_writer import kill_while_writing
from corpus_assets_tests.promises.erasure.build import Abandoned, run_all
from corpus_assets_tests.registry_states import add_orders, revoke

URL = "http://site-3.example.org/article"
TEXT = "Nobody but this page says: the heron of Wrzesnia counts its feathers at noon. "
PLACES = (
    f"store/artifacts/documents/{'a' * 64}/documents.parquet",  # nobody recorded it
    "store/versions/small-1/report.html",
    "store/parts/b.json",
    "cache/sources/page.warc.gz",
)


@pytest.fixture
def home(small_build: Place, tmp_path: Path) -> Home:
    """A copy of the home in which writers were killed at every kind of place."""
    copy_home(small_build.home, tmp_path / "home")
    for path in PLACES:
        kill_while_writing(tmp_path / "home", path, TEXT)
    assert _holding_text(tmp_path / "home")
    return Home.resolve(str(tmp_path / "home"))


def _holding_text(folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if TEXT.encode() in path.read_bytes()]


def test_a_collection_leaves_nothing_of_killed_writers(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sum(path.stat().st_size for path in leftovers(home.root))
    assert main(["gc", "--dry-run", "--home", str(home.root)]) == 0
    told = capsys.readouterr().out
    assert f"{len(PLACES)} files, {before / 2**20:.1f} MiB" in told
    assert list(leftovers(home.root))
    assert main(["gc", "--home", str(home.root)]) == 0
    assert list(leftovers(home.root)) == []
    assert _holding_text(home.root) == []


def test_a_takedown_leaves_nothing_of_killed_writers(home: Home) -> None:
    registry = Registry(home.catalog_url)
    request_takedown(registry, CatalogStore(home.store_url), url_target(URL), "asked")
    assert run_pending(home) is not None
    assert list(leftovers(home.root)) == []
    assert _holding_text(home.root) == []


def test_where_revoked_versions_are_kept_only_the_leftovers_of_killed_runs_go(home: Home) -> None:
    registry, store = Registry(home.catalog_url), open_store(home.store_url)
    revoke(registry, "small-1")
    before = {*store.list("artifacts"), *store.list("versions")}
    store.write("versions/killed/report.html", TEXT.encode())  # killed before it was published
    collect_garbage(store, registry, home, keep_revoked=True)
    assert {*store.list("artifacts"), *store.list("versions")} == before
    assert _holding_text(home.root) == []
    collect_garbage(store, registry, home)
    assert [*store.list("artifacts/documents"), *store.list("versions")] == []


@pytest.fixture
def unfinished(small_build: Place, tmp_path: Path) -> Home:
    """A home where a run died before it published anything."""
    home = Home.resolve(str(tmp_path / "home"))
    with open_session(str(small_build.recipe), home) as session:
        for snapshot in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, snapshot)
        with pytest.raises(Abandoned):
            run_all(session, 12)
    return home


def test_a_collection_leaves_the_finished_work_of_a_build_that_has_not_published(
    unfinished: Home,
) -> None:
    registry, store = Registry(unfinished.catalog_url), open_store(unfinished.store_url)
    before = set(store.list("artifacts"))
    assert collect_garbage(store, registry, unfinished).files == 0
    assert set(store.list("artifacts")) == before
    gone = collect_garbage(store, registry, replace(unfinished, keep_unpublished_days=0))
    assert gone.files
    assert list(store.list("artifacts/documents")) == []


def test_what_an_order_names_goes_however_young_it_is_and_what_it_does_not_name_stays(
    unfinished: Home,
) -> None:
    registry, store = Registry(unfinished.catalog_url), open_store(unfinished.store_url)
    before = {row.fingerprint for row in registry.artifacts("documents")}
    assert url_key(URL) in _url_keys(unfinished)
    add_orders(registry, [SuppressionRow("url_key", url_key(URL))])
    collect_garbage(store, registry, unfinished)
    left = {row.fingerprint for row in registry.artifacts("documents")}
    assert set() < left < before
    assert url_key(URL) not in _url_keys(unfinished)
    living = {output.sha256 for row in registry.artifacts() for output in row.outputs}
    assert not any(part in path for part in before - left for path in store.list("artifacts"))
    for row in registry.artifacts("signals"):
        assert all(item.content_hash in living for item in row.inputs if item.name == "documents")


def _url_keys(home: Home) -> set[str]:
    """The addresses of all documents in the store."""
    files = Path(home.store_url).glob("artifacts/documents/*/documents.parquet")
    return {
        key
        for path in files
        for key in pq.read_table(path, columns=["url_key"])["url_key"].to_pylist()
    }
