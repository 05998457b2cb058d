"""A version's manifest: read from the store, checked against its recorded hash."""

import json
from dataclasses import dataclass
from typing import Any

from catalog.errors import StoreFileError
from catalog.files import Store
from catalog.rows import VersionRow

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
