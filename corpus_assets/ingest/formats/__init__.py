"""Source formats: how the files of a source are read, one format a file.

Every `Format` that a module of this package declares is a format of recipes, by its name. A new
file needs no line anywhere else.
"""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.ingest.formats.archive_formats import refuse_formats
    from corpus_assets.ingest.formats.base import Original, Place
    from corpus_assets.ingest.formats.found import FORMATS, format_of
    from corpus_assets.ingest.formats.guessed_fields import guess_fields
    from corpus_assets.ingest.formats.inflate import inflated
    from corpus_assets.ingest.formats.reading import read_records
    from corpus_assets.ingest.formats.record_beginning import body_beginning
    from corpus_assets.ingest.formats.warc import read_warc
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "FORMATS",
    "Original",
    "Place",
    "body_beginning",
    "format_of",
    "guess_fields",
    "inflated",
    "read_records",
    "read_warc",
    "refuse_formats",
]
