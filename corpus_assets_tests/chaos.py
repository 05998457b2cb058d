"""Trouble by chance, and what has to come out whatever happened: the bytes of one process, counts
that add up, and takedowns that leave what a build from scratch leaves.

The same seed gives the same trouble: CORPUS_CHAOS_SEED, 7 unless it is set.
"""

import hashlib
import json
import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.core.store import LocalStore, Store
from corpus_assets.session import open_session
from corpus_assets_tests.registry_states import add_orders


def dice() -> random.Random:
    return random.Random(int(os.environ.get("CORPUS_CHAOS_SEED", "7")))


def files_of(store: Store, version: str) -> dict[str, str]:
    """Every file of a version, shards included, by path and hash; of any kind of store."""
    manifest = json.loads(store.read(f"versions/{version}/manifest.json"))
    paths = set(store.list(f"versions/{version}"))
    for group in manifest["groups"]:
        for shard in group["shards"]:
            paths |= {shard[kind]["path"] for kind in ("bin", "idx", "spans", "header")}
    return {path: hashlib.sha256(store.read(path)).hexdigest() for path in sorted(paths)}


def from_scratch(
    recipe: str, store: Store, version: str, orders: Iterable[SuppressionRow], folder: Path
) -> LocalStore:
    """Build a version of `store` again in a new home, in one process on a local disk, under its
    lock: the home knows the orders before it reads anything."""
    held = LocalStore(folder / "lock")
    for path in store.list(f"versions/{version}"):
        name = path.removeprefix(f"versions/{version}/")
        if name == "lock.json" or name.startswith("calibrations/"):
            held.write(name, store.read(path))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CORPUS_STORE_URL", "CORPUS_CATALOG_URL", "CORPUS_ENGINE"):
            patch.delenv(name, raising=False)
        home = Home.resolve(str(folder / "home"))
        registry = Registry(home.catalog_url)
        home.root.mkdir(parents=True)
        registry.upgrade()
        add_orders(registry, [SuppressionRow(row.kind, row.value) for row in orders])
        with open_session(recipe, home, lock=str(held.root / "lock.json")) as session:
            build(session, version)
    return LocalStore(Path(home.store_url))
