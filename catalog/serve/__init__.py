"""The catalog as pages of a browser: documents, versions, takedowns, tokens. Read-only."""

__all__ = ["app"]
