"""Near-duplicates: signatures, clusters, and the one document of each that stays."""

__all__ = ["clusters", "export", "oracle", "settings", "stage"]
