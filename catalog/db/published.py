"""Files of a published version, held against the registry's rows: its manifest and `contents.json`.

`contents.json` gives the SHA-256 of every other file in the version's folder, and digests of the
version's rows in the registry. Rows count by content and not by path, so equal versions have equal
files; the registry holds the digest of the file itself.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.db.rows import ArtifactRow, KeyRow, LineageRow, VersionRow
from catalog.errors import StoreFileError
from catalog.formats.canonical import digest
from catalog.formats.store import FileStore
from corpus_loader import LoaderError, Manifest

CONTENTS_FORMAT = "corpus-assets/contents/1"
CONTENTS_NAME = "contents.json"


@dataclass(frozen=True)
class CountsFile:
    """A JSON file with counts in a version's folder."""

    name: str
    format: str


THRESHOLDS = CountsFile("thresholds.json", "corpus-assets/thresholds/3")
"""What each threshold of the selection would keep at other values."""
FUNNEL = CountsFile("funnel.json", "corpus-assets/funnel/1")
"""How many records came in, and how many each stage dropped, by reason."""

Contents = Mapping[str, Any]


def load_manifest(store: FileStore, version: VersionRow) -> Manifest:
    """Return the manifest, refused when its bytes or its form are not what was published."""
    data = store.read_verified(version.manifest_path, version.manifest_sha256)
    try:
        return Manifest.parse(data, version.manifest_path)
    except LoaderError as error:
        raise StoreFileError(str(error)) from error


def dump_contents(
    version: str,
    files: Mapping[str, str],
    lineage: Sequence[LineageRow],
    keys: Sequence[KeyRow],
) -> bytes:
    """Return the file's bytes; `files` maps names in the version's folder to their SHA-256."""
    body = {"format": CONTENTS_FORMAT, "version": version, "files": dict(files)}
    return json.dumps(body | {"rows": _rows(lineage, keys)}, indent=1, sort_keys=True).encode()


def contents_path(version: VersionRow) -> str:
    return f"{version.manifest_path.rpartition('/')[0]}/{CONTENTS_NAME}"


def parse_contents(data: bytes, path: str) -> Contents:
    """Read the file's bytes; `path` is for the message when it is not one."""
    try:
        body = json.loads(data)
        if body["format"] != CONTENTS_FORMAT:
            raise StoreFileError(
                f"{path} has format {body['format']!r}, this package reads {CONTENTS_FORMAT!r}: "
                "use the corpus-assets that wrote it"
            )
        return {name: dict(body[name]) for name in ("files", "rows")}
    except (KeyError, TypeError, ValueError) as error:
        raise StoreFileError(f"{path} does not list a version's contents: {error!r}") from error


def load_counts(store: FileStore, version: VersionRow, file: CountsFile) -> dict[str, Any] | None:
    """Read counts that were published with a version; None where it was published without."""
    if version.contents_sha256 is None:
        return None
    path = contents_path(version)
    listed = parse_contents(store.read_verified(path, version.contents_sha256), path)["files"]
    if file.name not in listed:
        return None
    path = f"{path.rpartition('/')[0]}/{file.name}"
    body: dict[str, Any] = json.loads(store.read_verified(path, listed[file.name]))
    if body["format"] != file.format:
        raise StoreFileError(
            f"{path} has format {body['format']!r}, this package reads {file.format!r}: use the "
            "corpus-assets that wrote it"
        )
    return body


def altered_rows(
    contents: Contents, lineage: Sequence[LineageRow], keys: Sequence[KeyRow]
) -> Iterator[tuple[str, str]]:
    """Yield (table, what is wrong) for the registry's rows of a version that are not as
    published."""
    for table, found in _rows(lineage, keys).items():
        if found != contents["rows"].get(table):
            yield (
                table,
                f"the rows of the version have digest {found}, published were "
                f"{contents['rows'].get(table)}: the registry was changed; restore it from a backup",
            )


def _rows(lineage: Sequence[LineageRow], keys: Sequence[KeyRow]) -> dict[str, str]:
    files = [[r.table_name, r.snapshot, r.part, r.shard, r.sha256, r.rows] for r in lineage]
    sidecars = [[r.kind, r.snapshot, r.sha256, r.bytes, r.rows] for r in keys]
    return {
        "version_lineage": digest(sorted(files, key=json.dumps)),
        "version_keys": digest(sorted(sidecars, key=json.dumps)),
    }


def inconsistent_artifacts(artifacts: Iterable[ArtifactRow]) -> Iterator[tuple[str, str]]:
    """Yield (folder, what is wrong) for rows of artifacts that contradict themselves."""
    for row in artifacts:
        folder = f"artifacts/{row.stage}/{row.fingerprint}"
        if digest({out.name: out.sha256 for out in row.outputs}) != row.content_hash:
            yield (
                folder,
                "its outputs in the registry do not match its content hash: the registry was "
                "changed; restore it from a backup",
            )
        for out in row.outputs:
            if out.path != f"{folder}/{out.name}":
                yield folder, f"the registry has its output {out.name} at {out.path}"
