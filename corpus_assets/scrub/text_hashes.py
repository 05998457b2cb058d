"""Texts that must not be in a corpus, known only by their hashes.

A list holds one SHA-256 a line, in hex; `#` begins a comment, and what follows the hash on its
line is ignored. So a list can be passed on where the texts must not be.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus_assets.core.errors import SourceError
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.task import TaskContext
from corpus_assets.scrub.planner import ScrubPlanner
from corpus_assets.scrub.settings import Form
from textkernels.normal_forms import nfkc

LISTED = "listed_text_hash"

_HASH = re.compile(r"[0-9a-fA-F]{64}(?=\s|$)")


class HashList:
    """Hashes of texts, ready to look documents up in."""

    def __init__(self, form: Form, digests: frozenset[bytes]) -> None:
        self.form = form
        self._digests = digests

    @classmethod
    def from_file(cls, path: Path, form: Form) -> "HashList":
        return cls(form, frozenset(_read(path)))

    def rows_of(self, texts: pa.Array) -> Iterator[int]:
        """Rows whose text is listed."""
        if not self._digests:
            return
        for row, text in enumerate(texts):
            if text_digest(text.as_py(), self.form) in self._digests:
                yield row


def text_digest(text: str, form: Form) -> bytes:
    """SHA-256 of a text in one of the forms that lists are made in."""
    written = normalized(text) if form == "normalized" else text
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).digest()


def normalized(text: str) -> str:
    """NFKC, case folded, every run of white space one space, none at the ends."""
    return " ".join(nfkc(nfkc(text).casefold()).split())


def _read(path: Path) -> Iterator[bytes]:
    try:
        lines: Sequence[str] = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: the list of hashes cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = _HASH.match(stripped)
        if found is None:
            raise SourceError(
                f"{path} line {number}: not a SHA-256 in hex (64 digits); write one per line"
            )
        yield bytes.fromhex(found.group())


def hash_list_files(pipeline: ScrubPlanner) -> dict[str, list[Path]]:
    """Return the files of each list of hashes that the recipe names, by its place there."""
    found: dict[str, list[Path]] = {}
    for number, entry in enumerate(pipeline.recipe.clean_text.text_hashes):
        name = f"text_hashes/{number:04d}"
        found[name] = pipeline.locations.files((entry.path,), "clean_text.text_hashes", name)
    return found


def _with_forms(pipeline: ScrubPlanner) -> list[tuple[str, Path]]:
    """(form, file) of each of these files."""
    lists = zip(
        pipeline.recipe.clean_text.text_hashes, hash_list_files(pipeline).values(), strict=True
    )
    return [(entry.form, path) for entry, paths in lists for path in paths]


def hash_list_inputs(pipeline: ScrubPlanner) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the lists as inputs of a task, by digest, and where they lie."""
    files = _with_forms(pipeline)
    if not files:
        return {}, {}
    digests = {
        f"text_hashes/{number:04d}/{form}": pipeline.digest_of(path)
        for number, (form, path) in enumerate(files)
    }
    return digests, {"text_hashes": [[form, str(path)] for form, path in files]}


def hash_list_pins(pipeline: ScrubPlanner) -> dict[str, tuple[PinnedFile, ...]]:
    """Return the lists for the lock."""
    files = _with_forms(pipeline)
    if not files:
        return {}
    return {
        "text_hashes": tuple(
            PinnedFile(name=path.name, bytes=path.stat().st_size, sha256=pipeline.digest_of(path))
            for _, path in files
        )
    }


def hash_lists(context: TaskContext) -> list[HashList]:
    """Return the lists of the task that is running."""
    listed = context.task.params.get("text_hashes", [])
    return [HashList.from_file(Path(path), form) for form, path in listed]
