"""Write the certificate of a takedown: what was asked, what changed, what was found. Never text.

It is written last: after the deletion, from a second look at the store and from the search. A
request whose files could not all be deleted, or whose text other files still hold, gets one that
names them, and another when they are gone. It is JSON in the store with a readable page beside it, and keeps ids of the removed texts
and one-way digests of some of their 13-grams: enough to look for them again, not to read them
(`corpus_assets.lineage.text_digests`).
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version as package_version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.db import CertificateRow, Registry, TakedownRow, timestamp
from catalog.formats.canonical import strict_json
from catalog.formats.order_book import SIGNATURE
from catalog.takedown import Signer, certificate_bytes, deliver_book, expect_book
from corpus_assets.core.store import Store, sha256_hex
from corpus_assets.graph import Cleared
from corpus_assets.lineage import GRAM_WORDS, KEPT_ONE_IN, MAX_DIGESTS
from corpus_assets.takedown.certificate_page import render_certificate, strange_files
from corpus_assets.takedown.residue import Search
from corpus_assets.versions import Change, ClusterChange

FORMAT = "corpus-assets/takedown-certificate/4"
WRITTEN_AT_ONCE = 200
"""Certificates of a batch that are one transaction and one entry of the order book."""
ONCE = ("documents", "versions", "clusters", "files")
"""Certificates of a request with equal values here, and the same files that hold the text, are the
same: none is written twice."""


@dataclass(frozen=True)
class Deletion:
    """The files of the old versions after deletion, as listed from the store."""

    outcome: str  # deleted; left, where some could not be; kept, as the recipe asks
    deleted: Sequence[str]
    left: Sequence[str]
    kept: Sequence[str] = ()
    copies: Sequence[str] = ()  # registered ones that were deleted, by place


@dataclass(frozen=True)
class Proof:
    """What a run did and saw, for the certificates of its requests."""

    removed: pa.Table  # as `removed.REMOVED`
    changes: Sequence[Change]
    clusters: Mapping[str, Sequence[ClusterChange]]  # by the version that was replaced
    search: Search | None
    addresses: Mapping[str, str]  # of documents that are like removed ones
    deletion: Deletion
    models: Mapping[str, str]  # pinned calibration -> what it may still hold
    cleared: Sequence[Cleared] = ()  # nodes of a cluster that deleted their copies of files


def certified_versions(store: Store, mine: Iterable[CertificateRow]) -> set[str] | None:
    """Return the new versions that a request's complete certificates cover; None without any."""
    found = [strict_json(store.read(row.path)) for row in mine]
    whole = [body for body in found if not (body["files"]["left"] or strange_files(body))]
    return {name for body in whole for name in body["covers"]} if whole else None


def write_certificates(
    store: Store,
    registry: Registry,
    requests: Sequence[TakedownRow],
    named: Mapping[int, Sequence[str]],
    proof: Proof,
) -> None:
    """Write one certificate a request, chained to the last one there is; none twice.

    `named` gives the documents of each request among those the run removed.
    """
    expect_book(registry, store)  # nothing is signed on top of a book that was cut short
    chain = registry.certificates()
    number, previous = len(chain), chain[-1].sha256 if chain else None
    earlier = certificates_by_request(chain)
    signer = Signer.load()
    for first in range(0, len(requests), WRITTEN_AT_ONCE):
        some = requests[first : first + WRITTEN_AT_ONCE]
        orders, book = registry.suppressions_of([row.id for row in some]), _written_on(registry)
        written: list[CertificateRow] = []
        for request in some:
            held = Counter(row.kind for row in orders[request.id])
            body = _body(request, dict(sorted(held.items())), set(named[request.id]), proof)
            mine = earlier.get(request.id, ())
            if mine and _says_the_same(strict_json(store.read(mine[-1].path)), body):
                continue
            number += 1
            body |= {
                "book": book,
                "number": number,
                "previous_sha256": previous,
                "issued_at": timestamp(),
                "key_sha256": signer.key_sha256 if signer is not None else None,
            }
            name = f"certificates/{request.id:08d}" + (f"-{len(mine) + 1}" if mine else "")
            rendered = render_certificate(body).encode()
            body["page_sha256"] = sha256_hex(rendered)
            body[SIGNATURE] = signer.sign(body) if signer is not None else None
            data = certificate_bytes(body)
            store.write(f"{name}.html", rendered)
            store.write(f"{name}.json", data)
            digest = sha256_hex(data)
            written.append(CertificateRow(request.id, f"{name}.json", digest, previous))
            previous = digest
        registry.put_certificates(written)
        deliver_book(registry, store, signer)


