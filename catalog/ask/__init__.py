"""Answers to questions about versions, documents and tokens, as plain values."""
