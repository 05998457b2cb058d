"""Published versions: manifest, report, statistics, collection of what none uses."""

__all__ = [
    "benchmarks_found",
    "cluster_changes",
    "drift",
    "foreseen",
    "funnel",
    "gates",
    "gc",
    "gram_digests",
    "pins",
    "publish",
    "published",
    "removed",
    "version",
]
