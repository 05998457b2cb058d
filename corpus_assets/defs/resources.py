"""The one resource of the graph: a recipe on a home."""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence

import dagster as dg

from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.core.progress import Progress
from corpus_assets.graph.engine.choice import EngineChoice
from corpus_assets.inspect.snapshots import Book
from corpus_assets.session import Session, build_lease, open_session
from corpus_assets.versions.pins import ALL


class CorpusResource(dg.ConfigurableResource):
    """Which corpus the assets build, and where their tasks run.

    Left empty, `recipe` is CORPUS_RECIPE or the demo, `home` is CORPUS_HOME, `engine` and
    `ray_address` are CORPUS_ENGINE and CORPUS_RAY_ADDRESS. Calibrations are
    those of the lock beside the recipe, or of its live versions, unless `lock` names others or
    `recalibrate` asks for new ones.
    """

    recipe: str = ""
    home: str = ""
    workers: int = 0
    engine: str = ""
    ray_address: str = ""
    overrides: str = "{}"
    lock: str = ""
    recalibrate: bool = False

    def chosen_engine(self, local_workers: int = 0) -> EngineChoice:
        return EngineChoice.resolve(self.engine, self.workers, self.ray_address, local_workers)

    @contextlib.contextmanager
    def session(self, progress: Progress | None = None) -> Iterator[Session]:
        """Open the running build's session where there is one, else one for this step."""
        running = _RUNNING.get("session")
        if running is not None:
            yield running
            return
        with open_session(
            self.recipe or os.environ.get("CORPUS_RECIPE") or "demo",
            Home.resolve(self.home or None),
            overrides=json.loads(self.overrides),
            lock=self.lock or None,
            progress=progress,
            upgrade=(ALL,) if self.recalibrate else (),
            engine=self.chosen_engine(),
        ) as session:
            yield session

    @contextlib.contextmanager
    def work(self) -> Iterator[Session]:
        """Open a session for a step that writes: what it stores is not collected under its hands."""
        with self.session() as session:
            if session is _RUNNING.get("session"):
                yield session  # the build that runs holds the lease
            else:
                with build_lease(session):
                    yield session

    @property
    def is_shared(self) -> bool:
        """Whether a build of this process runs the step at hand."""
        return "session" in _RUNNING

    def stop_with(self, error: CorpusError) -> None:
        """Let the build that runs end with this error, once Dagster has recorded the step."""
        _STOPPED.append(error)

    def book(self) -> Book:
        """Return the recipe with the snapshots that were added to it, and nothing opened: for
        sensors."""
        return Book.open(
            self.recipe or os.environ.get("CORPUS_RECIPE") or "demo",
            Home.resolve(self.home or None),
            json.loads(self.overrides),
        )


_RUNNING: dict[str, Session] = {}
_STOPPED: list[CorpusError] = []
TAKEDOWN_TAG = "corpus/takedowns"
RECIPE_TAG = "corpus/recipe"
VERSION_TAG = "corpus/version"
IDS_IN_TAG = 20


@contextlib.contextmanager
def share_session(session: Session) -> Iterator[None]:
    """Let all assets materialized in this process use one session and its warm workers."""
    _RUNNING["session"] = session
    try:
        yield
    finally:
        del _RUNNING["session"]


def stopped_with() -> CorpusError | None:
    """Return the error that a step asked the build to end with."""
    return _STOPPED.pop() if _STOPPED else None


def running_tags() -> dict[str, str]:
    """The tags of runs inside the build at work: its recipe, and which takedowns it is for."""
    session = _RUNNING.get("session")
    if session is None:
        return {}
    tags = {RECIPE_TAG: session.pipeline.recipe.name}
    return tags | (takedown_tags(session.requests) if session.requests else {})


def takedown_tags(requests: Sequence[int]) -> dict[str, str]:
    """Takedown requests as a run's tag: their numbers, of many the first and how many more."""
    named = ",".join(str(number) for number in requests[:IDS_IN_TAG])
    more = len(requests) - IDS_IN_TAG
    return {TAKEDOWN_TAG: f"{named} and {more} more" if more > 0 else named}
