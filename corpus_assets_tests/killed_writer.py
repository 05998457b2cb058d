"""A process that is killed with SIGKILL in the middle of writing a file, and what it leaves."""

import signal
import subprocess
import sys
from pathlib import Path

from catalog.formats.temporary_files import leftovers

WRITE = """
import os
import signal
import sys
from pathlib import Path
from corpus_assets.core.store import LocalStore

def hold(handle):
    print("written, not yet renamed", flush=True)
    signal.pause()

root, path, text = sys.argv[1:]
os.fsync = hold
LocalStore(Path(root)).write(path, text.encode() * 1000)
"""


def kill_while_writing(root: Path, path: str, text: str) -> Path:
    """Kill a writer of `text` at `path` below `root`; gives the temporary file that it leaves."""
    before = set(leftovers(root))
    command = [sys.executable, "-c", WRITE, str(root), path, text]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
    (found,) = set(leftovers(root)) - before
    return found
