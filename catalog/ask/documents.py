"""Documents of a version: found by address, host or text; one whole, with its history; its copies."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import yaml

from catalog.answers import Shown
from catalog.errors import AmbiguousName, CatalogError, UnknownName
from catalog.figures import counted
from catalog.formats.ids import text_id
from catalog.formats.urls import host_key, spellings, url_key
from catalog.lineage import (
    SHOWN,
    Lineage,
    Row,
    cluster_rows,
    doc_ids_between,
    doc_ids_of_text,
    members_of,
    places_of,
    records_by_host,
    records_by_id,
    records_by_url,
    records_of,
    spans_of,
)

MIN_PREFIX = 4
MEMBERS_SHOWN = 100
FINAL = (
    "domain",
    "tier",
    "language",
    "boilerplate_lines",
    "scrubbed",
    "edits",
    "text",
)


def resolve_doc_id(lineage: Lineage, written: str) -> bytes:
    """Return a document id from hex, whole or the start of it where only one document begins so."""
    digits = written.strip().lower()
    if not digits or len(digits) > 32 or set(digits) - set("0123456789abcdef"):
        raise CatalogError(
            f"{written!r} is not a document id: give up to 32 hex digits, or look the document up "
            "with `catalog find`"
        )
    if len(digits) < MIN_PREFIX:
        raise CatalogError(f"give at least {MIN_PREFIX} digits of a document id")
    lowest = bytes.fromhex(digits.ljust(32, "0"))
    highest = bytes.fromhex(digits.ljust(32, "f"))
    found = doc_ids_between(lineage, lowest, highest, 6)
    if not found:
        raise UnknownName(
            f"version {lineage.version.name} has no document {digits}: it was never ingested "
            "for this version (try another --version)"
        )
    if len(found) > 1:
        some = ", ".join(doc_id.hex() for doc_id in found[:5])
        raise AmbiguousName(f"several documents begin with {digits}, give more digits: {some}")
    return found[0]


@dataclass(frozen=True)
class Member:
    """A document of a duplicate cluster, as the search for duplicates found it."""

    doc_id: Annotated[str, Shown("member")]
    snapshot: str
    part: int
    kind: str
    kept: bool
    similarity: float


@dataclass(frozen=True)
class Cluster:
    """Documents that share one kept document; `kind` and `similarity` are of the one asked about."""

    cluster_id: str
    size: int
    kept_doc_id: str
    kind: str
    similarity: float
    members: list[Member]


@dataclass(frozen=True)
class Span:
    """Tokens of a document in a sample."""

    shard: str
    sample: int
    offset: int
    length: int
    doc_token_offset: Annotated[int, Shown("document's token")]


@dataclass(frozen=True)
class History:
    """All that a version knows about a document. `records` and `signals` have the columns of its
    lineage tables, a record with its `decision`."""

    doc_id: str
    version: str
    state: str
    kept: bool
    records: list[Row]
    cluster: Cluster | None
    signals: list[Row]
    final_text: Row | None
    shards: list[Span]


def document_history(lineage: Lineage, doc_id: bytes) -> History:
    """Return all that the version knows about a document."""
    records = records_of(lineage, doc_id)
    snapshot = records[0]["snapshot"] if records else ""
    parts = {row["part"] for row in records}
    decided = {
        (row["part"], row["offset"]): without(row, "doc_id")
        for row in lineage.documents_in("decisions", [doc_id], snapshot, parts)
    }
    final = lineage.documents_in("final_text", [doc_id], snapshot, parts, FINAL)
    signals = lineage.documents_in("signals", [doc_id], snapshot, parts)
    kept = any(row["kept"] for row in decided.values())
    spans = spans_of(lineage, [doc_id], snapshot)[doc_id] if kept else []
    return History(
        doc_id=doc_id.hex(),
        version=lineage.version.name,
        state=lineage.version.state,
        kept=kept,
        records=[
            without(row, "doc_id") | {"decision": decided.get((row["part"], row["offset"]))}
            for row in records
        ],
        cluster=cluster(lineage, doc_id),
        signals=[without(row, "doc_id") for row in signals],
        final_text=_measured(final[0]) if final else None,
        shards=[Span(**span) for span in spans],
    )


def cluster(lineage: Lineage, doc_id: bytes, shown: int = MEMBERS_SHOWN) -> Cluster | None:
    """Return the documents that share one kept document, and which it is; None when it is alone.

    A snapshot is compared with those before it, so a document that had no copy when its own
    snapshot was decided is not listed itself: later copies name it as the one they gave way to.
    """
    own = cluster_rows(lineage, doc_id)
    kept_doc_id = own[0]["kept_doc_id"] if own else doc_id
    gave_way, members = members_of(lineage, kept_doc_id, shown)
    if not members:
        return None
    if not any(row["kept"] for row in members):
        members = _kept_alone(lineage, kept_doc_id) + members
    mine = own[0] if own else members[0]
    return Cluster(
        cluster_id=(own[0]["cluster_id"] if own else kept_doc_id).hex(),
        size=gave_way + 1,
        kept_doc_id=kept_doc_id.hex(),
        kind=mine["kind"],
        similarity=mine["similarity"],
        members=[Member(**row | {"doc_id": row["doc_id"].hex()}) for row in members],
    )


def _kept_alone(lineage: Lineage, doc_id: bytes) -> list[Row]:
    """Return the kept document of a cluster, where its own snapshot knew no copy of it."""
    found = [
        row
        for snapshot, part in places_of(lineage, doc_id)
        for row in lineage.documents_in("decisions", [doc_id], snapshot, [part])
    ]
    found.sort(key=lambda row: (not row["kept"], row["part"]))
    return [
        {name: row[name] for name in ("doc_id", "snapshot", "part")}
        | {"kind": "first", "kept": True, "similarity": 1.0}
        for row in found[:1]
    ]


def _measured(final: Row) -> Row:
    """Return a final text by its numbers."""
    edits = final["edits"] or ()
    kinds = Counter(kind for edit in edits if (kind := edit.get("kind")))
    counts = {"edits": len(edits), "edits_by_kind": dict(sorted(kinds.items()))}
    counts["chars"] = len(final["text"])
    scrubbed = {"scrubbed": dict(final["scrubbed"] or ())}
    plain = without(final, "text", "edits", "snapshot", "part")
    return plain | scrubbed | counts | {"part": final["part"]}


def outcome_of(decision: Row | None) -> str:
    """Return a decision in words."""
    if decision is None:
        return "no decision recorded"
    if decision["kept"]:
        return f"kept ({decision['domain']}, {decision['tier']})"
    detail = f" ({decision['detail']})" if decision.get("detail") else ""
    return f"dropped by {decision['stage']}: {decision['reason']}{detail}"


def without(row: Row, *names: str) -> Row:
    """Return the row less some columns."""
    return {name: value for name, value in row.items() if name not in names}


# Finding documents.


MIN_NEEDLE_CHARS = 8


@dataclass(frozen=True)
class Match:
    """A record that was found, and what became of it."""

    doc_id: Annotated[str, Shown("document")]
    snapshot: str
    part: int
    offset: int
    url: str | None
    url_key: str
    file: str
    kept: bool
    outcome: str
    shards: Annotated[list[str], Shown("shard")]
    samples: list[int]

    shows: ClassVar = ("doc_id", "snapshot", "address", "outcome", "shards", "samples")

    @property
    def address(self) -> Annotated[str, Shown("url")]:
        return self.url or self.url_key


@dataclass(frozen=True)
class FoundRecords:
    """Records that were found: `matches` has the first of `total`. Texts are found as a whole
    (`exact`) or inside of others (`contains`)."""

    version: str
    state: str
    match: Literal["address", "exact", "contains"]
    total: int
    truncated: bool
    matches: list[Match]

    shows: ClassVar = ("matches",)

    @property
    def conclusion(self) -> str | None:
        if self.match == "contains":
            how_many = counted(len(self.matches), "match", "matches")
            return (
                "No document has exactly this text. Searched inside the kept final texts: "
                f"{how_many}{' or more' * self.truncated}."
            )
        if not self.matches:
            return f"No match in version {self.version}."
        if self.truncated:
            return (
                f"{counted(self.total, 'record')}; the first {len(self.matches)} are shown (see "
                "--limit)."
            )
        return None


def find_ids(lineage: Lineage, digits: str, limit: int) -> FoundRecords:
    """Find the documents whose id begins with these hex digits, one record each."""
    low, high = (bytes.fromhex(digits.lower().ljust(32, end)) for end in "0f")
    found = doc_ids_between(lineage, low, high, limit + 1)
    rows = [records_of(lineage, doc_id)[0] for doc_id in found[:limit]]
    return _report(lineage, len(found), rows)


def find_url(lineage: Lineage, url: str, limit: int) -> FoundRecords:
    """Find records of a page, whatever the spelling of its address; record keys match as written."""
    keys = [url]
    with suppress(ValueError):  # a record key of a source without URLs
        key = url_key(url)
        keys += spellings(key) or [key]
    return _report(lineage, *records_by_url(lineage, keys, limit))


def find_host(lineage: Lineage, host: str, limit: int) -> FoundRecords:
    """Find records of a host and all its subdomains."""
    try:
        key = host_key(host)
    except ValueError as error:
        raise CatalogError(f"{host!r} is not a host name: {error}") from error
    return _report(lineage, *records_by_host(lineage, key, limit))


def find_text(lineage: Lineage, text: str, limit: int, inside: bool = True) -> FoundRecords:
    """Find documents whose extracted text is `text`; failing that, kept ones that contain it.

    The second search reads every kept text, unless `inside` says no: it is limited to `limit`
    documents and says so.
    """
    exact = doc_ids_of_text(lineage, [text_id(text), text_id(text.rstrip("\r\n"))])
    if exact or not inside:
        found = records_by_id(lineage, exact, limit)
        return replace(_report(lineage, *found), match="exact")
    needle = text.strip()
    if len(needle) < MIN_NEEDLE_CHARS:
        raise CatalogError(
            f"no document has exactly this text, and to search inside documents give at least "
            f"{MIN_NEEDLE_CHARS} characters"
        )
    holding = lineage.query(
        f"SELECT DISTINCT doc_id FROM {lineage.scan('final_text')} "
        "WHERE contains(text, ?) ORDER BY doc_id LIMIT ?",
        [needle, limit + 1],
    )
    ids = [bytes(row["doc_id"]) for row in holding[:limit]]
    answer = _report(lineage, *records_by_id(lineage, ids, limit))
    return replace(answer, match="contains", truncated=len(holding) > limit)


def _report(lineage: Lineage, total: int, records: list[Row]) -> FoundRecords:
    by_place: dict[tuple[str, int], list[bytes]] = {}
    for row in records:
        by_place.setdefault((row["snapshot"], row["part"]), []).append(row["doc_id"])
    decided: dict[tuple[Any, ...], Row] = {}
    for (snapshot, part), ids in by_place.items():
        for row in lineage.documents_in("decisions", list(dict.fromkeys(ids)), snapshot, [part]):
            decided[(row["doc_id"], row["snapshot"], row["part"], row["offset"])] = row
    placed = spans_of(lineage, [key[0] for key, row in decided.items() if row["kept"]])
    matches = []
    for row in records:
        decision = decided.get((row["doc_id"], row["snapshot"], row["part"], row["offset"]))
        kept = bool(decision and decision["kept"])
        spans = placed.get(row["doc_id"], []) if kept else []
        matches.append(
            Match(
                **{name: row[name] for name in SHOWN if name != "doc_id"},
                doc_id=row["doc_id"].hex(),
                kept=kept,
                outcome=outcome_of(decision),
                shards=sorted({span["shard"] for span in spans}),
                samples=sorted({span["sample"] for span in spans}),
            )
        )
    return FoundRecords(
        version=lineage.version.name,
        state=lineage.version.state,
        match="address",
        total=total,
        truncated=total > len(matches),
        matches=matches,
    )


# Duplicate clusters.


POLICIES = {
    "longest": "n_chars",
    "earliest": "fetched_at",
    "latest": "fetched_at",
    "best_quality": "quality_score",
}
"""What each value of `clusters.keep` compares, in the snapshot that comes first."""
DEFAULT_POLICY = "longest"


@dataclass(frozen=True, kw_only=True)
class ComparedMember(Member):
    """A member with its address, what the policy compares, and what became of it."""

    url: str | None
    fetched_at: Annotated[str | None, Shown("fetched")]
    n_chars: Annotated[int | None, Shown("characters")]
    compared: str | float | None
    outcome: str

    shows: ClassVar = ("doc_id", "snapshot", "kind", "similarity", "kept", "n_chars", "fetched_at",
                       "url")  # fmt: skip


@dataclass(frozen=True)
class ClusterStory:
    """The cluster of a document, and why one of it is kept; of size 1 where it has no copy."""

    doc_id: Annotated[str, Shown("document")]
    version: str
    state: str
    size: int
    members: list[ComparedMember]
    why: Annotated[str, Shown("because")]
    cluster_id: str | None = None
    kept_doc_id: Annotated[str | None, Shown("kept")] = None
    keep: str | None = None
    truncated: bool = False

    shows: ClassVar = ("doc_id", "version", "cluster", "kept_doc_id", "why", "members")

    @property
    def cluster(self) -> str | None:
        if self.cluster_id is None:
            return None
        return f"{self.cluster_id}, {counted(self.size, 'document')}"

    @property
    def conclusion(self) -> str | None:
        if self.truncated:
            return f"{len(self.members)} of {self.size} shown (see --limit)."
        return None


def cluster_story(lineage: Lineage, doc_id: bytes, limit: int) -> ClusterStory:
    """Return the cluster of a document; without members where it has no copy."""
    found = cluster(lineage, doc_id, limit)
    named = doc_id.hex(), lineage.version.name, lineage.version.state
    if found is None:
        return ClusterStory(*named, size=1, members=[], why="no other document is a copy of it")
    policy, ranks = _policy(lineage)
    members = [_described(lineage, row, policy) for row in found.members]
    return ClusterStory(
        *named,
        size=found.size,
        members=members,
        why=_why(members, policy, ranks),
        cluster_id=found.cluster_id,
        kept_doc_id=found.kept_doc_id,
        keep=policy,
        truncated=found.size > len(members),
    )


def _policy(lineage: Lineage) -> tuple[str, dict[str, int]]:
    """Return `clusters.keep` of the version's recipe, and the rank of each snapshot in it."""
    recipe = yaml.safe_load(lineage.registry.recipe(lineage.version.recipe_digest).yaml) or {}
    names = [name for source in recipe.get("sources", ()) for name in source.get("snapshots", ())]
    keep = (recipe.get("clusters") or {}).get("keep", DEFAULT_POLICY)
    return str(keep), {name: rank for rank, name in enumerate(names)}


