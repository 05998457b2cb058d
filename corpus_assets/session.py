"""One run of the pipeline on one home: store, catalog, recipe and engine, opened together."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from catalog.db import Registry
from catalog.formats.places import located
from catalog.formats.private_files import make_folder
from catalog.takedown import expect_book
from corpus_assets.core.errors import RecipeError, StoreError
from corpus_assets.core.home import Home
from corpus_assets.core.lock import Lock, check_recipe, import_calibrations, load_lock
from corpus_assets.core.progress import Progress, Silent
from corpus_assets.core.store import Output, Store, damaged, open_store
from corpus_assets.graph import Engine, EngineChoice, Pipeline, building
from corpus_assets.ingest import Locations, Suppressions, is_demo
from corpus_assets.install import ModelPins
from corpus_assets.recipe import find_recipe, load_with_added
from corpus_assets.stages import function_of
from corpus_assets.versions import (
    Extended,
    ReusedCalibrations,
    check_published,
    continued,
    find_extended,
    in_order_of,
    load_published_recipe,
    lock_folder,
    lock_pins,
    open_kept,
    published_files,
    published_lock,
    reuse_calibrations,
)


@dataclass
class Session:
    home: Home
    pipeline: Pipeline
    registry: Registry
    engine: Engine
    progress: Progress
    lock: Lock | None = None  # what goes in must be what it names
    replaces: tuple[str, ...] = ()  # versions that what is published takes the place of
    requests: tuple[int, ...] = ()  # takedowns that it is built for
    lock_folder: Path | None = None  # where the lock of the recipe lies, or would
    reused: ReusedCalibrations = field(default_factory=ReusedCalibrations)
    extends: Extended | None = None  # the version that is continued


@contextlib.contextmanager
def open_session(
    recipe: str,
    home: Home,
    workers: int = 1,
    overrides: Mapping[str, Any] | None = None,
    lock: str | None = None,
    progress: Progress | None = None,
    calibrations: str | None = None,
    upgrade: Sequence[str] = (),
    engine: EngineChoice | None = None,
    extends: str | None = None,
) -> Iterator[Session]:
    """Open everything; the engine's workers end with the session.

    Tasks run in `workers` processes of this machine, unless `engine` says otherwise.

    Under `lock`, recipe and inputs must be those it names; `calibrations` takes all calibrations
    of a lock. Without either, those that the recipe still asks for are reused from the lock
    beside it or from its live versions, but for those that `upgrade` names. `extends` takes those
    of a version that the recipe continues.
    """
    path = find_recipe(recipe)
    loaded, _ = load_with_added(path, dict(overrides or {}), open_store(home.store_url))
    if not loaded.snapshots:
        raise RecipeError(
            f"recipe {loaded.name} has no snapshot yet; `corpus snapshots discover {recipe}` lists "
            f"them, `corpus snapshots add {recipe} NAME` adds one"
        )
    progress = progress or Silent()
    places = (place for source in loaded.sources for place in source.snapshots.values())
    if any(map(is_demo, places)) and not home.demo_sources.exists():
        progress.log("writing the demo sources: about ten seconds, once")
    store, registry = open_home(home)
    pins: dict[str, Output] = {}
    pinned = lock or calibrations
    if pinned is not None and upgrade:
        raise RecipeError("--upgrade recomputes what the named lock pins; use only one of the two")
    extended: Extended | None = None
    if extends is not None:
        if pinned is not None or upgrade:
            raise RecipeError(
                "--extends uses the calibrations of that version: leave out --lock, "
                "--calibrations and --upgrade"
            )
        extended = find_extended(store, registry, extends, loaded)
        loaded = continued(loaded, extended)
        pins = extended.pins
    if pinned is not None:
        pins = import_calibrations(load_lock(Path(pinned)), Path(pinned).parent, store)
    bound = load_lock(Path(lock)) if lock is not None else None
    if bound is not None:
        loaded = in_order_of(loaded, bound)
        check_recipe(bound, loaded.digest)
    pipeline = Pipeline(
        loaded,
        Locations(path.parent, home),
        store,
        _orders(registry),
        pins,
        is_locked=bound is not None,
        recorded=registry.artifact_contents,
        model_pins=ModelPins(folder := lock_folder(path, home)),
        called=recipe,
    )
    taken = ReusedCalibrations()
    if pinned is None and extended is None:
        taken = reuse_calibrations(pipeline, registry, folder, upgrade)
        pipeline.pins = taken.pins
    chosen = engine or EngineChoice(workers=workers)
    progress = progress or Silent()
    with chosen.opened(home.store_url, function_of, progress.log) as opened:
        yield Session(
            home,
            pipeline,
            registry,
            opened,
            progress,
            bound,
            lock_folder=folder,
            reused=taken,
            extends=extended,
        )


@contextlib.contextmanager
def reopen_session(
    home: Home,
    version: str,
    workers: int = 1,
    progress: Progress | None = None,
    requests: Sequence[int] = (),
    engine: EngineChoice | Engine | None = None,
) -> Iterator[Session]:
    """Open a session that builds a published version again: its recipe, its copies of what that
    names, its pinned calibrations, and the takedowns in force now. What it publishes takes the
    version's place. An engine that is given stays open."""
    store, registry = open_home(home)
    row = registry.version(version)
    check_published(store, registry, row)
    recipe, stated = load_published_recipe(store, row.recipe_digest)
    folder = Path(located(str(stated), home.root))
    lock = published_lock(store, row)
    chosen = engine or EngineChoice(workers=workers)
    progress = progress or Silent()
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(open_kept(store, published_files(store, row)))
        if isinstance(chosen, EngineChoice):
            opened = stack.enter_context(chosen.opened(home.store_url, function_of, progress.log))
        else:
            opened = chosen
        pipeline = Pipeline(
            recipe,
            Locations(folder, home, kept),
            store,
            _orders(registry),
            lock_pins(lock, version),
            lock=lock,
            recorded=registry.artifact_contents,
        )
        _check_inputs(pipeline, lock, version)
        yield Session(
            home,
            pipeline,
            registry,
            opened,
            progress,
            replaces=(version,),
            requests=tuple(requests),
        )


