"""Read what a published version has in the store, without importing what builds one.

Each file is checked against a digest recorded elsewhere: the manifest and the lock against the
version's row in the registry, calibrations against the lock, the recipe's copy against its own
checksum, the list of kept files against `contents.json`.
"""

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from catalog.db import (
    Contents,
    Registry,
    VersionRow,
    altered_rows,
    contents_path,
    inconsistent_artifacts,
    parse_contents,
)
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.file_copies import kept_path
from corpus_assets.core.identity import Settings
from corpus_assets.core.lock import FOLDER, Lock, PinnedFile, calibration_path
from corpus_assets.core.store import (
    Output,
    Store,
    damaged,
    local_checked,
    read_checked,
    read_sealed,
)
from corpus_assets.recipe import Recipe, parse_recipe
from corpus_loader import Manifest

KEPT = "files.json"


class KeptFiles(Settings):
    """The copies in the store that a version is rebuilt from, by the settings that name them."""

    format: str = "corpus-assets/files/1"
    files: dict[str, tuple[PinnedFile, ...]]

    def to_bytes(self) -> bytes:
        return json.dumps(self.identity(), indent=1, sort_keys=True, ensure_ascii=False).encode()


def recipe_path(digest: str) -> str:
    return f"sources/recipes/{digest}.json"


def load_published_recipe(store: Store, digest: str) -> tuple[Recipe, Path]:
    """Read the recipe a version was published from, and the folder its locations start at."""
    path = recipe_path(digest)
    raw = read_sealed(store, path)
    try:
        recipe, folder = raw["recipe"], Path(raw["folder"])
    except (KeyError, TypeError) as error:
        raise damaged(store, path, "is not a recipe's copy") from error
    parsed = parse_recipe(recipe, f"published recipe {digest[:12]}")
    # A later release may know more settings, which changes the digest of the same recipe: the
    # checksum covers the copy, and the digest that it was saved under is part of it.
    named = raw.get("digest", parsed.digest)
    if named != digest:
        raise damaged(store, path, f"is the recipe with digest {named}")
    return parsed, folder


def published_lock(store: Store, version: VersionRow) -> Lock:
    """Read a version's lock, checked against the digest in the registry."""
    path = f"versions/{version.name}/lock.json"
    try:
        lock = Lock.model_validate_json(store.read(path))
    except ValidationError as error:
        raise damaged(store, path, "is not a lock") from error
    if lock.digest != version.lock_digest:
        what = f"has digest {lock.digest}, the registry recorded {version.lock_digest}"
        raise damaged(store, path, what)
    return lock


def published_pins(store: Store, version: VersionRow) -> dict[str, Output]:
    """Return the calibrations that a published version's lock pins, as files of the store."""
    return lock_pins(published_lock(store, version), version.name)


def lock_pins(lock: Lock, version: str) -> dict[str, Output]:
    """Return the store paths of the calibrations that a version's lock pins."""
    return {
        name: Output(calibration_path(f"versions/{version}", pin), pin.sha256, pin.bytes, 0)
        for name, pin in lock.calibrations.items()
    }


def published_files(store: Store, version: VersionRow) -> KeptFiles:
    """Read the list of copies a version was published with; empty for versions without one."""
    digest = _contents(store, version)["files"].get(KEPT)
    if digest is None:
        return KeptFiles(files={})
    return KeptFiles.model_validate_json(
        read_checked(store, f"versions/{version.name}/{KEPT}", digest)
    )


@contextlib.contextmanager
def open_kept(store: Store, kept: KeptFiles) -> Iterator[Mapping[str, Sequence[Path]]]:
    """Link a version's copies, each checked, under the files' own names in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="corpus-files-") as place:
        found: dict[str, list[Path]] = {}
        for number, (name, pins) in enumerate(kept.files.items()):
            root, is_folder = Path(place, str(number)), name.startswith(FOLDER)
            links = [
                (root if is_folder else root / str(k)) / pin.name for k, pin in enumerate(pins)
            ]
            for link, pin in zip(links, pins, strict=True):
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(local_checked(store, kept_path(pin.sha256), pin.sha256))
            found[name] = [root] if is_folder else links
        yield found


def check_published(store: Store, registry: Registry, version: VersionRow) -> None:
    """Refuse a version whose manifest, or whose rows in the registry, are not as published."""
    manifest = published_manifest(store, version)
    named = (manifest.version, manifest.lock_digest, manifest.recipe.digest)
    if named != (version.name, version.lock_digest, version.recipe_digest):
        raise CorpusError(
            f"the manifest of version {version.name} names another version, lock or recipe than "
            "the registry: the registry was changed; restore it from a backup"
        )
    if version.contents_sha256 is None:
        return
    name = version.name
    for table, what in altered_rows(
        _contents(store, version), registry.lineage_files(name), registry.key_files(name)
    ):
        raise CorpusError(f"version {name} is not as it was published: {table}: {what}")


def _contents(store: Store, version: VersionRow) -> Contents:
    """Read a version's `contents.json`, checked against the digest in the registry."""
    if version.contents_sha256 is None:
        return {"files": {}, "rows": {}}
    path = contents_path(version)
    return parse_contents(read_checked(store, path, version.contents_sha256), path)


def check_artifact_rows(registry: Registry) -> None:
    """Refuse to work by a registry whose rows of artifacts contradict themselves: they say what
    is deleted."""
    for folder, what in inconsistent_artifacts(registry.stream_artifacts()):
        raise CorpusError(f"{folder}: {what}")


def published_manifest(store: Store, version: VersionRow) -> Manifest:
    """Read a version's manifest, checked against the digest in the registry."""
    data = read_checked(store, version.manifest_path, version.manifest_sha256)
    return Manifest.parse(data, version.manifest_path)
