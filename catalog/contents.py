"""What a version consists of besides its shards: `contents.json`, beside the manifest.

It gives the SHA-256 of every other file in the version's folder, and digests of the version's
rows in the registry. Rows count by content and not by path, so equal versions have equal files;
the registry holds the digest of the file itself.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from catalog.errors import StoreFileError
from catalog.rows import ArtifactRow, KeyRow, LineageRow, VersionRow

FORMAT = "corpus-assets/contents/1"
NAME = "contents.json"

Contents = Mapping[str, Any]


def canonical_digest(value: Any) -> str:
    """SHA-256 over canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def dump_contents(
    version: str,
    files: Mapping[str, str],
    lineage: Sequence[LineageRow],
    keys: Sequence[KeyRow],
) -> bytes:
    """The file's bytes; `files` maps names in the version's folder to their SHA-256."""
    body = {"format": FORMAT, "version": version, "files": dict(files)}
    return json.dumps(body | {"rows": _rows(lineage, keys)}, indent=1, sort_keys=True).encode()


def contents_path(version: VersionRow) -> str:
    return f"{version.manifest_path.rpartition('/')[0]}/{NAME}"


def parse_contents(data: bytes, path: str) -> Contents:
    """Read the file's bytes; `path` is for the message when it is not one."""
    try:
        body = json.loads(data)
        if body["format"] != FORMAT:
            raise StoreFileError(
                f"{path} has format {body['format']!r}, this package reads {FORMAT!r}: "
                "use the corpus-assets that wrote it"
            )
        return {name: dict(body[name]) for name in ("files", "rows")}
    except (KeyError, TypeError, ValueError) as error:
        raise StoreFileError(f"{path} does not list a version's contents: {error!r}") from error


def altered_rows(
    contents: Contents, lineage: Sequence[LineageRow], keys: Sequence[KeyRow]
) -> Iterator[tuple[str, str]]:
    """(table, what is wrong) for the registry's rows of a version that are not as published."""
    for table, digest in _rows(lineage, keys).items():
        if digest != contents["rows"].get(table):
            yield (
                table,
                f"the rows of the version have digest {digest}, published were "
                f"{contents['rows'].get(table)}: the registry was changed; restore it from a backup",
            )


def _rows(lineage: Sequence[LineageRow], keys: Sequence[KeyRow]) -> dict[str, str]:
    files = [[r.table_name, r.snapshot, r.part, r.shard, r.sha256, r.rows] for r in lineage]
    sidecars = [[r.kind, r.snapshot, r.sha256, r.bytes, r.rows] for r in keys]
    return {
        "version_lineage": canonical_digest(sorted(files, key=json.dumps)),
        "version_keys": canonical_digest(sorted(sidecars, key=json.dumps)),
    }


def inconsistent_artifacts(artifacts: Iterable[ArtifactRow]) -> Iterator[tuple[str, str]]:
    """(folder, what is wrong) for rows of artifacts that contradict themselves."""
    for row in artifacts:
        folder = f"artifacts/{row.stage}/{row.fingerprint}"
        if canonical_digest({out.name: out.sha256 for out in row.outputs}) != row.content_hash:
            yield (
                folder,
                "its outputs in the registry do not have its content hash: the registry was "
                "changed; restore it from a backup",
            )
        for out in row.outputs:
            if out.path != f"{folder}/{out.name}":
                yield folder, f"the registry has its output {out.name} at {out.path}"
