"""Source formats: how the files of a source are read, one format a file.

Every `Format` that a module of this package declares is a format of recipes, by its name. A new
file needs no line anywhere else.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.fetch import Opener, open_pinned
from corpus_assets.ingest.formats.archive_formats import refuse_formats
from corpus_assets.ingest.formats.base import Format, Original, Place
from corpus_assets.ingest.formats.record_beginning import body_beginning
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.records import RawRecord, SourceFile
from corpus_assets.ingest.source import SourceSpec


def find_formats() -> dict[str, Format]:
    """Find the declared formats, by name, in the order of their names."""
    found: dict[str, Format] = {}
    for module in iter_modules(__path__, f"{__name__}."):
        for item in vars(import_module(module.name)).values():
            if isinstance(item, Format) and found.setdefault(item.name, item) is not item:
                raise ValueError(f"{module.name}: there is a format {item.name!r} already")
    return dict(sorted(found.items()))


FORMATS = find_formats()


def format_of(name: str) -> Format:
    """Return the format that recipes call `name`; SourceError for one that is not known."""
    if name not in FORMATS:
        raise SourceError(f"{name!r} is not a source format; known are {', '.join(FORMATS)}")
    return FORMATS[name]


def read_records(
    spec: SourceSpec, part: SourceFile, max_bytes: int, open_file: Opener = open_pinned
) -> Iterator[RawRecord]:
    """Read all records of a part, in its order. A file that is not what was pinned is refused."""
    return format_of(spec.format).read(part, spec, max_bytes, open_file)


__all__ = [
    "FORMATS",
    "Original",
    "Place",
    "body_beginning",
    "format_of",
    "read_records",
    "read_warc",
    "refuse_formats",
]
