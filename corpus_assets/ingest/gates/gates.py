"""Gates: cheap refusals before any expensive work, each a pure function of one record.

They are asked in this order, and the first refusal is the record's reason:

| reason | what is wrong |
|---|---|
| `suppressed` | a takedown covers its URL, host, id or a text it was derived from |
| `not_sampled` | the recipe takes a share of the records |
| `damaged_record`, `revisit_record`, `bad_http`, `too_large` | what its reader found |
| `no_url` | a page without a web address: its removal could not be requested |
| `blocked_host`, `blocked_category`, `blocked_url` | on the recipe's lists |
| `http_status` | not a success |
| `content_type` | not a kind of page we extract |
| `too_large` | payload in bytes |
| `robots_disallowed` | the host's robots.txt closes it to the recipe's agents |
| `training_disallowed` | `Content-Usage` or `Content-Signal`, in robots.txt or a header |
| `opted_out` | the publisher's other machine-readable refusals, in the site's files, headers, markup |
| `undecodable` | bytes that are no text |
| `licence_not_allowed` | of the page itself, else of its source |
| `absurd_markup` | nesting or attributes that would hold a parser for minutes |
| `gate_too_short`, `gate_language` | by the roughly stripped text, where the recipe asks |

What each costs a page is measured by `benchmarks/gates.py`.
"""

import re
from collections.abc import Sequence

from corpus_assets.core.urls import Address, Blocklist
from corpus_assets.ingest.gates.code import gate_code, gate_path
from corpus_assets.ingest.gates.licence import UNKNOWN_LICENCE
from corpus_assets.ingest.gates.optout import OPTED_OUT, header_opt_out, meta_opt_out
from corpus_assets.ingest.gates.preferences import (
    DISALLOW,
    Statement,
    header_statements,
    markup_statements,
)
from corpus_assets.ingest.gates.settings import (
    CodeSettings,
    GateSettings,
)
from corpus_assets.ingest.gates.site_gate import ask_site
from corpus_assets.ingest.gates.spdx import allows
from corpus_assets.ingest.gates.url_lists import UrlLists
from corpus_assets.ingest.gates.url_words import blocking_words
from corpus_assets.ingest.kernels.landmarks import Landmarks, find_landmarks
from corpus_assets.ingest.records import RawRecord, Refusal
from pageblocks import markup_extent

_HTML_START = re.compile(rb"\s*(?:<!--.{0,512}?-->\s*)?<(?:!doctype\s+html|html)\b", re.I | re.S)


HTTP_STATUSES = (200,)  # that pass; records without one pass
CONTENT_TYPES = ("text/html", "application/xhtml+xml", "text/plain")  # that are extracted
MAX_NESTING = 512  # browsers flatten from there on; libxml2 ends a page at 256
MAX_ATTRIBUTES = 512  # on one element


def gate_record(
    record: RawRecord,
    address: Address | None,
    settings: GateSettings,
    blocklist: Blocklist,
    lists: UrlLists | None = None,
    collected: list[Statement] | None = None,
) -> Refusal | None:
    """The first refusal by headers and sizes, or None.

    Statements about training are added to `collected`.
    """
    if record.damage is not None:
        return Refusal(record.damage, record.detail)
    is_page = record.text is None
    if address is None:
        if is_page:
            return Refusal("no_url", None if record.url is None else "not_a_web_address")
    else:
        blocked = (
            blocked_host(address, blocklist)
            or blocked_category(address, lists)
            or blocked_url(address, settings)
        )
        if blocked is not None:
            return blocked
    if is_page:
        refusal = http_status(record) or content_type(record)
        if refusal is not None:
            return refusal
    size = (
        len(record.payload) if record.text is None else len(record.text.encode("utf-8", "replace"))
    )
    if size > settings.max_bytes:
        return Refusal("too_large", str(size))
    refusal, statements = site_files(record, address, settings, lists)
    if refusal is not None:
        return refusal
    if is_page:
        statements += header_opt_outs(record, settings)
    return not_for_training(statements, settings, collected)


