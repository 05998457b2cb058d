"""The files that say what a version is: its manifest, and `contents.json` beside it.

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
from catalog.formats.canonical import canonical_digest
from catalog.formats.store import Store

FORMAT = "corpus-assets/manifest/1"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the catalog needs of a manifest; `raw` is the whole of it."""

    raw: dict[str, Any]
    version: str
    seq_len: int
    tokenizer_path: str
    tokenizer_sha256: str
    vocab_size: int
    eod_id: int
    pad_id: int


def load_manifest(store: Store, version: VersionRow) -> Manifest:
    """The manifest, refused when its bytes or its form are not what was published."""
    data = store.read_verified(version.manifest_path, version.manifest_sha256)
    return parse_manifest(data, version.manifest_path)


def parse_manifest(data: bytes, name: str) -> Manifest:
    """Read a manifest; `StoreFileError` names the missing key."""
    try:
        raw = json.loads(data)
        if raw["format"] != FORMAT:
            raise StoreFileError(
                f"{name} has format {raw['format']!r}, this package reads {FORMAT!r}: "
                "use the corpus-assets that wrote it"
            )
        tokenizer = raw["tokenizer"]
        return Manifest(
            raw=raw,
            version=str(raw["version"]),
            seq_len=int(raw["seq_len"]),
            tokenizer_path=str(tokenizer["path"]),
            tokenizer_sha256=str(tokenizer["sha256"]),
            vocab_size=int(tokenizer["vocab_size"]),
            eod_id=int(tokenizer["eod_id"]),
            pad_id=int(tokenizer["pad_id"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreFileError(f"{name} is not a manifest: {error!r}") from error


# -- contents.json ---------------------------------------------------------------------------------


CONTENTS_FORMAT = "corpus-assets/contents/1"
CONTENTS_NAME = "contents.json"

Contents = Mapping[str, Any]


def dump_contents(
    version: str,
    files: Mapping[str, str],
    lineage: Sequence[LineageRow],
    keys: Sequence[KeyRow],
) -> bytes:
    """The file's bytes; `files` maps names in the version's folder to their SHA-256."""
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
