"""Which result stands for a source file once takedowns are in force.

A part's *base* is the task that reads its file under no order. Orders that cover none of its
records leave it as it is; the first that covers one gives a new result, made by filtering the
old. `parts/<base>.json` names the result that stands for the part, the orders it was made
under, and the set of orders it was compared with.

So that nothing is compared twice, one more note says with which set of orders all parts of a
snapshot were compared last: `parts/<digest of their bases>.json`. It counts while the same results
stand for them, and most parts need no note of their own.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core import files
from corpus_assets.core.identity import canonical_json, digest
from corpus_assets.core.result_index import REQUESTS_AT_ONCE
from corpus_assets.core.store import (
    Result,
    Store,
    damaged,
    local_checked,
    read_checked,
    read_sealed,
    sealed_json,
)
from corpus_assets.core.task import Origin, Task
from corpus_assets.core.urls import host_of_key, one_spelling
from corpus_assets.ingest.purge import DOCUMENT_KEYS, RECORD_KEYS, covered_records
from corpus_assets.ingest.suppressions import Suppressions

MANY_ORDERS = 200
LISTED = "listed"  # kind of a row that names a file of orders by its digest
_LISTS: dict[str, frozenset[tuple[str, str]]] = {}
Load = Callable[[str, str], Result | None]
"""The result of (stage, fingerprint), where it is in the store."""


@dataclass(frozen=True)
class Standing:
    """What stands for a part."""

    fingerprint: str
    orders: tuple[tuple[str, str], ...]  # that it was made under
    compared: str  # digest of the orders it was last compared with
    previous: str | None = None  # the result it was filtered from


@dataclass(frozen=True)
class StandingParts:
    """What stands for the parts of a snapshot: `notes` by the fingerprints of their bases, and the
    digest of the orders that all of them were compared with, where it is known."""

    notes: Mapping[str, Standing]
    compared: str | None = None

    def get(self, base: str) -> Standing | None:
        """Return what stands for a part; None where nothing is known but its base."""
        note = self.notes.get(base)
        if self.compared is None:
            return note
        return replace(note or Standing(base, (), ""), compared=self.compared)


def standing_parts(store: Store, bases: Iterable[str]) -> StandingParts:
    """Return what stands for parts, by the fingerprints of their bases. One listing tells which
    have a note."""
    noted = {path.rpartition("/")[2].removesuffix(".json") for path in store.list("parts")}
    if not noted:
        return StandingParts({})
    names = list(bases)
    wanted = [base for base in names if base in noted]
    notes: dict[str, Standing] = {}
    if wanted:
        with ThreadPoolExecutor(min(REQUESTS_AT_ONCE, len(wanted))) as pool:
            found = pool.map(partial(_load, store), wanted)
            pairs = zip(wanted, found, strict=True)
            notes = {base: note for base, note in pairs if note is not None}
    compared = None
    if (together := digest(names)) in noted:
        path = _path(together)
        raw = read_sealed(store, path)
        try:
            if raw["standing"] == _standing_digest(names, notes):
                compared = str(raw["compared"])
        except KeyError as error:
            raise damaged(store, path, "does not say what parts were compared with") from error
    return StandingParts(notes, compared)


def _standing_digest(bases: Iterable[str], notes: Mapping[str, Standing]) -> str:
    """Return the digest of the results that stand for parts."""
    return digest([notes[base].fingerprint if base in notes else base for base in bases])


def part_task(
    store: Store,
    base: Task,
    orders: Suppressions,
    load: Load,
    standing: Standing | None,
    listed: Callable[[], tuple[tuple[str, str], ...]],
) -> Task:
    """Return the task whose result stands for a part under the orders in force; `listed` gives
    `listed_orders`, for a part that is to be read."""
    if standing is not None and _under(base, standing.orders).fingerprint != standing.fingerprint:
        standing = None
    if standing is not None and not _in_force(store, standing, orders):
        standing = None  # an order that took something out was withdrawn: it may come back
    if standing is None:
        found = load(base.stage, base.fingerprint)
        if found is None:
            return _under(base, listed())
        standing = Standing(base.fingerprint, (), digest([]))
    task = _under(base, standing.orders)
    if standing.compared == orders.digest or not orders.rows:
        return task
    result = load(task.stage, task.fingerprint)
    if result is None:
        return _under(base, listed())
    covering = _covering(store, result, orders)
    if not covering:
        return task
    purged = _under(base, tuple(sorted({*standing.orders, *covering})))
    origin = Origin(base.fingerprint, result.fingerprint, result.outputs)
    return replace(purged, origin=origin)


def result_before(task: Task, load: Load, standing: Standing | None) -> Result | None:
    """Return what stood for a part before it was filtered last, as long as it is in the store."""
    if standing is None or standing.previous is None or standing.fingerprint != task.fingerprint:
        return None
    return load(task.stage, standing.previous)


def origin_of(task: Task) -> Origin:
    """How the documents of a part come about."""
    if task.origin is None:
        raise ValueError(f"{task.stage} ({task.label}) makes no part's documents")
    return task.origin


def remember(store: Store, tasks: Sequence[Task], orders: Suppressions) -> None:
    """Note what stands for each part, and that all were compared with the orders; a part no order
    ever touched needs no note of its own."""
    bases = [origin_of(task).base for task in tasks]
    standing = standing_parts(store, bases)
    if not (bases and (standing.notes or orders.rows)):
        return
    notes = dict(standing.notes)
    for base, task in zip(bases, tasks, strict=True):
        rows = tuple((kind, value) for kind, value in task.settings["orders"])
        known = notes.get(base)
        if not rows and known is None:
            continue
        previous = origin_of(task).previous
        if previous is None and known is not None and known.fingerprint == task.fingerprint:
            previous = known.previous
        notes[base] = Standing(task.fingerprint, rows, orders.digest, previous)
        if known is None or replace(known, compared=orders.digest) != notes[base]:
            store.write(_path(base), sealed_json(asdict(notes[base])))
    if standing.compared != orders.digest or notes != standing.notes:
        body = {"compared": orders.digest, "standing": _standing_digest(bases, notes)}
        store.write(_path(digest(bases)), sealed_json(body))


def listed_orders(store: Store, orders: Suppressions) -> tuple[tuple[str, str], ...]:
    """The orders a part is read under; many of them as one row that names a file with all.

    A part has no use for most of them, and a hundred thousand in every task would cost more
    than the part. The file holds what orders hold: addresses, ids and sketches.
    """
    if len(orders.rows) <= MANY_ORDERS:
        return orders.rows
    path = f"orders/{orders.digest}.json"
    if not store.exists(path):
        store.write(path, canonical_json([list(row) for row in orders.rows]))
    return ((LISTED, orders.digest),)


def spelled_orders(
    store: Store, rows: Iterable[tuple[str, str]], with_lists: bool = True
) -> set[tuple[str, str]]:
    """Rows with those that name a file written out, or left out."""
    found: set[tuple[str, str]] = set()
    for kind, value in rows:
        if kind != LISTED:
            found.add((kind, value))
        elif with_lists:
            if value not in _LISTS:
                listed = json.loads(read_checked(store, f"orders/{value}.json", value))
                _LISTS.clear()  # one is enough: all parts of a build name the same
                _LISTS[value] = frozenset((k, v) for k, v in listed)
            found |= _LISTS[value]
    return found


def _in_force(store: Store, standing: Standing, orders: Suppressions) -> bool:
    """Whether every order that a part was made under still stands."""
    if standing.compared == orders.digest or not standing.orders:
        return True
    return spelled_orders(store, standing.orders) <= set(orders.rows)


def _under(base: Task, rows: Iterable[tuple[str, str]]) -> Task:
    return under_orders(base, [list(row) for row in rows], Origin(base.fingerprint))


def under_orders(base: Task, rows: list[list[str]], origin: Origin) -> Task:
    """Return the task that makes a part under some orders."""
    return replace(base, settings=dict(base.settings) | {"orders": rows}, origin=origin)


def _covering(store: Store, result: Result, orders: Suppressions) -> set[tuple[str, str]]:
    """Return the orders that cover a record of the part which is still there."""
    records, documents = (
        pq.read_table(local_checked(store, output.path, output.sha256), columns=columns)
        for output, columns in (
            (result.outputs[files.RECORDS], RECORD_KEYS),
            (result.outputs[files.DOCUMENTS], DOCUMENT_KEYS),
        )
    )
    covered = covered_records(records, documents, orders)
    if not covered.any():
        return set()
    likely = _likely(records, documents, covered, orders)
    if (covered_records(records, documents, Suppressions.from_rows(likely)) == covered).all():
        return likely
    return {
        row
        for row in orders.rows
        if covered_records(records, documents, Suppressions.from_rows([row])).any()
    }


def _likely(
    records: pa.Table, documents: pa.Table, covered: Any, orders: Suppressions
) -> set[tuple[str, str]]:
    """Orders spelled as the covered records are: found by look-up, however many there are."""
    gone = records.filter(pa.array(covered))
    named = set(gone["url_key"].to_pylist())
    alive = pc.is_null(records["reason"]).to_numpy()
    texts = documents.filter(pa.array(covered[alive]))
    for parents in texts["derived_from"].to_pylist():
        named.update(parents or ())
    keys = {one_spelling(key) for key in named}
    spelled = {("url_key", key) for key in keys}
    spelled |= {("doc_id", doc_id.hex()) for doc_id in gone["doc_id"].to_pylist()}
    spelled |= {("text_id", text_id.hex()) for text_id in texts["text_id"].to_pylist()}
    spelled |= {("near_text", value) for value in orders.sketches.covering(texts["sketch"])}
    for host in {host_of_key(key) for key in keys}:
        labels = host.split(".")
        spelled |= {("host", ".".join(labels[i:])) for i in range(len(labels))}
    for kind, value in orders.rows:
        if kind == "url_prefix" and any(key.startswith(value) for key in keys):
            spelled.add((kind, value))
    return spelled & set(orders.rows)


def _path(base: str) -> str:
    return f"parts/{base}.json"


def _load(store: Store, base: str) -> Standing | None:
    if not store.exists(_path(base)):
        return None
    raw = read_sealed(store, _path(base))
    try:
        rows = tuple((kind, value) for kind, value in raw["orders"])
        return Standing(raw["fingerprint"], rows, raw["compared"], raw.get("previous"))
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(
            store, _path(base), "does not name the result that replaces a part"
        ) from error
