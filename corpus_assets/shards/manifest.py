"""Reading a version's manifest for the loader and the exports: what is wrong is a `ShardError`."""

from pathlib import Path

from catalog.errors import StoreFileError
from catalog.formats import manifest as formats
from catalog.formats.manifest import Manifest
from corpus_assets.core.errors import ShardError


def parse_manifest(content: bytes, name: str = "manifest.json") -> Manifest:
    """Read a manifest's bytes; `name` is for the message when it is not one."""
    try:
        return formats.parse_manifest(content, name)
    except StoreFileError as error:
        raise ShardError(str(error)) from error


def load_manifest(path: Path) -> Manifest:
    """Read a manifest from a local file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ShardError(
            f"{path.name} cannot be read ({error.strerror}); give the path of a version's manifest; "
            "of a version that a takedown replaced, `catalog versions` shows its replacement"
        ) from error
    return parse_manifest(content, path.name)
