"""The distributions of this repository: where their sources lie, and what they need."""

import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


def project(folder: Path) -> dict[str, Any]:
    """What the `pyproject.toml` of a folder says of its distribution."""
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return found


PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
"""Folders of the distributions that can be installed without the product."""

OWN = {project(folder)["name"]: folder for folder in (ROOT, *PACKAGES)}
"""Folders of all distributions by name."""

SOURCES = {
    "corpus_assets": ROOT / "corpus_assets",
    "catalog": ROOT / "catalog",
    **{folder.name: folder / "src" / folder.name for folder in PACKAGES},
}
"""Folders of what can be imported, by name."""


def needed(who: str, wanted: Iterable[Requirement]) -> Iterator[tuple[str, Requirement]]:
    """Each requirement of `who` and of all that it needs, with who has it."""
    waiting, seen = [(who, one) for one in wanted], set()
    while waiting:
        who, one = waiting.pop()
        yield who, one
        key = (canonicalize_name(one.name), frozenset(one.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            lines = distribution(one.name).requires or []
        except PackageNotFoundError:  # of another platform
            continue
        for each in map(Requirement, lines):
            asked = ("", *map(canonicalize_name, one.extras))
            if each.marker is None or any(each.marker.evaluate({"extra": e}) for e in asked):
                waiting.append((one.name, each))
