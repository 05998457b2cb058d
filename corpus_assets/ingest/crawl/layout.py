"""Crawls in Common Crawl's layout: what a recipe says of one, and where its files lie."""

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

from corpus_assets.core.errors import AbsentSource, SourceError
from corpus_assets.core.sample import Sample
from corpus_assets.ingest.crawl.settings import (
    COMMON_CRAWL,
    COMMON_CRAWL_LIST,
    CRAWL_NAME,
    CrawlSettings,
)
from corpus_assets.ingest.fetch import Fetcher, Stat, is_remote, pin_file, shown_url
from corpus_assets.ingest.records import SourceFile, file_sha256

MAX_LIST_BYTES = 64 << 20
MAX_INFLATED_BYTES = 1 << 30  # a million paths are 150 MB
PIECE_BYTES = 1 << 20
LIST_FROM = 5  # from so many files in a folder on, one listing is cheaper than asking for each

LIST_ADVICE = "run the same command again; if the error persists, restore the list at `crawl.base`"

OnProgress = Callable[[int, int], None]

_PATH = re.compile(r"[A-Za-z0-9_.=+-]+(?:/[A-Za-z0-9_.=+-]+)*")


class CrawlPlace:
    """Where crawls lie: a server or a folder of the same layout."""

    def __init__(self, settings: CrawlSettings, fetcher: Fetcher) -> None:
        self.settings = settings
        self.fetcher = fetcher
        self.base = settings.base
        self.is_remote = is_remote(self.base)

    def address(self, path: str) -> str:
        return f"{self.base}{path}" if self.is_remote else str(Path(self.base) / path)

    def read(self, path: str) -> bytes:
        """Return a list, whole."""
        if self.is_remote:
            return self.fetcher.read(self.address(path), MAX_LIST_BYTES)
        try:
            return Path(self.address(path)).read_bytes()
        except OSError as error:
            kind = AbsentSource if isinstance(error, FileNotFoundError) else SourceError
            raise kind(
                f"{self.address(path)}: cannot be read ({error.strerror}); check the crawl's "
                "name and `crawl.base`"
            ) from error

    def crawls(self) -> list[str]:
        """The names of what may be crawls, in order: the oldest first.

        On S3 and in a folder these are all folders beside the crawls, such as CC-NEWS, and a
        list may name a crawl before its files are there. `problem_of` and `paths` tell.
        """
        if not self.base.startswith(("https://", "http://")):
            return sorted(name for name in self._folders() if CRAWL_NAME.fullmatch(name))
        is_public = self.base == COMMON_CRAWL
        where = COMMON_CRAWL_LIST if is_public else self.address("collinfo.json")
        return _crawl_names(self.fetcher.read(where, MAX_LIST_BYTES), where)

    def problem_of(self, crawl: str, listed: str) -> str | None:
        """Say why a crawl's list of such files cannot be used, None where it can; one request."""
        name = _list_path(crawl, listed)
        try:
            data = self.read(name)
        except AbsentSource:
            return f"it has no {listed}.paths.gz"
        try:
            parse_paths(data, name, f"crawl-data/{crawl}/")
        except SourceError as error:
            return str(error)
        return None

    def paths(self, crawl: str, listed: str, below: str | None = None) -> list[str]:
        """Return the paths that a crawl's list names, in its order; `listed` is warc, wet, ...

        `AbsentSource` where the crawl has no such list.
        """
        name = _list_path(crawl, listed)
        return parse_paths(self.read(name), name, below or f"crawl-data/{crawl}/")

    def pin(self, paths: Sequence[str], tell: OnProgress | None = None) -> list[SourceFile]:
        """Sizes and digests of files, in the order given."""
        if not self.is_remote:
            return [self._pin_local(path) for path in paths]
        known = self._stats_by_folder(paths)
        done = 0
        files: list[SourceFile] = []
        with ThreadPoolExecutor(self.fetcher.settings.connections) as pool:
            for path, stat in zip(
                paths, pool.map(lambda p: known.get(p) or self._stat(p), paths), strict=True
            ):
                files.append(pin_file(self.fetcher, path, self.address(path), stat))
                done += 1
                if tell is not None:
                    tell(done, len(paths))
        return files

    def _stat(self, path: str) -> Stat:
        return self.fetcher.stat(self.address(path))

    def _stats_by_folder(self, paths: Iterable[str]) -> dict[str, Stat]:
        """On S3, a thousand files a request where many of one folder are wanted."""
        if not self.base.startswith("s3://"):
            return {}
        folders: dict[str, int] = {}
        for path in paths:
            folder = path.rpartition("/")[0]
            folders[folder] = folders.get(folder, 0) + 1
        found: dict[str, Stat] = {}
        for folder, count in folders.items():
            if count >= LIST_FROM:
                listed = self.fetcher.listed(self.address(f"{folder}/"))
                found |= {f"{folder}/{name}": stat for name, stat in listed}
        return found

    def _pin_local(self, path: str) -> SourceFile:
        uri = str(Path(self.address(path)).resolve())
        size, sha256 = file_sha256(uri)
        return SourceFile(path, uri, size, sha256)

    def _folders(self) -> list[str]:
        if self.is_remote:
            return self.fetcher.folders(self.address("crawl-data/"))
        folder = Path(self.address("crawl-data"))
        if not folder.is_dir():
            raise SourceError(f"{folder}: there is no such folder; correct `crawl.base`")
        return [path.name for path in folder.iterdir() if path.is_dir()]


