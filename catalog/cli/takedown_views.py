"""Answers about takedowns as text: ids, counts and addresses, never text of a document."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from catalog.cli.terminal import print_fields, print_line, print_records, printable
from catalog.figures import counted
from catalog.formats.sketches import NEAR_TEXT

HOSTS_SHOWN = 20
WORDS = {
    "member_promoted": "another member will be promoted",
    "nothing_left": "no member left",
    "no_change_in_shards": "no change in shards",
}
ORDER_WORDS = {
    "url_key": ("URL", "URLs"),
    "url_prefix": ("URL prefix", "URL prefixes"),
    "host": ("site", "sites"),
    "doc_id": ("document", "documents"),
    "text_id": ("exact text", "exact texts"),
    NEAR_TEXT: ("text with its near duplicates", "texts with their near duplicates"),
}
ROLE_WORDS = {
    "matched": "named by the request",
    "near_duplicate": "near duplicates",
    "descendant": "derived from them",
}


def show_request(answer: dict[str, Any]) -> None:
    """`catalog takedown request`"""
    row = answer["request"]
    if answer["outcome"] == "filed":
        print_line(f"Takedown {row['id']} filed, pending.")
    elif answer["outcome"] == "reopened":
        print_line(f"Takedown {row['id']} reopened, pending again.")
    elif answer["outcome"] == "already_there":
        print_line(
            f"Already filed as takedown {row['id']} ({_status(row)}); nothing new was filed."
        )
    elif row is not None:
        print_line(f"Dry run: already filed as takedown {row['id']} ({_status(row)}).")
    else:
        print_line("Dry run: nothing was filed.")
    asked = [("asked for", f"{answer['kind']} {answer['value']}")]
    print_fields([*asked, ("covers", answer["scope"])] if answer["scope"] else asked)
    if answer["outcome"] == "dry_run" and answer["needs_yes"]:
        print_line("Filing it needs --yes: " + printable(answer["needs_yes"]))
    if answer["standing"]:
        print_line(_standing(answer))
        for line in _near_copies(answer):
            print_line(line)
        if answer["nearest"]:
            print_line()
            print_records(answer["nearest"], "address=nearest URL", "differs_by=differs by")
        return
    _show_impact(answer)
    if answer["kind"] in ("domain", "url_prefix"):
        print_line()
        shown = answer["hosts"][:HOSTS_SHOWN]
        print_records(shown, "host", "documents")
        if len(answer["hosts"]) > len(shown):
            print_line(f"The {len(shown)} hosts with the most documents; --json lists more.")
    if answer["near_duplicates"]:
        print_line()
    for line in _near_copies(answer):
        print_line(line)
    if answer["outcome"] in ("filed", "reopened"):
        print_line()
        print_line("`catalog takedown run` or the takedown sensor rebuilds the affected versions.")


def show_imported(answer: dict[str, Any]) -> None:
    """`catalog takedown import`"""
    print_line(
        f"{answer['file']}: {counted(answer['lines'], 'request')} read, "
        f"{counted(answer['bad'], 'bad line')}"
        f"{' (dry run: nothing was filed)' if answer['dry_run'] else ''}"
    )
    print_fields(
        [
            ("filed", answer["filed"]),
            ("already filed", answer["already_there"]),
            ("reopened", answer["reopened"]),
            ("no match yet", answer["standing"]),
        ]
    )
    if answer["documents"]:
        _show_impact(answer)


def show_list(rows: list[dict[str, Any]]) -> None:
    """`catalog takedown list`"""
    if not rows:
        print_line("No takedowns found.")
        return
    shown = [
        row
        | {
            "kind": row["kind"] + " and near duplicates" * row["near_duplicates"],
            "documents": row["documents"] or "standing",
        }
        for row in rows
    ]
    columns = ("id", "status", "created_at=filed", "kind", "value")
    print_records(shown, *columns, "documents", "reference", "error")


def show_takedown(row: dict[str, Any]) -> None:
    """`catalog takedown show`"""
    print_fields(
        [
            ("takedown", row["id"]),
            ("status", _status(row)),
            ("asked for", f"{row['kind']} {row['value']}"),
            ("as written", row["given"] or None),
            ("near duplicates", row["near_duplicates"]),
            ("text sha256", row["text_sha256"]),
            ("reason", row["reason"]),
            ("requester", row["requester"] or None),
            ("reference", row["reference"] or None),
            ("filed", row["created_at"]),
            ("changed", row["updated_at"]),
            ("attempts", row["attempts"]),
            ("error", row["error"]),
            ("suppressed", held_in_words(row["suppressions"]) or None),
            ("documents", row["documents"] or "none; suppressed in later snapshots"),
        ]
    )
    listed = row["found"].get("listed", [])
    if listed:
        print_line()
        print_records(listed, "doc_id=document", "role")
        if row["found"].get("truncated"):
            print_line(f"The first {len(listed)} of {counted(row['documents'], 'document')}.")
    if row["actions"]:
        print_line()
        columns = ("version_before=version before", "version_after=after", "created_at=at")
        print_records(row["actions"], "action", *columns)
    if row["certificates"]:
        print_line()
        print_records(row["certificates"], "path=certificate", "sha256")
    if row["open_files"]:
        print_line()
        print_records(row["open_files"], "file=file that keeps it open", "to_do=why")


def held_in_words(orders: Sequence[Mapping[str, str]]) -> str:
    """Return standing orders counted by kind: `1 URL, 2 texts with their near duplicates`."""
    counts = Counter(order["kind"] for order in orders)
    return ", ".join(
        f"{counted(counts[kind], *words)}" for kind, words in ORDER_WORDS.items() if counts[kind]
    )


def show_withdrawn(answer: dict[str, Any]) -> None:
    """`catalog takedown withdraw`"""
    print_line(
        f"Takedown {answer['request']['id']} withdrawn; "
        f"{counted(answer['suppressions_removed'], 'suppression')} ended with it (those of other "
        "requests remain)."
    )


def _status(row: dict[str, Any]) -> str:
    if row["status"] == "running":
        return f"running, by {printable(row['owner'])}"
    return "pending, the last attempt failed" if row["error"] else str(row["status"])


def _standing(answer: dict[str, Any]) -> str:
    said = (
        "No document of a live version matches. The suppression applies to every later snapshot "
        "and build."
    )
    if answer["kind"].startswith("text"):
        said += (
            " A text must be given exactly as it was extracted: `catalog find --text-file` searches "
            "inside final texts."
        )
    return said


def _near_copies(answer: dict[str, Any]) -> list[str]:
    """Return what holds for copies that come in later, under URLs that are not known yet."""
    if not answer["near_duplicates"]:
        return []
    held = sum(kind == NEAR_TEXT for kind, _ in answer["suppressions"])
    short = answer["texts_too_short"]
    said = []
    if held:
        said.append(
            f"Near duplicates of {counted(held, 'text')} are suppressed too, under any URL."
        )
    if short:
        said.append(
            f"Only exact copies of {counted(short, 'text')} are suppressed: too short to match near "
            "duplicates reliably."
        )
    if not held and not short:
        said.append(
            "Near duplicates under other URLs cannot be found until the text is known: file it with "
            "--text-file and --near-duplicates if you have it."
            if answer["kind"] not in ("text_id", "text_sha256")
            else "Only exact copies are suppressed: the text is not known, or too short to match near "
            "duplicates reliably."
        )
    return said


def _show_impact(answer: dict[str, Any]) -> None:
    roles = answer.get("documents_by_role", {})
    parts = [f"{roles[role]} {words}" for role, words in ROLE_WORDS.items() if roles.get(role)]
    print_fields(
        [
            ("documents", f"{answer['documents']}" + (f" ({', '.join(parts)})" if parts else "")),
            ("in shards", answer["documents_in_shards"]),
            ("shards", answer["shards"]),
            ("samples", answer["samples"]),
            ("tokens", answer["tokens"]),
            ("clusters", answer["clusters"]),
        ]
    )
    print_line()
    columns = ("documents_in_shards=documents in shards", "shards", "samples", "tokens")
    print_records(answer["versions"], "version", "documents", *columns)
    if not answer["clusters"]:
        return
    print_line()
    effects = [
        row | {"then": WORDS[row["outcome"]] + ", unless the cluster splits" * row["may_split"]}
        for row in answer["cluster_effects"]
    ]
    columns = ("size=members", "removed", "then=effect", "promoted_doc_id=promoted")
    print_records(effects, "kept_doc_id=cluster kept by", *columns)
    if answer["cluster_effects_truncated"]:
        counts = ", ".join(
            f"{count} {WORDS[name]}" for name, count in answer["cluster_outcomes"].items()
        )
        print_line(f"The first {len(answer['cluster_effects'])}; of all clusters: {counts}.")


def show_verified(answer: dict[str, Any]) -> None:
    """The outcome of looking at a takedown's proof again."""
    print_line(
        f"takedown {answer['request']}: checked "
        f"{counted(answer['certificates_checked'], 'certificate')} and "
        f"{counted(len(answer['versions_searched']), 'live version')}"
    )
    for problem in answer["broken_certificates"]:
        print_line(f"  {problem}")
    for problem in answer["orders_missing"]:
        print_line(f"  {problem}")
    for found in answer["documents_found"]:
        print_line(f"  {found['doc_id']} is in {found['version']} ({found['table']})")
    for path in answer["files_left"]:
        print_line(f"  {path} is still in the store")
    if answer["files_kept"]:
        print_line(
            f"  {counted(answer['files_kept'], 'file')} of revoked versions kept, as the recipe asks; "
            "`corpus gc` deletes them"
        )
    if answer["copies_under_other_addresses"]:
        print_line(
            f"  {counted(answer['copies_under_other_addresses'], 'copy', 'copies')} under other URLs, "
            "not covered by the request"
        )
    _show_signature(answer)
    if answer["signed_by"] and not answer["head_checked"]:
        print_line(
            "  The end of the order book was not checked: that needs the head record next to the "
            "signing key."
        )
    search = answer["search"]
    if search is None:
        print_line(
            "  Ids and digests were checked. Texts and tokens were not searched for the removed text: "
            "that needs corpus-assets, installed where this catalog's store can be read."
        )
    else:
        print_line(
            f"  searched {counted(search['texts'], 'text')} and {counted(search['tokens'], 'token')}: "
            f"{counted(search['exact'], 'exact copy', 'exact copies')}, "
            f"{counted(search['similar'], 'near duplicate')}"
        )
        print_line(f"  searched {counted(search['files'], 'other file')} in the home")
        for held in search["holding"]:
            print_line(f"  {held['file']} {held['said']}: {held['to_do']}")
        for name, why in search["not_searched"]:
            print_line(f"  {name} was not searched: {why}")
    if not answer["documents_removed"]:
        print_line(
            "Nothing was removed for this request: the certificate lists no document, so there is "
            "nothing to verify."
        )
    elif not answer["versions_searched"]:
        print_line(
            "There is no live version to search; versions that the catalog does not know were not "
            "checked."
        )
    else:
        print_line("Verified." if answer["whole"] else "Verification failed.")


