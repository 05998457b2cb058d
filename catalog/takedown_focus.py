"""Which files a few takedowns can concern, by the key files of all live versions.

`LiveLineage.focus` then leaves all others unread, and the joins of `takedown_match` and
`takedown_impact` answer as they would over everything. Where keys are missing, or where so much
is asked for that a scan is no longer than the look-ups, nothing is left out.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from catalog.keyfile import (
    CLUSTER_IDS,
    DOCUMENT_IDS,
    HOSTS,
    SPAN_IDS,
    TEXT_IDS,
    URL_KEYS,
    id_key,
    url_hash,
)
from catalog.keys import Keys, domain_ranges, prefix_ranges
from catalog.live import LiveLineage
from catalog.lookups import Found
from catalog.takedown_target import Target
from catalog.urls import host_key

FEW = 1_000  # targets or documents
MANY_ROWS = 20_000

SURT_HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9_,.\-]+)(?::\d+)?")

Paths = dict[str, set[str]]


def focus_on_derived(live: LiveLineage) -> None:
    """Read only texts among which some were made from others."""
    if _covered(live, TEXT_IDS):
        files = [file for keys in live.keys.values() for file in keys.files_with_derived(TEXT_IDS)]
        live.focus({"texts": {file.path for file in files}})


def focus_on_targets(live: LiveLineage, targets: Sequence[tuple[Target, bool]]) -> None:
    """Read only records and texts that can be what the targets name.

    Near copies are searched among all texts, so their requests are not narrowed.
    """
    live.focus({})
    if len(targets) > FEW or any(near for _, near in targets):
        return
    if not _covered(live, DOCUMENT_IDS, URL_KEYS, HOSTS, TEXT_IDS):
        return
    sources = [source.name for source in live.registry.sources()]
    if not all(_has_keys(target, sources) for target, _ in targets):
        return
    paths: Paths = {"documents": set(), "texts": set()}
    rows = 0
    for keys in live.keys.values():
        for target, _ in targets:
            table = "texts" if target.kind in ("text_id", "text_sha256") else "documents"
            for file, numbers in _of_target(keys, target):
                paths[table].add(file.path)
                rows += len(numbers)
                if rows > MANY_ROWS:
                    return
    live.focus(paths)


def focus_on_documents(live: LiveLineage, doc_ids: Collection[bytes]) -> None:
    """Read only what holds these documents, their clusters, and the members of those."""
    live.focus({})
    if len(doc_ids) > FEW or not _covered(live, DOCUMENT_IDS, SPAN_IDS, CLUSTER_IDS):
        return
    paths: Paths = {name: set() for name in ("documents", "spans", "cluster_members")}
    concerned = set(doc_ids)
    for keys in live.keys.values():
        members = _clusters(live, keys, doc_ids)
        if members is None:
            return
        ids, files = members
        concerned |= ids
        paths["cluster_members"] |= files
        for doc_id in doc_ids:
            for table, kind in (("documents", DOCUMENT_IDS), ("spans", SPAN_IDS)):
                paths[table] |= {file.path for file, _ in keys.find(kind, id_key(doc_id))}
    for version, keys in live.keys.items():
        parts = {
            (file.snapshot, file.part)
            for doc_id in concerned
            for file, _ in keys.find(DOCUMENT_IDS, id_key(doc_id))
        }
        for table in ("signals", "texts"):
            files_of = live.files[version][table]
            near = {row.path for row in files_of if (row.snapshot, row.part) in parts}
            paths[table] = paths.get(table, set()) | near
    live.focus(paths)


def _covered(live: LiveLineage, *kinds: str) -> bool:
    return all(keys.covers(*kinds) for keys in live.keys.values())


def _has_keys(target: Target, sources: Iterable[str]) -> bool:
    """Whether key files know all that a target can mean.

    Hosts are kept for pages: a prefix of record keys has none, and a domain of numbers alone
    could be the end of an address made of numbers.
    """
    if target.kind == "url_prefix":
        host, end, _ = target.value.partition(")")
        of_source = any(target.value.startswith(f"{name}:") for name in sources)
        return bool(end) and not of_source and SURT_HOST.fullmatch(host) is not None
    if target.kind == "domain":
        return not target.value.removeprefix("www.").replace(".", "").isdigit()
    return True


def _of_target(keys: Keys, target: Target) -> Found:
    if target.kind == "url":
        named = [value for kind, value in target.orders if kind == "url_key"]
        return [pair for one in named for pair in keys.find(URL_KEYS, url_hash(one))]
    if target.kind == "url_prefix":
        return keys.hosts(prefix_ranges(target.value))
    if target.kind == "domain":
        ranges = [
            place
            for kind, value in target.orders
            for place in (
                domain_ranges(host_key(value)) if kind == "host" else prefix_ranges(value)
            )
        ]
        return keys.hosts(ranges)
    kind = DOCUMENT_IDS if target.kind == "doc_id" else TEXT_IDS
    ids = [bytes.fromhex(value) for name, value in target.orders if name in ("doc_id", "text_id")]
    return [pair for one in ids for pair in keys.find(kind, id_key(one))]


def _clusters(
    live: LiveLineage, keys: Keys, doc_ids: Collection[bytes]
) -> tuple[set[bytes], set[str]] | None:
    """Members of the clusters that documents are in or stand for, and the files that list them;
    None where they are very many."""
    kept = set(doc_ids)
    for doc_id in doc_ids:
        for file, numbers in keys.find(CLUSTER_IDS, id_key(doc_id)):
            if len(numbers) > MANY_ROWS:
                return None
            columns = ("doc_id", "kept_doc_id")
            for row in live.rows.take(file.path, numbers, columns).to_pylist():
                if row["doc_id"] == doc_id:
                    kept.add(row["kept_doc_id"])
    members: set[bytes] = set(kept)
    files: set[str] = set()
    for kept_doc_id in kept:
        for file, numbers in keys.find(CLUSTER_IDS, id_key(kept_doc_id)):
            files.add(file.path)
            if len(members) + len(numbers) > MANY_ROWS:
                return None
            table = live.rows.take(file.path, numbers, ("doc_id",))
            members.update(table["doc_id"].to_pylist())
    return members, files