def choose_files(paths: Sequence[str], files: int | None, seed: int) -> list[str]:
    """Return so many files, or all, in an order that depends on the seed and each path alone.

    So a larger number contains the smaller, and a file keeps its place when there are more.
    """
    return Sample(f"crawl-files/{seed}".encode()).ordered(set(paths), str.encode)[:files]


def robots_path(path: str) -> str:
    """Return the file with the robots.txt records of the hosts in a WARC file: one fetcher wrote
    both."""
    folder, _, name = path.rpartition("/")
    return f"{folder.rpartition('/')[0]}/robotstxt/{name.replace('.warc.wet', '.warc')}"


def parse_paths(data: bytes, name: str, below: str) -> list[str]:
    """Return the lines of a `paths.gz`; each a plain path below the folder `below`."""
    text = _inflated(data, name)
    paths = [line.strip() for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    for path in paths:
        if not path.startswith(below) or not _PATH.fullmatch(path) or ".." in path.split("/"):
            raise SourceError(f"{name}: names {path[:200]!r}, which is not a path below {below}")
    if not paths:
        raise SourceError(f"{name}: names no file")
    return list(dict.fromkeys(paths))


def _inflated(data: bytes, name: str) -> bytearray:
    """Every member of a gzip file, to its last byte."""
    text = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as members:
            while piece := members.read(PIECE_BYTES):
                text += piece
                if len(text) > MAX_INFLATED_BYTES:
                    raise SourceError(f"{name}: is far too long; check `crawl.base`")
    except EOFError as error:
        raise SourceError(f"{name}: is truncated; {LIST_ADVICE}") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        if not data.startswith(b"\x1f\x8b"):
            raise SourceError(f"{name}: is not gzip; check `crawl.base`") from error
        raise SourceError(
            f"{name}: is damaged, or has trailing bytes that are not gzip; {LIST_ADVICE}"
        ) from error
    return text


def _list_path(crawl: str, listed: str) -> str:
    if not CRAWL_NAME.fullmatch(crawl):
        raise SourceError(f"{crawl!r} is not the name of a crawl, such as CC-MAIN-2024-10")
    return f"crawl-data/{crawl}/{listed}.paths.gz"


def _crawl_names(data: bytes, where: str) -> list[str]:
    try:
        listed = json.loads(data)
        names = [str(entry["id"]) for entry in cast(list[dict[str, object]], listed)]
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{shown_url(where)}: is not a list of crawls (collinfo.json); correct `crawl.base`"
        ) from error
    return sorted({name for name in names if CRAWL_NAME.fullmatch(name)})
