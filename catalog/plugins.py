"""What other packages do for the catalog: they register entry points of groups `catalog.*`."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from catalog.errors import CatalogError


def installed(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, by name."""
    return sorted(entry_points(group=group), key=lambda point: (point.name, point.value))


def load(point: EntryPoint, what: str) -> Any:
    """Load what an entry point names; `what` is for the message when it cannot be."""
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise CatalogError(
            f"the {what} {point.value} cannot be loaded: {error}; install the package that "
            "provides it again"
        ) from error
