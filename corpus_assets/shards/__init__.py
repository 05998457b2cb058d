"""Token shards: encode, pack, mix, write, export; `corpus_loader` reads them."""

__all__ = [
    "export",
    "format",
    "mixture",
    "mixture_table",
    "route",
    "settings",
    "stage",
    "token_plan",
    "tokenizer_file",
    "tokens",
]
