"""The robots.txt, ai.txt and tdmrep.json of a snapshot's sites, pinned with its files."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.entry import SourceEntry
from corpus_assets.ingest.fetch import is_remote
from corpus_assets.ingest.formats import format_of, refuse_formats
from corpus_assets.ingest.listing import base_of, list_files, list_names
from corpus_assets.ingest.locations import Locations
from corpus_assets.ingest.records import SourceFile
from corpus_assets.ingest.snapshots import SnapshotFiles
from corpus_assets.ingest.source import SourceSpec

_FOLDER = SourceSpec(name="site-files", format="code")  # all files, many to a part
_ARCHIVE = SourceSpec(name="site-files", format="warc")


def with_site_files(
    pinned: SnapshotFiles, source: SourceEntry, locations: Locations
) -> SnapshotFiles:
    """Add the site files that a source names to its pinned files; a crawl's own stay as they are."""
    named = source.site_files.get(pinned.snapshot)
    if named is None:
        return pinned if source.crawl is not None else replace(pinned, robots=())
    location = locations.resolve(named)
    if is_remote(location):
        raise SourceError(f"site_files: {named} is on a server; copy the files here")
    spec = _spec(location)
    if not _still_there(pinned.robots, location, spec):
        files = list_files(spec, location, pinned.snapshot)
        pinned = replace(pinned, robots=tuple(files))
    return pinned


def _spec(location: str) -> SourceSpec:
    names = [name for name, _ in list_names(location, "code")]
    refuse_formats(names)
    archives = [name for name in names if name.endswith(format_of("warc").suffixes)]
    return _ARCHIVE if archives else _FOLDER


def _still_there(pinned: Sequence[SourceFile], location: str, spec: SourceSpec) -> bool:
    there = [(each.name, each.size) for file in pinned for each in file.members or (file,)]
    here = base_of(location).resolve()
    roots = {Path(file.uri) if file.members else Path(file.uri) / "." for file in pinned}
    return there == list_names(location, spec.format) and all(
        root == here or here in root.parents for root in roots
    )
