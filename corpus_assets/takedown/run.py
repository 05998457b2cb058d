"""Carry out takedowns: claim what is pending, build every live version without it, delete,
search, certify.

Requests write standing orders into the catalog when they are filed. A run builds each live
version again under its own lock and the orders in force: parts that an order covers are
filtered, and whatever their change does not reach is found in the store. A version that comes
out different is published as NAME.tdN and the old one is revoked in the same transaction.

One run works at a time, and takes all that waits; what is filed while it builds joins it. A
killed run leaves its claim to expire and its finished tasks in the store; the next run takes
the same requests and comes to the same result.
"""

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import click
import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db import Registry, TakedownRow, is_gone
from catalog.errors import CatalogError, OrdersChanged
from catalog.figures import counted, size
from catalog.formats.store import FileStore as CatalogStore
from catalog.takedown import (
    Rematched,
    Trust,
    broken_links,
    documents_left,
    look_again,
    recorded_in_book,
)
from corpus_assets.build import Build, InProcess, Record, Runner, Step, side_by_side
from corpus_assets.core.display import display
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.core.lock import Lock
from corpus_assets.core.progress import Progress
from corpus_assets.core.store import Store, local_checked
from corpus_assets.evidence import forget_heldout
from corpus_assets.graph import (
    Cleared,
    Engine,
    EngineChoice,
    collecting,
    lease_s,
    owner_name,
    renewing,
    takedown_run,
)
from corpus_assets.ingest import Suppressions, covered_keys
from corpus_assets.session import build_lease, open_home, reopen_session
from corpus_assets.signals import redact_imports, stored_imports
from corpus_assets.stages import STAGES, function_of
from corpus_assets.takedown.certificate import (
    Deletion,
    Proof,
    certificates_by_request,
    certified_versions,
    write_certificates,
)
from corpus_assets.takedown.copies import delete_copies
from corpus_assets.takedown.home_search import Holder
from corpus_assets.takedown.residue import Residue, Search, addresses, search_fully, search_live
from corpus_assets.takedown.search_tasks import function_of_search
from corpus_assets.versions import (
    Change,
    Removed,
    check_artifact_rows,
    collect_garbage,
    distinct_removed,
    forget_removed,
    load_published_recipe,
    load_removed,
    removed_by_requests,
)
from corpus_loader import LoaderError

MAX_NAMED = 5  # files in a request's error; the certificate has all
CERTIFICATES = "certificates"
"""The step after all versions: deletion, search and proof."""
MORE_CAME_IN = "new takedowns were filed: rebuilding without their documents"
TAKEDOWN_NAME = re.compile(r"^(?P<base>.+)\.td(?P<number>\d+)$")

Tell = Callable[[str], None]
OnFound = Callable[[Sequence[int], Rematched], None]


def _silent(_: str) -> None:
    return


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    requests: tuple[int, ...]
    changes: tuple[Change, ...]
    documents: int
    residue: Residue | None
    freed_bytes: int
    deletion: Deletion
    why_left: str = ""
    snapshots: tuple[str, ...] = ()
    cleared: tuple[Cleared, ...] = ()
    still_open: Mapping[int, str] = field(default_factory=dict)  # request -> why it is not done


def takedown_command(
    home: str | None = None,
    runner: Runner | None = None,
    workers: int | None = None,
    engine: str | None = None,
    ray_address: str | None = None,
) -> int:
    """Carry out what is pending and say what was done, as `catalog takedown run` does."""
    try:
        with display() as progress:
            outcome = run_pending(
                Home.resolve(home),
                EngineChoice.resolve(engine, workers, ray_address, local_workers=1),
                tell=progress.log,
                runner=runner,
                progress=progress,
            )
    except (CorpusError, LoaderError) as error:  # the catalog's command knows its own errors only
        raise CatalogError(str(error)) from error
    if outcome is None:
        click.echo("no takedown is pending")
        return 0
    click.echo(
        f"removed {counted(outcome.documents, 'document')} "
        f"({counted(len(outcome.requests), 'request')})"
    )
    for change in outcome.changes:
        click.echo(
            f"  {change.before} revoked, replaced by {change.after}: "
            f"{counted(len(change.shards), 'shard')} rebuilt, {change.shared_shards:,} reused"
        )
    if not outcome.changes:
        click.echo("  no version affected; the suppression applies to later snapshots")
    if outcome.residue is not None:
        click.echo(
            f"  searched {counted(outcome.residue.texts, 'text')} and "
            f"{counted(outcome.residue.tokens, 'token')}; exact copies left: "
            f"{outcome.residue.exact:,}, near duplicates: {outcome.residue.similar:,}"
        )
        if outcome.residue.exact or outcome.residue.similar:
            click.echo(
                "  listed in the certificate; request again with --near-duplicates to remove them"
            )
        _tell_of_home(outcome.residue)
    if outcome.cleared:
        answered = [node for node in outcome.cleared if node.files is not None]
        files = sum(node.files or 0 for node in answered)
        click.echo(
            f"  {len(answered)} of {counted(len(outcome.cleared), 'node')} deleted cached copies "
            f"({counted(files, 'file')})"
        )
    if outcome.deletion.outcome == "kept":
        click.echo("  revoked versions kept, as configured in the recipe; `corpus gc` deletes them")
    else:
        click.echo(f"  freed {size(outcome.freed_bytes)}")
    for place in outcome.deletion.copies:
        click.echo(f"  deleted {place}, a copy that contained removed documents")
    for path in outcome.deletion.left:
        click.echo(f"  {path} could not be deleted", err=True)
    for request, why in outcome.still_open.items():
        click.echo(f"takedown {request} stays open: {why}", err=True)
    return 1 if outcome.still_open else 0


