"""The registry (SQLite or PostgreSQL): rows, models, migrations, and methods that own their SQL."""

__all__ = [
    "database",
    "judgements",
    "models",
    "order_book",
    "processes",
    "published",
    "registry",
    "rows",
    "takedowns",
]
