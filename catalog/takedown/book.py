"""The order book between catalog and store: written, compared before anything starts, replayed.

The registry's transaction that changes standing orders appends the entry; `recorded` writes it to
the store before the command answers. A process that is killed between the two leaves an entry that
is not stored yet, and the next one that opens the home writes it.

`expect_book` is asked whenever a home is opened to build, import, export, pack, collect or take
down. It lists the numbers of the store's entries, reads the last one, and adds up the registry's
own copy. It refuses where
1. the store has entries that the catalog does not know: `catalog.db` was lost, or an old copy put
   back, and documents that were removed would come in again;
2. the store has fewer than the catalog wrote, or others;
3. the book does not reach the head record beside the signing key;
4. the catalog's tables are not what its entries add up to: rows were deleted or edited.
The store is known by the id of its book and by nothing else: it may be moved, renamed, or lie behind
a link. `restore` brings a catalog up to the store's book again, or the store to the catalog's.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Protocol

from catalog.answers import Shown
from catalog.db import OrderBookRow, OrderBookState, Registry, Standing, checked_entries
from catalog.errors import CatalogError, OrderBookError
from catalog.figures import counted
from catalog.formats.order_book import (
    FOLDER,
    SIGNATURE,
    Entry,
    entry_bytes,
    entry_path,
    entry_sha256,
    numbers_in,
    parse_entry,
    parse_file,
)
from catalog.formats.store import FileStore
from catalog.formats.temporary_files import is_temporary
from catalog.takedown.signing import RESTORE, Signer, Trust, check_signature

COPY = f"restore {FOLDER}/ from a backup of the store"
SHOWN = 5


class Files(Protocol):
    """What the book needs of a store, whoever opened it."""

    url: str

    def read(self, path: str) -> bytes: ...
    def list(self, prefix: str) -> Iterable[str]: ...
    def create(self, path: str, data: bytes) -> bool: ...


def expect_book(registry: Registry, store: Files) -> None:
    """Refuse to go on where catalog, store and head record do not agree on the standing orders;
    write what the store does not have yet."""
    state, numbers = _look(registry, store)
    signed_by = _compare(state, store, numbers)
    problem = Trust.given().broken_head(state.book, state.rows, signed_by)
    if problem is not None:
        raise OrderBookError(problem)
    if state.differences:
        raise OrderBookError(
            f"the catalog's tables disagree with the order book: {_some(state.differences)}. "
            f"Rows were deleted or edited: {RESTORE} writes them again from the book"
        )
    if not registry.database.is_read_only:
        _deliver(registry, store, [row for row in state.rows if not row.is_stored])


def _look(registry: Registry, store: Files) -> tuple[OrderBookState, list[int]]:
    """Return the registry's book and the numbers of the store's entries, as of one moment: others
    may write meanwhile, always to the registry first."""
    numbers = numbers_in(store.list(FOLDER))
    state = registry.order_book()
    if len(numbers) < sum(row.is_stored for row in state.rows):
        numbers = [n for n in numbers_in(store.list(FOLDER)) if n <= len(state.rows)]
    return state, numbers


def _compare(state: OrderBookState, store: Files, numbers: Sequence[int]) -> str | None:
    """Refuse a store whose book is not the registry's; return who signed its last entry."""
    rows = state.rows
    if state.problem is not None:
        raise OrderBookError(
            f"the catalog's copy of the order book is damaged ({state.problem}): restore the "
            f"catalog from a backup, or move it away and run {RESTORE}"
        )
    if len(numbers) > len(rows):
        raise OrderBookError(
            f"the order book in the store {store.url} has {len(numbers)} entries, and the catalog "
            f"knows {len(rows)}: it was lost, or an old backup was restored, and documents that were "
            f"removed would be ingested again. Run {RESTORE} first"
        )
    if list(numbers) != list(range(1, len(numbers) + 1)):
        raise OrderBookError(
            f"entries are missing in the middle of the order book of the store {store.url}: "
            f"{COPY}, or run {RESTORE}, which writes what the catalog has of it"
        )
    stored = max((row.number for row in rows if row.is_stored), default=0)
    if len(numbers) < stored:
        raise OrderBookError(
            f"the order book in the store {store.url} ends with entry {len(numbers)}, and the "
            f"catalog wrote {stored}: {COPY}, or run {RESTORE}, which writes what is missing"
        )
    if not rows and any(path.endswith(".json") for path in store.list("certificates")):
        raise OrderBookError(
            f"the store {store.url} has certificates of takedowns and no order book: {COPY}, and "
            f"run {RESTORE}"
        )
    if not numbers:
        return None
    entry, signature = _read(store, numbers[-1])
    if entry_sha256(entry.text()) != rows[len(numbers) - 1].sha256:
        raise OrderBookError(
            f"entry {entry.number} of the order book in the store {store.url} differs from "
            "the catalog's: one of them belongs to another corpus, or was altered; name the right "
            "--home, or restore both from backups of the same time"
        )
    return (signature or {}).get("key_sha256")


