"""A takedown's certificate as a page for the person who asked: plain words first, then proof."""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.output import escape

ASKED = {
    "url": "the page at the address",
    "url_prefix": "all pages whose address begins with",
    "domain": "the whole site",
    "doc_id": "the document",
    "text_id": "the text with the id",
    "text_sha256": "the text with the SHA-256",
}
HELD = {
    "url_key": "the address",
    "url_prefix": "every address that begins so",
    "host": "the site with its subdomains",
    "doc_id": "the documents named here",
    "text_id": "exact copies of the text",
    "near_text": "near copies of the text, under any address",
}
STYLE = (
    "body{font:17px/1.55 system-ui,sans-serif;max-width:46rem;margin:2.5rem auto;padding:0 1.2rem;"
    "color:#1c1c1c;background:#fff}h1{font-size:1.7rem;margin:0 0 .3rem}h2{font-size:1.15rem;"
    "margin:2rem 0 .5rem}p{margin:.5rem 0}.lead{font-size:1.1rem;border-left:4px solid #2d6a4f;"
    "padding:.3rem 0 .3rem 1rem}.lead.open{border-color:#b5651d}dl{display:grid;"
    "grid-template-columns:9rem 1fr;gap:.25rem 1rem;margin:.6rem 0}dt{color:#666}dd{margin:0;"
    "overflow-wrap:anywhere}code{font-size:.82em;overflow-wrap:anywhere}table{border-collapse:"
    "collapse;width:100%;font-size:.8rem}td,th{border-bottom:1px solid #ddd;padding:.3rem .5rem "
    ".3rem 0;text-align:left;vertical-align:top}details{margin:.8rem 0}summary{cursor:pointer}"
    ".small{color:#666;font-size:.85rem}"
)
SHOWN = 200  # rows of a list on the page; the JSON has all of them


def render_certificate(body: Mapping[str, Any], sha256: str) -> str:
    """The page; `sha256` is the digest of the JSON beside it."""
    request = body["request"]
    title = f"Takedown {request['id']}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{STYLE}</style></head><body><h1>Certificate of removal</h1>{_lead(body)}"
        f"<h2>What was asked</h2>{_asked(request)}"
        f"<h2>What was done</h2>{_done(body)}"
        f"<h2>What was searched</h2>{_searched(body)}"
        f"<h2>From now on</h2>{_from_now_on(body)}"
        f"<h2>Proof</h2>{_proof(body, sha256)}</body></html>\n"
    )


def _lead(body: Mapping[str, Any]) -> str:
    search, count = body["search"], len(body["documents"])
    if not count:
        text, kind = (
            "Nothing that was asked for stood in any version of the corpus. The order is kept: it "
            "will not be taken in later either.",
            "",
        )
    elif search and search["exact"]:
        text, kind = (
            f"{_were(count, 'document')} removed. Copies of the same text stand under other "
            "addresses, which the request does not cover; see below.",
            " open",
        )
    else:
        text, kind = (
            f"{_were(count, 'document')} removed. No copy of the text is left in the corpus.",
            "",
        )
    return f'<p class="lead{kind}">{text}</p>'


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
        f"<b>{escape(change['after'])}</b> takes its place: {change['documents_after']} documents "
        f"for training where there were {change['documents_before']}. "
        f"{_were(len(change['shards']), 'file', 'of training data')} written anew, "
        f"{change['shared_shards']} did not hold it and are unchanged.</li>"
        for change in body["versions"]
    )
    deleted = (
        "The files of the withdrawn versions are deleted as the last step of this takedown."
        if body["revoked_files"] == "deleted"
        else "The files of the withdrawn versions are kept for now, out of use, and are deleted "
        "by the operator's next collection."
    )
    return (
        f"<ul>{changed}</ul><p>{deleted} The new versions are, byte for byte, what they would be "
        f"had the documents never been taken in.</p>{_clusters(body['clusters'])}"
    )


