"""The version that an export is made from, as the catalog knows it."""

from dataclasses import dataclass
from pathlib import Path

from catalog.registry import Registry
from corpus_assets.core.errors import ShardError
from corpus_assets.core.home import Home
from corpus_assets.core.store import LocalStore, open_store, read_checked
from corpus_assets.shards.manifest import Manifest, parse_manifest
from corpus_assets.shards.mapped import Opener


@dataclass(frozen=True)
class Source:
    manifest: Manifest
    manifest_bytes: bytes
    manifest_sha256: str
    tokenizer: bytes
    store: Path | Opener


def open_version(home: Home, name: str) -> Source:
    """A live version's manifest and tokenizer, both checked against their digests."""
    registry = Registry(home.catalog_url, home.catalog_busy_s)
    row = registry.version(name)
    if row.status != "live":
        instead = f"; export {row.superseded_by} in its place" if row.superseded_by else ""
        raise ShardError(f"version {name} is {row.status}, a takedown has replaced it{instead}")
    store = open_store(home.store_url)
    content = read_checked(store, row.manifest_path, row.manifest_sha256)
    manifest = parse_manifest(content, row.manifest_path)
    tokenizer = read_checked(store, manifest.tokenizer.path, manifest.tokenizer.sha256)
    place: Path | Opener = store.root if isinstance(store, LocalStore) else store.local
    return Source(manifest, content, row.manifest_sha256, tokenizer, place)
