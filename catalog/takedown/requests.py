"""Takedowns as people ask for them: file, look again, show, run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

from catalog.answers import Shown, values_of
from catalog.db import (
    ActionRow,
    CertificateRow,
    NewTakedown,
    Registry,
    SuppressionRow,
    TakedownRow,
    key_of,
)
from catalog.errors import AmbiguousName, TakedownRefused, TakedownTooWide, UnknownName
from catalog.figures import counted
from catalog.formats.sketches import NEAR_TEXT
from catalog.formats.store import FileStore
from catalog.lineage import MIN_PREFIX, LiveLineage
from catalog.plugins import installed, load
from catalog.takedown.book import recorded_in_book
from catalog.takedown.impact import Impact, impact, touched_places
from catalog.takedown.match import ROLES, TEXT_KINDS, FoundDocument, Matcher
from catalog.takedown.nearest import Nearest, nearest
from catalog.takedown.target import (
    ID_DIGITS,
    Target,
    doc_id_target,
    domain_target,
    scope_of,
    text_sha256_target,
)

RUNNER_GROUP = "catalog.takedown_runner"
NOTES = ("reason", "requester", "reference")
MAX_NOTE_CHARS = 2000
HOSTS_LISTED = 1000


@dataclass(frozen=True)
class HostDocuments:
    """A host that a request covers."""

    host: str
    documents: int


@dataclass(frozen=True)
class Listed:
    """A document that a request was found to mean."""

    doc_id: Annotated[str, Shown("document")]
    role: str


def _listed(found: Mapping[str, Any]) -> list[Listed]:
    return [Listed(one["doc_id"], one["role"]) for one in found.get("listed", ())]


@dataclass(frozen=True, kw_only=True)
class Requested(Impact):
    """A request that was filed, was there already or would be filed (`dry_run`), and what it
    touches; `request` is None where a dry run asks for something new."""

    outcome: str
    request: TakedownRow | None
    kind: str
    value: str
    near_duplicates: bool
    scope: str | None
    hosts: list[HostDocuments]
    hosts_truncated: bool
    needs_yes: str | None
    standing: bool
    nearest: list[Nearest]
    documents: int
    documents_by_role: dict[str, int]
    documents_listed: list[Listed]
    texts_too_short: int
    suppressions: list[list[str]]


def request_takedown(
    registry: Registry,
    store: FileStore,
    target: Target,
    reason: str,
    *,
    near_duplicates: bool = False,
    requester: str = "",
    reference: str = "",
    dry_run: bool = False,
    confirmed: bool = False,
) -> Requested:
    """File a takedown and say at once what it touches in the live versions.

    One that takes very much is filed when it is `confirmed` (else `TakedownTooWide`).
    The request, its suppressions and what it found are written in one transaction; a dry run
    writes nothing.
    """
    asked = NewTakedown(
        target.kind,
        target.value,
        near_duplicates,
        stated(reason),
        noted("requester", requester),
        noted("reference", reference),
    )
    with LiveLineage(registry, store) as live:
        matcher = Matcher(live)
        matcher.match([(target, near_duplicates)])
        (found,) = matcher.requests([(target, asked)])
        hosts = matcher.hosts(0)
        wide = matcher.width(0, target, found.documents)
        if wide is not None and not dry_run and not confirmed:
            raise TakedownTooWide(f"{wide}; check it with --dry-run, and file it with --yes")
        touched = impact(live)
        near = [] if found.documents else nearest(live, target)
    if dry_run:
        known = registry.find_takedowns([key_of(found)]).get(key_of(found))
        row, outcome = known, "dry_run"
    else:
        with recorded_in_book(registry, store):
            (filed,) = registry.file_takedowns([found])
        row, outcome = filed
    return Requested(
        outcome=outcome,
        request=row,
        kind=found.kind,
        value=found.value,
        near_duplicates=near_duplicates,
        scope=scope_of(target),
        hosts=[HostDocuments(*host) for host in hosts[:HOSTS_LISTED]],
        hosts_truncated=len(hosts) > HOSTS_LISTED,
        needs_yes=wide,
        standing=found.documents == 0,
        nearest=near,
        documents=found.documents,
        documents_by_role={role: found.found[role] for role in ROLES},
        documents_listed=_listed(found.found),
        texts_too_short=found.found.get("texts_too_short", 0),
        suppressions=[list(order) for order in found.suppressions],
        **values_of(touched),
    )


@dataclass(frozen=True, slots=True)
class Rematched:
    """What requests mean in the live versions: documents by request, and all they touch."""

    documents: dict[int, list[FoundDocument]]
    versions: list[str]
    snapshots: list[str]


def look_again(registry: Registry, store: FileStore, request_ids: Sequence[int]) -> Rematched:
    """Look for the documents of requests again, in the versions that are live now.

    A runner calls this after claiming: a version published since the request was filed counts
    too. What was found and the suppressions it brings are written on the requests, in one
    transaction; the whole list is given back.
    """
    rows = registry.takedowns_of(request_ids)
    orders = registry.suppressions_of(request_ids)
    batch = [(_target(row, orders[row.id]), row) for row in rows]
    with LiveLineage(registry, store) as live:
        matcher = Matcher(live)
        matcher.match([(target, row.near_duplicates) for target, row in batch])
        found = matcher.requests([(target, _asked(row)) for target, row in batch])
        documents = matcher.documents()
        versions, snapshots = touched_places(live)
    with recorded_in_book(registry, store):
        refreshed = zip(rows, found, strict=True)
        registry.refresh_takedowns((row.id, request) for row, request in refreshed)
    by_request = {row.id: documents.get(place, []) for place, row in enumerate(rows)}
    return Rematched(by_request, versions, snapshots)


@dataclass(frozen=True)
class Withdrawn:
    """A request that was taken back."""

    request: TakedownRow
    suppressions_removed: int

    def __str__(self) -> str:
        return (
            f"Takedown {self.request.id} withdrawn; "
            f"{counted(self.suppressions_removed, 'suppression')} ended with it (those of other "
            "requests remain)."
        )


def withdraw_takedown(registry: Registry, store: FileStore, request_id: int) -> Withdrawn:
    """Take a pending request back, with the suppressions that no other request holds."""
    with recorded_in_book(registry, store):
        row, gone = registry.withdraw_takedown(request_id)
    return Withdrawn(row, gone)


@dataclass(frozen=True)
class Order:
    """A standing order of a request."""

    kind: str
    value: str


@dataclass(frozen=True)
class OpenFile:
    """A file that keeps a request open, and what to do about it."""

    file: Annotated[str, Shown("file that keeps it open")]
    to_do: Annotated[str, Shown("why")]


@dataclass(frozen=True, kw_only=True)
class ShownTakedown(TakedownRow):
    """A request with its suppressions, what was done for it, its certificates, and what keeps it
    open."""

    suppressions: list[Order]
    actions: Annotated[
        list[ActionRow], Shown(columns=("action", "version_before", "version_after", "created_at"))
    ]
    certificates: Annotated[list[CertificateRow], Shown(columns=("path", "sha256"))]
    open_files: Sequence[OpenFile] = ()

    shows: ClassVar = ("takedown", "state", "asked_for", "as_written", "near_duplicates", "text_sha256",
                       "reason", "by", "its_reference", "created_at", "updated_at", "attempts",
                       "error", "suppressed", "matched", "listed", "actions", "certificates",
                       "open_files")  # fmt: skip

    @property
    def takedown(self) -> int:
        return self.id

    @property
    def state(self) -> Annotated[str, Shown("status")]:
        return state_of(self)

    @property
    def asked_for(self) -> str:
        return f"{self.kind} {self.value}"

    @property
    def as_written(self) -> str | None:
        return self.given or None

    @property
    def by(self) -> Annotated[str | None, Shown("requester")]:
        return self.requester or None

    @property
    def its_reference(self) -> Annotated[str | None, Shown("reference")]:
        return self.reference or None

    @property
    def suppressed(self) -> str | None:
        return in_words([order.kind for order in self.suppressions]) or None

    @property
    def matched(self) -> Annotated[int | str, Shown("documents")]:
        return self.documents or "none; suppressed in later snapshots"

    @property
    def listed(self) -> list[Listed]:
        return _listed(self.found)

    @property
    def conclusion(self) -> str | None:
        if not self.found.get("truncated"):
            return None
        return f"{len(self.listed)} of {counted(self.documents, 'document')} are listed."


ORDER_WORDS = {
    "url_key": ("URL", "URLs"),
    "url_prefix": ("URL prefix", "URL prefixes"),
    "host": ("site", "sites"),
    "doc_id": ("document", "documents"),
    "text_id": ("exact text", "exact texts"),
    NEAR_TEXT: ("text with its near duplicates", "texts with their near duplicates"),
}


def in_words(kinds: Sequence[str]) -> str:
    """Return kinds of standing orders, counted: `1 URL, 2 texts with their near duplicates`."""
    counts = Counter(kinds)
    return ", ".join(
        counted(counts[kind], *words) for kind, words in ORDER_WORDS.items() if counts[kind]
    )


def state_of(row: TakedownRow) -> str:
    """Return how far a request is, in words."""
    if row.status == "running":
        return f"running, by {row.owner}"
    return "pending, the last attempt failed" if row.error else row.status


def show_takedown(registry: Registry, request_id: int) -> ShownTakedown:
    """Return a request with its suppressions, what was done for it and its certificates."""
    return ShownTakedown(
        **asdict(registry.takedown(request_id)),
        suppressions=[
            Order(row.kind, row.value) for row in registry.takedown_suppressions(request_id)
        ],
        actions=registry.takedown_history(request_id),
        certificates=registry.certificates(request_id),
    )


def find_doc_id(registry: Registry, store: FileStore, written: str) -> Target:
    """Return a document by its whole id, or by the start of it where one live document begins
    so."""
    digits = written.strip().lower()
    if not MIN_PREFIX <= len(digits) < ID_DIGITS or set(digits) - set("0123456789abcdef"):
        return doc_id_target(written)
    with LiveLineage(registry, store) as live:
        found = live.doc_ids_from(digits, 6)
    if not found:
        raise UnknownName(
            f"no live version has a document {digits}: give all {ID_DIGITS} digits to suppress it in "
            "later snapshots"
        )
    if len(found) > 1:
        some = ", ".join(doc_id.hex() for doc_id in found[:5])
        raise AmbiguousName(f"several documents begin with {digits}, give more digits: {some}")
    return doc_id_target(found[0].hex())


def noted(name: str, value: str) -> str:
    """Return a value as every database can hold it; the notes on a request are of bounded
    length."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TakedownRefused(f"{name} has an unpaired surrogate: write it again") from error
    if "\0" in value:
        raise TakedownRefused(f"{name} contains a NUL character: write it again")
    if name in NOTES and len(value) > MAX_NOTE_CHARS:
        raise TakedownRefused(f"{name} is longer than {MAX_NOTE_CHARS} characters: shorten it")
    return value


