"""Copies in the store of files that a recipe names, by digest.

They are for versions, which are built again without the recipe's folder, and for machines that do
not have it.
"""

from pathlib import Path

from corpus_assets.core.errors import SourceError
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.store import Store, sha256_hex


def kept_path(sha256: str) -> str:
    return f"sources/files/{sha256}"


def members_of(path: Path) -> list[tuple[Path, Path]]:
    """List (folder that names start at, file) of a file, or of all files in a folder."""
    if not path.is_dir():
        return [(path.parent, path)]
    return [(path, file) for file in sorted(path.rglob("*")) if file.is_file()]


def keep_file(store: Store, file: Path, name: str, sha256: str) -> PinnedFile:
    """Copy a file into the store, unless its content is there."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror}; restore it") from error
    if sha256_hex(data) != sha256:
        raise SourceError(f"{file} was changed during the build; run the same command again")
    if not store.exists(kept_path(sha256)):
        store.write(kept_path(sha256), data)
    return PinnedFile(name=name, bytes=len(data), sha256=sha256)