def _tell_of_home(residue: Residue) -> None:
    holding = [held for held in residue.holding if not held.is_source]
    for held in holding:
        click.echo(f"  {held.file} {held.statement}: {held.to_do}", err=True)
    for name, why in residue.not_searched:
        click.echo(f"  {name} was not searched: {why}", err=True)
    originals = len(residue.holding) - len(holding)
    if originals:
        click.echo(f"  {counted(originals, 'original source file')} in the home with removed texts")


def _why_open(outcome: Outcome, holding: Sequence[Holder], found: Sequence[str]) -> str | None:
    """Say why a request is not done: files of revoked versions, files that hold its documents, and
    what its proof lacks; None where there is nothing."""
    left, files = len(outcome.deletion.left), [held.file for held in holding]
    reasons = []
    if left:
        why = outcome.why_left or "they are still in the store"
        reasons.append(f"{counted(left, 'file')} of revoked versions could not be deleted ({why})")
    if files:
        hold = "holds" if len(files) == 1 else "hold"
        named = ", ".join(files[:MAX_NAMED]) + (", ..." if len(files) > MAX_NAMED else "")
        reasons.append(f"{counted(len(files), 'file')} still {hold} removed documents: {named}")
    reasons += found[:MAX_NAMED]
    if not reasons:
        return None
    return (
        f"{'; '.join(reasons)}. The certificate lists them: fix the cause and run `catalog takedown "
        "run` again"
    )


def run_pending(
    home: Home,
    engine: EngineChoice | None = None,
    tell: Tell = _silent,
    on_found: OnFound | None = None,
    runner: Runner | None = None,
    progress: Progress | None = None,
) -> Outcome | None:
    """Carry out every request that waits; None when there is none.

    Waits for another run that is at work: what that one leaves is done here. `on_found` hears
    which requests the run is for and what they touch, before anything is built.
    """
    with open_takedowns(home, engine, tell, on_found, progress) as work:
        work.run(runner or InProcess())
        return work.outcome


@contextlib.contextmanager
def open_takedowns(
    home: Home,
    engine: EngineChoice | None = None,
    tell: Tell = _silent,
    on_found: OnFound | None = None,
    progress: Progress | None = None,
) -> Iterator["Takedowns"]:
    """Hold the lease of takedown runs; requests that are not finished when it ends failed."""
    store, opened = open_home(home)
    with takedown_run(opened, tell) as registry:
        release_dead_claims(registry)
        work = Takedowns(home, store, registry, owner_name(), engine, tell, on_found, progress)
        try:
            yield work
        except BaseException as error:
            work.close(f"{type(error).__name__}: {str(error) or 'the run was stopped'}")
            raise
        work.close("the run was stopped")


