"""The catalog as pages of a browser: documents, versions, takedowns, tokens. Read-only."""

from pathlib import Path

__all__ = ["STYLE", "app"]

STYLE = Path(__file__).with_name("style.css")
"""The look of all pages: of these, and of reports and certificates, which have it inside."""
