"""Takedowns carried out: claim what is pending, build every live version without it, certify.

Requests write standing orders into the catalog when they are filed. A run builds each live
version again under its own lock and the orders in force: parts that an order covers are
filtered, and whatever their change does not reach is found in the store. A version that comes
out different is published as NAME.tdN and the old one is revoked in the same transaction.

A killed run leaves its claim to expire and its finished tasks in the store; the next run takes
the same requests and comes to the same result.
"""

import contextlib
import os
import re
import socket
import threading
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import pyarrow.parquet as pq

from catalog.files import Store as CatalogStore
from catalog.registry import Registry
from catalog.rows import TakedownRow
from catalog.takedown import rematch
from corpus_assets.defs.build import build_unless, is_alive
from corpus_assets.home import Home
from corpus_assets.pipeline.certificate import Change, write_certificates
from corpus_assets.pipeline.gc import collect
from corpus_assets.pipeline.residue import Residue, Search
from corpus_assets.session import open_home, reopen_session
from corpus_assets.shards.manifest import parse_manifest
from corpus_assets.stages.documents import make_text_id
from corpus_assets.store import Store

CLAIM_S = 120.0
TAKEDOWN_NAME = re.compile(r"^(?P<base>.+)\.td(?P<number>\d+)$")


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    requests: tuple[int, ...]
    changes: tuple[Change, ...]
    documents: int
    residue: Residue | None
    freed_bytes: int


def run(home: str | None = None) -> int:
    """The entry point behind `catalog takedown run`."""
    outcome = run_pending(Home.resolve(home))
    if outcome is None:
        click.echo("no takedown is pending")
        return 0
    click.echo(f"took {outcome.documents} documents out for {len(outcome.requests)} requests")
    for change in outcome.changes:
        click.echo(
            f"  {change.before} is revoked; {change.after} takes its place: "
            f"{len(change.shards)} shards written anew, {change.shared_shards} shared"
        )
    if not outcome.changes:
        click.echo("  no version held any of it; the orders stand for later snapshots")
    if outcome.residue is not None:
        click.echo(
            f"  searched {outcome.residue.texts} texts and {outcome.residue.tokens} tokens: "
            f"{outcome.residue.exact} exact copies left"
        )
        if outcome.residue.exact:
            click.echo("  those stand under other addresses: ask with --near-duplicates or by text")
    click.echo(f"  {outcome.freed_bytes} bytes deleted")
    return 0


def run_pending(home: Home, workers: int = 1, keep_revoked: bool = False) -> Outcome | None:
    """Carry out every pending request; None when there is none, or another run has them."""
    store, registry = open_home(home)
    _release_dead_claims(registry)
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex}"
    pending = [row.id for row in registry.pending_takedowns()]
    claimed = registry.claim_takedowns(pending, owner, CLAIM_S)
    if not claimed:
        return None
    ids = [row.id for row in claimed]
    try:
        with _kept_claim(registry, ids, owner):
            outcome = _carry_out(home, store, registry, claimed, workers, keep_revoked)
        registry.finish_takedowns(ids, owner, [])
    except Exception as error:
        registry.fail_takedowns(ids, owner, f"{type(error).__name__}: {error}")
        raise
    return outcome


@contextlib.contextmanager
def _kept_claim(registry: Registry, ids: Sequence[int], owner: str) -> Iterator[None]:
    """Extend the claim while the work goes on; it runs out soon after a killed run."""
    done = threading.Event()

    def extend() -> None:
        while not done.wait(CLAIM_S / 4):
            registry.claim_takedowns(ids, owner, CLAIM_S)

    thread = threading.Thread(target=extend, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _release_dead_claims(registry: Registry) -> None:
    """Requests of runs that were killed on this machine are pending again at once."""
    for row in registry.takedowns(status="running"):
        host, _, rest = (row.owner or "").partition(":")
        if host == socket.gethostname() and not is_alive(int(rest.partition(":")[0])):
            registry.fail_takedowns([row.id], row.owner or "", "the run was killed")


def _carry_out(
    home: Home,
    store: Store,
    registry: Registry,
    requests: Sequence[TakedownRow],
    workers: int,
    keep_revoked: bool,
) -> Outcome:
    """Rebuild, search, certify, collect: in this order, so that a killed run can be repeated.

    Changes are read back from the catalog, where each was recorded with its version: those of
    an earlier attempt that was killed count too.
    """
    ids = [request.id for request in requests]
    # Copies and descendants may have come in since the request was filed.
    rematch(registry, CatalogStore(home.store_url), ids)
    for version in registry.versions():
        if version.status == "live":
            _rebuild(home, version.name, workers, ids)
    changes: dict[tuple[str, str], Change] = {}
    for number in ids:
        for action in registry.takedown_actions(number):
            change = Change.of_action(action)
            changes[change.before, change.after] = change
    certified = {certificate.request_id for certificate in registry.certificates()}
    removed: dict[str, str] = {}
    for change in changes.values() if not certified.issuperset(ids) else ():
        removed |= _removed(store, registry, change.before, change.after)
    names = [change.after for change in changes.values()]
    residue = _search(store, registry, removed, names) if removed else None
    text_ids = {doc_id: make_text_id(text).hex() for doc_id, text in removed.items()}
    write_certificates(store, registry, requests, text_ids, list(changes.values()), residue)
    freed = 0 if keep_revoked else collect(store, registry).bytes
    return Outcome(tuple(ids), tuple(changes.values()), len(removed), residue, freed)


def _rebuild(home: Home, name: str, workers: int, requests: Sequence[int]) -> None:
    """Build a version again, and publish it where anything it holds changed."""
    with reopen_session(home, name, workers, requests=requests) as session:
        build_unless(session, next_name(name), same_as=name)


def next_name(name: str) -> str:
    """demo-1 -> demo-1.td1 -> demo-1.td2."""
    match = TAKEDOWN_NAME.match(name)
    if match is None:
        return f"{name}.td1"
    return f"{match['base']}.td{int(match['number']) + 1}"


def _removed(store: Store, registry: Registry, before: str, after: str) -> dict[str, str]:
    """Texts that the old version has and the new one has not; only parts that differ are read."""
    old = {(row.snapshot, row.part): row for row in registry.lineage_files(before, "texts")}
    new = {(row.snapshot, row.part): row for row in registry.lineage_files(after, "texts")}
    removed: dict[str, str] = {}
    for place, row in old.items():
        if new[place].sha256 == row.sha256:
            continue
        kept = set(
            pq.read_table(store.local(new[place].path), columns=["doc_id"])["doc_id"].to_pylist()
        )
        table = pq.read_table(store.local(row.path), columns=["doc_id", "text"])
        columns = (table[name].to_pylist() for name in ("doc_id", "text"))
        removed |= {
            doc_id.hex(): text for doc_id, text in zip(*columns, strict=True) if doc_id not in kept
        }
    return removed


def _search(
    store: Store, registry: Registry, removed: dict[str, str], versions: Sequence[str]
) -> Residue:
    found = Search(store, removed)
    for name in versions:
        manifest = parse_manifest(store.read(f"versions/{name}/manifest.json"))
        files: dict[str, list[str]] = {}
        for table in ("texts", "final_text"):
            for row in registry.lineage_files(name, table):
                files.setdefault(row.snapshot or "", []).append(row.path)
        for snapshot, paths in files.items():
            found.snapshot(dict.fromkeys(paths), manifest, snapshot)
    return found.residue
