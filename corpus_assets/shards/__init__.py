"""Token shards: encode, pack, mix, write, read, load, export."""

__all__ = [
    "export",
    "format",
    "loader",
    "manifest",
    "mixture",
    "mixture_table",
    "order",
    "route",
    "settings",
    "stage",
    "token_plan",
    "tokenizer_file",
    "tokens",
    "torch_dataset",
]
