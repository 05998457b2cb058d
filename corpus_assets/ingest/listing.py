"""What a snapshot consists of on this machine: its files, pinned by size and SHA-256."""

import re
from collections.abc import Iterator
from glob import has_magic
from pathlib import Path

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.formats import FORMATS, format_of, refuse_formats
from corpus_assets.ingest.records import SourceFile, file_sha256, local_path
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.ingest.source_groups import group_files

LISTING_VERSION = 1


def list_files(spec: SourceSpec, location: str, snapshot: str) -> list[SourceFile]:
    """List the files of a snapshot by name; the order is the numbering of its parts. The small
    files of `text` and `code` sources are gathered into parts.

    `location` is a file, a glob pattern, or a folder of which all files of the source's format
    are taken, those in sub-folders too. Names are relative to the folder (of a pattern: to the
    part before its first wildcard), so they are the same wherever the snapshot lies.
    """
    if format_of(spec.format).is_web_archive:
        refuse_formats(name for name, _ in _find(location, None, all_files=True))
    found = find_files(spec, location, snapshot)
    if format_of(spec.format).is_folder:
        return group_files(spec, str(base_of(location).resolve()), [name for name, _ in found])
    files = []
    for name, path in found:
        uri = str(path.resolve())
        size, sha256 = file_sha256(uri)
        files.append(SourceFile(name, uri, size, sha256))
    return files


def find_files(spec: SourceSpec, location: str, snapshot: str) -> list[tuple[str, Path]]:
    """Return names and paths of the files at a location; where there are none that is an error."""
    found = list(_find(location, spec.format))
    if not found:
        raise SourceError(
            f"snapshot {snapshot} of {spec.name}: no file matches {_looked_for(location, spec.format)}; "
            "correct the location in the recipe or fetch the files"
        )
    return found


def list_names(location: str, format: str | None = None) -> list[tuple[str, int]]:
    """List names and sizes of what `list_files` would take, without reading any file.

    Without a format every kind of source file in a folder is named.
    """
    return [(name, path.stat().st_size) for name, path in _find(location, format)]


def _find(location: str, format: str | None, all_files: bool = False) -> Iterator[tuple[str, Path]]:
    path = local_path(location)
    if path.is_file():
        yield path.name, path
        return
    base = base_of(location)
    if path.is_dir():
        matches = path.rglob("*")
        suffixes = ("",) if all_files else _suffixes(format)
    elif has_magic(location):
        matches = base.glob(str(Path(*path.parts[len(base.parts) :])))
        suffixes = ("",)
    else:
        return
    follow = (
        format is None or not format_of(format).is_folder
    )  # a link in a tree may lead out of it, or to its double
    names = sorted(
        (match.relative_to(base).as_posix(), match)
        for match in matches
        if match.name.endswith(suffixes) and match.is_file() and (follow or not match.is_symlink())
    )
    for name, match in names:
        if not re.search(r"(?:^|/)\.", name):  # hidden: half-written downloads, editor files
            yield name, match


def base_of(location: str) -> Path:
    """Return the folder that names are relative to."""
    path = local_path(location)
    if path.is_dir():
        return path
    return Path(*_fixed_parts(path)) if has_magic(location) else path.parent


def _fixed_parts(path: Path) -> list[str]:
    parts: list[str] = []
    for part in path.parts[:-1]:
        if has_magic(part):
            break
        parts.append(part)
    return parts


def _suffixes(format: str | None) -> tuple[str, ...]:
    if format is not None:
        return format_of(format).suffixes
    plain = [each for each in FORMATS.values() if not each.is_folder]
    return tuple(suffix for each in plain for suffix in each.suffixes)


def _looked_for(location: str, format: str) -> str:
    if has_magic(location) or not local_path(location).is_dir():
        return location
    return " or ".join(f"{location}/**/*{suffix}" for suffix in format_of(format).suffixes)
