"""Published versions: manifest, report, statistics, collection of what none uses."""

__all__ = [
    "cluster_changes",
    "drift",
    "foreseen",
    "funnel",
    "gates",
    "gc",
    "gram_digests",
    "panel",
    "pins",
    "publish",
    "published",
    "removed",
    "version",
]