def _check_inputs(pipeline: Pipeline, lock: Lock, version: str) -> None:
    """Refuse to build a version again from other snapshots than it was built from."""
    for name, files in pipeline.delivered().items():
        if files != lock.inputs.get(name, files):  # a later recipe may name more site files
            what = f"lists other files than those that version {version} was built from"
            raise damaged(pipeline.store, f"sources/{name.rpartition('/')[2]}.json", what)


def open_home(home: Home) -> tuple[Store, Registry]:
    """Store and registry of a home, made where they are not there yet; one that cannot be written
    is taken as it is. Refused where they do not agree on the standing orders (`expect_book`)."""
    try:
        make_folder(home.root)
    except OSError as error:
        raise StoreError(
            f"cannot make the home {home.root}: {error.strerror}; choose another with --home"
        ) from error
    registry = Registry(home.catalog_url, home.catalog_busy_s, home.root)
    if registry.database.is_read_only:
        registry.check_schema()
    else:
        registry.upgrade()
    store = open_store(home.store_url)
    expect_book(registry, store)
    return store, registry


@contextlib.contextmanager
def build_lease(session: Session) -> Iterator[None]:
    """Hold the lease of a build: registry and engine of the session write nothing once it is lost."""
    registry = session.registry
    with building(registry, session.progress.log, session.engine.allow_until) as fenced:
        session.registry = fenced
        try:
            yield
        finally:
            session.registry = registry


def refresh_orders(session: Session) -> None:
    """Let a session go on under the takedowns that are in force now."""
    session.pipeline = replace(session.pipeline, suppressions=_orders(session.registry))


def pipeline_as_of(session: Session, version: str) -> Pipeline:
    """Return the session's pipeline under the takedowns that a version was built under."""
    published = session.registry.version(version).created_at
    _, rows = session.registry.orders()
    if all(row.created_at <= published for row in rows):
        return session.pipeline
    then = Suppressions.from_rows((r.kind, r.value) for r in rows if r.created_at <= published)
    return replace(session.pipeline, suppressions=then)


def _orders(registry: Registry) -> Suppressions:
    state, rows = registry.orders()
    orders = Suppressions.from_rows((row.kind, row.value) for row in rows)
    return replace(orders, state=state)
