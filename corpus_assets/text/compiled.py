"""Compile kernels, with a cache on disk that is never stale.

numba keeps compiled code under a digest of the file a function stands in, and does not see that a
function it calls in another module changed, nor the value of a constant imported from there. So
the folder of the cache is named by everything that compiled code can depend on: the sources of all
kernels, Python, and the libraries that compile them or that their tables are made from (numba's
own index tells processors apart). Any edit or update starts an empty folder.
"""

import contextlib
import functools
import hashlib
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import version
from os import environ, utime
from pathlib import Path
from typing import Any, TypeVar, overload

from numba import config as numba_config
from numba import njit

LIBRARIES = ("numba", "llvmlite", "numpy", "pyarrow")
MAX_FOLDERS = 4  # branches and Pythons that take turns; what was not used for longest goes

PACKAGE = Path(__file__).parent.parent
KERNEL_FILES = ("text/*.py", "models/*.py", "**/kernels/*.py")

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba_config
_decorating = threading.Lock()


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function as `numba.njit` does, with a cache on disk where one can be written."""
    if function is None:
        return functools.partial(kernel, **options)
    folder = cache_folder() if _is_digested(function) else None
    if folder is None:
        return njit(**options)(function)
    with _decorating, _cache_in(folder):
        return njit(cache=True, **options)(function)


def _is_digested(function: Callable[..., Any]) -> bool:
    """Refuse a kernel of ours outside the digested files: its cache could be stale. One of
    another package (a test's) is not cached."""
    path = Path(function.__code__.co_filename)
    if path in kernel_sources_set():
        return True
    if path.is_relative_to(PACKAGE):
        raise RuntimeError(f"{path} contains a kernel; kernels belong in {', '.join(KERNEL_FILES)}")
    return False


@functools.cache
def kernel_sources_set() -> frozenset[Path]:
    return frozenset(kernel_sources())


@functools.cache
def cache_folder() -> Path | None:
    """Return where this process caches kernels; None where no folder can be written.

    NUMBA_CACHE_DIR if that is set, else beside the kernels, else in the user's cache.
    """
    for root in _roots():
        folder = root / f"kernels-{sources_digest()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            utime(folder)
        except OSError:
            continue
        _remove_unused(root)
        return folder
    return None


def _roots() -> Iterator[Path]:
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR)
    yield Path(__file__).parent / "__pycache__"
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "corpus-assets")


def kernel_sources() -> list[Path]:
    """Return every file that may hold a kernel, or a constant that kernels use."""
    rooms = (path for pattern in KERNEL_FILES for path in PACKAGE.glob(pattern))
    return sorted(rooms)


@functools.cache
def sources_digest() -> str:
    """Digest of what compiled code depends on. Takes about 2 ms."""
    digest = hashlib.sha256(sys.version.encode())
    for name in LIBRARIES:
        digest.update(f"\0{name} {version(name)}".encode())
    for path in kernel_sources():
        source, name = path.read_bytes(), path.relative_to(PACKAGE).as_posix()
        digest.update(f"\0{name} {len(source)}\0".encode() + source)
    return digest.hexdigest()


def _remove_unused(root: Path) -> None:
    """Keep the folders used last. A process that still runs with another compiles again."""
    used = {}
    for folder in root.glob("kernels-*"):
        with contextlib.suppress(FileNotFoundError):  # another process removed it
            used[folder] = folder.stat().st_mtime
    for folder in sorted(used, key=used.__getitem__)[:-MAX_FOLDERS]:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    """Have numba cache in `folder` and nowhere else what is decorated meanwhile."""
    before = _config.CACHE_DIR, _config.CACHE_LOCATOR_CLASSES
    _config.CACHE_DIR, _config.CACHE_LOCATOR_CLASSES = str(folder), "UserProvidedCacheLocator"
    try:
        yield
    finally:
        _config.CACHE_DIR, _config.CACHE_LOCATOR_CLASSES = before
