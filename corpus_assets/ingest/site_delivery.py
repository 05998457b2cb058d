"""The robots.txt, ai.txt and tdmrep.json of a snapshot's sites, pinned with its files."""

from dataclasses import replace
from pathlib import Path

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.fetch.transport import is_remote
from corpus_assets.ingest.formats.archive_formats import refuse_formats
from corpus_assets.ingest.pins import SnapshotFiles
from corpus_assets.ingest.source import SourceFile, SourceSpec
from corpus_assets.ingest.source_files import SUFFIXES, base_of, list_files, list_names
from corpus_assets.recipe.entries import SourceEntry
from corpus_assets.recipe.locations import Locations

_FOLDER = SourceSpec(name="site-files", format="code")  # all files, many to a part
_ARCHIVE = SourceSpec(name="site-files", format="warc")


def with_site_files(
    delivery: SnapshotFiles, source: SourceEntry, locations: Locations
) -> SnapshotFiles:
    """A delivery with the site files that its source names; a crawl's own stay as they are."""
    named = source.site_files.get(delivery.snapshot)
    if named is None:
        return delivery if source.crawl is not None else replace(delivery, robots=())
    location = locations.resolve(named)
    if is_remote(location):
        raise SourceError(f"site_files: {named} is on a server; copy the files here")
    spec = _spec(location)
    if not _still_there(delivery.robots, location, spec):
        files = list_files(spec, location, delivery.snapshot)
        delivery = replace(delivery, robots=tuple(files))
    return delivery


def _spec(location: str) -> SourceSpec:
    names = [name for name, _ in list_names(location, "code")]
    refuse_formats(names)
    archives = [name for name in names if name.endswith(SUFFIXES["warc"])]
    return _ARCHIVE if archives else _FOLDER


def _still_there(pinned: tuple[SourceFile, ...], location: str, spec: SourceSpec) -> bool:
    there = [(each.name, each.size) for file in pinned for each in file.members or (file,)]
    here = base_of(location).resolve()
    roots = {Path(file.uri) if file.members else Path(file.uri) / "." for file in pinned}
    return there == list_names(location, spec.format) and all(
        root == here or here in root.parents for root in roots
    )
