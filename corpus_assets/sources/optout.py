"""What a page says about being used: machine-readable opt-outs in its headers and its markup.

* `X-Robots-Tag` and `<meta name="robots">`: directives such as `noai`. A directive addressed to
  one agent (`gptbot: noai`, `<meta name="ccbot" ...>`) counts whoever it names: a publisher who
  tells one crawler of training data means the practice.
* `tdm-reservation: 1`, as header or `<meta>` (W3C TDM Reservation Protocol).

`noimageai` speaks of images only and `noindex` of search, so both are left to the recipe.
"""

import re
from collections.abc import Iterator
from html import unescape

from pydantic import Field

from corpus_assets.step import Settings

_DIRECTIVE = re.compile(r"[a-z][a-z0-9_-]*")
_ATTRIBUTE = re.compile(
    rb"(?:^|(?<=[\s\"'/]))(name|content)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>`]+))"
)
MAX_TAG_BYTES = 2048  # of one <meta>; a longer one is read as several


class OptOutSettings(Settings):
    """Which signals are honoured."""

    headers: tuple[str, ...] = Field(default=("noai",), description="X-Robots-Tag directives")
    meta: tuple[str, ...] = Field(default=("noai",), description="robots meta directives")
    tdm_reservation: bool = True
    noindex: bool = False


def header_opt_out(robots_tag: str, tdm_reservation: str, settings: OptOutSettings) -> str | None:
    """The directive in the HTTP headers that rules the page out, or None."""
    if settings.tdm_reservation and tdm_reservation.strip().startswith("1"):
        return "tdm-reservation"
    return _directive(robots_tag, settings.headers, settings.noindex) if robots_tag else None


def meta_opt_out(markup: bytes, settings: OptOutSettings) -> str | None:
    """The directive in the page's `<meta>` tags that rules it out, or None.

    `markup` is in lower case and compatible with ASCII. Tags count wherever they stand, in
    comments too: in doubt the page is left alone.
    """
    for tag in _meta_tags(markup):
        name = tag.get("name", "").strip()
        content = tag.get("content", "")
        if name == "tdm-reservation":
            if settings.tdm_reservation and content.strip().startswith("1"):
                return "tdm-reservation"
        elif name == "robots" or name.endswith("bot"):
            found = _directive(content, settings.meta, settings.noindex)
            if found is not None:
                return found
    return None


def _directive(value: str, refused: tuple[str, ...], noindex: bool) -> str | None:
    words = set(_DIRECTIVE.findall(value.lower()))
    for directive in refused:
        if directive.lower() in words:
            return directive.lower()
    # "none" is short for "noindex, nofollow"
    return "noindex" if noindex and words & {"noindex", "none"} else None


def _meta_tags(markup: bytes) -> Iterator[dict[str, str]]:
    at = markup.find(b"<meta")
    while at >= 0:
        end = markup.find(b">", at, at + MAX_TAG_BYTES)
        end = end if end >= 0 else at + MAX_TAG_BYTES
        tag = markup[at + 5 : end]
        if b"bot" in tag or b"tdm-reservation" in tag:
            yield {
                name.decode("ascii"): unescape((double or single or bare).decode("latin-1"))
                for name, double, single, bare in _ATTRIBUTE.findall(tag)
            }
        at = markup.find(b"<meta", end)