def stated(reason: str) -> str:
    """Return the reason, which must be there: a certificate quotes it."""
    text = noted("reason", reason.strip())
    if not text:
        raise TakedownRefused("a takedown needs a reason")
    return text


@dataclass(frozen=True)
class Ran:
    """Who carried pending requests out, and the exit code it came to."""

    runner: str
    exit_code: int


def run_takedowns(home: str | None, **options: str | int) -> Ran:
    """Let the installed runner carry out what is pending.

    The catalog knows what to remove but not how shards are built: that is for a package that
    registers an entry point of the group `catalog.takedown_runner`, called with the home folder
    or None, and with those `options` (workers, engine, ray_address) that were given.
    """
    runners = installed(RUNNER_GROUP)
    if not runners:
        raise TakedownRefused(
            "no takedown runner is installed: requests are kept and their suppressions hold for "
            "new builds, but versions are rebuilt by corpus-assets; install it where this "
            "catalog's store can be written"
        )
    if len({point.value for point in runners}) > 1:
        names = ", ".join(f"{point.name} ({point.value})" for point in runners)
        raise TakedownRefused(f"several takedown runners are installed, keep one: {names}")
    runner = load(runners[0], "takedown runner")
    return Ran(runners[0].value, int(runner(home, **options)))


def _target(row: TakedownRow, standing: Sequence[SuppressionRow]) -> Target:
    """Return the target that a request was filed with, which holds these standing orders."""
    kinds = {"url": "url_key", "url_prefix": "url_prefix", "doc_id": "doc_id"}
    orders: tuple[tuple[str, str], ...] = ()
    held: dict[str, list[str]] = {}
    for order in standing:
        held.setdefault(order.kind, []).append(order.value)
    if row.kind in kinds:
        orders = ((kinds[row.kind], row.value),)
        if row.kind == "url":  # with its name in versions that were built before
            names = dict.fromkeys([row.value, *held.get("url_key", [])])
            orders = tuple(("url_key", name) for name in names)
    elif row.kind == "domain":
        orders = domain_target(row.value).orders
    elif row.kind == "text_sha256":
        orders = text_sha256_target(row.value).orders
    elif row.kind == "text_id":  # with the spellings of its end that were filed along with it
        values = dict.fromkeys([row.value, *held.get("text_id", [])])
        orders = tuple(("text_id", value) for value in values)
    if row.kind in TEXT_KINDS:  # with the documents that were found to have it
        orders += tuple(("doc_id", value) for value in held.get("doc_id", []))
    if row.near_duplicates:
        orders += tuple((NEAR_TEXT, value) for value in held.get(NEAR_TEXT, []))
    return Target(row.kind, row.value, row.given, orders, row.text_sha256)


def _asked(row: TakedownRow) -> NewTakedown:
    return NewTakedown(
        row.kind, row.value, row.near_duplicates, row.reason, row.requester, row.reference
    )
