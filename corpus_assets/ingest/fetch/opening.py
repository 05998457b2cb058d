"""Open pinned source files wherever they lie: here, on a server, or in the cache."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.fetch.fetcher import Fetcher
from corpus_assets.ingest.fetch.file_cache import FileCache
from corpus_assets.ingest.fetch.remote_file import RemoteFile, opened
from corpus_assets.ingest.fetch.settings import FetchSettings
from corpus_assets.ingest.fetch.transport import is_remote, shown_url
from corpus_assets.ingest.records import SourceFile, open_source, verify_file

FOLDER = "fetch"

Opener = Callable[[SourceFile], AbstractContextManager[BinaryIO]]


@contextmanager
def open_pinned(file: SourceFile) -> Iterator[BinaryIO]:
    """Open a file on this machine, refused unless it is what was pinned."""
    if is_remote(file.uri):
        raise SourceError(f"{shown_url(file.uri)}: is on a server; build it through its recipe")
    verify_file(file)
    with open_source(file.uri) as stream:
        yield stream


@dataclass
class Reach:
    """How far we may go for a file: settings, a folder of the home, the source's own address."""

    settings: FetchSettings
    home: Path
    base: str
    sha256: dict[str, str] = field(default_factory=dict)  # of files that were read to their end

    @classmethod
    def of(cls, params: dict[str, Any]) -> "Reach":
        """From the plain values that a task carries."""
        return cls(FetchSettings(**params["settings"]), Path(params["home"]), params["base"])

    def params(self) -> dict[str, Any]:
        return {"settings": asdict(self.settings), "home": str(self.home), "base": self.base}

    @property
    def cache(self) -> FileCache:
        return FileCache(self.home / "cache" / "sources", self.settings.cache_bytes)

    def fetcher(self) -> Fetcher:
        return Fetcher(self.settings, self.home / FOLDER, self.base)

    @contextmanager
    def open(self, file: SourceFile, exact: bool = False) -> Iterator[BinaryIO]:
        """Open a pinned file as a seekable stream; `exact`: each read fetches just what it asks
        for."""
        if not is_remote(file.uri):
            with open_pinned(file) as stream:
                yield stream
            return
        with self.fetcher() as fetcher:
            if self.settings.cache_bytes:
                with self.cache.open(file, fetcher) as (stream, sha256):
                    self.sha256[file.name] = sha256
                    yield stream
                return
            with opened(fetcher, file, 1 if exact else None) as stream:
                yield stream
                if isinstance(stream, RemoteFile) and stream.sha256 is not None:
                    self.sha256[file.name] = stream.sha256


def forget_cached(reach: Reach, file: SourceFile) -> None:
    """Remove the copy of a file from the cache, where there is one."""
    reach.cache.forget(file)


def fetcher_for(
    home: Path,
    url: str,
    is_public: bool,
    allow_http: bool = False,
    tokens: Mapping[str, str] | None = None,
) -> Fetcher:
    """Return what fetches from an address, at the pace of the home and as the environment says.
    `is_public`: never from an address of the local network."""
    settings = FetchSettings.of_environment()
    if allow_http:
        settings = replace(settings, allow_http=True)
    return Fetcher(settings, home / FOLDER, url, is_public=is_public, tokens=tokens)
