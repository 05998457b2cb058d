"""A home whose catalog knows versions of the small store, without building them."""

from pathlib import Path

from catalog.db.registry import Registry
from catalog.db.rows import LockRow, RecipeRow, VersionRow
from corpus_assets.core.home import Home
from corpus_loader import Manifest


def empty_home(root: Path) -> tuple[Home, Registry]:
    home = Home(root, str(root / "store"), f"sqlite:///{root}/catalog.db")
    (root / "store").mkdir(parents=True)
    registry = Registry(home.catalog_url)
    registry.upgrade()
    registry.put_recipe(RecipeRow("0" * 64, "demo", "{}"))
    registry.put_lock(LockRow("1" * 64, "{}"))
    return home, registry


def publish(
    home: Home, registry: Registry, manifest: Manifest, revokes: tuple[str, ...] = ()
) -> None:
    path = f"versions/{manifest.version}/manifest.json"
    target = Path(home.store_url) / path
    target.parent.mkdir(parents=True)
    target.write_bytes(manifest.dump())
    row = VersionRow(
        name=manifest.version,
        lock_digest="1" * 64,
        recipe_digest="0" * 64,
        manifest_path=path,
        manifest_sha256=manifest.digest(),
        documents=sum(group.documents for group in manifest.groups),
        tokens=sum(group.tokens for group in manifest.groups),
        samples=sum(group.samples for group in manifest.groups),
    )
    registry.publish_version(row, [], [], revokes=revokes)
