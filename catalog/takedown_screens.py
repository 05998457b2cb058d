"""Answers about takedowns as text: ids, counts and addresses, never text of a document."""

from typing import Any

from catalog.output import print_fields, print_line, print_table, printable

WORDS = {
    "member_promoted": "another member will be promoted",
    "nothing_left": "nothing is left of it",
    "no_change_in_shards": "no change in shards",
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
        print_line(f"Takedown {row['id']} is filed and pending.")
    elif answer["outcome"] == "reopened":
        print_line(f"Takedown {row['id']} was there, and is pending again.")
    elif answer["outcome"] == "already_there":
        print_line(f"This is takedown {row['id']} already ({_status(row)}); nothing new was filed.")
    elif row is not None:
        print_line(f"Dry run: this is takedown {row['id']} already ({_status(row)}).")
    else:
        print_line("Dry run: nothing was filed.")
    print_fields([("asked for", f"{answer['kind']} {answer['value']}")])
    if answer["standing"]:
        print_line(_standing(answer))
        return
    _show_impact(answer)
    if answer["outcome"] in ("filed", "reopened"):
        print_line()
        print_line("`catalog takedown run` or the takedown sensor rebuilds the versions.")


def show_imported(answer: dict[str, Any]) -> None:
    """`catalog takedown import`"""
    print_line(
        f"{answer['file']}: {answer['lines']} requests read, {answer['bad']} bad lines"
        f"{' (dry run: nothing was filed)' if answer['dry_run'] else ''}"
    )
    print_fields(
        [
            ("filed", answer["filed"]),
            ("already there", answer["already_there"]),
            ("reopened", answer["reopened"]),
            ("standing orders", f"{answer['standing']} match nothing yet"),
        ]
    )
    if answer["documents"]:
        _show_impact(answer)


def show_list(rows: list[dict[str, Any]]) -> None:
    """`catalog takedown list`"""
    if not rows:
        print_line("No takedown of that kind is on file.")
        return
    print_table(
        ("id", "status", "filed", "kind", "value", "documents", "reference", "error"),
        [
            (
                row["id"],
                row["status"],
                row["created_at"],
                row["kind"] + " and near duplicates" * row["near_duplicates"],
                row["value"],
                row["documents"] or "standing",
                row["reference"],
                row["error"],
            )
            for row in rows
        ],
    )


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
            ("suppressions", len(row["suppressions"])),
            ("documents", row["documents"] or "none: a standing order for later snapshots"),
        ]
    )
    listed = row["found"].get("listed", [])
    if listed:
        print_line()
        print_table(("document", "role"), [(entry["doc_id"], entry["role"]) for entry in listed])
        if row["found"].get("truncated"):
            print_line(f"The first {len(listed)} of {row['documents']} documents.")
    if row["actions"]:
        print_line()
        print_table(
            ("action", "version before", "after", "at"),
            [
                (a["action"], a["version_before"], a["version_after"], a["created_at"])
                for a in row["actions"]
            ],
        )
    if row["certificates"]:
        print_line()
        print_table(
            ("certificate", "sha256"), [(c["path"], c["sha256"]) for c in row["certificates"]]
        )


def show_withdrawn(answer: dict[str, Any]) -> None:
    """`catalog takedown withdraw`"""
    print_line(
        f"Takedown {answer['request']['id']} is withdrawn; {answer['suppressions_removed']} "
        "suppressions ended with it (those that other requests hold stay)."
    )


def _status(row: dict[str, Any]) -> str:
    if row["status"] == "running":
        return f"running, by {printable(row['owner'])}"
    return "pending, the last attempt failed" if row["error"] else str(row["status"])


def _standing(answer: dict[str, Any]) -> str:
    if answer["kind"] == "text_sha256":
        return (
            "No document of a live version has this text. The order stands, but ingest knows texts "
            "by another digest: file the text itself (--text-file) to have it refused in later "
            "snapshots too."
        )
    return (
        "No document of a live version matches. The order stands: what it names is refused in "
        "every later snapshot and build."
    )


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
    columns = ("version", "documents", "documents_in_shards", "shards", "samples", "tokens")
    print_table(
        [name.replace("_", " ") for name in columns],
        [[row[name] for name in columns] for row in answer["versions"]],
    )
    if not answer["clusters"]:
        return
    print_line()
    print_table(
        ("cluster kept by", "members", "removed", "what will happen", "promoted"),
        [
            (
                row["kept_doc_id"],
                row["size"],
                row["removed"],
                WORDS[row["outcome"]] + ", unless it falls apart" * row["may_split"],
                row["promoted_doc_id"],
            )
            for row in answer["cluster_effects"]
        ],
    )
    if answer["cluster_effects_truncated"]:
        counts = ", ".join(
            f"{count} {WORDS[name]}" for name, count in answer["cluster_outcomes"].items()
        )
        print_line(f"The first {len(answer['cluster_effects'])}; of all clusters: {counts}.")


def show_verified(answer: dict[str, Any]) -> None:
    """The outcome of looking at a takedown's proof again."""
    print_line(
        f"takedown {answer['request']}: {answer['certificates_checked']} certificates and "
        f"{len(answer['versions_searched'])} live versions looked at"
    )
    for problem in answer["broken_certificates"]:
        print_line(f"  {problem}")
    for found in answer["documents_found"]:
        print_line(f"  {found['doc_id']} is in {found['version']} ({found['table']})")
    if answer["copies_under_other_addresses"]:
        print_line(
            f"  {answer['copies_under_other_addresses']} copies stand under other addresses, "
            "which the request does not cover"
        )
    print_line("The proof holds." if answer["whole"] else "The proof does not hold.")
