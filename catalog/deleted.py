"""Versions that a takedown replaced and whose files are gone: what to say of them."""

from catalog.errors import VersionDeleted
from catalog.files import Store
from catalog.registry import Registry
from catalog.rows import VersionRow


def deletion(registry: Registry, store: Store, version: VersionRow) -> str | None:
    """Say when and why a version was deleted, and what took its place; None where it is there."""
    if version.status != "revoked" or store.exists(version.manifest_path):
        return None
    requests = ", ".join(str(number) for number in registry.requests_behind(version.name))
    after = f"after takedown {requests}" if requests else "after it was revoked"
    instead = f": {version.superseded_by} took its place" if version.superseded_by else ""
    return f"version {version.name} was deleted {after}{instead}"


def require_present(registry: Registry, store: Store, version: VersionRow) -> None:
    """Refuse to look into a version that was deleted."""
    said = deletion(registry, store, version)
    if said is not None:
        ask = f", ask for {version.superseded_by}" if version.superseded_by else ""
        raise VersionDeleted(
            f"{said}{ask}; `catalog diff {version.name} OTHER` compares what the registry still knows"
        )
