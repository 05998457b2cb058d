"""A takedown's proof, looked at again.

A certificate is one JSON object, signed where the operator has a key (`signing.py`). One file and the
public key are enough to check it (`verify_copy`). Its bytes are those of `certificate_bytes` and no
others: what a parser would pass over or read in its own way (a key that stands twice, another
spelling) is not the certificate.

Each names its number among all, the digest of the one before it, and the order book with the entry
that it was written on; and the book lists each (`book.py`). So none can be altered or left out, and
the end of the book is known from the head record beside the key.

`verify_takedown` checks that
1. the order book is whole, in catalog and store, and the catalog's rows are what it adds up to;
2. every certificate in the book is in the store with its digest and its page, names the one before
   it, and is signed, or stands before one that is (with a public key);
3. the standing orders that the certificate promises are in force;
4. no document that the certificate lists is in a live version, as text or in a shard;
5. no live text has the id of a removed text, but for copies under other addresses, which the
   request did not cover: those are counted;
6. no file that the certificate calls deleted is in the store, and it names none that was left;
7. all live texts, the tokens of all live versions, and every other file of the home, decoded,
   temporary and foreign ones included, do not hold the removed texts: whole, or by the one-way
   digests of their 13-grams that the certificate keeps. This takes a package that can read shards
   (an entry point of the group `catalog.takedown_search`); without one the answer says what was
   not done.

A certificate that lists no document proves no removal, and does not hold as a proof of one. Where
no version is live there is nothing to search, and the proof is not complete.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from catalog.db import CertificateRow, Registry, timestamp
from catalog.errors import StoreFileError, TakedownRefused, UnknownName
from catalog.figures import counted
from catalog.formats.canonical import strict_json
from catalog.formats.order_book import SIGNATURE
from catalog.formats.store import FileStore
from catalog.lineage import Lineage
from catalog.plugins import installed, load
from catalog.takedown.book import book_problems
from catalog.takedown.left import DocumentLeft, documents_left
from catalog.takedown.requests import OpenFile
from catalog.takedown.signing import Signer, Trust, check_signature

SEARCH_GROUP = "catalog.takedown_search"
SEARCH_FORMAT = "corpus-assets/takedown-search/1"


def certificate_bytes(body: Mapping[str, Any]) -> bytes:
    """Return a certificate's file: the one form of its JSON, for people to read."""
    return json.dumps(body, indent=1, sort_keys=True, allow_nan=False).encode()


def is_word_for_word(data: bytes, body: Mapping[str, Any]) -> bool:
    """Whether a certificate's bytes are those that its values are written as."""
    try:
        return certificate_bytes(body) == data
    except (ValueError, RecursionError):
        return False


@dataclass(frozen=True)
class CheckedProof:
    """A takedown's proof, looked at again; `whole` where nothing is wrong with it. `search` is None
    where nothing that could search is installed."""

    request: int
    certificate: str
    documents_removed: int
    files_kept: int
    files_left: list[str]
    certificates_checked: int
    broken_certificates: list[str]
    orders_missing: list[str]
    signed_by: str | None
    signature_checked: bool
    head_checked: bool
    versions_searched: list[str]
    documents_found: list[DocumentLeft]
    copies_under_other_addresses: int
    search: Mapping[str, Any] | None
    whole: bool
    recorded: str | None = None  # file of the store beside the certificate

    @property
    def ok(self) -> bool:
        return self.whole


@dataclass(frozen=True)
class CheckedCopy:
    """A copy of a certificate, checked by itself; `whole` where it is genuine and proves that
    something was removed."""

    certificate: str
    request: int
    number: int
    book: str
    issued_at: str
    documents_removed: int
    files_left: list[str]
    copies_left: int
    signed_by: str | None
    page_checked: bool
    problems: list[str]
    whole: bool

    @property
    def ok(self) -> bool:
        return self.whole