def _some(lines: Sequence[str]) -> str:
    more = f"; and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    return "; ".join(lines[:SHOWN]) + more


def _read(store: Files, number: int) -> tuple[Entry, Any]:
    """Read an entry of the store."""
    path = entry_path(number)
    data = store.read(path)
    try:
        entry, signature = parse_file(data)
        if entry.number != number:
            raise ValueError(f"it is entry {entry.number}")
    except ValueError as error:
        raise OrderBookError(
            f"{path} in the store {store.url} is damaged ({error}): {COPY}"
        ) from error
    return entry, signature


@contextmanager
def recorded_in_book(registry: Registry, store: Files) -> Iterator[None]:
    """Change standing orders in here: the book is whole before, and the store has the new entries
    after."""
    signer = Signer.load()  # a key that cannot be used fails before anything is changed
    expect_book(registry, store)
    yield
    deliver_book(registry, store, signer)


def deliver_book(registry: Registry, store: Files, signer: Signer | None = None) -> None:
    """Write the entries to the store that it does not have yet."""
    _deliver(registry, store, registry.entries_to_store(), signer)


def _deliver(
    registry: Registry, store: Files, rows: Sequence[OrderBookRow], signer: Signer | None = None
) -> None:
    """Write entries in their order, then note the last one beside the key, then in the catalog: a
    process that is killed in between is repeated from where it was."""
    if not rows:
        return
    signer = signer or Signer.load()
    entry = parse_entry(rows[-1].entry)
    try:
        for row in rows:
            entry = parse_entry(row.entry)
            signature = signer.sign(entry.fields()) if signer is not None else None
            if not store.create(entry_path(row.number), entry_bytes(entry, signature)):
                known, _ = _read(store, row.number)
                if known != entry:
                    raise OrderBookError(
                        f"entry {row.number} of the order book in the store {store.url} differs "
                        "from the catalog's: the catalog was lost, or an old copy was restored. "
                        f"Move it away and run {RESTORE}"
                    )
    except OrderBookError:
        raise
    except Exception as error:  # of whoever opened the store
        raise OrderBookError(
            f"the catalog has the change, and the store {store.url} does not have its entry yet "
            f"({error}): fix the cause; any later command that can write there adds it"
        ) from error
    if signer is not None:
        signer.record_head(entry.book, rows[-1].number, rows[-1].sha256)
    registry.mark_stored([row.number for row in rows])


# The whole book.


def book_problems(registry: Registry, store: FileStore, trust: Trust) -> list[str]:
    """Return all that is wrong with the order book: every entry is read, with its signature."""
    state, numbers = _look(registry, store)
    try:
        signed_by = _compare(state, store, numbers)
    except CatalogError as error:
        return [str(error), *state.differences]
    problems = [
        f"{path}: is not an entry of the order book"
        for path in store.list(FOLDER)
        if not is_temporary(path) and not numbers_in([path])
    ]
    unsigned: list[str] = []
    for number in numbers:
        try:
            entry, signature = _read(store, number)
        except CatalogError as error:
            problems.append(str(error))
            continue
        if entry_sha256(entry.text()) != state.rows[number - 1].sha256:
            problems.append(f"{entry_path(number)}: differs from the catalog's")
        if not trust.keys:
            continue
        wrong = check_signature(entry.fields() | {SIGNATURE: signature}, trust.keys)
        if wrong is None:
            unsigned.clear()  # whoever signs this one vouches for all before it
            signed_by = (signature or {}).get("key_sha256")
        else:
            (problems if signature else unsigned).append(f"{entry_path(number)}: {wrong}")
    head = trust.broken_head(state.book, state.rows, signed_by)
    return problems + unsigned + ([head] if head is not None else []) + state.differences


