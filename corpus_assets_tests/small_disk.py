"""A disk of a few kilobytes, or a folder that cannot be written: for tests of what happens then."""

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
    folder.mkdir(parents=True)
    with _mounted(folder, "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs"):
        yield folder


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """Make a folder read-only, for root too; the test is skipped where that needs rights."""
    with _mounted(folder, "--bind", str(folder)):
        remount(folder, "ro,bind")
        yield folder


@contextlib.contextmanager
def _mounted(folder: Path, *arguments: str) -> Iterator[None]:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("mounting a disk needs root")
    try:
        mounted = _mount(*arguments, str(folder))
    except FileNotFoundError:
        pytest.skip("mounting a disk needs the `mount` command")
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
