"""Token shards: encode, pack, mix, write, read, load, export."""

__all__ = [
    "export",
    "format",
    "loader",
    "manifest",
    "mixture",
    "mixture_table",
    "order",
    "pack",
    "settings",
    "stage",
    "tokens",
    "torch_dataset",
]
