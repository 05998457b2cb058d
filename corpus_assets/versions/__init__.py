"""Published versions: manifest, report, statistics, collection of what none uses."""

__all__ = [
    "foreseen",
    "gates",
    "gc",
    "pages",
    "pins",
    "publish",
    "published",
    "removed",
    "statistics",
    "version",
]