def gate_page(
    markup: bytes,
    spdx: str,
    settings: GateSettings,
    landmarks: Landmarks | None = None,
    collected: list[Statement] | None = None,
) -> Refusal | None:
    """The first refusal by what markup compatible with ASCII says, or None."""
    known = landmarks or find_landmarks(markup)
    found = meta_opt_out(markup, settings.optout, known.metas)
    statements = [] if found is None else [Statement(DISALLOW, f"meta {found}", OPTED_OUT)]
    if known.has_terms:
        statements += markup_statements(markup)
    refusal = not_for_training(statements, settings, collected)
    return refusal or gate_licence(spdx, settings) or absurd_markup(markup)


def not_for_training(
    statements: Sequence[Statement], settings: GateSettings, collected: list[Statement] | None
) -> Refusal | None:
    """Return the refusal of a page for a statement about training, where the recipe drops such
    pages; all statements are added to `collected`."""
    if collected is not None:
        collected += statements
    if settings.optout.on_disallow == "record":
        return None
    found = next((each for each in statements if each.value == DISALLOW), None)
    return None if found is None else Refusal(found.reason, found.source)


def gate_text(
    record: RawRecord, text: str, spdx: str, settings: GateSettings, code: CodeSettings | None
) -> Refusal | None:
    """The first refusal of ready text, by its licence or by what it is as a source file, or None."""
    if code is not None and record.path is not None:
        refusal = gate_path(record.path, code) or gate_code(
            record.path, text, record.language, code
        )
        if refusal is not None:
            return refusal
    return gate_licence(spdx, settings)


def blocked_host(address: Address, blocklist: Blocklist) -> Refusal | None:
    found = blocklist.match(address.host)
    return None if found is None else Refusal("blocked_host", found)


def blocked_category(address: Address, lists: UrlLists | None) -> Refusal | None:
    found = lists.categories.match(address) if lists and lists.categories else None
    return None if found is None else Refusal("blocked_category", found)


def site_files(
    record: RawRecord, address: Address | None, settings: GateSettings, lists: UrlLists | None
) -> tuple[Refusal | None, list[Statement]]:
    """Return what the host's robots.txt, tdmrep.json and ai.txt say; text without an address has
    none."""
    if address is None or lists is None or lists.sites is None:
        return None, []
    is_response = record.http_status is not None
    kind = media_type(record) if is_response else "text/html"  # what the text was taken from
    return ask_site(record, address, kind, settings.robots, lists.sites)


def blocked_url(address: Address, settings: GateSettings) -> Refusal | None:
    for rule in settings.blocked_url_words:
        if found := blocking_words(address, rule):
            return Refusal("blocked_url", ", ".join(found))
    return None


def http_status(record: RawRecord) -> Refusal | None:
    if record.http_status is None or record.http_status in HTTP_STATUSES:
        return None
    return Refusal("http_status", str(record.http_status))


def media_type(record: RawRecord) -> str:
    """Type without parameters; a page that declares none is HTML if it begins like it."""
    declared = record.content_type.partition(";")[0].strip().lower()
    if not declared and _HTML_START.match(record.payload, 0, 4096):
        return "text/html"
    return declared[:100]


def content_type(record: RawRecord) -> Refusal | None:
    found = media_type(record)
    return None if found in CONTENT_TYPES else Refusal("content_type", found or "none")


def header_opt_outs(record: RawRecord, settings: GateSettings) -> list[Statement]:
    """Return what the headers of a page say about training."""
    tags = [value for name, value in record.headers if name == "x-robots-tag"]
    reservation = record.header("tdm-reservation")
    has_markup = reservation and media_type(record) != "text/plain"
    markup = record.payload if has_markup else b""
    found = header_opt_out(tags, reservation, settings.optout, markup)
    statements = [] if found is None else [Statement(DISALLOW, f"header {found}", OPTED_OUT)]
    return header_statements(record.headers) + statements


def gate_licence(spdx: str, settings: GateSettings) -> Refusal | None:
    allowed = settings.allowed_licences
    is_known = spdx != UNKNOWN_LICENCE
    if allowed is None or (allows(spdx, allowed) if is_known else UNKNOWN_LICENCE in allowed):
        return None
    return Refusal("licence_not_allowed", spdx[:64])


def absurd_markup(markup: bytes) -> Refusal | None:
    depth, attributes = markup_extent(markup, MAX_NESTING, MAX_ATTRIBUTES)
    if depth > MAX_NESTING:
        return Refusal("absurd_markup", "nesting")
    return Refusal("absurd_markup", "attributes") if attributes > MAX_ATTRIBUTES else None