def _clusters(changes: Sequence[Mapping[str, Any]]) -> str:
    if not changes:
        return ""
    promoted = sum(bool(change["promoted"]) for change in changes)
    split = sum(len(change["kept_after"]) > 1 for change in changes)
    empty = sum(not change["members_left"] for change in changes)
    groups = "1 group" if len(changes) == 1 else f"{len(changes)} groups"
    said = [f"The documents stood in {groups} of near-identical documents"]
    if empty:
        said.append(f"nothing is left of {empty}")
    if promoted:
        said.append(f"in {promoted} another member now stands for the rest")
    if split:
        said.append(f"{split} fell apart")
    return f"<p>{'; '.join(said)}.</p>"


def _searched(body: Mapping[str, Any]) -> str:
    search = body["search"]
    if search is None:
        return "<p>There was nothing to search for: nothing stored held it.</p>"
    return (
        f"<p>After the removal, {search['texts']:,} stored texts and {search['tokens']:,} tokens of "
        "training data were searched for the removed text, whole and in runs of 13 words.</p><dl>"
        f"<dt>Exact copies</dt><dd><b>{search['exact']}</b>{_exact_words(search['exact'])}</dd>"
        f"<dt>Similar texts</dt><dd>{search['similar']}{_similar_words(search['similar'])}</dd>"
        "</dl>"
    )


def _similar_words(count: int) -> str:
    if not count:
        return ""
    return " (they share at least 30% of its wording: quotations, or copies with changes)"


def _exact_words(count: int) -> str:
    if not count:
        return ""
    return (
        " places, under other addresses. The request names an address, not the text: to have these "
        "removed too, ask for the text itself or for near copies"
    )


def _from_now_on(body: Mapping[str, Any]) -> str:
    held = [words for kind, words in HELD.items() if body["standing_orders"].get(kind)]
    if not held:
        return "<p>No order stands: the request was withdrawn or holds nothing.</p>"
    items = "".join(f"<li>{words}</li>" for words in held)
    return f"<p>These are refused in every later delivery and build:</p><ul>{items}</ul>"


def _proof(body: Mapping[str, Any], sha256: str) -> str:
    shards = [
        (change["after"], name, before or "none", after or "none")
        for change in body["versions"]
        for name, (before, after) in change["shards"].items()
    ]
    documents = [(row["doc_id"], row["text_id"]) for row in body["documents"]]
    return (
        f"<dl><dt>This certificate</dt><dd><code>{sha256}</code> (SHA-256 of the JSON file of the "
        "same name)</dd><dt>The one before</dt><dd><code>"
        f"{body['previous_sha256'] or 'none: this is the first'}</code></dd>"
        f"<dt>Made by</dt><dd>corpus-assets {escape(body['code_version'])}</dd></dl>"
        "<p class='small'>Each certificate names the digest of the one before it, so none can be "
        "altered or left out unnoticed. It holds no text: digests of the removed texts and of some "
        "of their 13-word runs, from which the text cannot be read, let the search be repeated at "
        f"any time with <code>catalog takedown verify {body['request']['id']}</code>.</p>"
        + _table("Documents removed", ("document", "text id"), documents)
        + _table("Files of training data", ("version", "file", "before", "after"), shards)
    )


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in names)
    cells = "".join(
        "<tr>" + "".join(f"<td><code>{escape(str(cell))}</code></td>" for cell in row) + "</tr>"
        for row in rows[:SHOWN]
    )
    more = f"<p class='small'>and {len(rows) - SHOWN} more, in the JSON file</p>"
    return (
        f"<details><summary>{title} ({len(rows)})</summary><table><tr>{head}</tr>{cells}</table>"
        f"{more if len(rows) > SHOWN else ''}</details>"
    )


def _were(count: int, noun: str, of: str = "") -> str:
    """`1 file was`, `2 files of training data were`."""
    named = " ".join(filter(None, [noun if count == 1 else f"{noun}s", of]))
    return f"{count} {named} {'was' if count == 1 else 'were'}"
