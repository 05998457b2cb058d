"""Published versions: manifest, report, statistics, collection of what none uses."""

__all__ = ["gc", "pages", "pins", "publish", "published", "removed", "statistics", "version"]