def verify_takedown(
    registry: Registry,
    store: FileStore,
    request_id: int,
    trust: Trust | None = None,
    home: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> CheckedProof:
    """Look at a takedown's proof again.

    Reads columns of ids, and where a searcher is installed every live text once.
    """
    registry.takedown(request_id)
    trust = trust or Trust()
    broken = [*book_problems(registry, store, trust), *broken_links(registry, store, trust)]
    mine = registry.certificates(request_id)
    if not mine:
        raise UnknownName(
            f"takedown {request_id} has no certificate yet: `catalog takedown run` writes it"
        )
    body = _read_certificate(store, mine[-1])
    missing = _orders_missing(registry, request_id, body)
    doc_ids = [bytes.fromhex(row["doc_id"]) for row in body["documents"]]
    text_ids = [bytes.fromhex(row["text_id"]) for row in body["documents"]]
    versions = [version.name for version in registry.versions() if version.status == "live"]
    found = documents_left(registry, store, doc_ids)
    copies = 0
    for name in versions:
        with Lineage(registry, store, name) as lineage:
            same = lineage.query(
                f"SELECT count(*) AS n FROM {lineage.scan('documents')} WHERE list_contains(?, text_id)",
                [text_ids],
            )
            copies += int(same[0]["n"])
    gone = [*body["files"]["deleted"], *body["files"]["left"]]
    left = [path for path in gone if _is_there(store, path)]
    kept = body["files"]["kept"]
    search = _search_again(registry, store, body, home, kept, tell)
    strange = [one for one in (search or {}).get("holding", ()) if not one["is_source"]]
    return CheckedProof(
        request=request_id,
        certificate=mine[-1].path,
        documents_removed=len(doc_ids),
        files_kept=sum(store.exists(path) for path in kept),
        files_left=left,
        certificates_checked=len(registry.certificates()),
        broken_certificates=broken,
        orders_missing=missing,
        signed_by=(body.get("signature") or {}).get("key_sha256"),
        signature_checked=bool(trust.keys),
        head_checked=trust.knows(body.get("book", {}).get("id")),
        versions_searched=versions,
        documents_found=found,
        copies_under_other_addresses=copies,
        search=search,
        whole=bool(doc_ids and versions) and not (broken or missing or found or left or strange),
    )


def record_search(store: FileStore, registry: Registry, proof: CheckedProof) -> CheckedProof:
    """Write beside the certificate that it was looked at again, and what was found: one file each
    time, signed where the operator has a key."""
    if proof.search is None:
        raise TakedownRefused(
            "there is no search to record: install corpus-assets where this catalog's store can be "
            "read"
        )
    row = next(row for row in registry.certificates() if row.path == proof.certificate)
    signer = Signer.load()
    body: dict[str, Any] = {
        "format": SEARCH_FORMAT,
        "request": proof.request,
        "certificate": {"path": row.path, "sha256": row.sha256},
        "searched_at": timestamp(),
        "versions": proof.versions_searched,
        "search": dict(proof.search),
        "whole": proof.whole,
    }
    body[SIGNATURE] = signer.sign(body) if signer is not None else None
    data = certificate_bytes(body)
    stem = row.path.removesuffix(".json")
    number = 1
    while not store.create(path := f"{stem}.search-{number}.json", data):
        number += 1
    return replace(proof, recorded=path)


def _read_certificate(store: FileStore, row: CertificateRow) -> dict[str, Any]:
    try:
        return dict(strict_json(store.read(row.path)))
    except (ValueError, TypeError) as error:
        raise StoreFileError(
            f"{row.path} in the store {store.url} is not the certificate that was written "
            f"({error}): restore it from a backup"
        ) from error


def _orders_missing(registry: Registry, request_id: int, body: Mapping[str, Any]) -> list[str]:
    """Return which of the orders that a certificate promises are not in force, counted by kind."""
    held = Counter(order.kind for order in registry.takedown_suppressions(request_id))
    return [
        f"{promised - held[kind]} of {counted(promised, 'suppression')} ({kind}) not in force"
        for kind, promised in body["standing_orders"].items()
        if held[kind] < promised
    ]


def open_files(registry: Registry, store: FileStore, request_id: int) -> list[OpenFile]:
    """Return the files that keep a request open, by its last certificate, and what to do about each;
    none once it is done."""
    mine = registry.certificates(request_id)
    if not mine or registry.takedown(request_id).status not in ("pending", "running"):
        return []
    body = _read_certificate(store, mine[-1])
    left = [OpenFile(path, "could not be deleted") for path in body["files"]["left"]]
    holding = (body["search"] or {}).get("holding", ())
    return left + [
        OpenFile(one["file"], f"{one['statement']}: {one['to_do']}")
        for one in holding
        if not one["is_source"]
    ]


def _is_there(store: FileStore, path: str) -> bool:
    """Whether a file of the store is there, or a leftover elsewhere in the home."""
    return Path(path).exists() if path.startswith("/") else store.exists(path)


def _search_again(
    registry: Registry,
    store: FileStore,
    body: dict[str, Any],
    home: Path | None,
    kept: Sequence[str],
    tell: Callable[[str], None],
) -> dict[str, Any] | None:
    """Return what a search of all live texts and tokens finds, and of all other files of the home.

    None where nothing that could search is installed.
    """
    searchers = installed(SEARCH_GROUP)
    if not searchers:
        return None
    search = load(searchers[0], "takedown search")
    held_by = [change["before"] for change in body["versions"]]
    found: dict[str, Any] = search(
        registry, store.url, body["documents"], held_by, home, kept, tell
    )
    return found


def broken_links(registry: Registry, store: FileStore, trust: Trust) -> list[str]:
    """Return certificates that were altered, removed or forged, or do not follow the one before
    them."""
    broken: list[str] = []
    unsigned: list[str] = []
    chain = registry.certificates()
    head = registry.book_head()
    book = head[0] if head is not None else None
    previous: str | None = None
    for number, certificate in enumerate(chain, 1):
        path = certificate.path
        try:
            data = store.read(path)
            body = strict_json(data)
            named = (body["previous_sha256"], body["number"], body["request"]["id"])
            written_on = body["book"]["id"] == book
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
            elif not written_on:
                broken.append(f"{path}: is of another order book")
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
    return broken + unsigned


def verify_copy(path: Path, keys: Sequence[Ed25519PublicKey]) -> CheckedCopy:
    """Check a copy of a certificate, and of its page where that lies beside it, offline."""
    try:
        data = path.read_bytes()
        body = strict_json(data)
        answer: dict[str, Any] = {
            "certificate": str(path),
            "request": body["request"]["id"],
            "number": body["number"],
            "book": body["book"]["id"],
            "issued_at": body["issued_at"],
            "documents_removed": len(body["documents"]),
            "files_left": list(body["files"]["left"]),
            "copies_left": len(body["copies"]),
            "signed_by": (body.get(SIGNATURE) or {}).get("key_sha256"),
        }
    except OSError as error:
        raise StoreFileError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f" ({error})" if type(error) is ValueError else ""
        raise StoreFileError(
            f"{path} is not a certificate of a takedown{why}; give the .json file"
        ) from error
    problems = []
    if not is_word_for_word(data, body):
        problems.append("its bytes are not those of a certificate with these values: it was edited")
    if not keys:
        problems.append("no public key was given, so anyone may have written it: use --public-key")
    elif (wrong := check_signature(body, keys)) is not None:
        problems.append(f"it {wrong}")
    page = path.with_suffix(".html")
    if page.exists() and hashlib.sha256(page.read_bytes()).hexdigest() != body["page_sha256"]:
        problems.append(f"the page {page.name} beside it is not the one that belongs to it")
    return CheckedCopy(
        **answer,
        page_checked=page.exists(),
        problems=problems,
        whole=bool(answer["documents_removed"]) and not (problems or answer["files_left"]),
    )
