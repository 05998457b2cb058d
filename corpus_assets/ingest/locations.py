"""From what a recipe writes to a place on this machine.

`demo://web/x` is inside the demo sources (made on first use), `model://NAME` or `model://NAME/x` is
an installed list or inside it, a relative path is relative to the recipe's folder, anything else is
taken as it is. Snapshots may lie on a server. Where files
lie is never identity. A rebuild of a version reads copies from the store, and of what lies beside
the recipe only snapshots.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path

from corpus_assets.core.errors import RecipeError, SourceError
from corpus_assets.core.home import Home
from corpus_assets.core.model_choice import INSTALLED, installed_part
from corpus_assets.ingest.fetch import host_of, is_remote, shown_url
from corpus_assets.models import model_at

DEMO = "demo://"


def is_demo(location: str) -> bool:
    """Whether a location is inside the demo sources."""
    return location.startswith(DEMO)


@dataclass(frozen=True)
class Locations:
    recipe_folder: Path
    home: Home
    kept: Mapping[str, Sequence[Path]] | None = None  # a rebuild's copies, by the files' names

    @cached_property
    def _demo_sources(self) -> Path:
        """The demo sources, written where they are not whole; every file is hashed for that."""
        from corpus_assets.demo import generate_demo  # only the demo needs its maker

        return generate_demo(self.home.demo_sources)

    def resolve(self, location: str) -> str:
        """Return a local path or glob pattern; an https:// or s3:// address as it is."""
        if is_demo(location):
            return str(self._demo_sources / location.removeprefix(DEMO))
        if location.startswith(INSTALLED):
            name, inside = installed_part(location)
            return str(model_at(name, self.home).path / inside)
        if location.startswith("file://"):
            return location.removeprefix("file://")
        if is_remote(location):
            host_of(location)
            return location
        if "://" in location:
            raise RecipeError(
                f"{shown_url(location)}: only local paths, file://, demo://, model://, https:// and "
                "s3:// can be read"
            )
        return str(self.recipe_folder / Path(location).expanduser())

    def copies(self, name: str) -> list[Path] | None:
        """Return the version's own copies of what the recipe names; None where this is no rebuild."""
        if self.kept is None:
            return None
        if name not in self.kept:
            raise SourceError(
                f"{name}: the version was published without a copy of this file, so it cannot be "
                "built again; publish it again with `corpus build`"
            )
        return list(self.kept[name])

    def path(self, location: str, what: str) -> Path:
        """Return a file or folder that lies on this machine."""
        resolved = self.resolve(location)
        if is_remote(resolved):
            raise RecipeError(f"{what}: {shown_url(location)} is not on this machine; copy it here")
        if not Path(resolved).exists():
            raise SourceError(f"{what}: no file at {location}; correct the path in the recipe")
        return Path(resolved)

    def files(self, patterns: tuple[str, ...], what: str, name: str | None = None) -> list[Path]:
        """Return the files that patterns name, in their order; each pattern must name at least one.

        `what` is for messages; copies of the files are kept as `name`, or as `what`.
        """
        copies = self.copies(name or what) if patterns else None
        if copies is not None:
            return copies
        found: list[Path] = []
        for pattern in patterns:
            resolved = self.resolve(pattern)
            if is_remote(resolved):
                raise RecipeError(
                    f"{what}: {shown_url(pattern)} is not on this machine; copy it here"
                )
            names = sorted(glob(resolved, recursive=True)) if has_magic(resolved) else [resolved]
            matches = [Path(name) for name in names if Path(name).is_file()]
            if not matches:
                raise SourceError(f"{what}: no file at {pattern}; correct the path in the recipe")
            found += matches
        return list(dict.fromkeys(found))
