"""Which code this process runs: machines of one build must have the same, byte for byte."""

import functools
import hashlib
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import catalog
import corpus_assets


@functools.cache
def code_digest() -> str:
    """Digest of Python's version, of every source file of the two packages, and of the versions of
    what they need. Takes about 30 ms."""
    found = hashlib.sha256("{}.{}".format(*sys.version_info).encode())
    for name in _needed():
        found.update(f"\0{name} {_version(name)}".encode())
    for package in (catalog, corpus_assets):
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
