"""Words, Unicode, hashing, n-grams: kernels that rooms share. The modules are the doors."""

__all__ = [
    "batch",
    "blake2b",
    "bytes",
    "characters",
    "codepoints",
    "compiled",
    "exact_math",
    "feistel",
    "hashing",
    "minhash",
    "ngrams",
    "normal_forms",
    "phrases",
    "pieces",
    "repetition",
    "segment",
    "sketch",
    "split",
    "unicode",
    "words",
]