def _described(lineage: Lineage, member: Member, policy: str) -> ComparedMember:
    doc_id = bytes.fromhex(member.doc_id)
    place = (member.snapshot, [member.part])
    records = [row for row in records_of(lineage, doc_id) if row["part"] == member.part]
    signals = lineage.documents_in("signals", [doc_id], *place)
    decided = lineage.documents_in("decisions", [doc_id], *place)
    record: Row = records[0] if records else {}
    known = record | (signals[0] if signals else {})
    # Of captures that are in a part twice, the member's own is the one with its outcome.
    own = [row for row in decided if bool(row["kept"]) == member.kept] or decided
    return ComparedMember(
        **vars(member),
        url=record.get("url") or record.get("url_key"),
        fetched_at=record.get("fetched_at"),
        n_chars=known.get("n_chars"),
        compared=known.get(POLICIES.get(policy, "")),
        outcome=outcome_of(own[0] if own else None),
    )


def _why(members: list[ComparedMember], policy: str, ranks: dict[str, int]) -> str:
    """Return why the kept member is the kept one, in a sentence."""
    kept = next((row for row in members if row.kept), None)
    if kept is None:
        return "its kept member is not a document of this version"
    rank = ranks.get(kept.snapshot, 0)
    later = [row for row in members if ranks.get(row.snapshot, 0) > rank]
    same = [row for row in members if row.snapshot == kept.snapshot and row is not kept]
    reasons = []
    if later:
        reasons.append(f"its snapshot {kept.snapshot} comes before theirs in the recipe")
    if same and all(row.compared == kept.compared for row in same):
        reasons.append(f"by `{policy}` those of its snapshot are equal, and its id is the smallest")
    elif same:
        reasons.append(f"it is the {policy.replace('_', ' ')} of its snapshot's")
    return "; ".join(reasons) or "it is the only member"
