"""Snapshots that lie on a server without a crawl's layout: a file, or a prefix of a bucket."""

from fnmatch import fnmatchcase

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.fetch import Fetcher, pin_file, shown_url
from corpus_assets.ingest.formats import format_of, refuse_formats
from corpus_assets.ingest.records import SourceFile

WILD = "*?["


def list_remote(fetcher: Fetcher, location: str, format: str) -> list[SourceFile]:
    """List the files at an address, sorted by name.

    `s3://bucket/folder/` takes all files of the source's format below it, `s3://bucket/a/*.gz`
    those that match; any other address is one file. Names are relative to the folder.
    """
    is_archive = format_of(format).is_web_archive  # other formats of such are refused by name
    if location.startswith("s3://"):
        key = location.removeprefix("s3://").partition("/")[2]
        if any(sign in key for sign in WILD):
            return _matching(fetcher, location, is_archive)
        if not key or key.endswith("/"):
            found = fetcher.listed(location)
            refuse_formats(name for name, _ in found if is_archive and not _is_hidden(name))
            return [
                pin_file(fetcher, name, location.rstrip("/") + f"/{name}", stat)
                for name, stat in found
                if name.endswith(format_of(format).suffixes) and not _is_hidden(name)
            ]
    if any(sign in location for sign in WILD):
        raise SourceError(
            f"{shown_url(location)}: patterns work for folders and s3:// only; name a file"
        )
    name = location.rstrip("/").rpartition("/")[2]
    refuse_formats([name] if is_archive else [])
    return [pin_file(fetcher, name, location, fetcher.stat(location))]


def _matching(fetcher: Fetcher, location: str, is_archive: bool) -> list[SourceFile]:
    first = min(location.index(sign) for sign in WILD if sign in location)
    folder = location[:first].rpartition("/")[0] + "/"
    pattern = location.removeprefix(folder)
    found = [
        (name, stat)
        for name, stat in fetcher.listed(folder)
        if fnmatchcase(name, pattern) and name.count("/") == pattern.count("/")
    ]
    refuse_formats(name for name, _ in found if is_archive)
    return [pin_file(fetcher, name, f"{folder}{name}", stat) for name, stat in found]


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))