@dataclass(frozen=True)
class Restored:
    """A catalog and a store as their order book has them. `head_recorded`: the head record beside
    the signing key did not have this book before."""

    entries: int
    entries_new_to_catalog: int
    entries_new_to_store: int
    requests: dict[str, int]
    standing_orders: Annotated[int, Shown("suppressions in force")]
    certificates: int
    versions_revoked: list[str]
    versions_unknown: list[str]
    head_recorded: bool

    shows: ClassVar = ("order_book", "states", "standing_orders", "certificates",
                       "versions_revoked")  # fmt: skip

    @property
    def order_book(self) -> str:
        return (
            f"{counted(self.entries, 'entry', 'entries')}, {self.entries_new_to_catalog} new to the "
            f"catalog, {self.entries_new_to_store} rewritten to the store"
        )

    @property
    def states(self) -> Annotated[str, Shown("requests")]:
        return ", ".join(f"{n} {name}" for name, n in self.requests.items() if n) or "none"

    @property
    def conclusion(self) -> str | None:
        sentences = []
        if self.head_recorded:
            sentences.append(
                "The head record next to the signing key did not have this order book and does now. "
                "Entries may have been removed from its end: there is no way to know."
            )
        if self.versions_unknown:
            sentences.append(
                "The catalog does not know these versions in the store: "
                f"{', '.join(self.versions_unknown)}. Rebuild those you need before `corpus gc` or a "
                "takedown deletes their files."
            )
        return "\n".join(sentences) or None


def restore_catalog(registry: Registry, store: FileStore) -> Restored:
    """Bring the catalog up to the store's book, or the store to the catalog's, whichever is
    longer, and write the catalog's tables from the book."""
    own = registry.order_book()
    if own.problem is not None:
        _compare(own, store, [])
    found: list[OrderBookRow] = []
    for number in numbers_in(store.list(FOLDER)):
        text = _read(store, number)[0].text()
        found.append(OrderBookRow(number, entry_sha256(text), text, is_stored=True))
    rows = {row.number: replace(row, is_stored=False) for row in own.rows}
    for row in found:
        if row.number in rows and rows[row.number].sha256 != row.sha256:
            raise OrderBookError(
                f"entry {row.number} of the order book in the store {store.url} differs from "
                "the catalog's: move this catalog away, and run this again with an empty one"
            )
        rows[row.number] = row
    book = [rows[number] for number in sorted(rows)]
    if not book:
        raise OrderBookError(
            f"there is no order book, neither in the catalog nor in the store {store.url}: nothing "
            f"to restore; {COPY} where takedowns were filed before"
        )
    try:
        entries = checked_entries(book)
    except ValueError as error:
        raise OrderBookError(f"the order book is incomplete ({error}): {COPY}") from error
    trust, signer = Trust.given(), Signer.load()
    problem = trust.broken_head(entries[0].book, book, None)
    if problem is not None:
        raise OrderBookError(problem)
    is_new_to_key = signer is not None and not trust.knows(entries[0].book)
    standing = registry.replay_book(book)
    deliver_book(registry, store, signer)
    if signer is not None:
        signer.record_head(entries[0].book, len(book), book[-1].sha256)
    return _restored(standing, book, (len(own.rows), len(found)), registry, store, is_new_to_key)


def _restored(
    standing: Standing,
    book: Sequence[OrderBookRow],
    before: tuple[int, int],
    registry: Registry,
    store: FileStore,
    is_new_to_key: bool,
) -> Restored:
    """Sum up what was restored; catalog and store had so many entries `before`."""
    orders = {order for held in standing.holds.values() for order in held}
    status = [row["status"] for row in standing.requests.values()]
    named = {version.name for version in registry.versions()}
    return Restored(
        entries=len(book),
        entries_new_to_catalog=len(book) - before[0],
        entries_new_to_store=len(book) - before[1],
        requests={name: status.count(name) for name in ("pending", "done", "withdrawn")},
        standing_orders=len(orders),
        certificates=len(standing.certificates),
        versions_revoked=sorted(named & standing.revoked.keys()),
        versions_unknown=sorted(set(store.folders("versions")) - named - standing.revoked.keys()),
        head_recorded=is_new_to_key,
    )
