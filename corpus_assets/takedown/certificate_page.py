"""The certificate as a page for the person who asked: plain words first, then proof."""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.cli.terminal import escape
from catalog.figures import counted
from corpus_assets.versions.pages import page

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
    strange = len(strange_files(body))
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
        f"<b>{len(strange_files(body))}</b> hold the text, or may</dd></dl>"
        + _table(
            "Other files that hold the text, or may",
            ("file", "which", "to do"),
            [(one["file"], one["said"], one["to_do"]) for one in strange_files(body)],
            is_open=True,
        )
        + _table("Files that could not be searched", ("file", "why"), search["not_searched"])
    )


def strange_files(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
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
