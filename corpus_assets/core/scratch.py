"""Folders of the home for work that holds text: each is locked by the process that uses it.

    HOME/scratch/WORK-XXXXXXXX/

The lock goes with the process, however it ends, so a folder that is not locked is a leftover.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from catalog.formats.private_files import make_folder
from corpus_assets.core.home import Home

SCRATCH = "scratch"


@contextmanager
def scratch(home: Home, work: str) -> Iterator[Path]:
    """Give a folder of our own; it is deleted at the end."""
    make_folder(home.root / SCRATCH)
    folder = Path(tempfile.mkdtemp(prefix=f"{work}-", dir=home.root / SCRATCH))
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield folder
    finally:
        os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)


def abandoned(home: Home) -> Iterator[Path]:
    """List scratch folders whose process is gone."""
    with suppress(FileNotFoundError):
        for folder in sorted((home.root / SCRATCH).iterdir()):
            if folder.is_dir() and not folder.is_symlink() and not _is_locked(folder):
                yield folder


def _is_locked(folder: Path) -> bool:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return True  # not ours to look into
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
