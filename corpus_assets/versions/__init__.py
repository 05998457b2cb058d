"""Published versions: manifest, report, statistics, collection of what none uses."""

__all__ = [
    "foreseen",
    "gc",
    "pages",
    "pins",
    "publish",
    "published",
    "removed",
    "statistics",
    "version",
]
