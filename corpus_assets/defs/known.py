"""Which versions the home's Dagster instance knows: a note each, so that Dagster need not be asked."""

from pathlib import Path

from catalog.formats.store import make_folder, private
from corpus_assets.core.store import sha256_hex
from corpus_assets.session import Session
from corpus_assets.versions.version import Version

RECORDED = "recorded"


def is_known(session: Session, version: Version) -> bool:
    """Return whether a version, with this content, was recorded."""
    note = _note(session, version)
    return note.exists() and note.read_text() == sha256_hex(version.manifest_bytes)


def note_known(session: Session, version: Version) -> None:
    """Note that a version was recorded."""
    note = _note(session, version)
    make_folder(note.parent)
    with open(note, "w", opener=private) as file:
        file.write(sha256_hex(version.manifest_bytes))


def _note(session: Session, version: Version) -> Path:
    return session.home.dagster / RECORDED / version.name
