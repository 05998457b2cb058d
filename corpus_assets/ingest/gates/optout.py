"""What a page says about being used: machine-readable opt-outs in its headers and its markup.

* `X-Robots-Tag` and `<meta name="robots">`: directives such as `noai`. A directive may be
  addressed to one agent (`gptbot: noai`, `<meta name="ccbot" ...>`). By default it counts where
  that agent trains: a publisher who tells one crawler of training data means
  the practice, and who tells a search engine does not. The recipe can name the agents instead.
* `tdm-reservation: 1`, as header or `<meta>`. Markup goes before headers, and headers before the
  site's `tdmrep.json` (W3C TDM Reservation Protocol, section 6.4): a page can reserve, or free,
  itself.

`noimageai` speaks of images only and `noindex` of search, so both are left to the recipe.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from html import unescape

from corpus_assets.ingest.gates.settings import OptOutSettings
from corpus_assets.ingest.gates.tdm_reservation import is_freed, is_reserved
from corpus_assets.ingest.kernels.landmarks import find_landmarks, quoted_tags_with

MAX_TAG_BYTES = 1 << 16  # of one <meta>; what a longer one says after them is not read
MAX_HEADER_CHARS = 8192

OPTED_OUT = "opted_out"

_VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
_SCOPE = re.compile(r"[\s\"']*([a-z0-9_*.-]{1,64})(?:/[a-z0-9_.+-]{0,64})?\s*:")
_REFERENCE = b"&#"  # letters and hyphens have no named ones
_BETWEEN_WORDS = re.compile(r"[\s,;:\"']+")
_ATTRIBUTE = re.compile(
    rb"(?<![^\s\"'>/=])([^\s\"'>/=]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|"
    rb"((?:(?!/(?:\Z|(?:name|content|http-equiv)\s*=))[^\s\"'<>`])++))"
)
"""An attribute and its value. A bare value may hold a slash, and so `name=robots/content=noai/` is
one attribute to a browser; its writer meant two."""


def header_opt_out(
    robots_tags: Iterable[str],
    tdm_reservation: str,
    settings: OptOutSettings,
    markup: bytes = b"",
) -> str | None:
    """Return the directive in the HTTP headers that rules the page out, or None.

    `markup` is that of the page, which can free itself from a reservation in the headers.
    """
    if is_reserved(tdm_reservation) and not frees_itself(markup, tdm_reservation):
        return "tdm-reservation"
    for tag in robots_tags:
        found = _refused(_in_scope(tag, settings), settings.directives)
        if found is not None:
            return found
    return None


def meta_opt_out(
    markup: bytes, settings: OptOutSettings, metas: Sequence[int] | None = None
) -> str | None:
    """Return the directive in the page's `<meta>` tags that rules it out, or None.

    `markup` is compatible with ASCII, `metas` are the places of its tags where they are known.
    Tags count wherever they stand, in comments too: in doubt the page is left alone.
    """
    places = find_landmarks(markup).metas if metas is None else metas
    for name, content in _meta_tags(markup, places, _needles(settings)):
        if name == "tdm-reservation":
            if is_reserved(content):
                return "tdm-reservation"
        elif _counts(name, settings):
            words = _words(content)
            if name == "x-robots-tag":
                words = _in_scope(content, settings)
            found = _refused(words, settings.directives)
            if found is not None:
                return found
    return None


def frees_itself(markup: bytes, tdm_reservation: str) -> bool:
    """Whether a page says `tdm-reservation: 0` of itself, in markup or, failing that, headers."""
    metas = find_landmarks(markup).metas
    for name, content in _meta_tags(markup, metas, (b"tdm-reservation", _REFERENCE)):
        if name == "tdm-reservation":
            return is_freed(content)
    return is_freed(tdm_reservation)


def _counts(name: str, settings: OptOutSettings) -> bool:
    return name in ("robots", "x-robots-tag") or name in _agents(settings)


@lru_cache(maxsize=16)
def _agents(settings: OptOutSettings) -> frozenset[str]:
    """In lower case, whose own directives count."""
    return frozenset(agent.lower() for agent in settings.agents)


def _in_scope(tag: str, settings: OptOutSettings) -> set[str]:
    """Return the directives of an X-Robots-Tag that count: `noindex, gptbot/1.1: noai, noimageai`.

    A name with a colon begins a scope, unless it is a directive with a value of its own. Versions
    of agents are passed over.
    """
    words: set[str] = set()
    counts = True
    for piece in tag[:MAX_HEADER_CHARS].lower().split(","):
        scope = _SCOPE.match(piece)
        if scope is not None and scope[1] not in _VALUED:
            name, piece = scope[1], piece[scope.end() :]
            counts = name in ("*", "robots") or name in _agents(settings)
        if counts:
            words |= _words(piece)
    return words


def _words(content: str) -> set[str]:
    return set(_BETWEEN_WORDS.split(content.lower()[:MAX_HEADER_CHARS]))


def _refused(words: set[str], refused: tuple[str, ...]) -> str | None:
    if "none" in words:
        words = words | {"noindex"}  # it is short for "noindex, nofollow"
    return next((each for each in map(str.lower, refused) if each in words), None)


@lru_cache(maxsize=16)
def _needles(settings: OptOutSettings) -> tuple[bytes, ...]:
    """Words of which a tag must hold one to be worth reading: a directive, or a character reference
    that may stand for a letter of one."""
    words = [directive.lower() for directive in settings.directives]
    words += ["none"] if "noindex" in words else []
    return (*(word.encode() for word in words), b"tdm-reservation", _REFERENCE)


def _meta_tags(
    markup: bytes, metas: Sequence[int], needles: tuple[bytes, ...]
) -> Iterator[tuple[str, str]]:
    """Name and content of the `<meta>` tags that hold a needle; all others are passed over."""
    for at, end in quoted_tags_with(markup, metas, needles, MAX_TAG_BYTES):
        found: dict[bytes, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(markup[at + 5 : end].lower()):
            value = (double or single or bare).decode("latin-1")
            found.setdefault(name, unescape(value).lower())  # `&#65;` is a capital
        yield (
            (found.get(b"name") or found.get(b"http-equiv") or "").strip(),
            found.get(b"content", ""),
        )
