"""Which result stands for a part, as orders come and go."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from catalog.db.registry import Registry
from catalog.db.rows import NewTakedown
from corpus_assets.core.home import Home
from corpus_assets.graph.run import pin_snapshot, run_asset
from corpus_assets.ingest import part_results
from corpus_assets.session import open_session, refresh_orders
from corpus_assets_tests.small_corpus import make_small_corpus

SNAPSHOT = "books-1"
KEYS = [f"books:b-{n}" for n in range(8)]


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL"):
        monkeypatch.delenv(name, raising=False)
    return str(make_small_corpus(tmp_path / "corpus"))


def _file(registry: Registry, *keys: str) -> int:
    orders = tuple(("url_key", key) for key in keys)
    ((row, _),) = registry.file_takedowns(
        [NewTakedown("url", keys[0], False, "asked", suppressions=orders)]
    )
    return row.id


def _read(session: Any) -> tuple[set[str], list[Any]]:
    """The addresses that a part's texts have, and the orders its task names."""
    run_asset(
        session.pipeline,
        session.engine,
        session.registry,
        session.progress,
        "documents",
        SNAPSHOT,
    )
    (result,) = session.pipeline.results("documents", SNAPSHOT)
    path = session.pipeline.store.local(result.outputs["documents.parquet"].path)
    (task,) = session.pipeline.tasks("documents", SNAPSHOT)
    return set(pq.read_table(path)["url_key"].to_pylist()), list(task.settings["orders"])


def test_a_withdrawn_takedown_lets_the_document_back_in(recipe: str, tmp_path: Path) -> None:
    with open_session(recipe, Home.resolve(str(tmp_path / "home"))) as session:
        pin_snapshot(session.pipeline, session.registry, SNAPSHOT)
        assert _read(session)[0] == set(KEYS)
        number = _file(session.registry, KEYS[2])
        refresh_orders(session)
        assert _read(session)[0] == set(KEYS) - {KEYS[2]}
        session.registry.withdraw_takedown(number)
        refresh_orders(session)
        assert _read(session)[0] == set(KEYS)
        _file(session.registry, KEYS[5])
        refresh_orders(session)
        assert _read(session)[0] == set(KEYS) - {KEYS[5]}


def test_many_orders_are_named_by_a_file_and_not_by_every_part(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_results, "MANY_ORDERS", 5)
    nobody = [f"com,nobody)/{n}" for n in range(20)]
    with open_session(recipe, Home.resolve(str(tmp_path / "home"))) as session:
        pin_snapshot(session.pipeline, session.registry, SNAPSHOT)
        first = _file(session.registry, *nobody, KEYS[0])
        refresh_orders(session)
        state = session.pipeline.suppressions.digest
        texts, orders = _read(session)
        assert (texts, orders) == (set(KEYS) - {KEYS[0]}, [[part_results.LISTED, state]])
        listed = json.loads(session.pipeline.store.read(f"orders/{state}.json"))
        assert len(listed) == 21
        _file(session.registry, KEYS[3])  # a later order is added to what the part names
        refresh_orders(session)
        texts, orders = _read(session)
        assert texts == set(KEYS) - {KEYS[0], KEYS[3]}
        assert sorted(orders) == [[part_results.LISTED, state], ["url_key", KEYS[3]]]
        session.registry.withdraw_takedown(first)
        refresh_orders(session)
        assert _read(session)[0] == set(KEYS) - {KEYS[3]}
