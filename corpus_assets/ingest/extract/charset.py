"""The charset of pages, with uchardet for those that say nothing credible of it."""

from resiliparse.parse.encoding import detect_encoding

import pageblocks
from pageblocks import Decoded, PageText


def read_page(payload: bytes, content_type: str = "") -> PageText | Decoded:
    """Return a page's text; `Decoded` with no text when the bytes are none."""
    return pageblocks.read_page(payload, content_type, _detect)


def decode(payload: bytes, content_type: str = "") -> Decoded:
    """Decode a page; NUL characters are removed."""
    return pageblocks.decode(payload, content_type, _detect)


def _detect(sample: bytes) -> str | None:
    found: str | None = detect_encoding(sample, html5_compatible=False)
    return found