@dataclass
class Takedowns:
    """One run: what it has claimed so far, and its steps."""

    home: Home
    store: Store
    registry: Registry
    owner: str
    engine: EngineChoice | None
    tell: Tell
    on_found: OnFound | None = None
    progress: Progress | None = None
    claimed: dict[int, TakedownRow] = field(default_factory=dict)
    outcome: Outcome | None = None

    def __post_init__(self) -> None:
        self._claims = contextlib.ExitStack()  # renews them
        self._sessions = contextlib.ExitStack()
        self._builds: list[Build] = []

    def claim_again(self) -> None:
        """Extend the claims; they run out soon after a killed run."""
        self.registry.claim_takedowns(list(self.claimed), self.owner, lease_s())

    def run(self, runner: Runner) -> None:
        """Do all steps, from the beginning where more requests came in meanwhile."""
        while True:
            steps = self.begin()
            try:
                (runner if self._builds else InProcess()).run(steps)
            except OrdersChanged:
                self.tell(MORE_CAME_IN)
                continue
            finally:
                self._sessions.close()
            for build in self._builds:
                if build.made is not None:
                    runner.built(build.session, build.made)
            return

    def begin(self) -> list[Step]:
        """Return the steps of all that waits now; none, where nothing does."""
        while True:
            self._sessions.close()
            try:
                return self._steps()
            except OrdersChanged:
                self.tell(MORE_CAME_IN)

    def _steps(self) -> list[Step]:
        """Claim what waits and open all live versions.

        Every version that is published holds to all orders in force, so the requests of these
        orders must be part of this run, else it would certify nothing for them: `OrdersChanged`
        says that more came in, now or from a step.
        """
        waiting = [row.id for row in self.registry.free_takedowns()]
        claimed = self.registry.claim_takedowns(waiting, self.owner, lease_s())
        if not self.claimed and claimed:
            self._claims.enter_context(renewing(self.claim_again, lease_s()))
        self.claimed |= {row.id: row for row in claimed}
        if not self.claimed:
            return []
        # Copies and descendants may have come in since the request was filed.
        found = look_again(self.registry, CatalogStore(self.home.store_url), list(self.claimed))
        if self.on_found is not None:
            self.on_found(list(self.claimed), found)
        state = self.registry.orders_state()
        if self.registry.free_takedowns(1):
            raise OrdersChanged("takedowns were filed while this run was starting")
        check_artifact_rows(self.registry)
        live = [version.name for version in self.registry.versions() if version.status == "live"]
        choice = self.engine or EngineChoice(workers=1)
        # One for all: each of them would keep its own workers.
        engine = self._sessions.enter_context(
            choice.opened(self.home.store_url, function_of, self.tell)
        )
        self._builds = [self._opened(name, state, engine) for name in live]
        return [*side_by_side(self._builds), Step(CERTIFICATES, self._certify)]

    def _opened(self, name: str, state: str, engine: Engine) -> Build:
        """Open a version to build it again; it is published where anything it holds changed."""
        enter = self._sessions.enter_context
        requests = list(self.claimed)
        self.tell(f"checking {name} against {counted(len(requests), 'request')}")
        reopened = reopen_session(
            self.home, name, progress=self.progress, requests=requests, engine=engine
        )
        session = enter(reopened)
        session.registry = self.registry
        if session.pipeline.suppressions.state != state:
            raise OrdersChanged("takedowns were filed while this run was starting")
        enter(build_lease(session))
        return Build(session, next_name(name), name)

    def _certify(self, _: Record) -> None:
        """Delete what is removed, prove it and finish the requests."""
        self._sessions.close()  # nothing is deleted while a build holds its lease
        outcome = self.collect_and_prove()
        self._claims.close()
        for number, why in outcome.still_open.items():
            self.registry.fail_takedowns([number], self.owner, why)
        done = [number for number in self.claimed if number not in outcome.still_open]
        with recorded_in_book(self.registry, self.store):
            self.registry.finish_takedowns(done, self.owner, [])
        self.outcome = outcome

    def close(self, why: str) -> None:
        """End the run; requests that it has not finished failed."""
        try:
            self._sessions.close()
        finally:
            self._claims.close()
            if self.outcome is None:
                with contextlib.suppress(CatalogError):  # the first error is the one to tell
                    # by owner: a claim may be stored whose run was stopped before it heard of it
                    running = self.registry.takedowns(status="running")
                    claimed = [row.id for row in running if row.owner == self.owner]
                    self.registry.fail_takedowns(claimed, self.owner, why)

    def collect_and_prove(self) -> Outcome:
        """Delete, look at the store again, search, certify: the certificate says what was seen.

        What it needs of the old versions was noted when each new one was published, and changes
        are read back from the catalog, so a killed run can be repeated from any point.
        """
        ids = list(self.claimed)
        changes = self._changes()
        noted = {change.before: load_removed(self.store, change.after) for change in changes}
        removed = distinct_removed([note.documents for note in noted.values()])
        clusters = {before: note.clusters for before, note in noted.items()}
        self._redact_imports(removed)
        freed, deletion, why, cleared = self._delete(changes, noted.values(), removed)
        watched = {d for found in clusters.values() for one in found for d in one.kept_after}
        states = {version.name: version.status for version in self.registry.versions()}
        after = [change.after for change in changes if states[change.after] == "live"]
        found = self._search(removed, watched, changes, deletion)
        held = {
            number: [(row.kind, row.value) for row in rows]
            for number, rows in self.registry.suppressions_of(ids).items()
        }
        named = removed_by_requests(removed, held)
        self._expect_none_left({doc_id for some in named.values() for doc_id in some})
        certified = self._certified()
        uncertified = [n for n in ids if named[n] or certified[n] is None]
        requests = self.registry.takedowns_of(uncertified)
        likes = {copy.doc_id for copy in found.copies_of(found.removed, watched)} if found else ()
        urls = addresses(self.store, self.registry, after, likes)
        models = {name: held for version in after for name, held in self._models(version).items()}
        proof = Proof(removed, changes, clusters, found, urls, deletion, models, cleared)
        write_certificates(self.store, self.registry, requests, named, proof)
        outcome = Outcome(
            tuple(ids),
            tuple(changes),
            removed.num_rows,
            found.residue if found is not None else None,
            freed,
            deletion,
            why,
            self._snapshots(changes),
            cleared,
        )
        outcome = replace(outcome, still_open=self._still_open(outcome, named, found))
        if not outcome.still_open:
            for change in changes:
                forget_removed(self.store, change.after)
        return outcome

    def _search(
        self,
        removed: pa.Table,
        watched: Collection[str],
        changes: Sequence[Change],
        deletion: Deletion,
    ) -> Search | None:
        """Search by keys, on the engine. Where something of the old versions is there, or a run before
        left it, what is derived from them may be too: then everything is read."""
        before = [change.before for change in changes]
        place = (self.store, self.registry)
        was_open = not self.claimed.keys().isdisjoint(
            row.request_id for row in self.registry.certificates()
        )
        if deletion.outcome != "deleted" or was_open:
            kept, root = deletion.kept, self.home.root
            return search_fully(*place, removed, watched, before, kept, root, self.tell)
        rewritten = {now for change in changes for _, now in change.shards.values() if now}
        choice = self.engine or EngineChoice(workers=1)
        with choice.opened(self.home.store_url, function_of_search, self.tell) as engine:
            return search_live(
                *place, engine, removed, watched, before, rewritten, self.home.root, self.tell
            )

    def _still_open(
        self, outcome: Outcome, named: Mapping[int, Sequence[str]], found: Search | None
    ) -> dict[int, str]:
        """Look at the certificates and at what the search found; return why requests are not
        done."""
        broken = broken_links(self.registry, CatalogStore(self.home.store_url), Trust.given())
        still: dict[int, str] = {}
        for number in self.claimed:
            mine = set(named[number])
            residue = found.residue_of(mine) if found is not None and mine else None
            holding = [one for one in residue.holding if not one.is_source] if residue else []
            why = _why_open(outcome, holding, broken)
            if why is not None:
                still[number] = why
        return still

    def _expect_none_left(self, doc_ids: Iterable[str]) -> None:
        """Refuse to certify what `catalog takedown verify` would deny at once."""
        removed = {bytes.fromhex(doc_id) for doc_id in doc_ids}
        left = documents_left(self.registry, CatalogStore(self.home.store_url), removed)
        if left:
            versions = ", ".join(sorted({row.version for row in left}))
            found = sorted({row.doc_id for row in left})
            raise CorpusError(
                f"{counted(len(found), 'removed document')} still in {versions}: {', '.join(found[:MAX_NAMED])}. Nothing was certified and the "
                "requests stay open: request them by --doc-id as well, and run again"
            )

    def _delete(
        self, changes: Sequence[Change], noted: Iterable[Removed], removed: pa.Table
    ) -> tuple[int, Deletion, str, tuple[Cleared, ...]]:
        """Collect what no live version uses, unless a recipe keeps it, and see what is gone; delete
        copies that commands wrote, and have the nodes of a cluster delete theirs of files."""
        kept = any(self._keeps_revoked(change.before) for change in changes)
        with collecting(self.registry, self.tell) as registry:
            gone = collect_garbage(self.store, registry, self.home, keep_revoked=kept)
            cleared = self._clear_nodes() if changes else ()
        files = sorted({path for note in noted for path in note.files})
        there = [path for path in files if self.store.exists(path)]
        ids = {doc_id.hex() for doc_id in removed["doc_id"].to_pylist()}
        before = [change.before for change in changes]
        copies, stuck = delete_copies(self.home.root, self.store, self.registry, ids, before)
        left = sorted({*gone.left, *([] if kept else there), *stuck})
        outcome = "left" if left else "kept" if kept else "deleted"
        deleted = [path for path in files if path not in set(there)]
        seen = Deletion(outcome, deleted, left, there if kept else [], copies)
        return gone.bytes, seen, gone.why or next(iter(stuck.values()), ""), cleared

    def _clear_nodes(self) -> tuple[Cleared, ...]:
        if self.engine is None:
            return ()
        with self.engine.opened(self.home.store_url, function_of) as engine:
            cleared = tuple(engine.forget_copies())
        for node in cleared:
            if node.files is None:
                self.tell(f"node {node.node} did not confirm that it deleted its copies of files")
        return cleared

    def _redact_imports(self, removed: pa.Table) -> None:
        """Take what annotations of others say about the removed out of all imports: rows that an
        order names, and rows by the id, text or address of a removed document that no live
        document shares; and delete the held-out sets that hold any of it."""
        rows = [(row.kind, row.value) for row in self.registry.suppressions()]
        rows += [("doc_id", value.hex()) for value in removed["doc_id"].to_pylist()]
        texts = [("text_id", value.hex()) for value in removed["text_id"].to_pylist()]
        orders = Suppressions.from_rows([*rows, *texts])
        gone = Suppressions.from_rows([*rows, *self._unshared(removed)])
        n = redact_imports(self.store, lambda kind, keys: covered_keys(kind, keys, gone))
        if n:
            self.tell(f"deleted {counted(n, 'row')} of imported annotations")
        for path in forget_heldout(self.store, orders):
            self.tell(f"deleted {path}: a document of this held-out set was taken down")

    def _unshared(self, removed: pa.Table) -> list[tuple[str, str]]:
        """Return addresses and texts of removed documents that no live document has: a row of an
        import that another capture or copy is joined with is that one's too, and its signals
        must not depend on what was taken out beside it."""
        if not any(stored_imports(self.store)):
            return []
        left = {kind: set(removed[kind].to_pylist()) for kind in ("url_key", "text_id")}
        for version in self.registry.versions():
            for row in self.registry.lineage_files(version.name, "documents"):
                if version.status == "live":
                    path = local_checked(self.store, row.path, row.sha256)
                    table = pq.read_table(path, columns=list(left))
                    for kind, values in left.items():
                        values.difference_update(table[kind].to_pylist())
        addresses = [("url_key", key) for key in left["url_key"] if key]
        return [*addresses, *(("text_id", text_id.hex()) for text_id in left["text_id"])]

    def _changes(self) -> list[Change]:
        """List the changes made for these requests that are not certified yet."""
        changes: dict[str, Change] = {}
        covered = self._certified()
        for action in self.registry.actions_of(list(self.claimed)):
            version = str(action.version_after)
            if version not in changes and version not in (covered[action.request_id] or ()):
                changes[version] = Change.of_action(action)
        return list(changes.values())

    def _certified(self) -> dict[int, set[str] | None]:
        """Return the new versions that the complete certificates of each request cover."""
        written = certificates_by_request(self.registry.certificates())
        return {n: certified_versions(self.store, written.get(n, ())) for n in self.claimed}

    def _keeps_revoked(self, version: str) -> bool:
        digest = self.registry.version(version).recipe_digest
        return load_published_recipe(self.store, digest)[0].takedowns.keep_revoked

    def _models(self, version: str) -> dict[str, str]:
        """Say what each pinned calibration of a version may still hold of removed documents."""
        lock = self.store.read(f"versions/{version}/lock.json")
        return may_hold(Lock.model_validate_json(lock))

    def _snapshots(self, changes: Sequence[Change]) -> tuple[str, ...]:
        """List the snapshots whose files differ between the versions before and after."""
        touched: set[str] = set()
        for change in changes:
            was, now = (
                {(row.snapshot, row.sha256) for row in self.registry.lineage_files(name)}
                for name in (change.before, change.after)
            )
            touched |= {snapshot for snapshot, _ in was ^ now}
        return tuple(sorted(touched))


def may_hold(lock: Lock) -> dict[str, str]:
    """Say of every calibration in a lock what it may still hold of a removed document."""
    sentences = {}
    for name in sorted(lock.calibrations):
        stage, _, rest = name.partition("/")
        sentences[name] = STAGES.calibrations[stage].sentence(lock.recipe, rest)
    return sentences


def release_dead_claims(registry: Registry) -> None:
    """Set requests of runs that were killed on this machine back to pending."""
    for row in registry.takedowns(status="running"):
        if row.owner is not None and is_gone(row.owner):
            registry.fail_takedowns([row.id], row.owner, "the run was killed")


def next_name(name: str) -> str:
    """demo-1 -> demo-1.td1 -> demo-1.td2."""
    match = TAKEDOWN_NAME.match(name)
    if match is None:
        return f"{name}.td1"
    return f"{match['base']}.td{int(match['number']) + 1}"
