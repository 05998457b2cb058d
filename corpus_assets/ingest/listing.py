"""List the files of a snapshot, on this machine or on a server, and pin them."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path

from corpus_assets.core.errors import SourceError
from corpus_assets.core.identity import digest
from corpus_assets.ingest.extract import decode
from corpus_assets.ingest.fetch import Fetcher, pin_file, shown
from corpus_assets.ingest.formats import FORMATS, format_of, refuse_formats
from corpus_assets.ingest.gates import (
    MAX_LICENCE_BYTES,
    UNKNOWN_LICENCE,
    detect_licences,
    folder_licence,
    is_licence_file,
)
from corpus_assets.ingest.records import (
    SourceFile,
    SourceMember,
    file_sha256,
    local_path,
    open_source,
)
from corpus_assets.ingest.source import SourceSpec

# Parts of a folder of many small files: neighbours in the order of their names, up to a bound.
#
# Of a code tree each file's licence is settled here, from the nearest licence file above it, and
# pinned with the file. So a file's licence does not hang on which part, or which document, its
# licence file became.


def group_files(spec: SourceSpec, base: str, names: Sequence[str]) -> list[SourceFile]:
    """Group the files of a folder into numbered parts; `names` are sorted. Reads every file once."""
    licences: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    sizes: dict[str, tuple[int, str]] = {}
    for name in names:
        _check_name(name)
        size, sha256, licence_ids = _read(
            f"{base}/{name}", format_of(spec.format).is_code and is_licence_file(name)
        )
        sizes[name] = (size, sha256)
        if licence_ids is not None:
            folder, _, file = name.rpartition("/")
            licences.setdefault(folder, []).append((file, licence_ids))
    expressions = {
        folder: folder_licence(files) or UNKNOWN_LICENCE for folder, files in licences.items()
    }
    members = (
        SourceMember(name, *sizes[name], licence=_nearest(name, expressions)) for name in names
    )
    groups = _bounded(members, spec.files_per_part, spec.bytes_per_part)
    return [_part(number, base, group) for number, group in enumerate(groups)]


def _part(number: int, base: str, members: Sequence[SourceMember]) -> SourceFile:
    return SourceFile(
        name=f"files-{number:05d}",
        uri=base,
        size=sum(member.size for member in members),
        sha256=digest([[m.name, m.sha256, m.licence] for m in members]),
        members=tuple(members),
    )


def _bounded(
    members: Iterable[SourceMember], max_files: int, max_bytes: int
) -> Iterator[list[SourceMember]]:
    group: list[SourceMember] = []
    size = 0
    for member in members:
        if group and (len(group) >= max_files or size + member.size > max_bytes):
            yield group
            group, size = [], 0
        group.append(member)
        size += member.size
    if group:
        yield group


def _nearest(name: str, expressions: dict[str, str]) -> str | None:
    """Return what the nearest licence file says; one that nobody knows hides those above it."""
    folder = name
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in expressions:
            return expressions[folder]
    return None


def _read(uri: str, may_hold_licence: bool) -> tuple[int, str, tuple[str, ...] | None]:
    """Size and digest of a file, and the licences in it; None where it is no licence file."""
    if not may_hold_licence:
        return (*file_sha256(uri), None)
    with open_source(uri) as stream:
        data = stream.read(MAX_LICENCE_BYTES + 1)
    if len(data) > MAX_LICENCE_BYTES:
        return (*file_sha256(uri), ())
    return len(data), hashlib.sha256(data).hexdigest(), detect_licences(decode(data).text or "")


def _check_name(name: str) -> None:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = name.encode("utf-8", "replace").decode()
        raise SourceError(f"{shown}: the file's name is not UTF-8; rename it") from error


# What a snapshot consists of: its files, pinned by size and SHA-256.

VERSION = 1


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


# Snapshots that lie on a server without a crawl's layout: a file, or a prefix of a bucket.

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
            f"{shown(location)}: patterns work for folders and s3:// only; name a file"
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
