"""Copies: text or tokens that a command writes beside the store's results, each registered.

    export      a folder of `corpus export`, finished or stopped: its owner's, named by takedowns
    pack        runs of an evidence plan with all that they train on
    page        a page of `corpus sample-page`
    record      an original record that `catalog raw --out` wrote
    signatures  a file of `corpus export-signatures`
    weights     of models that were trained on a version, in the store

The row is there before the first byte, so a killed command leaves a folder that is known. Takedowns
delete those of the home, exports excepted, and name the others.
"""

import os
import shutil
import socket
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from catalog.answers import Shown
from catalog.db import CopyRow, Registry
from catalog.errors import CatalogError, VersionRevoked
from catalog.formats.store import FileStore

Holds = Mapping[str, Collection[str] | None]
"""Version -> ids of its documents in a copy, in hex; None where any of them may be in it."""


@contextmanager
def writing(
    registry: Registry,
    home: Path,
    path: Path | str,
    kind: str,
    holds: Holds,
    remove: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Register a copy that is written meanwhile: to a path, or to a place of the store.

    What an earlier copy of that place held counts until this one is whole. One whose version was
    revoked while it was written is deleted again (by `remove`, where it is no path), but for an
    export: that is named by the takedown.
    """
    if isinstance(path, Path) and path.exists() and not (path.is_file() or path.is_dir()):
        yield  # a terminal or a pipe keeps nothing
        return
    row, before = _row(home, path, kind, holds), _state(path)
    known = registry.begin_copy(row)
    try:
        yield
    except BaseException:
        if isinstance(path, Path) and _state(path) == before:  # nothing was written
            registry.forget_copies([row], known)
        raise
    if isinstance(path, Path) and _state(path) is None:  # moved to its name
        registry.forget_copies([row])
        return
    try:
        registry.put_copy(row)
    except VersionRevoked:
        if kind != "export":
            (remove or (lambda: delete_path(Path(path))))()
            registry.forget_copies([row])
            raise


def delete_path(path: Path) -> None:
    """Delete a copy, a file or a folder."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        return
    except OSError as error:
        raise CatalogError(
            f"cannot delete {path}: {error.strerror}; delete it by hand, then run the same command "
            "again"
        ) from error


def path_of(row: CopyRow, home: Path) -> Path | None:
    """Return where a copy lies in this machine's files; None where it lies elsewhere."""
    if "://" in row.place or (row.machine and row.machine != socket.gethostname()):
        return None
    return home.resolve() / row.place


@dataclass(frozen=True)
class CopyState:
    """A copy; `documents` is None where any of its versions may be in it, `state` is `there`, `gone`,
    or `unknown` for one on another machine."""

    place: str
    machine: str | None
    kind: str
    versions: Annotated[list[str], Shown("version")]
    documents: int | None
    created_at: Annotated[str, Shown("written")]
    state: str

    @property
    def how_many(self) -> Annotated[int | str, Shown("documents")]:
        return "any" if self.documents is None else self.documents

    @property
    def where(self) -> Annotated[str, Shown("state")]:
        return f"on {self.machine}" if self.state == "unknown" else self.state


def listed(registry: Registry, store: FileStore, home: Path) -> list[CopyState]:
    """Return every copy."""
    answer = []
    for row in registry.copies():
        path = path_of(row, home)
        if path is not None:
            state = "there" if os.path.lexists(path) else "gone"
        elif row.place.startswith(f"{store.url}/"):
            held = store.list(row.place.removeprefix(f"{store.url}/"))
            state = "there" if held else "gone"
        else:
            state = "unknown"
        is_known = None not in row.holds.values()
        ids = {one for some in row.holds.values() for one in some or ()}
        answer.append(
            CopyState(
                place=row.place,
                machine=row.machine or None,
                kind=row.kind,
                versions=sorted(row.holds),
                documents=len(ids) if is_known else None,
                created_at=row.created_at,
                state=state,
            )
        )
    return answer


def _row(home: Path, path: Path | str, kind: str, holds: Holds) -> CopyRow:
    held = {name: None if ids is None else sorted(ids) for name, ids in sorted(holds.items())}
    if isinstance(path, str) and "://" in path:
        return CopyRow(path, kind, held)
    full, root = Path(path).resolve(), home.resolve()
    if full.is_relative_to(root):
        return CopyRow(full.relative_to(root).as_posix(), kind, held)
    return CopyRow(str(full), kind, held, socket.gethostname())


def _state(path: Path | str) -> tuple[int, ...] | None:
    """Return what tells whether something was written to a place; None where nothing is there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
