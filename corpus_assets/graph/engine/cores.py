"""The cores of this machine, shared by the builds that run on it, whatever homes they work on.

A build that has tasks to run leaves a note of how many it could run at once, and holds a lock on it
as long as they run. Alone it runs that many; beside others its fair share of the cores: nobody gets
more than it could use, what one does not need is for the others, and everybody gets one. A note
that nobody holds is of a build that was killed, and is removed; that of a build that is stopped
(SIGSTOP) does not count.
"""

import contextlib
import fcntl
import os
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

LOOK_S = 1.0  # how soon a build sees that another one came or went


def notes_folder() -> Path:
    """Where the notes are: one folder for each user of a machine."""
    return Path(tempfile.gettempdir(), f"corpus-assets-{os.getuid()}")


class Cores:
    """`folder` holds the notes of builds that share `cores`."""

    def __init__(self, folder: Path | None = None, cores: int | None = None) -> None:
        self._folder = folder
        self._cores = cores or os.cpu_count() or 1

    @contextlib.contextmanager
    def wanted(self, number: int) -> Iterator[Callable[[], int]]:
        """Say that up to `number` tasks could run; gives how many may, which changes."""
        folder = self._folder or notes_folder()
        if not _is_ours(folder):  # somebody else's: the machine is not shared, but used
            yield lambda: number
            return
        note = folder / f"{time.time_ns():020d}-{os.getpid()}-{uuid.uuid4().hex}"
        with open(note, "x", encoding="ascii") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            held.write(str(number))
            held.flush()
            try:
                yield self._share_of(note)
            finally:
                note.unlink(missing_ok=True)

    def _share_of(self, note: Path) -> Callable[[], int]:
        seen, found = -LOOK_S, 1

        def share() -> int:
            nonlocal seen, found
            if time.monotonic() - seen >= LOOK_S:
                seen, wants = time.monotonic(), self._wants(note)
                place = [name for name, _ in wants].index(note.name)
                found = fair_shares(self._cores, [want for _, want in wants])[place]
            return found

        return share

    def _wants(self, own: Path) -> list[tuple[str, int]]:
        """(note, number) of this build and all others that run, in the order they began."""
        found = []
        for path in sorted(own.parent.iterdir()):
            with contextlib.suppress(OSError, ValueError, IndexError):  # gone, or just begun
                if path == own or (_is_held(path) and not is_stopped(int(path.name.split("-")[1]))):
                    found.append((path.name, int(path.read_text(encoding="ascii"))))
        return found


def fair_shares(cores: int, wants: Sequence[int]) -> list[int]:
    """Divide cores: one who is alone gets all it wants; of several the modest first."""
    if len(wants) == 1:
        return list(wants)
    shares = [0] * len(wants)
    left = cores
    for position, place in enumerate(sorted(range(len(wants)), key=lambda n: (wants[n], -n))):
        part = left // (len(wants) - position)
        shares[place] = max(1, min(wants[place], part))
        left = max(0, left - shares[place])
    return shares


def _is_ours(folder: Path) -> bool:
    """Make the folder; refuse one that somebody else put there."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return False


def _is_held(path: Path) -> bool:
    """Whether a build holds its note; one that is dead is removed."""
    with open(path, "rb") as note:
        try:
            fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    if path.stat().st_size:  # else it is being written just now
        path.unlink(missing_ok=True)
    return False


def is_stopped(pid: int) -> bool:
    """Whether a process of this machine is stopped (SIGSTOP); never, where there is no /proc."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
    return False
