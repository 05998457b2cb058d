"""All demo sources into one folder, whole or not at all.

The work is done in a temporary folder beside the target and renamed at the end, so a run that
was killed leaves nothing that could be taken for a result. `generator.json` holds the digest of
every file: a folder that matches is left as it is, and nothing is drawn again.
"""

import functools
import hashlib
import json
import os
import shutil
import uuid
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from corpus_assets.core.errors import SourceError
from corpus_assets.demo.library import Library, read_library
from corpus_assets.demo.others import (
    json_lines,
    write_books,
    write_code,
    write_math,
    write_synthetic,
)
from corpus_assets.demo.samples import write_blocklist, write_evals, write_quality
from corpus_assets.demo.web import build_snapshots, surviving_articles, write_snapshots

GENERATOR_VERSION = 1  # raise it whenever a byte of the output could change

MANIFEST = "manifest.jsonl"
STATE = "generator.json"


@functools.lru_cache(maxsize=1)
def _packaged_library() -> Library:
    return read_library(None)


def generate(out: Path, library_root: Traversable | None = None) -> Path:
    """Write the demo sources to `out` and return it; about ten seconds, or none when done.

    `library_root` is a text library to use in place of the packaged one.
    """
    library = _packaged_library() if library_root is None else read_library(library_root)
    if is_complete(out, library.digest):
        return out
    if out.exists() and not _may_be_replaced(out):
        raise SourceError(
            f"{out} holds files that the demo generator did not write; choose an empty folder"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    work = out.parent / f".{out.name}.{uuid.uuid4().hex}.partial"
    work.mkdir()
    try:
        snapshots = build_snapshots(library)
        entries = [
            *write_snapshots(snapshots, work),
            *write_code(library, work),
            *write_books(library, work),
            *write_math(library, work),
            *write_synthetic(surviving_articles(snapshots), work),
        ]
        write_evals(library, work)
        write_quality(library, work)
        write_blocklist(work)
        (work / MANIFEST).write_bytes(json_lines(entry.as_json() for entry in entries))
        state = {
            "generator_version": GENERATOR_VERSION,
            "library": library.digest,
            "files": file_digests(work),
        }
        text = json.dumps(state, indent=1, sort_keys=True) + "\n"
        (work / STATE).write_text(text, encoding="utf-8", newline="\n")
        if out.exists():
            shutil.rmtree(out)
        os.rename(work, out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return out


def is_complete(out: Path, library_digest: str) -> bool:
    """Whether `out` holds exactly what this version would write from this library."""
    state = _state(out)
    if state is None or state.get("generator_version") != GENERATOR_VERSION:
        return False
    return state.get("library") == library_digest and state.get("files") == file_digests(out)


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file below a folder by its relative path, `generator.json` left out."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.relative_to(folder).as_posix() != STATE
    }


def _may_be_replaced(out: Path) -> bool:
    return out.is_dir() and (_state(out) is not None or not any(out.iterdir()))


def _state(out: Path) -> dict[str, Any] | None:
    try:
        value = json.loads((out / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
