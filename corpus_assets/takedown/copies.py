"""Registered copies under a takedown: which hold a removed document, and those that are deleted.

Packs, pages, records and signatures inside the home or the store are deleted. Exports are their owner's, and
what lies elsewhere is not ours to delete: the search names them (`home_search`). Weights go with
their version (`versions.gc`).
"""

from collections.abc import Collection
from pathlib import Path

from catalog.copies import delete_path, path_of
from catalog.db import CopyRow, Registry
from catalog.errors import CatalogError
from corpus_assets.core.known_errors import KNOWN_ERRORS
from corpus_assets.core.store import LocalStore, Store
from corpus_assets.dedup import signed_documents
from corpus_assets.evidence import find_pack
from corpus_assets.shards import removed_documents

DELETED = ("pack", "page", "record", "signatures")


def with_earlier(versions: Collection[str], registry: Registry) -> set[str]:
    """Return versions with those whose place they took: these held all that they held."""
    found = set(versions)
    for row in reversed(registry.versions()):
        if row.superseded_by in found:
            found.add(row.name)
    return found


def held_documents(
    row: CopyRow, path: Path | None, registry: Registry, store: Store, held_by: Collection[str]
) -> set[str] | None:
    """Return ids of documents that a copy holds, those at least that were removed from `held_by`;
    None where it may hold any of them. A copy that cannot be looked at has no path."""
    known = {one for ids in row.holds.values() for one in ids or ()}
    if not any(ids is None and version in held_by for version, ids in row.holds.items()):
        return known
    if path is not None and row.kind == "export":
        try:
            found = removed_documents(registry, store, path)
        except (*KNOWN_ERRORS, OSError, ValueError):
            return None  # stopped, or damaged
        return None if found is None else known | found
    if path is not None and row.kind == "signatures":
        signed = signed_documents(path)
        return None if signed is None else known | signed
    pack = find_pack(path) if path is not None and row.kind == "pack" else None
    return None if pack is None or pack.doc_ids is None else known | pack.doc_ids


def delete_copies(
    home: Path, store: Store, registry: Registry, removed: Collection[str], held_by: Collection[str]
) -> tuple[list[str], dict[str, str]]:
    """Delete copies of the home and the store with a removed document; return their places, and
    why others are still there, by path.

    The rows stay: a command may be at work on one, and finds then that its version is revoked.
    """
    held_by = with_earlier(held_by, registry)
    roots = [home.resolve(), *([store.root.resolve()] if isinstance(store, LocalStore) else [])]
    deleted, left = [], {}
    for row in registry.copies():
        path = path_of(row, home)
        if row.kind not in DELETED or path is None or not path.exists():
            continue
        if not any(path.is_relative_to(root) and path != root for root in roots):
            continue
        held = held_documents(row, path, registry, store, held_by)
        if held is None or not held.isdisjoint(removed):
            try:
                delete_path(path)
                deleted.append(row.place)
            except CatalogError as error:
                left[str(path)] = str(error)
    return sorted(deleted), left
