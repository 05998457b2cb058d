"""What a page says of itself at its beginning: title, language, description. By search, never by
parsing.

The usual declarations are searched for with patterns that cannot backtrack far, and a page that
declares nothing has nothing.
"""

import re
from html import unescape

from pageblocks.charset import PageText, normalise

MAX_TITLE_CHARS = 500
MAX_DESCRIPTION_CHARS = 5_000
SCAN_CHARS = 1 << 16
QUICK_BYTES = 1 << 13  # enough for most pages

_TITLE = re.compile(r"<title\b[^>]{0,512}>([^<]{0,4096})", re.IGNORECASE)
_HTML_TAG = re.compile(r"<html\b([^>]{0,2048})", re.IGNORECASE)
_LANGUAGE = re.compile(
    r"\s(?:xml:)?lang\s*=\s*[\"']?\s*([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*)\b", re.IGNORECASE
)
_DESCRIPTION = re.compile(
    r"<meta\b(?=[^<>]{0,9999}?\b(?:property|name)\s*=\s*[\"']?\s*og:description\b)"
    r"[^<>]{0,9999}?\bcontent\s*=\s*(?:\"([^\"]{0,9999})\"|'([^']{0,9999})')",
    re.IGNORECASE,
)
_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")


def page_title(html: str | PageText) -> str | None:
    found = _first(_TITLE, html)
    if found is None:
        return None
    title = " ".join(normalise(unescape(found[1])).split())
    return title[:MAX_TITLE_CHARS].rstrip() or None


def page_language(html: str | PageText, content_language: str = "") -> str | None:
    """Return the language a page declares, as it writes it; None when it declares none or several."""
    tag = _first(_HTML_TAG, html)
    found = _LANGUAGE.search(tag[1]) if tag else None
    if found is not None:
        return found[1]
    declared = content_language.strip()
    return declared if _TAG.fullmatch(declared) else None


def page_description(html: str | PageText) -> str | None:
    """Return the description that a page gives to those who link to it (OpenGraph)."""
    found = _first(_DESCRIPTION, html)
    if found is None:
        return None
    description = " ".join(normalise(unescape(found[1] or found[2] or "")).split())
    return description[:MAX_DESCRIPTION_CHARS].rstrip() or None


def _first(pattern: re.Pattern[str], html: str | PageText) -> re.Match[str] | None:
    """Return the first match among the characters that are looked at.

    Nearly always it stands at the very beginning, which is all that is decoded then. A match that
    ends there before the end does not depend on what follows.
    """
    if isinstance(html, PageText):
        beginning = html.beginning(QUICK_BYTES)
        found = pattern.search(beginning)
        if found is not None and found.end() < len(beginning):
            return found
        html = html.text
    return pattern.search(html, 0, SCAN_CHARS)
