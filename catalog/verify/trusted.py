"""What a reader, a later build or a takedown would trust of a version, besides its shards.

Everything is held against something else: files in the version's folder against
`contents.json`, that and the lock against the registry, recipe and pinned sources against the
lock, results against the rows of their artifacts, and rows against each other. A version that
was published without `contents.json` has only its shards, lineage and keys looked at.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from catalog.db import (
    ArtifactRow,
    KeyRow,
    LineageRow,
    Registry,
    VersionRow,
    altered_rows,
    contents_path,
    inconsistent_artifacts,
    parse_contents,
)
from catalog.errors import StoreFileError, UnknownName
from catalog.formats.canonical import digest, unseal
from catalog.formats.store import FileStore

RESULT = "result.json"
KEPT = "files.json"
MODELS = ("tokenizer", "eval_index", "perplexity_models", "classifiers")

Problem = tuple[str, str, str]  # check, subject, what is wrong


@dataclass
class Trusted:
    """Collects problems, and the files (path, SHA-256) that are still to be hashed."""

    registry: Registry
    store: FileStore
    version: VersionRow
    lineage: list[LineageRow]
    keys: list[KeyRow]
    files: list[tuple[str, str]] = field(default_factory=list)

    def problems(self) -> Iterator[Problem]:
        """Yield everything that is not as it was published, but for bytes of `files`."""
        for problem in self.registry.integrity():
            yield "registry", str(self.registry.database), problem
        if self.version.contents_sha256 is None:
            return
        yield from self._folder()
        lock = None
        try:
            lock = self._lock()
        except StoreFileError as error:
            yield "lock", f"{self._in_folder('lock.json')}", str(error)
        if lock is not None:
            yield from self._lock_rows(lock)
            for snapshot in sorted({row.snapshot for row in self.lineage}):
                yield from self._snapshot(snapshot, lock["inputs"])
        yield from self._recipe()
        yield from self._artifacts(lock)
        yield from self._notes()

    @property
    def _named(self) -> list[LineageRow | KeyRow]:
        return [*self.lineage, *self.keys]

    def _in_folder(self, name: str) -> str:
        return f"{self.version.manifest_path.rpartition('/')[0]}/{name}"

    def _folder(self) -> Iterator[Problem]:
        path = contents_path(self.version)
        sha256 = self.version.contents_sha256 or ""
        self.files.append((path, sha256))
        known = {path}
        try:
            contents = parse_contents(self.store.read_verified(path, sha256), path)
        except StoreFileError as error:
            yield "contents", path, str(error)
            return
        for name, sha256 in contents["files"].items():
            self.files.append((self._in_folder(name), sha256))
            known.add(self._in_folder(name))
        yield from self._copies(contents["files"].get(KEPT))
        for found in self.store.list(self._in_folder("")[:-1]):
            if found not in known:
                yield "files", found, "it is not registered: move it out of the version's folder"
        for table, problem in altered_rows(contents, self.lineage, self.keys):
            yield "registry", table, problem

    def _copies(self, sha256: str | None) -> Iterator[Problem]:
        """Check copies of the files that the recipe names."""
        if sha256 is None:
            return
        path = self._in_folder(KEPT)
        try:
            listed = _json(self.store.read_verified(path, sha256), path)["files"]
        except StoreFileError as error:
            yield "files", path, str(error)
            return
        for pins in listed.values():
            self.files += [(f"sources/files/{pin['sha256']}", pin["sha256"]) for pin in pins]

    def _lock(self) -> dict[str, Any]:
        path = self._in_folder("lock.json")
        lock = _json(self.store.read(path), path)
        found = digest(lock)
        if found != self.version.lock_digest:
            raise StoreFileError(
                f"has digest {found}, the registry recorded {self.version.lock_digest}"
            )
        return lock

    def _lock_rows(self, lock: dict[str, Any]) -> Iterator[Problem]:
        """Check the registry's copies of lock and recipe, and the models that the lock pins."""
        registry, what = self.registry, f"its row disagrees with {self.version.name}'s lock says"
        try:
            copies = {
                "locks": (registry.lock(self.version.lock_digest).json, lock),
                "recipes": (registry.recipe(self.version.recipe_digest).yaml, lock["recipe"]),
            }
            for table, (stored, expected) in copies.items():
                if json.loads(stored) != expected:
                    yield "registry", table, what
        except (UnknownName, ValueError) as error:
            yield "registry", "locks, recipes", f"{what}: {error}"
        models = {(row.kind, row.sha256): row.path for row in self.registry.models()}
        for name, pin in lock["calibrations"].items():
            path = models.get((name, pin["sha256"]), "")
            if name.startswith(MODELS) and not path.endswith(f"/calibrations/{pin['sha256']}"):
                yield "registry", "models", f"no row has {name} with the digest that the lock pins"

    def _snapshot(self, snapshot: str, inputs: dict[str, Any]) -> Iterator[Problem]:
        pinned = [(file["name"], file["bytes"], file["sha256"]) for file in inputs[snapshot]]
        rows = self.registry.source_files(snapshot)
        if [(row.name, row.bytes, row.digest) for row in rows] != pinned:
            yield "registry", "source_files", f"the files of {snapshot} are not those the lock pins"
        path = f"sources/{snapshot}.json"
        try:
            raw = sealed(self.store.read(path), path)
            listed = [(file["name"], file["size"], file["sha256"]) for file in raw["files"]]
            self.files += [(out["path"], out["sha256"]) for out in raw.get("indexes", ())]
        except StoreFileError as error:
            yield "sources", path, str(error)
        except (KeyError, TypeError) as error:
            yield "sources", path, f"does not list a snapshot's files: {error!r}"
        else:
            if listed != pinned:
                yield "sources", path, "lists other files than the lock"

    def _recipe(self) -> Iterator[Problem]:
        path = f"sources/recipes/{self.version.recipe_digest}.json"
        try:
            raw = sealed(self.store.read(path), path)
        except StoreFileError as error:
            yield "recipe", path, str(error)
            return
        if raw.get("digest") != self.version.recipe_digest:
            yield "recipe", path, f"is the copy of another recipe: {raw.get('digest')}"

    def _artifacts(self, lock: dict[str, Any] | None) -> Iterator[Problem]:
        rows = self._made_of(lock)
        yield from (("registry", folder, what) for folder, what in inconsistent_artifacts(rows))
        outputs = {output.path: output for row in rows for output in row.outputs}
        for named in self._named:
            made = outputs.get(named.path)
            if made is None or (made.sha256, made.rows) != (named.sha256, named.rows):
                table = "version_lineage" if isinstance(named, LineageRow) else "version_keys"
                what = f"the row of {named.path} does not fit the artifact that wrote the file"
                yield "registry", table, what
        present = self.store.list("artifacts")
        there = {path.rpartition("/")[0] for path in present}
        needed = {file.path for file in self._named}
        folders: set[str] = set()
        for row in rows:
            folder = f"artifacts/{row.stage}/{row.fingerprint}"
            # A folder that was deleted whole is made again, unless the version reads it.
            if folder not in there and not any(output.path in needed for output in row.outputs):
                continue
            folders.add(folder)
            self.files += [(output.path, output.sha256) for output in row.outputs]
            yield from self._result(f"{folder}/{RESULT}", row)
        for found in present:
            folder, _, name = found.rpartition("/")
            if folder in folders and found not in outputs and name != RESULT:
                yield "files", found, "it is not registered: delete it, or move it out of the store"

    def _made_of(self, lock: dict[str, Any] | None) -> list[ArtifactRow]:
        """Return the artifacts that wrote what the version names, and those they were made from."""
        rows = self.registry.artifacts()
        by_path = {output.path: row for row in rows for output in row.outputs}
        by_content: dict[str, list[ArtifactRow]] = {}
        for row in rows:
            for output in row.outputs:
                by_content.setdefault(output.sha256, []).append(row)
        named = (by_path.get(file.path) for file in self._named)
        waiting = [row for row in named if row is not None]
        for pin in (lock["calibrations"] if lock is not None else {}).values():
            waiting += by_content.get(pin["sha256"], [])
        found: dict[tuple[str, str], ArtifactRow] = {}
        # Shards name slices of token files by hashes of their own: those are met from below.
        tokens: dict[str, list[ArtifactRow]] = {}
        for row in rows:
            for item in row.inputs if row.stage == "tokens" else ():
                if item.name == "final":
                    tokens.setdefault(item.content_hash, []).append(row)
        while waiting:
            row = waiting.pop()
            if (row.stage, row.fingerprint) in found:
                continue
            found[row.stage, row.fingerprint] = row
            for item in row.inputs:
                waiting += by_content.get(item.content_hash, [])
            for output in row.outputs:
                waiting += tokens.get(output.sha256, [])
        made = {output.sha256 for row in found.values() for output in row.outputs}
        for row in rows:  # nothing names keys of texts but what they are keys of
            if row.stage == "text_keys" and all(item.content_hash in made for item in row.inputs):
                found[row.stage, row.fingerprint] = row
        return list(found.values())

    def _result(self, path: str, row: ArtifactRow) -> Iterator[Problem]:
        try:
            raw = sealed(self.store.read(path), path)
            outputs = {
                (name, out["path"], out["sha256"], out["bytes"], out["rows"])
                for name, out in raw["outputs"].items()
            }
            stored = (raw["stage"], raw["fingerprint"], outputs, *(
                raw["counts"].get(name, 0) for name in ("documents_in", "documents_out")
            ))  # fmt: skip
        except StoreFileError as error:
            yield "artifacts", path, str(error)
            return
        except (KeyError, TypeError, AttributeError) as error:
            yield "artifacts", path, f"is not a result: {error!r}"
            return
        recorded = {(out.name, out.path, out.sha256, out.bytes, out.rows) for out in row.outputs}
        if stored != (
            *(row.stage, row.fingerprint, recorded, row.documents_in, row.documents_out),
        ):
            yield (
                "artifacts",
                path,
                "disagrees with the registry: one of them was changed",
            )

    def _notes(self) -> Iterator[Problem]:
        """Check which results stand for parts under takedowns, lists of orders, indexes of results,
        and notes of finished stages."""
        for folder in ("parts", "finished"):
            for path in self.store.list(folder):
                try:
                    sealed(self.store.read(path), path)
                except StoreFileError as error:
                    yield folder, path, str(error)
        for path in (*self.store.list("orders"), *self.store.list("results")):
            self.files.append((path, path.rpartition("/")[2].partition(".")[0]))


def sealed(data: bytes, path: str) -> dict[str, Any]:
    """Return JSON that carries its own SHA-256, checked."""
    try:
        body, found, recorded = unseal(data)
    except ValueError as error:
        raise StoreFileError(f"{path} is damaged JSON: {error}") from error
    if found != recorded:
        raise StoreFileError(f"{path} has checksum {recorded}, its contents have {found}")
    return body


def _json(data: bytes, path: str) -> dict[str, Any]:
    try:
        return dict(json.loads(data))
    except (ValueError, TypeError) as error:
        raise StoreFileError(f"{path} is damaged JSON: {error}") from error
