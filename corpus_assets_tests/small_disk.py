"""A disk of a few kilobytes, for tests of what happens when it is full or read-only."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def _mount(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["mount", *arguments], capture_output=True, text=True)


def remount(folder: Path, options: str) -> None:
    """Make a small disk larger (`size=64m`) or read-only (`ro`)."""
    _mount("-o", f"remount,{options}", str(folder)).check_returncode()


@contextlib.contextmanager
def small_disk(folder: Path, size_kib: int) -> Iterator[Path]:
    """Mount a tmpfs of `size_kib` at a new folder; the test is skipped where that needs rights."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder.mkdir(parents=True)
    try:
        mounted = _mount("-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", str(folder))
    except FileNotFoundError:
        pytest.skip("mounting a small disk needs the `mount` command")
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
