"""Files for their owner alone, whatever the umask is."""

import os
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are absent, with mode 0700."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def private(path: str, flags: int) -> int:
    """Open a file, as an `opener`: what is created has mode 0600, and no link is followed."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
