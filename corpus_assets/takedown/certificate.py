"""The certificate of a takedown: what was asked, what changed, what was seen. Never text.

It is written last: after the deletion, from a second look at the store and from the search. A
request whose files could not all be deleted gets one that names them, and another when they are
gone. It is JSON in the store with a readable page beside it, and keeps ids of the removed texts
and one-way digests of some of their 13-grams: enough to look for them again, not to read them
(`gram_digests`).
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version as package_version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.registry import Registry
from catalog.rows import ActionRow, TakedownRow
from catalog.session import timestamp
from catalog.signing import SIGNATURE, Signer
from corpus_assets.core.store import Store, sha256_hex
from corpus_assets.shards.manifest import Manifest
from corpus_assets.takedown.certificate_page import render_certificate
from corpus_assets.takedown.cluster_changes import ClusterChange
from corpus_assets.takedown.gram_digests import MAX_DIGESTS, NGRAM, ONE_IN
from corpus_assets.takedown.residue import Search

FORMAT = "corpus-assets/takedown-certificate/2"
ONCE = ("documents", "versions", "clusters", "files")
"""What makes two certificates of a request one: a run that is repeated writes no second one."""


@dataclass(frozen=True)
class Change:
    """A version that was replaced, and the shards that differ: name -> (before, after)."""

    before: str
    after: str
    documents_before: int
    documents_after: int
    shards: Mapping[str, tuple[str | None, str | None]]
    shared_shards: int

    @classmethod
    def between(cls, before: str, old: Manifest, after: str, new: Manifest) -> "Change":
        was, now = _shard_hashes(old), _shard_hashes(new)
        changed = {
            name: (was.get(name), now.get(name))
            for name in sorted(was.keys() | now.keys())
            if was.get(name) != now.get(name)
        }
        return cls(
            before,
            after,
            sum(group.documents for group in old.groups),
            sum(group.documents for group in new.groups),
            changed,
            sum(was.get(name) == digest for name, digest in now.items()),
        )

    def action(self, request: int) -> ActionRow:
        """What the catalog records of it for a request."""
        body = json.loads(json.dumps(asdict(self)))
        return ActionRow(request, self.before, self.after, body)

    @classmethod
    def of_action(cls, action: ActionRow) -> "Change":
        body = dict(action.detail)
        shards = {name: (was, now) for name, (was, now) in body.pop("shards").items()}
        return cls(shards=shards, **body)


def _shard_hashes(manifest: Manifest) -> dict[str, str]:
    return {
        f"{group.id}/{shard.name}": shard.bin.sha256
        for group in manifest.groups
        for shard in group.shards
    }


@dataclass(frozen=True)
class Deletion:
    """What became of the files of the old versions, as the store shows it."""

    outcome: str  # deleted; left, where some could not be; kept, as the recipe asks
    deleted: Sequence[str]
    left: Sequence[str]
    kept: Sequence[str] = ()


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


def certified_versions(store: Store, registry: Registry, request: int) -> set[str] | None:
    """New versions that a request's certificates cover with nothing left; None without any."""
    found = [json.loads(store.read(row.path)) for row in registry.certificates(request)]
    whole = [body for body in found if not body["files"]["left"]]
    return {name for body in whole for name in body["covers"]} if whole else None


def write_certificates(
    store: Store,
    registry: Registry,
    requests: Sequence[TakedownRow],
    named: Mapping[int, Sequence[str]],
    proof: Proof,
) -> None:
    """One certificate a request, chained to the last one there is; none is written twice.

    `named` gives the documents of each request among those the run removed.
    """
    chain = registry.certificates()
    signer = Signer.load()
    if signer is not None:
        signer.expect_head(store.url, chain)
    for request in requests:
        held = Counter(row.kind for row in registry.takedown_suppressions(request.id))
        body = _body(request, dict(sorted(held.items())), set(named[request.id]), proof)
        mine = [row for row in chain if row.request_id == request.id]
        if mine and _says_the_same(json.loads(store.read(mine[-1].path)), body):
            continue
        body |= {
            "number": len(chain) + 1,
            "previous_sha256": chain[-1].sha256 if chain else None,
            "issued_at": timestamp(),
            "key_sha256": signer.key_sha256 if signer is not None else None,
        }
        name = f"certificates/{request.id:08d}" + (f"-{len(mine) + 1}" if mine else "")
        page = render_certificate(body).encode()
        body["page_sha256"] = sha256_hex(page)
        body[SIGNATURE] = signer.sign(body) if signer is not None else None
        data = json.dumps(body, indent=1, sort_keys=True).encode()
        store.write(f"{name}.html", page)
        store.write(f"{name}.json", data)
        digest = sha256_hex(data)
        registry.put_certificate(request.id, f"{name}.json", digest, body["previous_sha256"])
        if signer is not None:
            signer.record_head(store.url, body["number"], digest)
        chain = registry.certificates()


def _says_the_same(earlier: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    plain = json.loads(json.dumps(body))
    return all(earlier[name] == plain[name] for name in ONCE)


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
        "gram_digests": {"words": NGRAM, "one_in": ONE_IN, "at_most": MAX_DIGESTS},
        "covers": [change.after for change in proof.changes],
        "versions": [asdict(change) for change in proof.changes] if mine else [],
        "clusters": clusters,
        "copies": _copies(proof, mine, clusters),
        "search": asdict(proof.search.residue_of(mine)) if proof.search and mine else None,
        "files": asdict(proof.deletion),
        "models": dict(proof.models) if mine else {},
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
    """Documents that are still there and are like removed ones: found by the search, or kept
    for what is left of their clusters. The likest first."""
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
