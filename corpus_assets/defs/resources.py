"""The one resource of the graph: a recipe on a home."""

import contextlib
import json
import os
from collections.abc import Iterator

import dagster as dg

from corpus_assets.home import Home
from corpus_assets.session import Session, open_session


class CorpusResource(dg.ConfigurableResource):
    """Which corpus the assets build, and with how many worker processes.

    Left empty, `recipe` is CORPUS_RECIPE or the demo, `home` is CORPUS_HOME.
    """

    recipe: str = ""
    home: str = ""
    workers: int = 0
    overrides: str = "{}"
    lock: str = ""

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """The running build's session where there is one, else one for this step."""
        running = _RUNNING.get("session")
        if running is not None:
            yield running
            return
        with open_session(
            self.recipe or os.environ.get("CORPUS_RECIPE") or "demo",
            Home.resolve(self.home or None),
            self.workers or os.cpu_count() or 1,
            json.loads(self.overrides),
            self.lock or None,
        ) as session:
            yield session


_RUNNING: dict[str, Session] = {}


@contextlib.contextmanager
def share_session(session: Session) -> Iterator[None]:
    """Let all assets materialized in this process use one session and its warm workers."""
    _RUNNING["session"] = session
    try:
        yield
    finally:
        del _RUNNING["session"]
