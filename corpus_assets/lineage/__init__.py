"""The stage that writes key files, so that a document or address is found in milliseconds."""

__all__ = ["stage"]
