"""The names a record's URL goes by, and lists of URLs and hosts to look them up in.

The rules of canonical URLs and their keys are the catalog's.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from catalog.formats.urls import (
    canonical_host,
    canonical_url,
    one_spelling,
    url_key,
)
from corpus_assets.core.errors import RecipeError, SourceError

__all__ = [
    "Address",
    "Blocklist",
    "address_of",
    "canonical_host",
    "has_prefix",
    "host_of_key",
    "listed_names",
    "one_spelling",
    "prefix_free",
    "url_key",
]

MAX_PATH_PREFIXES = 32  # that a page is looked up by

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


def listed_names(address: Address) -> Iterator[str]:
    """Return every name under which a list could have a page, the most exact first: its address, each
    begin of its path, its host and each host above it."""
    place, has_query, query = address.canonical[7:].partition("?")
    place = place.removesuffix("/")
    if has_query:
        yield f"{place}?{query}"
    host, _, path = place.partition("/")
    steps = path.split("/")[:MAX_PATH_PREFIXES] if path else []
    for count in range(len(steps), 0, -1):
        yield f"{host}/{'/'.join(steps[:count])}"
    host = address.host
    while host:
        yield host
        host = host.partition(".")[2]


def host_of_key(key: str) -> str:
    """Return the host in a SURT key, empty for a key of another kind."""
    place, found, _ = key.partition(")/")
    if not found:
        return ""
    if place.startswith("["):
        return place.partition("]")[0] + "]"
    return ".".join(reversed(place.partition(":")[0].split(",")))


def prefix_free(prefixes: Iterable[str]) -> tuple[str, ...]:
    """Sort keys, without those that a shorter one covers: then only the nearest can match."""
    kept: list[str] = []
    for prefix in sorted(prefixes):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return tuple(kept)


def has_prefix(key: str, prefixes: Sequence[str]) -> bool:
    """Whether the key begins with one of `prefix_free` prefixes. Logarithmic in their number."""
    place = bisect_right(prefixes, key)
    return place > 0 and key.startswith(prefixes[place - 1])


class Blocklist:
    """Hosts with all their subdomains: `example.com` blocks `a.example.com` as well."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        self._hosts = frozenset(_host(host) for host in hosts)

    @classmethod
    def from_files(cls, paths: Sequence[Path]) -> "Blocklist":
        """One host a line; `#` begins a comment. A `0.0.0.0 host` line of a hosts file works."""
        hosts: list[str] = []
        for path in paths:
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise SourceError(f"{path}: the blocklist cannot be read: {error}") from error
            for number, line in enumerate(lines, 1):
                words = line.partition("#")[0].split()
                if words:
                    try:
                        hosts.append(_host(words[-1]))
                    except RecipeError as error:
                        raise SourceError(f"{path} line {number}: {error}") from error
        return cls(hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._hosts)

    def match(self, host: str) -> str | None:
        """Return the listed host that covers `host`, or None. One look-up a label."""
        if not self._hosts:
            return None
        while host:
            if host in self._hosts:
                return host
            host = host.partition(".")[2]
        return None


def _host(host: str) -> str:
    try:
        return canonical_host(host.strip().removeprefix("*.").removeprefix("."))
    except ValueError as error:
        raise RecipeError(f"{host!r} is not a host; write it like example.com") from error