def _show_signature(answer: dict[str, Any]) -> None:
    if answer["signed_by"] is None:
        print_line(
            "  It is not signed: digests detect damage, and changes by anyone who cannot write to both "
            "catalog and store."
        )
    elif not answer["signature_checked"]:
        print_line("  It is signed, but the signature was not checked: pass --public-key.")
    else:
        print_line(f"  signed with the key {answer['signed_by']}")


def show_verified_copy(answer: dict[str, Any]) -> None:
    """A copy of a certificate, checked by itself."""
    print_line(
        f"{answer['certificate']}: takedown {answer['request']}, certificate number "
        f"{answer['number']} of {answer['issued_at']}"
    )
    print_fields(
        [
            ("documents removed", answer["documents_removed"]),
            ("files not deleted", len(answer["files_left"])),
            ("copies that remain", answer["copies_left"]),
            ("signed with", answer["signed_by"] or "nothing"),
            ("page", "matches" if answer["page_checked"] else "not found next to it"),
        ]
    )
    for problem in answer["problems"]:
        print_line(f"  {problem}")
    if not answer["problems"]:
        print_line("  The operator signed exactly this. Catalog and store were not checked.")
    if not answer["documents_removed"]:
        print_line("Nothing was removed: the certificate lists no document.")
    elif answer["whole"]:
        print_line("The certificate is genuine.")
    else:
        print_line("The certificate is not valid.")


