"""Answers of `catalog` whose text is laid out by hand: a picture of a document, a token, a difference."""

import base64
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from catalog.cli.answering import show, show_table
from catalog.cli.terminal import print_fields, print_line, print_table, printable
from catalog.figures import counted

if TYPE_CHECKING:
    from catalog.ask import FetchedRecord, History, Padding, QueryAnswer, Traced, VersionDifference


def show_query(answer: "QueryAnswer") -> None:
    """`catalog sql`"""
    print_table(answer.columns, answer.rows)


def write_record(answer: "FetchedRecord") -> None:
    """`catalog raw`: the record as it is, for a file or a pipe."""
    if answer.record is not None:
        sys.stdout.buffer.write(base64.b64decode(answer.record))


def show_history(answer: "History") -> None:
    """`catalog lineage`"""
    from catalog.ask import outcome_of

    print_fields([("document", answer.doc_id), ("version", answer.version)])
    for record in answer.records:
        print_line()
        print_fields(
            [
                ("url", record["url"] or record["url_key"]),
                ("snapshot", f"{record['snapshot']} (source {record['source']})"),
                ("file", f"{_place(record)} (part {record['part']})"),
                ("fetched", record["fetched_at"]),
                ("licence", record["licence"]),
                ("training preference", _preference(record)),
                ("outcome", outcome_of(record["decision"])),
                ("failed rules", (record["decision"] or {}).get("failed_rules") or None),
            ]
        )
    cluster = answer.cluster
    if cluster is not None:
        print_line()
        own = cluster.kept_doc_id == answer.doc_id
        stands = "this document" if own else cluster.kept_doc_id
        print_line(f"Duplicate cluster of {cluster.size}; kept: {stands}.")
        show_table(cluster.members, ("doc_id", "snapshot", "kind", "similarity", "kept"))
    for row in answer.signals:
        print_line()
        names = [name for name in row if name not in ("snapshot", "part")]
        title = f"value (part {row['part']})"
        print_table(("signal", title), [(name, row[name]) for name in names])
    if answer.final_text:
        print_line()
        print_fields([(f"final {name}", value) for name, value in answer.final_text.items()])
    if answer.shards:
        print_line()
        show_table(answer.shards)


def _place(record: Mapping[str, Any]) -> str:
    return f"{record['file']} at {record['offset']}, {counted(record['length'], 'byte')}"


def _preference(record: Mapping[str, Any]) -> str | None:
    """Return the preference about training, and its source; None in versions that did not look."""
    preference, source = record.get("preference"), record.get("preference_source")
    return f"{preference} ({source})" if source else preference


def show_trace(answer: "Traced | Padding") -> None:
    """`catalog trace`"""
    if answer.padding:
        show(answer)
        return
    record = answer.record
    ending = " (ends the document)" if answer.ends_document else ""
    cluster = answer.cluster
    print_fields(
        [
            ("position", f"{answer.shard}, sample {answer.sample}, token {answer.token}"),
            ("token", f"{answer.token_id} {answer.token_text!r}{ending}"),
            ("document", answer.doc_id),
            ("in document", f"token {answer.doc_token} of {answer.doc_tokens}"),
            *([("token order", answer.token_order)] if answer.token_order else []),
            ("url", record["url"] or record["url_key"]),
            ("snapshot", f"{record['snapshot']} (source {record['source']})"),
            ("file", _place(record)),
            ("cluster", f"{cluster.cluster_id} of {cluster.size}" if cluster else None),
        ]
    )
    for title, text in (
        ("final text", answer.final_text),
        ("extracted text", answer.extracted_text),
    ):
        if text is None:
            continue
        print_line()
        edits = [f"; edited: {kind}" for kind in text.get("edits", ()) if kind]
        print_line(f"{title}, characters {text['start']} to {text['end']}{''.join(edits)}:")
        if "text" in text:
            before, here, after = (printable(text[key]) for key in ("before", "text", "after"))
            print_line(f"  {before}[{here}]{after}")
    if answer.note:
        print_line(answer.note)


def show_diff(answer: "VersionDifference") -> None:
    """`catalog diff`"""
    print_line(f"{answer.before} -> {answer.after}")
    for line in answer.deleted:
        print_line(f"{line}; comparing what the registry still has")
    for what, changes in (("recipe", answer.recipe), ("lock", answer.lock)):
        print_line()
        print_line(f"{what}: {counted(len(changes), 'key') if changes else 'no keys'} changed")
        if changes:
            rows = [(c.key, _brief(c.before), _brief(c.after)) for c in changes]
            print_table(("key", "before", "after"), rows)
    shards = answer.shards
    print_line()
    print_line(
        f"shards: {shards.shared} unchanged, {len(shards.changed)} changed, "
        f"{len(shards.added)} added, {len(shards.removed)} removed"
    )
    kinds = {"changed": shards.changed, "added": shards.added, "removed": shards.removed}
    if any(kinds.values()):
        names = [(kind, name) for kind, some in kinds.items() for name in some]
        print_table(("shard is", "name"), names)
    documents = answer.documents
    print_line()
    if answer.deleted:
        print_line(f"documents: {documents.before} before, {documents.after} after")
    else:
        print_line(f"documents: {documents.added} added, {documents.removed} removed")
    for title, reasons in (
        ("removed because", documents.removed_reasons),
        ("added, previously", documents.added_reasons),
    ):
        if reasons:
            print_table((title, "documents"), list(reasons.items()))
    if answer.tokens:
        print_line()
        show_table(answer.tokens)


def _brief(value: Any, chars: int = 60) -> str:
    text = printable(value)
    return text if len(text) <= chars else text[: chars - 3] + "..."
