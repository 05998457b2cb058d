"""What belongs to a model: one file, or several with names of their own."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from corpus_assets.core.errors import ModelError

MAX_FILES = 10_000
MAX_NAME_BYTES = 250


@dataclass(frozen=True)
class Wanted:
    """A file, and what its publisher says of it; an empty digest: nothing."""

    name: str  # relative, with slashes
    url: str
    size: int | None = None
    sha256: str = ""


def checked_name(name: str, where: str) -> str:
    """Return a relative path that stays below its folder on any system; `ModelError` otherwise."""
    parts = name.split("/")
    wrong = (
        not name
        or any(part in ("", ".", "..") or len(part.encode()) > MAX_NAME_BYTES for part in parts)
        or any(ord(letter) < 32 or letter in "\\:\x7f" for letter in name)
    )
    if wrong:
        raise ModelError(f"{where}: a file is named {name[:100]!r}, which is refused")
    return name


def chosen(names: list[str], patterns: str) -> list[str]:
    """Return the names that any of the patterns fits, folder by folder; without patterns all but
    hidden ones."""
    asked = [each.split("/") for each in patterns.split()]
    if asked:
        return [name for name in names if any(_fits(name.split("/"), each) for each in asked)]
    return [name for name in names if not any(part[0] == "." for part in name.split("/"))]


def _fits(parts: list[str], pattern: list[str]) -> bool:
    return len(parts) == len(pattern) and all(map(fnmatchcase, parts, pattern))