def certificates_by_request(chain: Iterable[CertificateRow]) -> dict[int, list[CertificateRow]]:
    """Return the certificates of each request, in their order."""
    found: dict[int, list[CertificateRow]] = {}
    for row in chain:
        found.setdefault(row.request_id, []).append(row)
    return found


def _written_on(registry: Registry) -> dict[str, Any]:
    """Name the order book and its last entry."""
    head = registry.book_head()
    return dict(zip(("id", "entry", "sha256"), head or (None, 0, None), strict=True))


def _says_the_same(earlier: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    plain = json.loads(json.dumps(body))
    same = all(earlier[name] == plain[name] for name in ONCE)
    return same and strange_files(earlier) == strange_files(plain)


def _body(
    request: TakedownRow, held: Mapping[str, int], mine: set[str], proof: Proof
) -> dict[str, Any]:
    clusters = [
        asdict(change) | {"version": version, "promoted": change.promoted}
        for version, changes in sorted(proof.clusters.items())
        for change in changes
        if not mine.isdisjoint(change.removed)
    ]
    return {
        "format": FORMAT,
        "request": {
            "id": request.id,
            "kind": request.kind,
            "value": request.value,
            "given": request.given or request.value,
            "near_duplicates": request.near_duplicates,
            "reason": request.reason,
            "requester": request.requester,
            "reference": request.reference,
            "filed_at": request.created_at,
        },
        "standing_orders": dict(held),
        "documents": _documents(proof.removed, mine),
        "gram_digests": {"words": GRAM_WORDS, "one_in": KEPT_ONE_IN, "at_most": MAX_DIGESTS},
        "covers": [change.after for change in proof.changes],
        "versions": [asdict(change) for change in proof.changes] if mine else [],
        "clusters": clusters,
        "copies": _copies(proof, mine, clusters),
        "search": asdict(proof.search.residue_of(mine)) if proof.search and mine else None,
        "files": asdict(proof.deletion),
        "models": dict(proof.models) if mine else {},
        "nodes": [each._asdict() for each in proof.cleared] if mine else [],
        "code_version": package_version("corpus-assets"),
    }


def _documents(removed: pa.Table, mine: set[str]) -> list[dict[str, Any]]:
    wanted = pa.array([bytes.fromhex(doc_id) for doc_id in sorted(mine)], pa.binary(16))
    rows = removed.filter(pc.is_in(removed["doc_id"], wanted))
    return [
        {"doc_id": row["doc_id"].hex(), "text_id": row["text_id"].hex()}
        | {"gram_digests": row["gram_digests"]}
        for row in rows.select(["doc_id", "text_id", "gram_digests"]).to_pylist()
    ]


def _copies(
    proof: Proof, mine: Collection[str], clusters: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """List remaining documents that are like removed ones: found by the search, or kept from
    what is left of their clusters. The most similar first."""
    if proof.search is None:
        return []
    kept = {doc_id for change in clusters for doc_id in change["kept_after"]}
    promoted = {doc_id for change in clusters for doc_id in change["promoted"]}
    found = [
        asdict(copy)
        | {"url": proof.addresses.get(copy.doc_id), "promoted": copy.doc_id in promoted}
        for copy in proof.search.copies_of(mine, kept)
    ]
    return sorted(found, key=lambda copy: (-copy["share_percent"], copy["doc_id"]))
