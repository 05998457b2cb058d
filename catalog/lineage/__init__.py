"""The lineage tables: Parquet files that the registry lists, and their key files."""

__all__ = ["lookups", "rows", "tables"]
