"""Each command's answer as text. The same answers go out whole with --json."""

from typing import Any

from catalog.cli.terminal import (
    print_fields,
    print_line,
    print_records,
    print_table,
    printable,
    short,
)
from catalog.figures import counted


def show_versions(rows: list[dict[str, Any]]) -> None:
    """`catalog versions`"""
    if not rows:
        print_line("No version is published yet.")
        return
    print_records(
        [row | {"manifest": short(row["manifest_sha256"])} for row in rows],
        *("name=version", "state=status", "created_at=created"),
        *("documents", "tokens", "samples", "manifest"),
    )


def show_resolved(answer: dict[str, Any]) -> None:
    """`catalog resolve`"""
    print_fields(
        [
            ("version", f"{answer['name']} ({answer['state']}, {answer['created_at']})"),
            ("released", _release(answer)),
            ("recipe", f"{answer['recipe']} {answer['recipe_digest']}"),
            ("lock", answer["lock_digest"]),
            ("manifest", f"{answer['manifest_path']} {answer['manifest_sha256']}"),
            ("tokenizer", f"{answer['tokenizer']['path']} {answer['tokenizer']['sha256']}"),
            ("seed", answer["seed"]),
            ("seq_len", answer["seq_len"]),
            ("documents", answer["documents"]),
            ("tokens", answer["tokens"]),
            ("samples", answer["samples"]),
        ]
    )
    if answer["gates"]:
        print_line()
        gates = [gate | {"said": gate["detail"].get("message")} for gate in answer["gates"]]
        print_records(gates, "name=gate", "outcome", "said=message")
    print_line()
    print_records(answer["inputs"], "snapshot=input snapshot", "source", "files", "bytes")
    print_line()
    print_records(answer["groups"], "id=group", "shards", "samples", "tokens")
    print_line()
    shards = [row | {"bin sha256": short(row["bin_sha256"])} for row in answer["shards"]]
    print_records(shards, "name=shard", "samples", "tokens", "documents", "bin sha256")


def _release(answer: dict[str, Any]) -> str | None:
    if answer["released_at"] is None:
        return None
    return f"{answer['released_at']} by {answer['released_by']}: {answer['release_reason']}"


def show_history(answer: dict[str, Any]) -> None:
    """`catalog lineage`"""
    from catalog.ask.documents import fate

    print_fields([("document", answer["doc_id"]), ("version", answer["version"])])
    for record in answer["records"]:
        print_line()
        place = f"{record['file']} at {record['offset']}, {counted(record['length'], 'byte')}"
        print_fields(
            [
                ("url", record["url"] or record["url_key"]),
                ("snapshot", f"{record['snapshot']} (source {record['source']})"),
                ("file", f"{place} (part {record['part']})"),
                ("fetched", record["fetched_at"]),
                ("licence", record["licence"]),
                ("training preference", _preference(record)),
                ("outcome", fate(record["decision"])),
                ("failed rules", (record["decision"] or {}).get("failed_rules") or None),
            ]
        )
    cluster = answer["cluster"]
    if cluster:
        print_line()
        own = cluster["kept_doc_id"] == answer["doc_id"]
        stands = "this document" if own else cluster["kept_doc_id"]
        print_line(f"Duplicate cluster of {cluster['size']}; kept: {stands}.")
        columns = ("doc_id=member", "snapshot", "kind", "similarity", "kept")
        print_records(cluster["members"], *columns)
    for row in answer["signals"]:
        print_line()
        names = [name for name in row if name not in ("snapshot", "part")]
        title = f"value (part {row['part']})"
        print_table(("signal", title), [(name, row[name]) for name in names])
    if answer["final_text"]:
        print_line()
        print_fields([(f"final {name}", value) for name, value in answer["final_text"].items()])
    if answer["shards"]:
        print_line()
        columns = ("shard", "sample", "offset", "length", "doc_token_offset=document's token")
        print_records(answer["shards"], *columns)


