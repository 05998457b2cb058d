"""The resources of the graph: a recipe on a home and, where the home's store is on S3, how that is
reached."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from corpus_assets.core.home import Home
from corpus_assets.core.progress import Progress
from corpus_assets.graph import EngineChoice
from corpus_assets.inspect import Book
from corpus_assets.session import Session, build_lease, open_session
from corpus_assets.versions import ALL_CALIBRATIONS


class CorpusResource(dg.ConfigurableResource):
    """Which corpus the assets build, and where their tasks run."""

    recipe: str = Field(
        default="", description="The recipe's path, or `demo`. Empty: CORPUS_RECIPE, or the demo."
    )
    home: str = Field(default="", description="Folder of catalog and store. Empty: CORPUS_HOME.")
    workers: int = Field(default=0, description="Processes of this machine. 0: one for each core.")
    engine: str = Field(
        default="", description="Where tasks run: `local` or `ray`. Empty: CORPUS_ENGINE, or local."
    )
    ray_address: str = Field(
        default="", description="The Ray cluster, HOST:PORT. Empty: CORPUS_RAY_ADDRESS."
    )
    overrides: dict[str, Any] = Field(
        default={},
        description="Settings of the recipe to change, by dotted key, as `--set` does: "
        "`{mixture.change.domain.web: 0.5}`.",
    )
    lock: str = Field(
        default="",
        description="Lock file with the required calibrations and inputs. Empty: the "
        "calibrations of the lock next to the recipe, or of its live versions.",
    )
    recalibrate: bool = Field(
        default=False, description="Recompute all calibrations, even pinned ones."
    )
    s3: dg.ResourceDependency[Any] = Field(
        default=None,  # type: ignore[arg-type]  # what it becomes is annotated `Any`
        description="How a store on S3 is reached: the resource `s3`.",
    )

    _ending: contextlib.ExitStack = PrivateAttr(default_factory=contextlib.ExitStack)

    @contextlib.contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["CorpusResource"]:
        """Live as long as the steps of a run in one process."""
        with self._ending:
            yield self

    def at_end(self, callback: Callable[[], object]) -> None:
        """Have something called when the run's steps are done, or one of them failed."""
        self._ending.callback(callback)

    @property
    def chosen_recipe(self) -> str:
        return self.recipe or os.environ.get("CORPUS_RECIPE") or "demo"

    def chosen_engine(self, local_workers: int = 0) -> EngineChoice:
        return EngineChoice.resolve(self.engine, self.workers, self.ray_address, local_workers)

    @contextlib.contextmanager
    def session(
        self, progress: Progress | None = None, extends: str | None = None
    ) -> Iterator[Session]:
        """Open a session for this step."""
        with open_session(
            self.chosen_recipe,
            Home.resolve(self.home or None),
            overrides=self.overrides,
            lock=self.lock or None,
            progress=progress,
            upgrade=(ALL_CALIBRATIONS,) if self.recalibrate else (),
            engine=self.chosen_engine(),
            extends=extends,
        ) as session:
            yield session

    @contextlib.contextmanager
    def work(self) -> Iterator[Session]:
        """Open a session for a step that writes: what it stores is not collected under its hands."""
        with self.session() as session, build_lease(session):
            yield session

    def book(self) -> Book:
        """Return the recipe with the snapshots that were added to it, and nothing opened: for
        sensors."""
        return Book.open(self.chosen_recipe, Home.resolve(self.home or None), self.overrides)


def _resources() -> dict[str, Any]:
    if not Home.resolve().store_url.startswith("s3://"):
        return {"corpus": CorpusResource()}
    from corpus_assets.defs.s3 import StoreOnS3

    s3 = StoreOnS3.of_environment()
    return {"s3": s3, "corpus": CorpusResource(s3=s3)}


RESOURCES: Mapping[str, Any] = _resources()

TAKEDOWN_TAG = "corpus/takedowns"
RECIPE_TAG = "corpus/recipe"
VERSION_TAG = "corpus/version"
IDS_IN_TAG = 20


def takedown_tags(requests: Sequence[int]) -> dict[str, str]:
    """Takedown requests as a run's tag: their numbers, of many the first and how many more."""
    named = ",".join(str(number) for number in requests[:IDS_IN_TAG])
    more = len(requests) - IDS_IN_TAG
    return {TAKEDOWN_TAG: f"{named} and {more} more" if more > 0 else named}
