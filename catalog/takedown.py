"""Takedowns as people ask for them: file, look again, show, run."""

import gc
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from typing import Any

from catalog.errors import (
    AmbiguousName,
    CatalogError,
    TakedownRefused,
    TakedownTooWide,
    UnknownName,
)
from catalog.files import Store
from catalog.live import MIN_PREFIX, LiveLineage
from catalog.near_copies import KIND as NEAR_TEXT
from catalog.registry import Registry
from catalog.rows import NewTakedown, TakedownRow
from catalog.takedown_impact import impact, touched_places
from catalog.takedown_match import ROLES, FoundDocument, Matcher
from catalog.takedown_records import key_of
from catalog.takedown_target import (
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


def request(
    registry: Registry,
    store: Store,
    target: Target,
    reason: str,
    *,
    near_duplicates: bool = False,
    requester: str = "",
    reference: str = "",
    dry_run: bool = False,
    confirmed: bool = False,
) -> dict[str, Any]:
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
            raise TakedownTooWide(f"{wide}; look with --dry-run, and file it with --yes")
        touched = impact(live)
    if dry_run:
        known = registry.find_takedowns([key_of(found)]).get(key_of(found))
        row, outcome = known, "dry_run"
    else:
        (filed,) = registry.file_takedowns([found])
        row, outcome = filed
    return {
        "outcome": outcome,
        "request": None if row is None else asdict(row),
        "kind": found.kind,
        "value": found.value,
        "near_duplicates": near_duplicates,
        "scope": scope_of(target),
        "hosts": [{"host": host, "documents": count} for host, count in hosts[:HOSTS_LISTED]],
        "hosts_truncated": len(hosts) > HOSTS_LISTED,
        "needs_yes": wide,
        "standing": found.documents == 0,
        "documents": found.documents,
        "documents_by_role": {role: found.found[role] for role in ROLES},
        "documents_listed": found.found["listed"],
        "texts_too_short": found.found.get("texts_too_short", 0),
        "suppressions": [list(order) for order in found.suppressions],
    } | touched


@dataclass(frozen=True, slots=True)
class Rematched:
    """What requests mean in the live versions: documents by request, and all they touch."""

    documents: dict[int, list[FoundDocument]]
    versions: list[str]
    snapshots: list[str]


def rematch(
    registry: Registry, store: Store, request_ids: Sequence[int]
) -> dict[int, list[FoundDocument]]:
    """The documents of `look_again` alone."""
    return look_again(registry, store, request_ids).documents


def look_again(registry: Registry, store: Store, request_ids: Sequence[int]) -> Rematched:
    """Look for the documents of requests again, in the versions that are live now.

    A runner calls this after claiming: a version published since the request was filed counts
    too. What was found and the suppressions it brings are written on the requests, in one
    transaction; the whole list is given back.
    """
    rows = registry.takedowns_of(request_ids)
    batch = [(_target(registry, row), row) for row in rows]
    with LiveLineage(registry, store) as live:
        matcher = Matcher(live)
        matcher.match([(target, row.near_duplicates) for target, row in batch])
        found = matcher.requests([(target, _asked(row)) for target, row in batch])
        documents = matcher.documents()
        versions, snapshots = touched_places(live)
    registry.refresh_takedowns((row.id, request) for row, request in zip(rows, found, strict=True))
    by_request = {row.id: documents.get(place, []) for place, row in enumerate(rows)}
    return Rematched(by_request, versions, snapshots)


def show(registry: Registry, request_id: int) -> dict[str, Any]:
    """A request with its suppressions, what was done for it and its certificates."""
    return asdict(registry.takedown(request_id)) | {
        "suppressions": [
            {"kind": row.kind, "value": row.value}
            for row in registry.takedown_suppressions(request_id)
        ],
        "actions": [asdict(action) for action in registry.takedown_history(request_id)],
        "certificates": [asdict(row) for row in registry.certificates(request_id)],
    }


def find_doc_id(registry: Registry, store: Store, written: str) -> Target:
    """A document by its whole id, or by the start of it where one live document begins so."""
    digits = written.strip().lower()
    if not MIN_PREFIX <= len(digits) < ID_DIGITS or set(digits) - set("0123456789abcdef"):
        return doc_id_target(written)
    with LiveLineage(registry, store) as live:
        found = live.doc_ids_from(digits, 6)
    if not found:
        raise UnknownName(
            f"no live version knows a document {digits}: give all {ID_DIGITS} digits for a "
            "standing order"
        )
    if len(found) > 1:
        some = ", ".join(doc_id.hex() for doc_id in found[:5])
        raise AmbiguousName(f"several documents begin with {digits}, give more digits: {some}")
    return doc_id_target(found[0].hex())


def noted(name: str, value: str) -> str:
    """A value as every database can hold it; the notes on a request are of bounded length."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TakedownRefused(f"{name} holds half a character: write it again") from error
    if "\0" in value:
        raise TakedownRefused(f"{name} holds a NUL character: write it again")
    if name in NOTES and len(value) > MAX_NOTE_CHARS:
        raise TakedownRefused(f"{name} is longer than {MAX_NOTE_CHARS} characters: shorten it")
    return value


def stated(reason: str) -> str:
    """The reason, which must be there: a certificate quotes it."""
    text = noted("reason", reason.strip())
    if not text:
        raise TakedownRefused("a takedown needs a reason: say why")
    return text


def run(home: str | None) -> tuple[str, int]:
    """Let the installed runner carry out what is pending; gives its name and exit code.

    The catalog knows what to remove but not how shards are built: that is for a package that
    registers an entry point of the group `catalog.takedown_runner`, called with the home folder
    or None.
    """
    runners = sorted(entry_points(group=RUNNER_GROUP), key=lambda point: (point.name, point.value))
    if not runners:
        raise TakedownRefused(
            "no takedown runner is installed: requests are kept and their suppressions hold for "
            "new builds, but versions are rebuilt by corpus-assets; install it where this "
            "catalog's store can be written"
        )
    if len({point.value for point in runners}) > 1:
        names = ", ".join(f"{point.name} ({point.value})" for point in runners)
        raise TakedownRefused(f"several takedown runners are installed, keep one: {names}")
    gc.disable()
    try:
        runner = runners[0].load()
    except (ImportError, AttributeError) as error:
        raise CatalogError(
            f"the takedown runner {runners[0].value} cannot be loaded: {error}; "
            "install the package that provides it again"
        ) from error
    finally:
        gc.freeze()
        gc.enable()
    try:  # what was loaded stays: half a second is saved by not looking through it for garbage
        return runners[0].value, int(runner(home))
    finally:
        gc.unfreeze()


def _target(registry: Registry, row: TakedownRow) -> Target:
    """The target that a request was filed with."""
    kinds = {"url": "url_key", "url_prefix": "url_prefix", "doc_id": "doc_id"}
    orders: tuple[tuple[str, str], ...] = ()
    held: dict[str, list[str]] = {}
    for order in registry.takedown_suppressions(row.id):
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
    if row.near_duplicates:
        orders += tuple((NEAR_TEXT, value) for value in held.get(NEAR_TEXT, []))
    return Target(row.kind, row.value, row.given, orders, row.text_sha256)


def _asked(row: TakedownRow) -> NewTakedown:
    return NewTakedown(
        row.kind, row.value, row.near_duplicates, row.reason, row.requester, row.reference
    )
