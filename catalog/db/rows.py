"""What goes into the registry and comes out of it: frozen rows, named as the columns are.

Paths are relative to the store's root, hashes are full SHA-256 in hex, times are ISO 8601 UTC.
A `created_at` left empty is filled in by the registry when the row is first written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from catalog.answers import Shown, in_json

SUPPRESSION_KINDS = ("url_key", "url_prefix", "host", "doc_id", "text_id", "near_text")
VERSION_STATES = ("live", "revoked")
LATEST = "latest"  # the newest released version, where a version is named
GATES = "gate"  # who released a version whose gates passed
TAKEDOWN_KINDS = ("url", "url_prefix", "domain", "doc_id", "text_id", "text_sha256")
TAKEDOWN_STATES = ("pending", "running", "done", "withdrawn")
COPY_KINDS = ("export", "pack", "page", "record", "signatures", "weights")


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Where documents come from: a crawl, a code host, a shelf of books."""

    name: str
    kind: str
    domain: str
    licence: str = "unknown"
    uri: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """One frozen delivery of a source; `rank` orders snapshots where the earlier one wins."""

    name: str
    source: str
    rank: int
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file of a snapshot: the part of that number reads it."""

    part: int
    name: str
    uri: str
    bytes: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One file that an artifact wrote; `rows` is null where the file is not a table."""

    name: str
    path: str
    sha256: str
    bytes: int
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class InputRow:
    """One thing that an artifact read, by content."""

    name: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """The result of one task. What computing it took is null where the result was found only."""

    stage: str
    fingerprint: str
    content_hash: str
    snapshot: str | None = None
    part: int | None = None
    documents_in: int = 0
    documents_out: int = 0
    bytes: int = 0
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    peak_bytes: int | None = None  # of memory, of the process that computed it
    tries: int | None = None
    bytes_in: int | None = None  # of inputs and source files
    created_at: str = ""
    outputs: tuple[OutputRow, ...] = ()
    inputs: tuple[InputRow, ...] = ()


MEASURED = ("cpu_seconds", "wall_seconds", "peak_bytes", "tries")
"""Columns of an artifact that say what computing it took."""


@dataclass(frozen=True, slots=True)
class FailedPartRow:
    """A task that failed for good: quarantined until someone has it retried."""

    stage: str
    fingerprint: str
    snapshot: str | None
    part: int
    label: Annotated[str, Shown("part")]
    error: str
    tries: int
    failed_at: str = ""


@dataclass(frozen=True, slots=True)
class RecipeRow:
    digest: str
    name: str
    yaml: str
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class LockRow:
    digest: str
    json: str
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A published corpus. `tokens` counts tokens of documents, padding left out."""

    name: Annotated[str, Shown("version")]
    lock_digest: Annotated[str, Shown("lock")]
    recipe_digest: str
    manifest_path: str
    manifest_sha256: Annotated[str, Shown("manifest")]
    documents: int
    tokens: int
    samples: int
    status: str = "live"
    created_at: Annotated[str, Shown("created")] = ""
    superseded_by: str | None = None  # the version that took its place when it was revoked
    contents_sha256: str | None = None  # of `contents.json`; null where it was published without
    released_at: str | None = None  # null: a candidate
    released_by: str | None = None
    release_reason: str | None = None

    @property
    @in_json
    def state(self) -> Annotated[str, Shown("status")]:
        """What it is good for: `candidate`, `released`, or `revoked`. `status` tells only whether
        takedowns still have to reach it."""
        if self.status == "revoked":
            return "revoked"
        return "candidate" if self.released_at is None else "released"


@dataclass(frozen=True, slots=True)
class ShardRow:
    """One shard of a version; `group_id` is SNAPSHOT/DOMAIN/TIER[/LABEL=VALUE...]."""

    group_id: str
    snapshot: str
    domain: str
    tier: str
    shard: str
    bin_path: str
    bin_sha256: str
    idx_path: str
    idx_sha256: str
    spans_path: str
    spans_sha256: str
    header_path: str
    header_sha256: str
    samples: int
    tokens: int
    documents: int
    labels: str | None = None  # of its group: `language=de/topic=math`; null where it has none

    @property
    @in_json
    def full_name(self) -> Annotated[str, Shown("shard", key="name")]:
        """GROUP/shard_00000, unique inside a version."""
        return f"{self.group_id}/{self.shard}"

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """Path and SHA-256 of its files: tokens, index, spans, header."""
        return (
            (self.bin_path, self.bin_sha256),
            (self.idx_path, self.idx_sha256),
            (self.spans_path, self.spans_sha256),
            (self.header_path, self.header_sha256),
        )


@dataclass(frozen=True, slots=True)
class LineageRow:
    """One Parquet file of a version's lineage; `shard` is GROUP/shard_00000 for spans."""

    table_name: str
    snapshot: str
    path: str
    sha256: str
    rows: int
    part: int | None = None
    shard: str | None = None


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One key file of a version (`formats/key_files.py`): finds rows of a run of lineage files."""

    kind: str
    snapshot: str
    path: str
    sha256: str
    bytes: int
    rows: int  # that the indexed files have together


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A trained or pinned model: classifier, language model, tokenizer, index."""

    kind: str
    sha256: str
    path: str
    fingerprint: str
    metrics: Mapping[str, Any] = field(default_factory=dict)
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class SuppressionRow:
    """A takedown's standing order; `kind` is one of `SUPPRESSION_KINDS`."""

    kind: str
    value: str
    request_id: int | None = None
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class TakedownRow:
    """A request to take something out. `kind` is one of `TAKEDOWN_KINDS`, `status` one of
    `TAKEDOWN_STATES`; a failed attempt is pending again and has an `error`.

    `value` is canonical (SURT key or prefix, host, id, digest), `given` what the requester
    wrote; neither is ever the text itself. `found` counts the documents by role and lists some.
    """

    id: int
    kind: str
    value: str
    near_duplicates: bool
    reason: str
    requester: str
    reference: str
    status: str
    created_at: Annotated[str, Shown("filed")]
    given: str = ""
    text_sha256: str | None = None
    documents: int = 0
    found: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    attempts: int = 0
    owner: str | None = None
    claim_expires_at: float | None = None
    updated_at: Annotated[str, Shown("changed")] = ""

    @property
    def standing(self) -> bool:
        """No document was found when it was last looked for: it waits for later snapshots."""
        return self.documents == 0

    @property
    def scope(self) -> Annotated[str, Shown("kind")]:
        return self.kind + " and near duplicates" * self.near_duplicates

    @property
    def how_many(self) -> Annotated[int | str, Shown("documents")]:
        return self.documents or "standing"


