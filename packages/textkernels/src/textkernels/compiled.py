"""Compile kernels, with a cache on disk that is never stale.

numba keeps compiled code under a digest of the file a function stands in, and does not see that a
function it calls in another module changed, nor the value of a constant imported from there. So
the folder of the cache is named by everything that compiled code can depend on: the sources of all
kernels of its package and of this one, Python, and the libraries that compile them or that their
tables are made from (numba's own index tells processors apart). Any edit or update starts an empty
folder.

A package says in `kernels.toml`, next to its `__init__.py`, where its kernels lie (`files`) and what
their tables are made from (`libraries`). They call their own and those of this package: a kernel of
a third package is no part of the digest.

Processes that begin together, as the workers of a build do, need the same kernels at the same
moment: one of them compiles a kernel, the others wait for it and read what it left.

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
import time
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from os import environ, utime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, overload

LIBRARIES = ("numba", "llvmlite", "numpy")
MAX_FOLDERS = 4  # of a package: branches and Pythons that take turns; the oldest unused goes
MAX_WAIT_S = 300  # for another process that compiles a kernel
DECLARATION = "kernels.toml"

Function = TypeVar("Function", bound=Callable[..., Any])

_decorating = threading.Lock()


class Kernel:
    """A function that is compiled; numba's dispatcher of it is made when it is first used."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._package = _package_with(function)

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @functools.cached_property
    def dispatcher(self) -> Any:
        from numba import njit

        from textkernels import intrinsics  # noqa: F401  numba has to know of them

        folder = cache_folder(self._package) if self._package is not None else None
        with _decorating:
            if folder is None:
                return njit(**self._options)(self._function)
            with _cache_in(folder):
                dispatcher = njit(cache=True, **self._options)(self._function)
        turn = folder / f"{self.__module__}.{self.__qualname__}.turn"
        dispatcher.compile = functools.partial(_in_turn, turn, dispatcher.compile)
        return dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What it is to another kernel that calls it."""
        return self.dispatcher._numba_type_

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


class InCode:
    """What only compiled code calls, by its name in `intrinsics.py`."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        from textkernels import intrinsics

        return cpu_target.typing_context.resolve_value_type(getattr(intrinsics, self._name))


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function as `numba.njit` does, with a cache on disk where one can be written."""
    return functools.partial(Kernel, options=options) if function is None else Kernel(function, {})


class Sources(NamedTuple):
    """What a package's `kernels.toml` declares, and where the package lies."""

    package: str
    folder: Path
    patterns: tuple[str, ...]
    libraries: tuple[str, ...]

    def files(self) -> list[Path]:
        """Every file that may hold a kernel, or a constant that kernels use."""
        return sorted(path for pattern in self.patterns for path in self.folder.glob(pattern))


@functools.cache
def sources_of(package: str) -> Sources | None:
    """Where an imported package has kernels; None for one that does not say."""
    root = getattr(sys.modules.get(package), "__file__", None)
    if root is None or not (declared := Path(root).with_name(DECLARATION)).is_file():
        return None
    content = tomllib.loads(declared.read_text("utf-8"))
    libraries = (*LIBRARIES, *content.get("libraries", ()))
    return Sources(package, declared.parent, tuple(content["files"]), libraries)


def _package_with(function: Callable[..., Any]) -> str | None:
    """The package whose kernels a function is one of. None where the package has no `kernels.toml`
    (a test's): such a kernel is not cached."""
    package = function.__module__.partition(".")[0]
    sources = sources_of(package)
    if sources is None:
        return None
    path = Path(function.__code__.co_filename)
    if path not in _files_of(package):
        raise RuntimeError(
            f"{path} contains a kernel; kernels of {package} belong in "
            f"{', '.join(sources.patterns)} ({DECLARATION})"
        )
    return package


@functools.cache
def _files_of(package: str) -> frozenset[Path]:
    sources = sources_of(package)
    return frozenset(sources.files() if sources else ())


@functools.cache
def cache_folder(package: str) -> Path | None:
    """Where this process caches kernels of a package; None where no folder can be written.

    In NUMBA_CACHE_DIR if that is set, else beside the package, else in the user's cache.
    """
    sources = sources_of(package)
    for root in _roots(sources) if sources else ():
        folder = root / f"kernels-{package}-{sources_digest(package)}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            utime(folder)
        except OSError:
            continue
        _remove_unused(root, package)
        return folder
    return None


def _roots(sources: Sources) -> Iterator[Path]:
    from numba import config as numba_config

    config: Any = numba_config
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    yield sources.folder / "__pycache__"
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "textkernels")


@functools.cache
def sources_digest(package: str) -> str:
    """Digest of what compiled code of a package depends on. Takes about 2 ms."""
    digest = hashlib.sha256(sys.version.encode())
    for sources in filter(None, map(sources_of, dict.fromkeys((package, __package__)))):
        for name in sources.libraries:
            digest.update(f"\0{name} {version(name)}".encode())
        for path in sources.files():
            source, name = path.read_bytes(), path.relative_to(sources.folder).as_posix()
            digest.update(f"\0{sources.package}/{name} {len(source)}\0".encode() + source)
    return digest.hexdigest()


def _remove_unused(root: Path, package: str) -> None:
    """Keep the folders used last. A process that still runs with another compiles again."""
    used = {}
    for folder in root.glob(f"kernels-{package}-*"):
        with contextlib.suppress(FileNotFoundError):  # another process removed it
            used[folder] = folder.stat().st_mtime
    for folder in sorted(used, key=used.__getitem__)[:-MAX_FOLDERS]:
        shutil.rmtree(folder, ignore_errors=True)


def _in_turn(turn: Path, compile_or_read: Callable[..., Any], *signature: Any) -> Any:
    """Compile, or read what was compiled meanwhile, in turn with other processes."""
    from numba.core.compiler_lock import global_compiler_lock

    # Threads of this process first, in the order in which numba itself has them wait.
    with global_compiler_lock, _holding(turn):
        return compile_or_read(*signature)


@contextlib.contextmanager
def _holding(turn: Path) -> Iterator[None]:
    """Wait for a file's lock and hold it. One that cannot be had, or is not given back in time (its
    holder was stopped), is done without: a kernel is then compiled twice."""
    try:
        import fcntl

        file = turn.open("wb")
    except (ImportError, OSError):
        yield
        return
    with file:
        until = time.monotonic() + MAX_WAIT_S
        while time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:  # a file system without locks
                break
        yield


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
