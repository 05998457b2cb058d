"""Builds of commands, each recorded as one run. Dagster is loaded once there is something to record:
a build that finds everything done needs none of it."""

from collections.abc import Mapping
from typing import Any

from corpus_assets.build import Work
from corpus_assets.defs.known import is_known, note_known
from corpus_assets.session import Session
from corpus_assets.versions.version import Version


class DagsterRuns:
    """Records builds in the home's Dagster instance. `config` is that of the resource `corpus` with
    which the UI can run a build again."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._config = {key: value for key, value in (config or {}).items() if value}

    def knows(self, session: Session, version: Version) -> bool:
        return is_known(session, version)

    def within(self, session: Session, name: str, work: Work) -> Version | None:
        from corpus_assets.defs.build import build_version, in_run_of

        if session.requests:
            from corpus_assets.defs.takedown_sensor import takedown_job

            made = in_run_of(takedown_job, {}, session, work)
        else:
            config = {
                "ops": {"build_corpus": {"config": {"version": name}}},
                "resources": {"corpus": {"config": self._config}},
            }
            made = in_run_of(build_version, config, session, work)
        if made is not None:
            note_known(session, made)
        return made
