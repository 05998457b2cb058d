"""The certificate of a takedown: what was asked, what changed, what was searched. Never text.

A certificate is JSON in the store with a readable page beside it. Each names the digest of the
one before it, so that none can be altered or removed unnoticed. It keeps ids of the removed
texts and one-way digests of some of their 13-grams: enough to look for them again, not to read
them (`gram_digests`).
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version as package_version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.registry import Registry
from catalog.rows import ActionRow, TakedownRow
from corpus_assets.pipeline.certificate_page import render_certificate
from corpus_assets.pipeline.cluster_changes import ClusterChange
from corpus_assets.pipeline.gram_digests import MAX_DIGESTS, NGRAM, ONE_IN, gram_digests
from corpus_assets.pipeline.residue import Search
from corpus_assets.shards.manifest import Manifest
from corpus_assets.store import Store, sha256_hex

FORMAT = "corpus-assets/takedown-certificate/1"


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
class Proof:
    """What a run did, for the certificates of its requests."""

    removed: pa.Table  # doc_id, text_id and text of each document that is gone
    changes: Sequence[Change]
    clusters: Mapping[str, Sequence[ClusterChange]]  # by the version that was replaced
    search: Search | None
    kept_revoked: bool


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
    previous = chain[-1].sha256 if chain else None
    certified = {certificate.request_id for certificate in chain}
    for request in requests:
        if request.id in certified:
            continue
        held = Counter(row.kind for row in registry.takedown_suppressions(request.id))
        body = _body(request, dict(sorted(held.items())), set(named[request.id]), proof)
        body["previous_sha256"] = previous
        data = json.dumps(body, indent=1, sort_keys=True).encode()
        path = f"certificates/{request.id:08d}.json"
        store.write(path, data)
        digest = sha256_hex(data)
        page = render_certificate(body, digest)
        store.write(f"certificates/{request.id:08d}.html", page.encode())
        registry.put_certificate(request.id, path, digest, previous)
        previous = digest


def _body(
    request: TakedownRow, held: Mapping[str, int], mine: set[str], proof: Proof
) -> dict[str, Any]:
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
        "versions": [asdict(change) for change in proof.changes] if mine else [],
        "clusters": [
            asdict(change) | {"version": version, "promoted": change.promoted}
            for version, changes in sorted(proof.clusters.items())
            for change in changes
            if not mine.isdisjoint(change.removed)
        ],
        "search": asdict(proof.search.residue_of(mine)) if proof.search and mine else None,
        "revoked_files": "kept" if proof.kept_revoked else "deleted",
        "code_version": package_version("corpus-assets"),
    }


def _documents(removed: pa.Table, mine: set[str]) -> list[dict[str, Any]]:
    wanted = pa.array([bytes.fromhex(doc_id) for doc_id in sorted(mine)], pa.binary(16))
    rows = removed.filter(pc.is_in(removed["doc_id"], wanted))
    columns = (rows[name].to_pylist() for name in ("doc_id", "text_id"))
    digests = gram_digests(rows["text"].to_pylist())
    return [
        {"doc_id": doc_id.hex(), "text_id": text_id.hex(), "gram_digests": listed}
        for doc_id, text_id, listed in zip(*columns, digests, strict=True)
    ]
