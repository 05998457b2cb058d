"""A takedown's proof, looked at again: the chain of certificates, and what live versions hold.

1. Every certificate still has the digest the registry recorded, and names the one before it.
2. No document that the certificate lists is in a live version, as text or in a shard.
3. No live text has the id of a removed text, but for copies under other addresses, which the
   request did not cover: those are counted.
4. All live texts, and the tokens of all live versions, are searched again for the removed texts:
   whole, and by the one-way digests of their 13-grams that the certificate keeps. This takes a
   package that can read shards (an entry point of the group `catalog.takedown_search`); without
   one the answer says what was not done.
"""

# ruff: noqa: S608 - FROM parts are written by Lineage.scan alone; values are always bound

import hashlib
import json
from importlib.metadata import entry_points
from typing import Any

from catalog.errors import CatalogError, StoreFileError, UnknownName
from catalog.files import Store
from catalog.lineage import Lineage
from catalog.registry import Registry

SEARCH_GROUP = "catalog.takedown_search"


def verify_takedown(registry: Registry, store: Store, request_id: int) -> dict[str, Any]:
    """Problems of a takedown's proof; `whole` when there is none.

    Reads columns of ids, and where a searcher is installed every live text once.
    """
    registry.takedown(request_id)
    broken = broken_links(registry, store)
    mine = registry.certificates(request_id)
    if not mine:
        raise UnknownName(
            f"takedown {request_id} has no certificate yet: `catalog takedown run` writes it"
        )
    body = json.loads(store.read(mine[-1].path))
    doc_ids = [bytes.fromhex(row["doc_id"]) for row in body["documents"]]
    text_ids = [bytes.fromhex(row["text_id"]) for row in body["documents"]]
    versions = [version.name for version in registry.versions() if version.status == "live"]
    found: list[dict[str, str]] = []
    copies = 0
    for name in versions:
        with Lineage(registry, store, name) as lineage:
            for table in ("texts", "final_text", "spans"):
                found += [
                    {"version": name, "table": table, "doc_id": row["doc_id"].hex()}
                    for row in lineage.query(
                        f"SELECT DISTINCT doc_id FROM {lineage.scan(table)} "
                        "WHERE list_contains(?, doc_id)",
                        [doc_ids],
                    )
                ]
            same = lineage.query(
                f"SELECT count(*) AS n FROM {lineage.scan('texts')} WHERE list_contains(?, text_id)",
                [text_ids],
            )
            copies += int(same[0]["n"])
    return {
        "request": request_id,
        "certificate": mine[-1].path,
        "certificates_checked": len(registry.certificates()),
        "broken_certificates": broken,
        "versions_searched": versions,
        "documents_found": found,
        "copies_under_other_addresses": copies,
        "search": _search_again(registry, store, body["documents"]),
        "whole": not broken and not found,
    }


def _search_again(
    registry: Registry, store: Store, documents: list[dict[str, Any]]
) -> dict[str, int] | None:
    """What a search of all live texts and tokens finds: texts, tokens, exact, similar.

    None where nothing that could search is installed.
    """
    searchers = sorted(entry_points(group=SEARCH_GROUP), key=lambda p: (p.name, p.value))
    if not searchers:
        return None
    try:
        search = searchers[0].load()
    except (ImportError, AttributeError) as error:
        raise CatalogError(
            f"the takedown search {searchers[0].value} cannot be loaded: {error}; install the "
            "package that provides it again"
        ) from error
    found: dict[str, int] = search(registry, store.url, documents)
    return found


def broken_links(registry: Registry, store: Store) -> list[str]:
    """Certificates that were altered or removed, or do not follow the one before them."""
    broken: list[str] = []
    previous: str | None = None
    for certificate in registry.certificates():
        try:
            data = store.read(certificate.path)
            named = json.loads(data)["previous_sha256"]
        except (StoreFileError, ValueError, KeyError) as error:
            broken.append(f"{certificate.path}: cannot be read ({type(error).__name__})")
        else:
            if hashlib.sha256(data).hexdigest() != certificate.sha256:
                broken.append(f"{certificate.path}: altered since it was written")
            elif named != previous or certificate.previous_sha256 != previous:
                broken.append(f"{certificate.path}: does not follow the certificate before it")
        previous = certificate.sha256
    return broken
