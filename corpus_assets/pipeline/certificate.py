"""The certificate of a takedown: what was asked, what changed, what was searched. Never text.

A certificate is JSON in the store with a readable page beside it. Each names the digest of the
one before it, so that none can be altered or removed unnoticed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.metadata import version as package_version
from typing import Any

from catalog.registry import Registry
from catalog.rows import ActionRow, TakedownRow
from corpus_assets.pipeline.residue import Residue
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


def write_certificates(
    store: Store,
    registry: Registry,
    requests: Sequence[TakedownRow],
    removed: Mapping[str, str],
    changes: Sequence[Change],
    residue: Residue | None,
) -> None:
    """One certificate a request, chained to the last one there is; none is written twice.

    `removed` maps each document that this run took out to the id of its text: a digest, by
    which the search can be repeated without the text.
    """
    chain = registry.certificates()
    previous = chain[-1].sha256 if chain else None
    certified = {certificate.request_id for certificate in chain}
    for request in requests:
        if request.id in certified:
            continue
        body = {
            "format": FORMAT,
            "request": {
                "id": request.id,
                "kind": request.kind,
                "value": request.value,
                "given": request.given or request.value,
                "reason": request.reason,
                "requester": request.requester,
                "reference": request.reference,
                "filed_at": request.created_at,
            },
            "documents": [
                {"doc_id": doc_id, "text_id": text_id}
                for doc_id, text_id in sorted(removed.items())
            ],
            "versions": [asdict(change) for change in changes],
            "search": None if residue is None else asdict(residue),
            "code_version": package_version("corpus-assets"),
            "previous_sha256": previous,
        }
        data = json.dumps(body, indent=1, sort_keys=True).encode()
        path = f"certificates/{request.id:08d}.json"
        store.write(path, data)
        store.write(f"certificates/{request.id:08d}.html", _page(body).encode())
        previous_of_this, previous = previous, sha256_hex(data)
        registry.put_certificate(request.id, path, previous, previous_of_this)


def _page(body: Mapping[str, Any]) -> str:
    """The certificate for the person who asked."""
    request, search = body["request"], body["search"]
    versions = "".join(
        f"<li>Version <b>{escape(change['before'])}</b> is revoked. Version "
        f"<b>{escape(change['after'])}</b> takes its place: {change['documents_after']} documents "
        f"where there were {change['documents_before']} (a copy that was left out before can take "
        f"the place of one that goes). {len(change['shards'])} of its files of training data were "
        f"written anew, {change['shared_shards']} were not touched.</li>"
        for change in body["versions"]
    )
    found = (
        "Nothing stored held it."
        if search is None
        else (
            f"{search['texts']} stored texts and {search['tokens']} tokens were searched. Places "
            f"where an exact copy of what was removed still stands, under another address that "
            f"the request does not cover: <b>{search['exact']}</b>. Texts that share a good part "
            f"of its wording: {search['similar']}."
        )
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Takedown '
        f"{request['id']}</title><style>body{{font:16px/1.5 system-ui,sans-serif;max-width:720px;"
        "margin:2rem auto;padding:0 1rem}code{overflow-wrap:anywhere}</style></head><body>"
        f"<h1>Takedown {request['id']}</h1><p>Asked for: {escape(request['kind'])} "
        f"<code>{escape(request['given'])}</code>, filed {escape(request['filed_at'])}. Reason: "
        f"{escape(request['reason'])}. Reference: {escape(request['reference'] or '-')}.</p>"
        f"<p>Documents taken out in this run: {len(body['documents'])}.</p>"
        f"<ul>{versions or '<li>No version held it. The order stands for later deliveries.</li>'}"
        f"</ul><p>{found}</p><p>Made by corpus-assets {escape(body['code_version'])}. The "
        f"certificate before this one: <code>{body['previous_sha256'] or 'none'}</code>.</p>"
        "</body></html>\n"
    )
