"""Questions about homes and versions: what-if, signals of a document, canary pages, mixes, cost."""

__all__ = [
    "canary",
    "cost",
    "documents",
    "mix",
    "snapshots",
    "sweep",
    "tokenizers",
    "version_columns",
    "whatif",
]
