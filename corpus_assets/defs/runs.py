"""Builds of commands, each recorded as one run, and which versions were recorded: a note each, so that
Dagster need not be asked. It is loaded once there is something to record: a build that finds
everything done needs none of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from catalog.formats.private_files import make_folder, private
from corpus_assets.build import CORPUS_VERSION, Step
from corpus_assets.core.store import sha256_hex
from corpus_assets.session import Session
from corpus_assets.versions import Version

RECORDED = "recorded"


class DagsterRuns:
    """Records builds in the home's Dagster instance. `config` is that of the resource `corpus` with
    which the UI can run a build again."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._config = {key: value for key, value in (config or {}).items() if value}

    def knows(self, session: Session, version: Version) -> bool:
        """Whether a version, with this content, was recorded."""
        note = _note(session, version)
        return note.exists() and note.read_text() == sha256_hex(version.manifest_bytes)

    def run(self, steps: Sequence[Step], version: str = "") -> None:
        from corpus_assets.defs.build import build_version, in_run_of

        (first, *_) = (step.session for step in steps if step.session is not None)
        if first.requests:
            from corpus_assets.defs.takedown_sensor import takedown_job

            in_run_of(takedown_job, {}, steps)
            return
        extends = first.extends.name if first.extends is not None else ""
        config = {
            "ops": {CORPUS_VERSION: {"config": {"version": version, "extends": extends}}},
            "resources": {"corpus": {"config": self._config}},
        }
        in_run_of(build_version, config, steps)

    def built(self, session: Session, version: Version) -> None:
        """Note that a version was recorded."""
        note = _note(session, version)
        make_folder(note.parent)
        with open(note, "w", opener=private) as file:
            file.write(sha256_hex(version.manifest_bytes))


def _note(session: Session, version: Version) -> Path:
    return session.home.dagster / RECORDED / version.name
