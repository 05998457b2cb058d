"""The day a page says it was published. By search, never by parsing.

Libraries for this take longer than the extraction of the text (trafilatura's metadata, htmldate).
Here the page is searched for the usual declarations, with patterns that cannot backtrack far, and a
page that declares nothing has nothing.
"""

import re
from collections.abc import Iterable, Iterator

from corpus_assets.ingest.kernels.landmarks import Landmarks, find_landmarks, tags_with

MAX_TAG_BYTES = 1024
MAX_PLACES = 200
TIME_TAG = b"<time"
JSON_NAME = b'"datePublished"'
FIRST_YEAR = 1990  # no page is older

_DATE_WORDS = (b"dat", b"pub", b"issued", b"created")
_DATE_WORD = re.compile(rb"[Dd][Aa][Tt]|[Pp]ub|[Ii]ssued|[Cc]reated")  # in all the names below
_META_NAME = re.compile(
    rb"\b(?:name|property|itemprop)\s*=\s*[\"']?\s*([\w.:-]{1,60})", re.IGNORECASE
)
_META_CONTENT = re.compile(rb"\bcontent\s*=\s*[\"']?\s*([^\"'>]{8,60})", re.IGNORECASE)
_JSON_VALUE = re.compile(rb"\s{0,8}:\s{0,8}\"([^\"]{8,40})\"")
_TIME_VALUE = re.compile(rb"\bdatetime\s*=\s*[\"']?\s*([^\"'>]{8,40})", re.IGNORECASE)
_ISO_DATE = re.compile(rb"((?:19|20)\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

DATE_NAMES = (
    "article:published_time",
    "datepublished",
    "og:article:published_time",
    "publication_date",
    "publish_date",
    "publish-date",
    "publishdate",
    "pubdate",
    "sailthru.date",
    "parsely-pub-date",
    "citation_publication_date",
    "dc.date.issued",
    "dcterms.issued",
    "dc.date.created",
    "dcterms.created",
    "dc.date",
    "dcterms.date",
    "date",
)
"""Names under which pages declare when they were published, most trusted first."""
_RANK = {name.encode(): rank for rank, name in enumerate(DATE_NAMES)}


def find_page_date(markup: bytes, landmarks: Landmarks | None = None) -> str | None:
    """The day a page says it was published, as YYYY-MM-DD in the time zone it writes.

    From `<meta>`, else from JSON-LD's `datePublished`, else from a `<time pubdate>` or one marked
    `datePublished`. Dates in prose are not looked for. `markup` is compatible with ASCII,
    `landmarks` are its own where they are known.
    """
    known = landmarks or find_landmarks(markup)
    metas = tags_with(markup, known.metas[:MAX_PLACES], _DATE_WORDS, MAX_TAG_BYTES)
    best, best_rank = None, len(DATE_NAMES)
    for tag in _tags(markup, metas):
        if not _DATE_WORD.search(tag):
            continue
        name = _META_NAME.search(tag)
        rank = _RANK.get(name[1].lower(), best_rank) if name else best_rank
        if rank < best_rank:
            content = _META_CONTENT.search(tag)
            day = _day(content[1]) if content else None
            if day is not None:
                best, best_rank = day, rank
    if best is not None:
        return best
    for at in known.dates:
        value = _JSON_VALUE.match(markup, at + len(JSON_NAME))
        day = _day(value[1]) if value else None
        if day is not None:
            return day
    for tag in _tags(markup, _places(markup, TIME_TAG)) if known.is_dated else ():
        marks = tag.lower()
        if b"pubdate" in marks or b"datepublished" in marks:
            value = _TIME_VALUE.search(tag)
            day = _day(value[1]) if value else None
            if day is not None:
                return day
    return None


def _tags(markup: bytes, places: Iterable[int]) -> Iterator[bytes]:
    """Yield the tags that begin at these places, without their last character."""
    for at in places:
        yield markup[at : max(markup.find(b">", at, at + MAX_TAG_BYTES), at)]


def _places(markup: bytes, word: bytes) -> Iterator[int]:
    """Where a word stands, a bounded number of times."""
    at = -1
    for _ in range(MAX_PLACES):
        at = markup.find(word, at + 1)
        if at < 0:
            return
        yield at


def _day(written: bytes) -> str | None:
    """Return a date in ISO 8601 form at the start of a value."""
    found = _ISO_DATE.match(written.strip())
    if found is None:
        return None
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    if year < FIRST_YEAR or not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1]:
        return None
    return f"{year:04d}-{month:02d}-{day:02d}"