def show_cluster(answer: dict[str, Any]) -> None:
    """`catalog cluster`"""
    print_fields([("document", answer["doc_id"]), ("version", answer["version"])])
    if not answer["members"]:
        print_line("It has no duplicates.")
        return
    print_fields(
        [
            ("cluster", f"{answer['cluster_id']}, {counted(answer['size'], 'document')}"),
            ("kept", answer["kept_doc_id"]),
            ("because", answer["why"]),
        ]
    )
    print_line()
    print_records(
        [row | {"mark": "kept" if row["kept"] else ""} for row in answer["members"]],
        *("mark=", "doc_id=member", "snapshot", "kind=match", "similarity"),
        *("n_chars=characters", "fetched_at=fetched", "url"),
    )
    if answer["truncated"]:
        print_line(f"{len(answer['members'])} of {answer['size']} shown (see --limit).")


def show_found(answer: dict[str, Any]) -> None:
    """`catalog find`"""
    matches = answer["matches"]
    if answer["match"] == "contains":
        print_line(
            "No document has exactly this text. Searched inside the kept final texts: "
            f"{counted(len(matches), 'match', 'matches')}{' or more' * answer['truncated']}."
        )
    elif not matches:
        print_line(f"No match in version {answer['version']}.")
    elif answer["truncated"]:
        print_line(
            f"{counted(answer['total'], 'record')}; the first {len(matches)} are shown (see --limit)."
        )
    if matches:
        shown = [
            row
            | {
                "url": row["url"] or row["url_key"],
                "shard": ", ".join(row["shards"]) or None,
                "samples": ", ".join(map(str, row["samples"])) or None,
            }
            for row in matches
        ]
        print_records(
            shown, "doc_id=document", "snapshot", "url", "fate=outcome", "shard", "samples"
        )


def _preference(record: dict[str, Any]) -> str | None:
    """Return what was said about training, and where; None in versions that did not look."""
    said, source = record.get("preference"), record.get("preference_source")
    return f"{said} ({source})" if source else said


def show_trace(answer: dict[str, Any]) -> None:
    """`catalog trace`"""
    place = f"{answer['shard']}, sample {answer['sample']}, token {answer['token']}"
    if answer["padding"]:
        print_line(f"{place}: padding (token {answer['token_id']}), part of no document.")
        return
    record = answer["record"]
    ending = " (ends the document)" if answer["ends_document"] else ""
    cluster = answer["cluster"]
    print_fields(
        [
            ("position", place),
            ("token", f"{answer['token_id']} {answer['token_text']!r}{ending}"),
            ("document", answer["doc_id"]),
            ("in document", f"token {answer['doc_token']} of {answer['doc_tokens']}"),
            ("url", record["url"] or record["url_key"]),
            ("snapshot", f"{record['snapshot']} (source {record['source']})"),
            (
                "file",
                f"{record['file']} at {record['offset']}, {counted(record['length'], 'byte')}",
            ),
            ("cluster", f"{cluster['cluster_id']} of {cluster['size']}" if cluster else None),
        ]
    )
    for name in ("final_text", "extracted_text"):
        text = answer[name]
        if text is None:
            continue
        print_line()
        title = name.replace("_", " ")
        edits = [f"; edited: {kind}" for kind in text.get("edits", ()) if kind]
        print_line(f"{title}, characters {text['start']} to {text['end']}{''.join(edits)}:")
        if "text" in text:
            before, here, after = (printable(text[key]) for key in ("before", "text", "after"))
            print_line(f"  {before}[{here}]{after}")
    if answer["note"]:
        print_line(answer["note"])


def show_exposure(answer: dict[str, Any]) -> None:
    """`catalog exposure`"""
    print_fields(
        [
            ("document", answer["doc_id"]),
            ("version", f"{answer['version']} ({answer['status']})"),
            (
                "run",
                f"seed {answer['seed']}, {counted(answer['steps'], 'step')} of {answer['global_batch']}",
            ),
            ("samples with it", len(answer["samples"])),
            ("times seen", answer["times_seen"]),
            ("tokens seen", answer["tokens_seen"]),
        ]
    )
    if answer["note"]:
        print_line(answer["note"])
    if answer["seen"]:
        print_line()
        columns = ("step", "position", "epoch", "shard", "sample", "tokens")
        print_records(answer["seen"], *columns)


