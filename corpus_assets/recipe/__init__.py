"""Recipes: the settings of all rooms put together, read and checked."""

__all__ = [
    "evidence",
    "load",
    "operations",
    "recipe",
    "skipped_files",
    "snapshots",
]
