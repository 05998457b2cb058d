"""Write the certificate of a takedown: what was asked, what changed, what was found. Never text.

It is written last: after the deletion, from a second look at the store and from the search. A
request whose files could not all be deleted, or whose text other files still hold, gets one that
names them, and another when they are gone. It is JSON in the store with a readable page beside it, and keeps ids of the removed texts
and one-way digests of some of their 13-grams: enough to look for them again, not to read them
(`corpus_assets.versions.removed`).
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version as package_version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.cli.terminal import escape
from catalog.db.database import timestamp
from catalog.db.registry import Registry
from catalog.db.rows import TakedownRow
from catalog.figures import counted
from catalog.formats.canonical import strict_json
from catalog.formats.order_book import SIGNATURE
from catalog.takedown.book import deliver, expect_book
from catalog.takedown.certificates import certificate_bytes
from catalog.takedown.signing import Signer
from corpus_assets.core.store import Store, sha256_hex
from corpus_assets.graph.engine.base import Cleared
from corpus_assets.takedown.residue import Search
from corpus_assets.versions.pages import page
from corpus_assets.versions.removed import (
    MAX_DIGESTS,
    NGRAM,
    ONE_IN,
    Change,
    ClusterChange,
)

FORMAT = "corpus-assets/takedown-certificate/3"
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


def certified_versions(store: Store, registry: Registry, request: int) -> set[str] | None:
    """Return the new versions that a request's complete certificates cover; None without any."""
    found = [strict_json(store.read(row.path)) for row in registry.certificates(request)]
    whole = [body for body in found if not (body["files"]["left"] or _strange(body))]
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
    signer = Signer.load()
    for request in requests:
        held = Counter(row.kind for row in registry.takedown_suppressions(request.id))
        body = _body(request, dict(sorted(held.items())), set(named[request.id]), proof)
        mine = [row for row in chain if row.request_id == request.id]
        if mine and _says_the_same(strict_json(store.read(mine[-1].path)), body):
            continue
        body |= {
            "book": _written_on(registry),
            "number": len(chain) + 1,
            "previous_sha256": chain[-1].sha256 if chain else None,
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
        registry.put_certificate(request.id, f"{name}.json", digest, body["previous_sha256"])
        deliver(registry, store, signer)
        chain = registry.certificates()


def _written_on(registry: Registry) -> dict[str, Any]:
    """Name the order book and its last entry."""
    head = registry.book_head()
    return dict(zip(("id", "entry", "sha256"), head or (None, 0, None), strict=True))


def _says_the_same(earlier: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    plain = json.loads(json.dumps(body))
    same = all(earlier[name] == plain[name] for name in ONCE)
    return same and _strange(earlier) == _strange(plain)


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


# The certificate as a page for the person who asked: plain words first, then proof.

ASKED = {
    "url": "the page at the URL",
    "url_prefix": "all pages whose URL starts with",
    "domain": "the whole site",
    "doc_id": "the document",
    "text_id": "the text with the id",
    "text_sha256": "the text with the SHA-256",
}
HELD = {
    "url_key": "the URL",
    "url_prefix": "every URL that starts with it",
    "host": "the site with its subdomains",
    "doc_id": "the documents named here",
    "text_id": "exact copies of the text",
    "near_text": "near duplicates of the text, under any URL",
}
STYLE = (
    ".lead{font-size:1.1rem;border-left:4px solid #2d6a4f;padding:.3rem 0 .3rem 1rem}"
    ".lead.open{border-color:#b5651d}summary{cursor:pointer}.small{color:#666;font-size:.85rem}"
)
SHOWN = 200  # rows of a list on the page; the JSON has all of them


def render_certificate(body: Mapping[str, Any]) -> str:
    """Build the page; the certificate holds the page's digest, so the page cannot hold its own."""
    request = body["request"]
    sections = (
        f"<h1>Certificate of removal</h1>{_lead(body)}"
        f"<h2>What was asked</h2>{_asked(request)}"
        f"<h2>What was done</h2>{_done(body)}"
        f"<h2>What was searched</h2>{_searched(body)}{_copies_section(body)}"
        f"<h2>What may remain</h2>{_may_remain(body)}"
        f"<h2>From now on</h2>{_from_now_on(body)}"
        f"<h2>Proof</h2>{_proof(body)}"
    )
    return page(f"Takedown {request['id']}", sections, STYLE)


def _lead(body: Mapping[str, Any]) -> str:
    """Summarise the outcome; it must be true without the rest of the page."""
    count, left, copies = len(body["documents"]), len(body["files"]["left"]), body["copies"]
    if not count:
        text = (
            "Nothing was removed: no version of the corpus contained what was requested. The "
            "suppression remains in force: it will not be ingested later either."
        )
    else:
        text = f"{_were(count, 'document')} removed{_copies_in_short(copies)}"
    strange = len(_strange(body))
    if strange:
        text += (
            f" <b>This is not finished: {_were(strange, 'other file')} found to hold the text, "
            "certainly or possibly</b>; listed below with what to do."
        )
    if left:
        text += f" <b>This is not finished: {counted(left, 'file')} could not be deleted.</b>"
    return f'<p class="lead{" open" if left or copies or strange else ""}">{text}</p>'


def _copies_in_short(copies: Sequence[Mapping[str, Any]]) -> str:
    """Finish the first sentence, and say what to do about copies."""
    exact = sum(copy["exact"] for copy in copies)
    near = [copy for copy in copies if not copy["exact"]]
    said = (
        f"; the same text is found under {counted(exact, 'other URL')}"
        if exact
        else "; no exact copy of the text was found in what is left"
    )
    if near:
        said += f"{' and' if exact else ', but'} {_remain(len(near), 'near copy', 'near copies')}"
    used = [copy for copy in copies if copy["in_training_data"]]
    promoted = sum(copy["promoted"] for copy in used)
    if used:
        which = "it is" if len(copies) == 1 else f"{len(used)} of them {_are(len(used))}"
        said += f": {which} in the training data"
    if promoted:
        which = "" if promoted == len(used) else f" ({promoted} of these)"
        said += (
            f"{which}, where this takedown put {'it' if promoted == 1 else 'them'}, since the "
            "removed document no longer represents it"
        )
    more = (
        " The request does not cover copies; see below how to request their removal."
        if copies
        else ""
    )
    return f"{said}.{more}"


def _remain(count: int, one: str, many: str) -> str:
    return f"{counted(count, one, many)} {'remains' if count == 1 else 'remain'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _asked(request: Mapping[str, Any]) -> str:
    near = " and near copies of it" if request["near_duplicates"] else ""
    what = ASKED.get(request["kind"], escape(request["kind"]))
    rows = [
        ("Removal of", f"{what} <code>{escape(request['given'])}</code>{near}"),
        ("Reason", escape(request["reason"])),
        ("Asked by", escape(request["requester"] or "not stated")),
        ("Reference", escape(request["reference"] or "none")),
        ("Filed", escape(request["filed_at"])),
        ("Number", str(request["id"])),
    ]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows) + "</dl>"


def _done(body: Mapping[str, Any]) -> str:
    if not body["versions"]:
        return "<p>No version of the corpus held it, so no version had to be changed.</p>"
    changed = "".join(
        f"<li>Version <b>{escape(change['before'])}</b> was withdrawn from use. Version "
        f"<b>{escape(change['after'])}</b> replaces it, with "
        f"{counted(change['documents_after'], 'training document')} instead of "
        f"{change['documents_before']:,}. "
        f"{_were(len(change['shards']), 'file', 'of training data')} rebuilt, "
        f"{change['shared_shards']:,} did not contain it and are unchanged.</li>"
        for change in body["versions"]
    )
    return (
        f"<ul>{changed}</ul>{_deleted(body['files'])}{_cleared(body)}<p>The new versions are, byte for byte, what "
        f"they would be had the documents never been ingested.</p>{_clusters(body['clusters'])}"
    )


def _deleted(files: Mapping[str, Any]) -> str:
    if files["outcome"] == "kept":
        return (
            "<p>The files of the withdrawn versions are kept for now, unused, as the recipe "
            "asks; the operator's next garbage collection deletes them.</p>"
        )
    gone = (
        f"<p>{_were(len(files['deleted']), 'file')} deleted, which only the withdrawn versions "
        "used; the store was checked afterwards, and they are gone.</p>"
    )
    gone += _table(
        "Deleted copies that commands had written", ("copy",), [(p,) for p in files["copies"]]
    )
    if not files["left"]:
        return gone
    return (
        f"{gone}<p><b>{_were(len(files['left']), 'file')} not deleted</b> and may hold the text. "
        "The request stays open until they are gone, and another certificate says so.</p>"
        + _table("Files that could not be deleted", ("file",), [(path,) for path in files["left"]])
    )


def _cleared(body: Mapping[str, Any]) -> str:
    nodes = body.get("nodes", ())
    if not nodes:
        return ""
    answered = [node for node in nodes if node["files"] is not None]
    silent = [(node["node"],) for node in nodes if node["files"] is None]
    said = f"{len(answered)} of {counted(len(nodes), 'worker machine')} deleted their copies"
    return f"<p>{said}.</p>" + _table(
        "Machines that did not answer, and may hold copies", ("machine",), silent, is_open=True
    )


def _clusters(changes: Sequence[Mapping[str, Any]]) -> str:
    if not changes:
        return ""
    promoted = sum(bool(change["promoted"]) for change in changes)
    split = sum(len(change["kept_after"]) > 1 for change in changes)
    empty = sum(not change["members_left"] for change in changes)
    groups = counted(len(changes), "duplicate cluster")
    said = [f"The documents were members of {groups}"]
    if empty:
        said.append(f"{empty} have no members left")
    if promoted:
        said.append(f"in {promoted} another member is now kept")
    if split:
        said.append(f"{split} were split")
    return f"<p>{'; '.join(said)}.</p>"


def _searched(body: Mapping[str, Any]) -> str:
    search = body["search"]
    if search is None:
        return "<p>There was nothing to search for: no stored file contained it.</p>"
    return (
        f"<p>After the deletion, {search['texts']:,} stored texts and {search['tokens']:,} tokens of "
        "training data were searched for the removed text, whole and in runs of 13 words.</p><dl>"
        f"<dt>Exact copies</dt><dd><b>{search['exact']}</b></dd>"
        f"<dt>Similar texts</dt><dd><b>{search['similar']}</b> documents share at least 30% of its "
        "13-word runs: copies with changes, or long quotations</dd>"
        f"<dt>Other files</dt><dd>{counted(search['files'], 'file')}, all that the operator's system keeps "
        "beside them (caches, records, logs, temporary files), opened and searched: "
        f"<b>{len(_strange(body))}</b> hold the text, or may</dd></dl>"
        + _table(
            "Other files that hold the text, or may",
            ("file", "which", "to do"),
            [(one["file"], one["said"], one["to_do"]) for one in _strange(body)],
            is_open=True,
        )
        + _table("Files that could not be searched", ("file", "why"), search["not_searched"])
    )


def _strange(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List files outside the corpus that hold the text, without the operator's source files."""
    return [one for one in (body["search"] or {}).get("holding", ()) if not one["is_source"]]


def _may_remain(body: Mapping[str, Any]) -> str:
    """List what this takedown does not cover."""
    said = [
        "the original files that the corpus was made from, which are not part of it",
        "exports and copies kept outside the operator's system, backups, old object versions that "
        "a storage service keeps, and caches on other machines",
        "models that were trained on earlier versions",
    ]
    originals = sum(one["is_source"] for one in (body["search"] or {}).get("holding", ()))
    if originals:
        said[0] += f" ({_were(originals, 'of them', plural='of them')} found to hold the text)"
    items = "".join(f"<li>{one}</li>" for one in said)
    pinned = [(name, held) for name, held in sorted(body["models"].items())]
    return (
        f"<p>This certificate does not cover:</p><ul>{items}</ul>"
        + ("<p>Trained parts are not retrained.</p>" if pinned else "")
        + _table("What trained parts may still hold", ("part", "may hold"), pinned, is_open=True)
    )


def _copies_section(body: Mapping[str, Any]) -> str:
    """List the copies that are still there, and how to ask for their removal."""
    copies = body["copies"]
    if not copies:
        return ""
    rows = [
        (
            copy["url"] or "",
            copy["doc_id"],
            "the same text" if copy["exact"] else f"{copy['share_percent']}%",
            ("yes, since this takedown" if copy["promoted"] else "yes")
            if copy["in_training_data"]
            else "no",
        )
        for copy in copies
    ]
    how = (
        "The request covers near duplicates only where nearly all of the text agrees. To have these "
        "removed too, request their URLs or document ids"
        if body["request"]["near_duplicates"]
        else "The request does not cover near duplicates. To have these removed too, file it again "
        "with near duplicates (<code>catalog takedown request ... --near-duplicates</code>), "
        "or request their URLs or document ids"
    )
    return f"<p>{how} (<code>--url</code>, <code>--doc-id</code>).</p>" + _table(
        "Copies that remain",
        ("URL", "document", "13-word runs shared", "in the training data"),
        rows,
        is_open=True,
    )


def _from_now_on(body: Mapping[str, Any]) -> str:
    held = [words for kind, words in HELD.items() if body["standing_orders"].get(kind)]
    if not held:
        return "<p>Nothing is suppressed: the request was withdrawn or matches nothing.</p>"
    items = "".join(f"<li>{words}</li>" for words in held)
    return f"<p>These are suppressed in every later snapshot and build:</p><ul>{items}</ul>"


def _proof(body: Mapping[str, Any]) -> str:
    shards = [
        (change["after"], name, before or "none", after or "none")
        for change in body["versions"]
        for name, (before, after) in change["shards"].items()
    ]
    documents = [(row["doc_id"], row["text_id"]) for row in body["documents"]]
    return (
        f"<dl><dt>This certificate</dt><dd>number {body['number']} of the chain, of "
        f"{escape(body['issued_at'])}; order book <code>{body['book']['id']}</code>, after entry "
        f"{body['book']['entry']}</dd><dt>The one before</dt><dd><code>"
        f"{body['previous_sha256'] or 'none: this is the first'}</code></dd>"
        f"<dt>Signed with</dt><dd>{_signed(body['key_sha256'])}</dd>"
        f"<dt>Made by</dt><dd>corpus-assets {escape(body['code_version'])}</dd></dl>"
        f"<p class='small'>{_trust(body)} It holds no text: digests of the removed texts and of "
        "some of their 13-word runs, from which the text cannot be read, let the search be repeated "
        f"at any time with <code>catalog takedown verify {body['request']['id']}</code>.</p>"
        + _table("Documents removed", ("document", "text id"), documents)
        + _table("Files of training data", ("version", "file", "before", "after"), shards)
    )


def _signed(key_sha256: str | None) -> str:
    return f"the key <code>{key_sha256}</code>" if key_sha256 else "nothing: it is not signed"


def _trust(body: Mapping[str, Any]) -> str:
    """Say what the certificate's form proves, and no more."""
    if body["key_sha256"]:
        return (
            "The JSON file of the same name is signed, and holds the digest of this page. With it "
            "and the operator's public key anyone can check both, without the corpus: "
            "<code>catalog takedown verify FILE.json --public-key KEY.pub</code>. Each certificate "
            "signs its number and the digest of the one before it."
        )
    return (
        "Each certificate names the digest of the one before it, and the catalog records them all: "
        "that detects damage, and changes by anyone who can write to the catalog or the store alone. "
        "It is not signed, so it does not detect changes by anyone who can write to both."
    )


def _table(
    title: str, names: Sequence[str], rows: Sequence[Sequence[str]], is_open: bool = False
) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in names)
    cells = "".join(
        "<tr>" + "".join(f"<td><code>{escape(str(cell))}</code></td>" for cell in row) + "</tr>"
        for row in rows[:SHOWN]
    )
    more = f"<p class='small'>and {len(rows) - SHOWN} more, in the JSON file</p>"
    return (
        f"<details{' open' if is_open else ''}><summary>{title} ({len(rows)})</summary>"
        f"<table><tr>{head}</tr>{cells}</table>"
        f"{more if len(rows) > SHOWN else ''}</details>"
    )


def _were(count: int, noun: str, of: str = "", plural: str = "") -> str:
    """`1 file was`, `2 files of training data were`."""
    named = " ".join(filter(None, [counted(count, noun, plural), of]))
    return f"{named} {'was' if count == 1 else 'were'}"
