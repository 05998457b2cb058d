"""Main text of a page, by trafilatura (Barbaresi 2021), and the small things around it.

Only trafilatura's public function is called, so the text is what it returns for the same
settings. Its metadata are left off, they cost more than the text; the title comes from the first
`<title>` and the language from `<html lang>`, by search.
"""

import logging
import re
from html import unescape
from typing import Any, Literal

from trafilatura import extract as trafilatura_extract

from corpus_assets.sources.charset import normalise
from corpus_assets.step import Settings

MAX_TITLE_CHARS = 500
SCAN_CHARS = 1 << 16

_TITLE = re.compile(r"<title\b[^>]{0,512}>([^<]{0,4096})", re.IGNORECASE)
_HTML_TAG = re.compile(r"<html\b([^>]{0,2048})", re.IGNORECASE)
_LANGUAGE = re.compile(
    r"\s(?:xml:)?lang\s*=\s*[\"']?\s*([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*)\b", re.IGNORECASE
)
_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")


class ExtractionSettings(Settings):
    """How text is taken from pages.

    `fast` runs trafilatura's own rules only; `precision` also compares with two other
    extractors and keeps less where they disagree, and takes longer.
    """

    engine: Literal["trafilatura"] = "trafilatura"
    mode: Literal["fast", "precision"] = "fast"
    include_tables: bool = True
    include_comments: bool = False


class Extractor:
    """The extractor of one part: settings checked and logging quietened once."""

    def __init__(self, settings: ExtractionSettings) -> None:
        self._options = extractor_options(settings)
        # it reports every odd page as an error; here each becomes a counted reason instead
        logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

    def extract(self, html: str) -> str:
        """Main text in normal form, empty when there is none. May raise anything."""
        return normalise(trafilatura_extract(html, **self._options) or "")


def extractor_options(settings: ExtractionSettings) -> dict[str, Any]:
    """Settings as arguments of `trafilatura.extract`."""
    return {
        "fast": settings.mode == "fast",
        "favor_precision": settings.mode == "precision",
        "include_tables": settings.include_tables,
        "include_comments": settings.include_comments,
    }


def page_title(html: str) -> str | None:
    found = _TITLE.search(html, 0, SCAN_CHARS)
    if found is None:
        return None
    title = " ".join(normalise(unescape(found[1])).split())
    return title[:MAX_TITLE_CHARS].rstrip() or None


def page_language(html: str, content_language: str = "") -> str | None:
    """The language a page declares, as it writes it; None when it declares none or several."""
    tag = _HTML_TAG.search(html, 0, SCAN_CHARS)
    found = _LANGUAGE.search(tag[1]) if tag else None
    if found is not None:
        return found[1]
    declared = content_language.strip()
    return declared if _TAG.fullmatch(declared) else None