def show_diff(answer: dict[str, Any]) -> None:
    """`catalog diff`"""
    print_line(f"{answer['before']} -> {answer['after']}")
    for said in answer["deleted"]:
        print_line(f"{said}; comparing what the registry still has")
    for what in ("recipe", "lock"):
        print_line()
        changes = answer[what]
        print_line(f"{what}: {counted(len(changes), 'key') if changes else 'no keys'} changed")
        if changes:
            rows = [(c["key"], _brief(c["before"]), _brief(c["after"])) for c in changes]
            print_table(("key", "before", "after"), rows)
    shards = answer["shards"]
    print_line()
    print_line(
        f"shards: {shards['shared']} unchanged, {len(shards['changed'])} changed, "
        f"{len(shards['added'])} added, {len(shards['removed'])} removed"
    )
    names = [(kind, name) for kind in ("changed", "added", "removed") for name in shards[kind]]
    if names:
        print_table(("shard is", "name"), names)
    documents = answer["documents"]
    print_line()
    if answer["deleted"]:
        print_line(f"documents: {documents['before']} before, {documents['after']} after")
    else:
        print_line(f"documents: {documents['added']} added, {documents['removed']} removed")
    for kind, title in (("removed", "removed because"), ("added", "added, previously")):
        if documents.get(kind):
            print_table((title, "documents"), list(documents[f"{kind}_reasons"].items()))
    print_line()
    tokens = [row | {"change": f"{row['change']:+d}"} for row in answer["tokens"]]
    print_records(tokens, "group", "before=tokens before", "after", "change")


def show_verified(answer: dict[str, Any]) -> None:
    """`catalog verify`"""
    print_line(
        f"version {answer['version']}: {counted(answer['files'], 'file')} hashed, "
        f"{counted(answer['shards'], 'shard')} and "
        f"{counted(len(answer['snapshots']), 'snapshot')} checked"
    )
    counts = [{"snapshot": name} | row for name, row in answer["snapshots"].items()]
    print_records(counts, "snapshot", "records", "kept", "dropped", "in_shards=in shards")
    print_line()
    if answer["ok"]:
        print_line("OK: all files and counts match what was recorded.")
        return
    print_line(f"FAILED: {counted(len(answer['problems']), 'problem')}.")
    print_records(answer["problems"], "check", "subject", "problem")


def _brief(value: Any, chars: int = 60) -> str:
    text = printable(value)
    return text if len(text) <= chars else text[: chars - 3] + "..."


def show_copies(rows: list[dict[str, Any]]) -> None:
    """`catalog copies`"""
    if not rows:
        print_line("No command has written a copy yet.")
        return
    shown = [
        row
        | {
            "versions": ", ".join(row["versions"]),
            "documents": "any" if row["documents"] is None else row["documents"],
            "state": f"on {row['machine']}" if row["state"] == "unknown" else row["state"],
        }
        for row in rows
    ]
    columns = ("kind", "versions=version", "documents", "created_at=written", "state")
    print_records(shown, "place", *columns)


def show_judgements(answer: dict[str, Any]) -> None:
    """`catalog judgements`"""
    if not answer["reasons"]:
        print_line(
            f"no judgements of {answer['version']} yet; record some in `catalog serve --review`"
        )
        return
    rows = [
        (
            f"{one['stage']}: {one['reason']}",
            one["records"],
            one["judged"],
            one["disagreed"],
            f"{one['share']:.1%}",
            f"{one['low']:.1%} to {one['high']:.1%}",
        )
        for one in answer["reasons"]
    ]
    heads = ("decision", "records", "judged", "disagree", "share", "95% interval")
    print_table(heads, rows, numbers_right=True)
    for row in answer.get("judgements", ()):
        said = "agrees" if row["agrees"] else "disagrees"
        print_line(
            f"{row['doc_id']}  {row['stage']}: {row['reason']}  {printable(row['judged_by'])} {said}"
            f"{': ' + printable(row['why']) if row['why'] else ''}"
        )
