"""Files that a killed writer leaves: what they are called, and where they are."""

import os
from collections.abc import Iterator
from pathlib import Path


def is_temporary(path: str) -> bool:
    """Whether a file's name is one that a file has while it is written."""
    return path.endswith(".tmp") and path.rpartition("/")[2].startswith(".")


def leftovers(folder: Path) -> Iterator[Path]:
    """Every temporary file in a folder and all below it, in no order."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if is_temporary(name))
