"""Questions about homes and versions: what-if, signals of a document, canary pages, mixes, cost."""

__all__ = [
    "benchmark_hits",
    "canary",
    "canary_page",
    "cost",
    "document_signals",
    "mix",
    "mix_plot",
    "review",
    "snapshots",
    "sweep",
    "tokenizers",
    "unreadable_files",
    "version_columns",
    "whatif",
    "whatif_answer",
]
