"""What a takedown asks for, in the one form that ingest, catalog and people agree on."""

import hashlib
import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, replace

from catalog.db import TAKEDOWN_KINDS
from catalog.errors import TakedownRefused
from catalog.formats.ids import text_id
from catalog.formats.sketches import NEAR_TEXT
from catalog.formats.urls import canonical_host, host_key, one_spelling, url_key
from catalog.takedown.near_copies import sketch_of

MAX_VALUE_BYTES = 2000  # what an index of PostgreSQL is sure to hold
ID_DIGITS = 32
SHA256_DIGITS = 64
ADDRESS_ORDERS = ("url_key", "url_prefix", "host")
CATEGORIES = re.compile(
    "ac|com?|edu?|gen|go|gob|gouv|govt?|gv|info|ltd|mil|muni|net?|nhs|nom|org?|plc|police|sch|web"
)
"""What registries of countries put before their letters: `co.uk`, `com.au`, `ac.jp`."""


@dataclass(frozen=True, slots=True)
class Target:
    """`kind` and `value` as in `TakedownRow`; `orders` are the suppressions it stands for."""

    kind: str
    value: str
    given: str
    orders: tuple[tuple[str, str], ...]
    text_sha256: str | None = None


def target_of(kind: str, value: str, sources: Collection[str] = ()) -> Target:
    """Target what is written as a kind and a value; TakedownRefused where that says nothing."""
    if kind == "url":
        return url_target(value, sources)
    if kind == "url_prefix":
        return url_prefix_target(value, sources)
    simple = {
        "domain": domain_target,
        "doc_id": doc_id_target,
        "text_id": text_id_target,
        "text_sha256": text_sha256_target,
    }
    if kind not in simple:
        raise TakedownRefused(f"{kind[:40]!r} is none of {', '.join(TAKEDOWN_KINDS)}")
    return simple[kind](value)


def url_target(url: str, sources: Collection[str] = ()) -> Target:
    """Target one page in any spelling of its address, or the key of a record without one.

    `SOURCE:KEY` is a record's key where a source of that name is recorded; what is no web
    address and no such key is refused.
    """
    key = _address(url, sources)
    return Target("url", key, url.strip(), (("url_key", key),))


def url_prefix_target(prefix: str, sources: Collection[str] = ()) -> Target:
    """Target all pages whose canonical address begins so, letter by letter: `/blog` covers `/blogger`.

    Query parameters are sorted in canonical addresses, so a prefix may end inside its first
    parameter and not later.
    """
    path, mark, query = prefix.strip().partition("?")
    key = _address(path, sources)
    if mark:
        if "&" in query or "#" in query:
            raise TakedownRefused(
                f"the prefix {prefix!r} has several query parameters; they are sorted in "
                "canonical URLs, so end the prefix before the first '&'"
            )
        with_query = _address(prefix, sources)
        if query and "?" not in with_query:
            raise TakedownRefused(
                f"the parameter of {prefix!r} only names a click or a session and is in no canonical address: "
                "leave it out"
            )
        key = with_query if query else f"{key}?"
    elif path.endswith(("/.", "/..")):
        raise TakedownRefused(f"the prefix {prefix!r} ends in dots: write out the path it means")
    return Target("url_prefix", key, prefix.strip(), (("url_prefix", key),))


def domain_target(domain: str) -> Target:
    """Target a host with all its subdomains; `*.example.com` and a leading dot mean the same.

    `www.example.com` is that host with what is below it, and none of its siblings. Canonical
    addresses have no `www.`, so it cannot be distinguished from `example.com`: both are covered.
    """
    written = domain.strip().removeprefix("*.").removeprefix(".")
    try:
        host = canonical_host(written)
    except ValueError as error:
        raise TakedownRefused(f"{domain!r} is not a host: write it like example.com") from error
    orders: tuple[tuple[str, str], ...] = (("host", host),)
    if written.lower().startswith("www.") and not host.startswith("www."):
        key, host = host_key(host), f"www.{host}"
        orders = tuple(("url_prefix", f"{key}{end}") for end in (")", ":", ",www,"))
    return Target("domain", _fitting(host), domain.strip(), orders)


