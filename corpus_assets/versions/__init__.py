"""Published versions: manifest, report, statistics, collection of what none uses."""

__all__ = ["gc", "pages", "publish", "published", "removed", "statistics", "version"]
