"""P4: what a takedown leaves is, byte for byte, a build that never took the document in.

One case of each kind, on a corpus with every stage in it. `test_erasable_random.py` has the many.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.formats.store import FileStore as CatalogStore
from catalog.takedown import requests as takedown
from catalog.takedown.target import doc_id_target
from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.defs.runs import DagsterRuns
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.session import Session, open_session, reopen_session
from corpus_assets.takedown.run import run_pending
from corpus_assets.text.sketch import SketchIndex
from corpus_assets.versions.gc import collect_garbage
from corpus_assets.versions.publish import publish_version
from corpus_assets.versions.version import make_version
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.promises.erasure.build import run_all
from corpus_assets_tests.registry_states import add_orders

BASE = "small-1"
AFTER = "small-1.td1"
Order = tuple[str, str]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL"):
        monkeypatch.delenv(name, raising=False)


def _build(session: Session, version: str) -> None:
    """The whole graph without Dagster, which would take most of the time."""
    if not session.replaces:
        for snapshot in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, snapshot)
    run_all(session)
    made = make_version(session.pipeline, version)
    publish_version(session.pipeline, session.registry, made, session.replaces)


def _order(home: Path, orders: Sequence[Order]) -> None:
    registry = Registry(Home.resolve(str(home)).catalog_url)
    registry.upgrade()
    add_orders(registry, [SuppressionRow(kind, value) for kind, value in orders])


@pytest.fixture(scope="module")
def base(small_build: Place) -> Path:
    """A folder with the small corpus and a home that holds its first version."""
    return small_build.folder


def take_out(base: Path, folder: Path, batches: Sequence[Sequence[Order]]) -> Path:
    """Copies the finished home and takes the batches out of it, one rebuild after the other."""
    home = folder / "incremental"
    copy_home(base / "home", home)
    version = BASE
    for number, orders in enumerate(batches, 1):
        _order(home, orders)
        with reopen_session(Home.resolve(str(home)), version) as session:
            _build(session, f"{BASE}.td{number}")
        version = f"{BASE}.td{number}"
    return home


def never_seen(base: Path, folder: Path, orders: Sequence[Order], version: str) -> Path:
    """A new home that knew the orders before it read anything, under the same lock."""
    home = folder / "scratch"
    _order(home, orders)
    lock = base / "home" / "store" / "versions" / BASE / "lock.json"
    recipe = base / "corpus" / "small.yaml"
    with open_session(str(recipe), Home.resolve(str(home)), lock=str(lock)) as session:
        _build(session, version)
    return home


def all_documents(base: Path) -> list[dict[str, Any]]:
    """Every record of the corpus with its keys, text id, fate and cluster role."""
    artifacts = base / "home" / "store" / "artifacts"
    table = duckdb.sql(
        "select lower(hex(r.doc_id)) doc_id, r.url_key, r.host, r.snapshot, "
        "lower(hex(t.text_id)) text_id, 'v1:' || lower(hex(t.sketch)) near_text, "
        "d.kept, m.kept as leads, lower(hex(m.kept_doc_id)) led_by "
        "from read_parquet($records) r "
        'join read_parquet($decisions) d using (doc_id, snapshot, part, "offset") '
        "left join read_parquet($texts) t using (doc_id) "
        "left join read_parquet($members) m using (doc_id) order by all",
        params={
            "records": str(artifacts / "documents" / "*" / "records.parquet"),
            "texts": str(artifacts / "documents" / "*" / "documents.parquet"),
            "decisions": str(artifacts / "clean_text" / "*" / "decisions.parquet"),
            "members": str(artifacts / "clusters" / "*" / "members-*.parquet"),
        },
    )
    return [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]


def lone_page(base: Path) -> dict[str, Any]:
    """A kept web page that stands for no other, of its own snapshot or a later one."""
    known = all_documents(base)
    leaders = {document["led_by"] for document in known}
    return next(d for d in known if d["kept"] and d["doc_id"] not in leaders and d["host"])


def _same(base: Path, folder: Path, batches: Sequence[Sequence[Order]]) -> tuple[Path, str]:
    """Compare both ways; gives the incremental home and its last version."""
    version = f"{BASE}.td{len(batches)}"
    incremental = take_out(base, folder, batches)
    orders = [order for batch in batches for order in batch]
    scratch = never_seen(base, folder, orders, version)
    assert version_files(incremental, version) == version_files(scratch, version)
    assert lineage(incremental, version) == lineage(scratch, version)
    return incremental, version


def test_a_kept_document_without_copies(base: Path, tmp_path: Path) -> None:
    alone = lone_page(base)
    home, version = _same(base, tmp_path, [[("url_key", alone["url_key"])]])
    assert version_files(home, version) != version_files(home, BASE)


def test_the_representative_of_a_cluster_gives_way_to_another_member(
    base: Path, tmp_path: Path
) -> None:
    lead = next(d for d in all_documents(base) if d["leads"] and d["kept"])
    home, version = _same(base, tmp_path, [[("doc_id", lead["doc_id"])]])
    before, after = (_kept(home, name) for name in (BASE, version))
    promoted = after - before
    assert lead["doc_id"] in before
    assert lead["doc_id"] not in after
    assert len(promoted) == 1


def test_a_copy_that_was_not_kept_changes_no_shard(base: Path, tmp_path: Path) -> None:
    copy = next(d for d in all_documents(base) if d["leads"] is False)
    home, version = _same(base, tmp_path, [[("doc_id", copy["doc_id"])]])
    assert _shards(home, version) == _shards(home, BASE)


def test_a_whole_site_and_a_prefix_and_a_text(base: Path, tmp_path: Path) -> None:
    known = all_documents(base)
    text = next(d for d in known if d["kept"] and d["text_id"] and not d["host"])
    orders = [
        ("host", "harbour.example.com"),
        ("url_prefix", "org,example,news-1"),
        ("text_id", text["text_id"]),
    ]
    home, version = _same(base, tmp_path, [orders])
    gone = _kept(home, BASE) - _kept(home, version)
    assert len(gone) > 8


def test_a_near_copy_under_another_address_goes_with_the_text(base: Path, tmp_path: Path) -> None:
    known = [d for d in all_documents(base) if d["near_text"]]
    tried = [d["near_text"] for d in known]
    column = pa.array([bytes.fromhex(value[3:]) for value in tried], pa.binary(224))
    page = next(
        d
        for d in known
        if d["kept"]
        and len({o["text_id"] for o in _covered(known, column, d)}) > 1
        and len({o["url_key"] for o in _covered(known, column, d)}) > 1
    )
    home, version = _same(base, tmp_path, [[("near_text", page["near_text"])]])
    gone = {d["doc_id"] for d in _covered(known, column, page)}
    assert len(gone) > 1
    assert not gone & _kept(home, version)


def _covered(
    known: list[dict[str, Any]], column: pa.Array, page: dict[str, Any]
) -> list[dict[str, Any]]:
    """Documents whose text an order against near copies of the page covers."""
    mask = SketchIndex([page["near_text"]]).match(column)
    return [document for document, gone in zip(known, mask, strict=True) if gone]


def test_a_domain_of_which_nothing_is_left_is_taken_out_all_the_same(
    base: Path, tmp_path: Path
) -> None:
    books = [row for row in all_documents(base) if row["snapshot"] == "books-1"]
    orders = [("doc_id", row["doc_id"]) for row in books]
    home, version = _same(base, tmp_path, [orders])
    assert not {row["doc_id"] for row in books} & _kept(home, version)
    drawn = {group for phase in _manifest(home, version)["phases"] for group in phase["counts"]}
    assert drawn
    assert not [group for group in drawn if group.startswith("books-1/")]


def test_one_takedown_after_another_equals_all_at_once(base: Path, tmp_path: Path) -> None:
    kept = [d for d in all_documents(base) if d["kept"]]
    batches = [[("doc_id", d["doc_id"])] for d in random.Random(3).sample(kept, 3)]
    _same(base, tmp_path, batches)


def test_a_takedown_run_through_dagster_equals_a_build_through_dagster(
    base: Path, tmp_path: Path
) -> None:
    lead = next(d for d in all_documents(base) if d["leads"] and d["kept"] and d["host"])
    home = Home.resolve(str(tmp_path / "incremental"))
    copy_home(base / "home", home.root)
    registry, store = Registry(home.catalog_url), CatalogStore(home.store_url)
    takedown.request_takedown(
        registry, store, doc_id_target(lead["doc_id"]), "asked", near_duplicates=True
    )
    assert run_pending(home, runner=DagsterRuns()) is not None
    orders = [(row.kind, row.value) for row in registry.suppressions()]
    scratch = Home.resolve(str(tmp_path / "scratch"))
    _order(scratch.root, orders)
    lock = base / "home" / "store" / "versions" / BASE / "lock.json"
    with open_session(str(base / "corpus" / "small.yaml"), scratch, lock=str(lock)) as session:
        build(session, AFTER, DagsterRuns())
    assert version_files(home.root, AFTER) == version_files(scratch.root, AFTER)
    assert lineage(home.root, AFTER) == lineage(scratch.root, AFTER)
    assert lead["doc_id"] not in _kept(home.root, AFTER)


def test_only_the_shards_of_the_document_and_its_substitute_are_written(
    base: Path, tmp_path: Path
) -> None:
    alone = lone_page(base)
    home = take_out(base, tmp_path, [[("doc_id", alone["doc_id"])]])
    old, new = _shards(home, BASE), _shards(home, AFTER)
    assert sum(old[name] != digest for name, digest in new.items()) == 1
    fresh = {
        path.parts[-2]
        for path in (home / "store" / "artifacts").glob("documents/*/result.json")
        if not (
            base / "home" / "store" / "artifacts" / path.relative_to(home / "store" / "artifacts")
        ).exists()
    }
    assert len(fresh) == 1, "only the part that held it is filtered"


def test_nothing_that_holds_the_text_is_left_after_collection(base: Path, tmp_path: Path) -> None:
    target = lone_page(base)
    home = take_out(base, tmp_path, [[("doc_id", target["doc_id"])]])
    text = _text(base, target["doc_id"])
    assert _holders(home, text)
    registry = Registry(Home.resolve(str(home)).catalog_url)
    with reopen_session(Home.resolve(str(home)), AFTER) as session:
        gone = collect_garbage(session.pipeline.store, registry)
    assert gone.bytes > 0
    assert _holders(home, text) == []
    for row in registry.lineage_files(AFTER):
        assert (home / "store" / row.path).is_file()


def test_what_the_ledger_keeps_of_a_taken_down_record_is_its_place_and_keys(
    base: Path, tmp_path: Path
) -> None:
    target = next(d for d in all_documents(base) if d["kept"] and d["host"])
    home = take_out(base, tmp_path, [[("url_key", target["url_key"])]])
    registry = Registry(Home.resolve(str(home)).catalog_url)
    paths = [str(home / "store" / row.path) for row in registry.lineage_files(AFTER, "records")]
    rows = duckdb.sql(
        "select url, content_type, detail, reason from read_parquet(?) where url_key = ?",
        params=[paths, target["url_key"]],
    ).fetchall()
    assert rows
    assert set(rows) == {(None, None, None, "suppressed")}


def lineage(home: Path, version: str) -> dict[tuple[Any, ...], str]:
    """The content of every file of a version's lineage; where it lies is not part of it."""
    rows = Registry(Home.resolve(str(home)).catalog_url).lineage_files(version)
    return {(row.table_name, row.snapshot, row.part, row.shard): row.sha256 for row in rows}


