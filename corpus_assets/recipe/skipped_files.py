"""Files of snapshots that are skipped, by command: `skipped/RECIPE/SNAPSHOT.json` in the store.

A session puts them into `skip_files` of their sources, beside those of the recipe itself.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from corpus_assets.core.identity import canonical_json
from corpus_assets.core.store import Store


def load_skipped(store: Store, recipe: str) -> dict[str, tuple[str, ...]]:
    """Return the names of skipped files by snapshot."""
    found = {}
    for path in store.list(f"skipped/{recipe}"):
        snapshot = path.rpartition("/")[2].removesuffix(".json")
        found[snapshot] = tuple(json.loads(store.read(path)))
    return found


def save_skipped(store: Store, recipe: str, snapshot: str, names: Iterable[str]) -> None:
    """Replace the list of a snapshot's skipped files; none are forgotten."""
    path, listed = f"skipped/{recipe}/{snapshot}.json", sorted(set(names))
    if listed:
        store.write(path, canonical_json(listed))
    else:
        store.delete(path)


def merge_skipped(raw: dict[str, Any], skipped: Mapping[str, Iterable[str]]) -> None:
    """Put skipped files into a recipe as it was read, still plain values."""
    for source in raw.get("sources") or ():
        snapshots = source.get("snapshots") if isinstance(source, dict) else None
        for snapshot in (name for name in skipped if name in (snapshots or ())):
            own = source.setdefault("skip_files", {})
            own[snapshot] = sorted({*own.get(snapshot, ()), *skipped[snapshot]})
