"""Answers to questions about versions, documents and tokens, as plain values."""

__all__ = [
    "benchmarks",
    "documents",
    "exposure",
    "raw",
    "review",
    "sql",
    "tokens",
    "versions",
]