def show_restored(answer: dict[str, Any]) -> None:
    """`catalog takedown restore`"""
    print_line(
        f"order book: {counted(answer['entries'], 'entry', 'entries')}, "
        f"{answer['entries_new_to_catalog']} new to the catalog, "
        f"{answer['entries_new_to_store']} rewritten to the store"
    )
    states = ", ".join(f"{count} {name}" for name, count in answer["requests"].items() if count)
    print_fields(
        [
            ("requests", states or "none"),
            ("suppressions in force", answer["standing_orders"]),
            ("certificates", answer["certificates"]),
            ("versions revoked", ", ".join(answer["versions_revoked"]) or None),
        ]
    )
    if answer["head_recorded"]:
        print_line(
            "The head record next to the signing key did not have this order book and does now. "
            "Entries may have been removed from its end: there is no way to know."
        )
    if answer["versions_unknown"]:
        print_line(
            f"The catalog does not know these versions in the store: "
            f"{', '.join(answer['versions_unknown'])}. Rebuild those you need before "
            "`corpus gc` or a takedown deletes their files."
        )


def show_key(answer: dict[str, Any]) -> None:
    """`catalog takedown keygen`"""
    print_fields(
        [
            ("private key", f"{answer['private_key']} (keep it private)"),
            ("public key", answer["public_key"]),
            ("sha256", answer["key_sha256"]),
        ]
    )
    print_line()
    print_line("Publish this key and its SHA-256 where requesters can find them:")
    print_line()
    for line in answer["pem"].splitlines():
        print_line(line)
