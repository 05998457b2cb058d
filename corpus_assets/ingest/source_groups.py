"""Parts of a folder of many small files: neighbours in the order of their names, up to a bound.

Of a code tree each file's licence is settled here, from the nearest licence file above it, and
pinned with the file. So a file's licence does not hang on which part, or which document, its
licence file became.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from corpus_assets.core.errors import SourceError
from corpus_assets.core.identity import digest
from corpus_assets.ingest.extract import decode
from corpus_assets.ingest.formats import format_of
from corpus_assets.ingest.gates import (
    MAX_LICENCE_BYTES,
    UNKNOWN_LICENCE,
    detect_licences,
    folder_licence,
    is_licence_file,
)
from corpus_assets.ingest.records import SourceFile, SourceMember, file_sha256, open_source
from corpus_assets.ingest.source import SourceSpec

FILES_PER_PART = 5_000
BYTES_PER_PART = 256_000_000


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
    groups = _bounded(members)
    return [_part(number, base, group) for number, group in enumerate(groups)]


def _part(number: int, base: str, members: Sequence[SourceMember]) -> SourceFile:
    return SourceFile(
        name=f"files-{number:05d}",
        uri=base,
        size=sum(member.size for member in members),
        sha256=digest([[m.name, m.sha256, m.licence] for m in members]),
        members=tuple(members),
    )


def _bounded(members: Iterable[SourceMember]) -> Iterator[list[SourceMember]]:
    group: list[SourceMember] = []
    size = 0
    for member in members:
        if group and (len(group) >= FILES_PER_PART or size + member.size > BYTES_PER_PART):
            yield group
            group, size = [], 0
        group.append(member)
        size += member.size
    if group:
        yield group


def _nearest(name: str, expressions: dict[str, str]) -> str | None:
    """Return what the nearest licence file says; an unknown licence hides those above it."""
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
