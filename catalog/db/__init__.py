"""The registry (SQLite or PostgreSQL): rows, models, migrations, and methods that own their SQL."""

__all__ = [
    "database",
    "judgements",
    "leases",
    "models",
    "order_book",
    "registry",
    "rows",
    "takedowns",
]
