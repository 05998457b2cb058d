"""The registry (SQLite or PostgreSQL): rows, models, migrations, and methods that own their SQL."""

__all__ = ["database", "leases", "models", "registry", "rows", "takedowns"]
