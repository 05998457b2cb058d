"""Questions about homes and versions: what-if, signals of a document, canary pages, mixes."""

__all__ = [
    "canary",
    "documents",
    "mix",
    "snapshots",
    "sweep",
    "tokenizers",
    "version_columns",
    "whatif",
]