@dataclass(frozen=True, slots=True)
class NewTakedown:
    """A request to file, with the standing orders it brings: (kind, value) of suppressions."""

    kind: str
    value: str
    near_duplicates: bool
    reason: str
    requester: str = ""
    reference: str = ""
    given: str = ""
    text_sha256: str | None = None
    documents: int = 0
    found: Mapping[str, Any] = field(default_factory=dict)
    suppressions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ActionRow:
    """One thing that was done for a request; `detail` holds ids, counts and hashes, never text."""

    request_id: int
    version_before: str | None = None
    version_after: Annotated[str | None, Shown("after")] = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    action: str = "rebuilt"
    created_at: Annotated[str, Shown("at")] = ""


@dataclass(frozen=True, slots=True)
class CertificateRow:
    """A takedown's certificate in the store; `previous_sha256` chains it to the one before."""

    request_id: int
    path: Annotated[str, Shown("certificate")]
    sha256: str
    previous_sha256: str | None = None
    created_at: str = ""


NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class OrderBookRow:
    """An entry of the order book (`catalog.formats.order_book`), in canonical form without its
    signature."""

    number: int
    sha256: str
    entry: str
    is_stored: bool = False  # the store has it too


@dataclass(frozen=True, slots=True)
class GateRow:
    """One release condition of a version, and how it came out."""

    NO_EVIDENCE = "no evidence"  # of `outcome`; without a type, so that it is no column

    version: str
    name: Annotated[str, Shown("gate")]
    passed: bool
    value: float | None = None
    threshold: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    created_at: str = ""

    @property
    def message(self) -> str | None:
        """What it says of its outcome."""
        return self.detail.get("message")

    @property
    @in_json
    def outcome(self) -> str:
        """`closed`, `passed`, or `not measured` or `no evidence` where it stays open without."""
        if not self.passed:
            return "closed"
        known = self.detail.get("outcome")
        return known if known in (NOT_MEASURED, self.NO_EVIDENCE) else "passed"


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """A person's judgement of a decision about a record. `why` is free text that may quote the
    record: it goes with the record when a takedown removes it."""

    version: str
    doc_id: Annotated[str, Shown("document")]  # in hex
    snapshot: str
    part: int
    offset: int
    stage: str  # that dropped it; `kept`
    reason: str  # why; of a kept one, domain and tier
    agrees: bool
    why: str | None
    judged_by: Annotated[str, Shown("by")]
    language: str | None = None
    created_at: str = ""

    @property
    def decision(self) -> str:
        return f"{self.stage}: {self.reason}"


@dataclass(frozen=True, slots=True)
class CopyRow:
    """What a command wrote beside the store's results: text or tokens of versions. `kind` is one of
    `COPY_KINDS`.

    `place` is relative to the home where it lies inside, else absolute on `machine`, or a URL.
    `holds` maps each version to the ids of its documents, in hex; to null where any may be in it.
    """

    place: str
    kind: str
    holds: Mapping[str, Any]
    machine: str = ""  # empty for a place that every machine sees: inside the home, or a URL
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A number worth plotting; the last one written for (name, snapshot, version) stands."""

    name: str
    value: float
    snapshot: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """Who may work on `name` until when (seconds since 1970, the database's clock)."""

    name: str
    owner: str
    expires_at: float
    token: int  # higher than that of every lease taken before
    rivals: tuple[str, ...] | None = None
    """Leases that others may take once this one ran out. It is not lost while none of them was; as
    long as they are not known (None) it is lost when it ends."""
