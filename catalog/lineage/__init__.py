"""The lineage tables: Parquet files that the registry lists, and their key files."""

__all__ = ["duck", "limits", "lookups", "rows", "scans", "tables"]