def scope_of(target: Target) -> str | None:
    """Return which hosts a domain means, in words; None for what is no domain."""
    if target.kind != "domain":
        return None
    if target.orders[0][0] == "host":
        return f"{target.value} and every host below it"
    bare = target.value.removeprefix("www.")
    return f"{target.value}, which is one address with {bare}; no other host of {bare}"


def is_shared_suffix(host: str) -> bool:
    """Whether sites of many owners stand below a name: `uk`, `co.uk`. No list of registered
    suffixes is used, so this is known of countries' usual categories only."""
    labels = host.split(".")
    return len(labels) == 1 or (
        len(labels) == 2 and len(labels[1]) == 2 and CATEGORIES.fullmatch(labels[0]) is not None
    )


def doc_id_target(written: str) -> Target:
    """Target one document by its whole id in hex."""
    digits = _digits(written, ID_DIGITS, "a document id")
    return Target("doc_id", digits, digits, (("doc_id", digits),))


def text_id_target(written: str) -> Target:
    """Target all documents of one text, by its id as the catalog shows it."""
    digits = _digits(written, ID_DIGITS, "a text id")
    return Target("text_id", digits, digits, (("text_id", digits),))


def text_sha256_target(written: str) -> Target:
    """Target all documents of one text, by SHA-256; the text's id is the first half of it."""
    digits = _digits(written, SHA256_DIGITS, "a SHA-256")
    return Target("text_sha256", digits, digits, (("text_id", digits[:ID_DIGITS]),), digits)


def text_target(text: str) -> Target:
    """Target all documents of exactly this text, with or without line ends after it.

    The text is brought into the form in which ingest keeps it (NFC, `\\n`, no NUL); only its
    digests are kept.
    """
    kept = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    kept = unicodedata.normalize("NFC", kept)
    bare = kept.rstrip("\n")
    if not bare.strip():
        raise TakedownRefused("the text is empty: give the whole text of the document")
    ids = dict.fromkeys([text_id(bare).hex(), text_id(f"{bare}\n").hex(), text_id(kept).hex()])
    data = bare.encode("utf-8", "surrogatepass")
    orders = tuple(("text_id", digits) for digits in ids)
    return Target("text_id", next(iter(ids)), "", orders, hashlib.sha256(data).hexdigest())


def with_near_copies(target: Target, text: str) -> Target:
    """Extend a text's target to its near copies, where the text is long enough to tell them."""
    sketch = sketch_of(text)
    if sketch is None:
        return target
    return replace(target, orders=(*target.orders, (NEAR_TEXT, sketch)))


def _address(url: str, sources: Collection[str]) -> str:
    written = unicodedata.normalize("NFC", url.strip())
    try:
        written.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TakedownRefused("the URL has an unpaired surrogate: copy it again") from error
    if "\0" in written or not written:
        raise TakedownRefused("a URL cannot be empty or contain a NUL character")
    source, colon, key = written.partition(":")
    if colon and key and not key.startswith("//") and source in sources:
        return _fitting(written)
    try:
        return _fitting(one_spelling(url_key(written)))
    except ValueError as error:
        if ")/" in written and "://" not in written:  # a SURT key as the catalog shows it
            return _fitting(one_spelling(written))
        raise TakedownRefused(
            f"{written[:80]!r} is not a web address, nor SOURCE:KEY of a recorded source: "
            "look the document up with `catalog find` and give its --doc-id"
        ) from error


def _fitting(value: str) -> str:
    size = len(value.encode("utf-8"))
    if size > MAX_VALUE_BYTES:
        raise TakedownRefused(
            f"an address of {size} bytes is longer than {MAX_VALUE_BYTES}: give the document's "
            "--doc-id, or its beginning as --url-prefix"
        )
    return value


def _digits(written: str, count: int, what: str) -> str:
    digits = written.strip().lower()
    if len(digits) != count or set(digits) - set("0123456789abcdef"):
        raise TakedownRefused(f"{written[:80]!r} is not {what}: give {count} hex digits")
    return digits
