"""A process that is killed with SIGKILL in the middle of writing a file, and what it leaves."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from catalog.formats.store import leftovers

WRITE = """
import sys
from pathlib import Path
from corpus_assets.core.store import LocalStore

root, path, text = sys.argv[1:]
store, data = LocalStore(Path(root)), text.encode() * 100_000
print("begins", flush=True)
while True:
    store.write(path, data)
    store.delete(path)
"""


def kill_while_writing(root: Path, path: str, text: str) -> Path:
    """Kill a writer of `text` at `path` below `root`; gives the temporary file that it leaves."""
    while True:
        before = set(leftovers(root))
        command = [sys.executable, "-c", WRITE, str(root), path, text]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            while not (set(leftovers(root)) - before):
                time.sleep(0.001)
            writer.send_signal(signal.SIGKILL)
        if left := set(leftovers(root)) - before:
            (found,) = left
            return found
