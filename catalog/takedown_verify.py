"""A takedown's proof, looked at again: the chain of certificates, and what live versions hold.

1. Every certificate still has the digest the registry recorded, names the one before it, and
   has its page beside it. With a public key: each is signed, or stands before one that is; and
   the chain reaches the head record beside the signing key, where that is at hand.
2. No document that the certificate lists is in a live version, as text or in a shard.
3. No live text has the id of a removed text, but for copies under other addresses, which the
   request did not cover: those are counted.
4. No file that the certificate calls deleted is in the store, and it names none that was left.
5. All live texts, the tokens of all live versions, and every other file of the home, decoded,
   temporary and foreign ones included, are searched again for the removed texts:
   whole, and by the one-way digests of their 13-grams that the certificate keeps. This takes a
   package that can read shards (an entry point of the group `catalog.takedown_search`); without
   one the answer says what was not done.

A certificate that lists no document proves no removal, and does not hold as a proof of one.
A copy of a certificate can be checked by itself, with the public key alone (`verify_copy`).
"""

# ruff: noqa: S608 - FROM parts are written by Lineage.scan alone; values are always bound

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from catalog.errors import CatalogError, StoreFileError, UnknownName
from catalog.files import Store
from catalog.lineage import Lineage
from catalog.registry import Registry
from catalog.signing import (
    SIGNATURE,
    broken_head,
    check_signature,
    head_of,
    heads_path,
    key_path,
    load_heads,
    load_public_key,
    public_path,
)

SEARCH_GROUP = "catalog.takedown_search"


@dataclass(frozen=True)
class Trust:
    """What a verifier knows from elsewhere than catalog and store."""

    keys: Sequence[Ed25519PublicKey] = ()
    heads: Path | None = None

    @classmethod
    def given(cls, public_keys: Sequence[Path]) -> "Trust":
        """Keys that were named, or the one beside this installation's own signing key."""
        own = key_path()
        paths = list(public_keys) or [path for path in [public_path(own)] if path.exists()]
        heads = heads_path(own)
        return cls([load_public_key(path) for path in paths], heads if heads.exists() else None)


def verify_takedown(
    registry: Registry,
    store: Store,
    request_id: int,
    trust: Trust | None = None,
    home: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Problems of a takedown's proof; `whole` when there is none.

    Reads columns of ids, and where a searcher is installed every live text once.
    """
    registry.takedown(request_id)
    trust = trust or Trust()
    broken = broken_links(registry, store, trust)
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
    gone = [*body["files"]["deleted"], *body["files"]["left"]]
    left = [path for path in gone if _is_there(store, path)]
    kept = body["files"]["kept"]
    search = _search_again(registry, store, body, home, kept, tell)
    strange = [one for one in (search or {}).get("holding", ()) if not one["is_source"]]
    return {
        "request": request_id,
        "certificate": mine[-1].path,
        "documents_removed": len(doc_ids),
        "files_kept": sum(store.exists(path) for path in kept),
        "files_left": left,
        "certificates_checked": len(registry.certificates()),
        "broken_certificates": broken,
        "signed_by": (body.get("signature") or {}).get("key_sha256"),
        "signature_checked": bool(trust.keys),
        "head_checked": bool(trust.heads and head_of(load_heads(trust.heads), store.url)),
        "versions_searched": versions,
        "documents_found": found,
        "copies_under_other_addresses": copies,
        "search": search,
        "whole": bool(doc_ids) and not (broken or found or left or strange),
    }


def _is_there(store: Store, path: str) -> bool:
    """Whether a file of the store is there, or a leftover elsewhere in the home."""
    return Path(path).exists() if path.startswith("/") else store.exists(path)


def _search_again(
    registry: Registry,
    store: Store,
    body: dict[str, Any],
    home: Path | None,
    kept: Sequence[str],
    tell: Callable[[str], None],
) -> dict[str, Any] | None:
    """What a search of all live texts and tokens finds, and of all other files of the home.

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
    held_by = [change["before"] for change in body["versions"]]
    found: dict[str, Any] = search(
        registry, store.url, body["documents"], held_by, home, kept, tell
    )
    return found


def broken_links(registry: Registry, store: Store, trust: Trust) -> list[str]:
    """Certificates that were altered, removed or forged, or do not follow the one before them."""
    broken: list[str] = []
    unsigned: list[str] = []
    chain = registry.certificates()
    previous: str | None = None
    for number, certificate in enumerate(chain, 1):
        path = certificate.path
        try:
            data = store.read(path)
            body = json.loads(data)
            named = (body["previous_sha256"], body["number"], body["request"]["id"])
            page = store.read(path.removesuffix(".json") + ".html")
        except (StoreFileError, ValueError, KeyError, TypeError) as error:
            broken.append(f"{path}: cannot be read, or its page ({type(error).__name__})")
        else:
            if hashlib.sha256(data).hexdigest() != certificate.sha256:
                broken.append(f"{path}: altered since it was written")
            elif named != (previous, number, certificate.request_id) or (
                certificate.previous_sha256 != previous
            ):
                broken.append(f"{path}: does not follow the certificate before it")
            if hashlib.sha256(page).hexdigest() != body["page_sha256"]:
                broken.append(f"{path}: its page was altered since it was written")
            wrong = check_signature(body, trust.keys) if trust.keys else None
            if wrong is None:
                unsigned.clear()  # whoever signs this one vouches for all before it
            elif body.get(SIGNATURE):
                broken.append(f"{path}: {wrong}")
            else:
                unsigned.append(f"{path}: {wrong}")
        previous = certificate.sha256
    if trust.heads is not None:
        head = broken_head(load_heads(trust.heads), store.url, chain)
        broken += [head] if head is not None else []
    return broken + unsigned


def verify_copy(path: Path, keys: Sequence[Ed25519PublicKey]) -> dict[str, Any]:
    """Check a copy of a certificate, and of its page where that lies beside it, offline."""
    try:
        body = json.loads(path.read_bytes())
        answer = {
            "certificate": str(path),
            "request": body["request"]["id"],
            "number": body["number"],
            "issued_at": body["issued_at"],
            "documents_removed": len(body["documents"]),
            "files_left": list(body["files"]["left"]),
            "copies_left": len(body["copies"]),
            "signed_by": (body.get(SIGNATURE) or {}).get("key_sha256"),
        }
    except OSError as error:
        raise StoreFileError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreFileError(
            f"{path} is not a certificate of a takedown; give the .json file"
        ) from error
    problems = []
    if not keys:
        problems.append("no public key was given, so anybody may have written it: use --public-key")
    elif (wrong := check_signature(body, keys)) is not None:
        problems.append(f"it {wrong}")
    page = path.with_suffix(".html")
    if page.exists() and hashlib.sha256(page.read_bytes()).hexdigest() != body["page_sha256"]:
        problems.append(f"the page {page.name} beside it is not the one that belongs to it")
    return answer | {
        "page_checked": page.exists(),
        "problems": problems,
        "whole": bool(answer["documents_removed"]) and not (problems or answer["files_left"]),
    }
