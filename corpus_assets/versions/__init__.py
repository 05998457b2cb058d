"""Published versions: manifest, report, statistics, collection of what none uses."""

__all__ = [
    "benchmarks_found",
    "drift",
    "foreseen",
    "funnel",
    "gates",
    "gc",
    "pages",
    "pins",
    "publish",
    "published",
    "removed",
    "version",
]
