"""Selection: which documents stay by their signals, and the cutoffs that the lock pins."""

__all__ = [
    "columns",
    "groups",
    "losses",
    "requirement",
    "rules",
    "selection",
    "shares",
    "stage",
    "tables",
]
