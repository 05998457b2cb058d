"""Bounds that settings check and kernels are written for."""

MAX_NGRAM = 64
"""Longest n-gram, in words, that settings may ask for."""


MAX_ORDER = 6
