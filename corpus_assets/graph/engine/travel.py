"""Tasks for other machines: what they name by a path (lists, models, eval suites, texts) travels
through the store, by digest; code does not travel, and `code_digest` tells whether a machine has the
same, byte for byte.

Source files stay where they are: a snapshot is not copied. They lie on a server, or under the same
path on every machine.
"""

import functools
import hashlib
import os
import re
import sys
import uuid
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import catalog
import corpus_assets
import corpus_loader
import pageblocks
import textkernels
from corpus_assets.core.errors import StoreError
from corpus_assets.core.file_copies import keep_file, kept_path, members_of
from corpus_assets.core.identity import digest, file_digest
from corpus_assets.core.store import Store, local_checked, open_store
from corpus_assets.core.store_s3 import cache_folder
from corpus_assets.core.task import Task

KEPT = "kept files"  # a path, as it travels: [[name, SHA-256], ...] of a file or a folder
SOURCE = "uri"  # a mapping with this key is a source file
REACH, HOME = "reach", "home"  # the folder for the pace of requests and for files of crawls


class Packer:
    """Puts what tasks name into the store, each content once."""

    def __init__(self, store_url: str) -> None:
        self._store = open_store(store_url)
        self._known: dict[tuple[object, ...], list[list[str]]] = {}

    def packed(self, task: Task) -> Task:
        return replace(task, params=self._packed(dict(task.params)))

    def _packed(self, value: Any) -> Any:
        if isinstance(value, dict):
            if SOURCE in value:
                return value
            return {k: v if k == REACH else self._packed(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._packed(each) for each in value]
        if isinstance(value, str) and os.path.isabs(value) and os.path.exists(value):
            path = Path(value)
            return {KEPT: self._kept(path), "is_folder": path.is_dir()}
        return value

    def _kept(self, path: Path) -> list[list[str]]:
        members = members_of(path)
        stats = [(file, file.stat()) for _, file in members]
        key = (path, *((str(file), stat.st_mtime_ns, stat.st_size) for file, stat in stats))
        if key not in self._known:
            found = []
            for root, file in members:
                pin = keep_file(
                    self._store, file, file.relative_to(root).as_posix(), file_digest(file)
                )
                found.append([pin.name, pin.sha256])
            self._known[key] = found
        return self._known[key]


def unpacked(task: Task, store: Store) -> Task:
    """Return a task whose paths are of this machine; what it names is fetched where it is absent."""
    params = _unpacked(dict(task.params), store)
    reach = params.get(REACH)
    if reach is not None and not Path(reach[HOME]).is_dir():
        params[REACH] = reach | {HOME: str(cache_folder())}
    return replace(task, params=params)


def _unpacked(value: Any, store: Store) -> Any:
    if isinstance(value, dict):
        if KEPT in value:
            members = tuple((name, sha256) for name, sha256 in value[KEPT])
            return str(_local(store.url, members, value["is_folder"]))
        return {k: _unpacked(v, store) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_unpacked(each, store) for each in value]
    return value


@functools.cache
def _local(store_url: str, members: tuple[tuple[str, str], ...], is_folder: bool) -> Path:
    """Link checked copies under the files' own names, once a process; return the file or folder."""
    store = open_store(store_url)
    root = cache_folder() / "named" / digest([store_url, *map(list, members)])
    for name, sha256 in members:
        target, link = local_checked(store, kept_path(sha256), sha256), root / name
        temporary = link.with_name(f".{uuid.uuid4().hex}")
        try:
            link.parent.mkdir(parents=True, exist_ok=True)
            temporary.symlink_to(target)
            temporary.replace(link)  # another process may be at it
        except OSError as error:
            raise StoreError(
                f"cannot write {link}: {error.strerror}; set CORPUS_CACHE to another folder"
            ) from error
    return root if is_folder else root / members[0][0]


# Which code this process runs.

PACKAGES = (catalog, corpus_assets, corpus_loader, pageblocks, textkernels)


@functools.cache
def code_digest() -> str:
    """Digest of Python's version, of every source file of our packages, and of the versions of what
    they need. Takes about 30 ms."""
    found = hashlib.sha256("{}.{}".format(*sys.version_info).encode())
    for name in _needed():
        found.update(f"\0{name} {_version(name)}".encode())
    for package in PACKAGES:
        folder = Path(package.__path__[0])
        for path in sorted(folder.rglob("*.py")):
            source, name = path.read_bytes(), path.relative_to(folder.parent).as_posix()
            found.update(f"\0{name} {len(source)}\0".encode() + source)
    return found.hexdigest()


def _needed() -> list[str]:
    """Return the names of the packages that the core needs; none where it is run uninstalled."""
    try:
        stated = requires("corpus-assets") or []
    except PackageNotFoundError:
        return []
    return sorted(re.split(r"[^\w.-]", each)[0] for each in stated if "extra ==" not in each)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
