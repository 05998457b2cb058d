"""Which process holds a lease, and whether it is gone.

A process is named by the running kernel, the space that its id is counted in, its id and the
moment it started: containers share host names and count their processes by themselves, and ids
are used again. Only a process of the same kernel and the same space can be known to be gone; of
any other nothing is assumed.
"""

import os
import socket
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")


def process_name() -> str:
    """Return this process: `host:pid:place:start`; place and start are `-` where they are not
    known."""
    place = _place()
    start = _started(os.getpid()) if place else None
    return f"{socket.gethostname()}:{os.getpid()}:{place or '-'}:{start or '-'}"


def is_gone(name: str) -> bool:
    """Whether a process, by a name that begins as `process_name` gives it, has surely
    ended."""
    fields = name.split(":")
    if len(fields) < 4 or not fields[1].isdigit():
        return False
    place, start = fields[2:4]
    if place != _place() or start == "-":
        return False
    try:
        os.kill(int(fields[1]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass  # it is there, and another user's
    return _started(int(fields[1])) not in (start, None)


def shown(name: str) -> str:
    """Return a process as people name it."""
    host, pid, *_ = (*name.split(":"), "")
    return f"process {pid} on {host}" if pid.isdigit() else name


def _place() -> str | None:
    """Return the kernel's boot and the space of process ids; None where /proc does not tell
    ours."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return None  # /proc shows the processes of another space
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
        return f"{BOOT.read_text(encoding='ascii').strip()}.{space}"
    except OSError:
        return None


def _started(pid: int) -> str | None:
    """Return when a process started, in ticks since boot; `ended` for one that waits to be
    reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None  # hidden from this user, or just gone: the next look tells
    state, *rest = fields.rpartition(")")[2].split()
    return "ended" if state in "ZX" else rest[18]