def _manifest(home: Path, version: str) -> dict[str, Any]:
    path = home / "store" / "versions" / version / "manifest.json"
    loaded: dict[str, Any] = json.loads(path.read_bytes())
    return loaded


def _shards(home: Path, version: str) -> dict[str, str]:
    return {
        f"{group['id']}/{shard['name']}": shard["bin"]["sha256"]
        for group in _manifest(home, version)["groups"]
        for shard in group["shards"]
    }


def _kept(home: Path, version: str) -> set[str]:
    """Documents in a version's shards."""
    paths = [
        str(home / "store" / shard["spans"]["path"])
        for group in _manifest(home, version)["groups"]
        for shard in group["shards"]
    ]
    rows = duckdb.sql("select distinct doc_id from read_parquet(?)", params=[paths]).fetchall()
    return {doc_id.hex() for (doc_id,) in rows}


def _text(base: Path, doc_id: str) -> str:
    path = str(base / "home" / "store" / "artifacts" / "documents" / "*" / "documents.parquet")
    rows = duckdb.sql(
        "select text from read_parquet(?) where doc_id = ?", params=[path, bytes.fromhex(doc_id)]
    ).fetchall()
    return str(rows[0][0])


def _holders(home: Path, text: str) -> list[str]:
    """Parquet files with a text column that holds the text."""
    found = []
    for path in sorted((home / "store").rglob("*.parquet")):
        columns = duckdb.sql("describe select * from read_parquet(?)", params=[str(path)])
        if "text" not in {row[0] for row in columns.fetchall()}:
            continue
        hits = duckdb.sql(
            "select count(*) from read_parquet(?) where contains(text, ?)",
            params=[str(path), text[:200]],
        ).fetchall()
        if hits != [(0,)]:
            found.append(path.name)
    return found
