"""The names a record's URL goes by. The rules themselves are the catalog's."""

import re
from contextlib import suppress
from typing import NamedTuple

from catalog.formats.urls import canonical_host, canonical_url, current_key, url_key

__all__ = ["Address", "address_of", "canonical_host", "current_order", "host_of_key", "url_key"]


_PLAIN = re.compile(
    r"https?://(?:www\.)?((?!www\.)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,3}[a-z]{2,63})"
    r"(/[A-Za-z0-9!$&'*+,./:=@_~-]{0,2000})"
)
"""Addresses that every rule leaves as they are, but for scheme and `www.`: most there are. A test
holds the two ways against each other."""


class Address(NamedTuple):
    canonical: str
    key: str  # SURT form
    host: str  # canonical, without port


def address_of(url: str) -> Address | None:
    """The URL's names; None when it is not a web address (`dns:`, `urn:`, nonsense)."""
    plain = _PLAIN.fullmatch(url)
    if plain is not None and "/." not in plain[2]:
        host, path = plain.groups()
        return Address(f"http://{host}{path}", f"{','.join(host.split('.')[::-1])}){path}", host)
    try:
        canonical = canonical_url(url)
        key = url_key(canonical)
    except ValueError:
        return None
    authority = canonical.removeprefix("http://").partition("/")[0]
    bracket = authority.rfind("]")
    colon = authority.find(":", bracket + 1)
    return Address(canonical, key, authority if colon < 0 else authority[:colon])


def current_order(kind: str, value: str) -> str:
    """The value of a standing order in today's form of addresses, whichever release stored it."""
    if kind in ("url_key", "url_prefix"):
        return current_key(value, is_prefix=kind == "url_prefix")
    if kind == "host":
        with suppress(ValueError):
            return canonical_host(value)
    return value


def host_of_key(key: str) -> str:
    """The host in a SURT key, empty for a key of another kind."""
    place, found, _ = key.partition(")/")
    if not found:
        return ""
    if place.startswith("["):
        return place.partition("]")[0] + "]"
    return ".".join(reversed(place.partition(":")[0].split(",")))
