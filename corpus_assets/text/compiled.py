"""Compile kernels, with a cache on disk that is never stale.

numba keeps compiled code under a digest of the file a function stands in, and does not see that a
function it calls in another module changed, nor the value of a constant imported from there. So
the folder of the cache is named by everything that compiled code can depend on: the sources of all
kernels, Python, and the libraries that compile them or that their tables are made from (numba's
own index tells processors apart). Any edit or update starts an empty folder.

A kernel meets numba when it is first called. A command that only reads a recipe imports many
modules with kernels, calls none, and does not wait for numba.
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

LIBRARIES = ("numba", "llvmlite", "numpy", "pyarrow")
MAX_FOLDERS = 4  # branches and Pythons that take turns; what was not used for longest goes

PACKAGE = Path(__file__).parent.parent
KERNEL_FILES = ("text/*.py", "models/*.py", "**/kernels/*.py")

Function = TypeVar("Function", bound=Callable[..., Any])

_decorating = threading.Lock()


class Kernel:
    """A function that is compiled; numba's dispatcher of it is made when it is first used."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._is_cached = _is_digested(function)

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @functools.cached_property
    def dispatcher(self) -> Any:
        from numba import njit

        from corpus_assets.text import intrinsics  # noqa: F401  numba has to know of them

        folder = cache_folder() if self._is_cached else None
        with _decorating:
            if folder is None:
                return njit(**self._options)(self._function)
            with _cache_in(folder):
                return njit(cache=True, **self._options)(self._function)

    @property
    def _numba_type_(self) -> Any:
        """What it is to another kernel that calls it."""
        return self.dispatcher._numba_type_

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


class InCode:
    """What only compiled code calls, by its name in `text/intrinsics.py`."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        from corpus_assets.text import intrinsics

        return cpu_target.typing_context.resolve_value_type(getattr(intrinsics, self._name))


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function as `numba.njit` does, with a cache on disk where one can be written."""
    return functools.partial(Kernel, options=options) if function is None else Kernel(function, {})


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
    from numba import config as numba_config

    config: Any = numba_config
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
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
    from numba import config as numba_config

    config: Any = numba_config
    before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
    config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = str(folder), "UserProvidedCacheLocator"
    try:
        yield
    finally:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = before
