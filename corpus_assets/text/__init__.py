"""Words, Unicode, n-grams, sketches: kernels that rooms share. The modules are the doors."""

__all__ = [
    "batch",
    "blake2b",
    "blank_texts",
    "characters",
    "codepoints",
    "exact_math",
    "line_kinds",
    "minhash",
    "ngrams",
    "phrases",
    "pieces",
    "raw_lines",
    "repetition",
    "segment",
    "sketch",
    "split",
    "ties",
    "unicode",
    "words",
]
