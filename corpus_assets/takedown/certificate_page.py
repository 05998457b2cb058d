"""The certificate as a page for the person who asked: plain words first, then proof."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from catalog.figures import counted
from catalog.pages import render

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
TEMPLATES = Path(__file__).with_name("templates")
SHOWN = 200  # rows of a list on the page; the JSON has all of them


def render_certificate(body: Mapping[str, Any]) -> str:
    """Make the page; the certificate holds the page's digest, so the page cannot hold its own."""
    request, files, strange = body["request"], body["files"], strange_files(body)
    search = body["search"]
    nodes = body.get("nodes", ())
    shards = [
        (change["after"], name, before or "none", after or "none")
        for change in body["versions"]
        for name, (before, after) in change["shards"].items()
    ]
    values = {
        "asked": ASKED.get(request["kind"], request["kind"]),
        "is_open": bool(files["left"] or body["copies"] or strange),
        "copies_in_short": _copies_in_short(body["copies"]),
        "copied": [(path,) for path in files.get("copies", ())],
        "left": [(path,) for path in files["left"]],
        "nodes": nodes,
        "silent": [(node["node"],) for node in nodes if node["files"] is None],
        "clusters": _clusters(body["clusters"]),
        "strange": [(one["file"], one["statement"], one["to_do"]) for one in strange],
        "originals": sum(one["is_source"] for one in (search or {}).get("holding", ())),
        "copies": [_copy(copy) for copy in body["copies"]],
        "models": sorted(body["models"].items()),
        "held": [words for kind, words in HELD.items() if body["standing_orders"].get(kind)],
        "documents": [(row["doc_id"], row["text_id"]) for row in body["documents"]],
        "shards": shards,
        "shown": SHOWN,
    }
    return render(TEMPLATES / "certificate.html", **{**body, **values})


def _copies_in_short(copies: Sequence[Mapping[str, Any]]) -> str:
    """Finish the first sentence, and say what to do about copies."""
    exact = sum(copy["exact"] for copy in copies)
    near = [copy for copy in copies if not copy["exact"]]
    sentence = (
        f"; the same text is found under {counted(exact, 'other URL')}"
        if exact
        else "; no exact copy of the text was found in what is left"
    )
    if near:
        sentence += (
            f"{' and' if exact else ', but'} {_remain(len(near), 'near copy', 'near copies')}"
        )
    used = [copy for copy in copies if copy["in_training_data"]]
    promoted = sum(copy["promoted"] for copy in used)
    if used:
        which = "it is" if len(copies) == 1 else f"{len(used)} of them {_are(len(used))}"
        sentence += f": {which} in the training data"
    if promoted:
        which = "" if promoted == len(used) else f" ({promoted} of these)"
        sentence += (
            f"{which}, where this takedown put {'it' if promoted == 1 else 'them'}, since the "
            "removed document no longer represents it"
        )
    more = (
        " The request does not cover copies; see below how to request their removal."
        if copies
        else ""
    )
    return f"{sentence}.{more}"


def _remain(count: int, one: str, many: str) -> str:
    return f"{counted(count, one, many)} {'remains' if count == 1 else 'remain'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _clusters(changes: Sequence[Mapping[str, Any]]) -> str:
    if not changes:
        return ""
    promoted = sum(bool(change["promoted"]) for change in changes)
    split = sum(len(change["kept_after"]) > 1 for change in changes)
    empty = sum(not change["members_left"] for change in changes)
    groups = counted(len(changes), "duplicate cluster")
    clauses = [f"The documents were members of {groups}"]
    if empty:
        clauses.append(f"{empty} have no members left")
    if promoted:
        clauses.append(f"in {promoted} another member is now kept")
    if split:
        clauses.append(f"{split} were split")
    return "; ".join(clauses)


def strange_files(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List files outside the corpus that hold the text, without the operator's source files."""
    return [one for one in (body["search"] or {}).get("holding", ()) if not one["is_source"]]


def _copy(copy: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Return a copy that remains: address, document, how like, whether it is trained on."""
    is_trained_on = "yes, since this takedown" if copy["promoted"] else "yes"
    return (
        copy["url"] or "",
        copy["doc_id"],
        "the same text" if copy["exact"] else f"{copy['share_percent']}%",
        is_trained_on if copy["in_training_data"] else "no",
    )
