"""Answers to questions about versions, documents and tokens, as plain values."""

__all__ = [
    "documents",
    "exposure",
    "raw",
    "review",
    "sql",
    "tokens",
    "versions",
]
