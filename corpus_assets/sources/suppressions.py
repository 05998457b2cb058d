"""Who must stay out: hosts a recipe blocks, and takedowns' standing orders."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corpus_assets.errors import RecipeError, SourceError
from corpus_assets.sources.urls import canonical_host, host_of_key

KINDS = ("url_key", "url_prefix", "host", "doc_id", "text_id")
ID_BYTES = 16


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

    def with_hosts(self, hosts: Iterable[str]) -> "Blocklist":
        return Blocklist([*sorted(self._hosts), *hosts])

    def __len__(self) -> int:
        return len(self._hosts)

    def match(self, host: str) -> str | None:
        """The listed host that covers `host`, or None. One look-up a label."""
        if not self._hosts:
            return None
        while host:
            if host in self._hosts:
                return host
            host = host.partition(".")[2]
        return None


@dataclass(frozen=True)
class Suppressions:
    """Takedowns in force, ready for look-up: constant time for each kind but prefixes (log n)."""

    url_keys: frozenset[str] = frozenset()
    url_prefixes: tuple[str, ...] = ()  # sorted, none begins with another
    hosts: Blocklist = field(default_factory=Blocklist)
    doc_ids: frozenset[bytes] = frozenset()
    text_ids: frozenset[bytes] = frozenset()
    rows: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str]]) -> "Suppressions":
        """From (kind, value) pairs; URL values are SURT keys, ids are in hex."""
        kept = tuple(sorted(set(rows)))
        by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for kind, value in kept:
            if kind not in by_kind or not value:
                known = ", ".join(KINDS)
                raise RecipeError(f"suppression {kind}={value!r}: expected one of {known}, a value")
            by_kind[kind].append(value)
        return cls(
            url_keys=frozenset(by_kind["url_key"]),
            url_prefixes=_prefix_free(by_kind["url_prefix"]),
            hosts=Blocklist(by_kind["host"]),
            doc_ids=frozenset(_id(value) for value in by_kind["doc_id"]),
            text_ids=frozenset(_id(value) for value in by_kind["text_id"]),
            rows=kept,
        )

    def match_url(self, key: str, host: str) -> str | None:
        """The kind of order that covers a page, or None."""
        if key in self.url_keys:
            return "url_key"
        place = bisect_right(self.url_prefixes, key)
        if place and key.startswith(self.url_prefixes[place - 1]):
            return "url_prefix"
        return "host" if host and self.hosts.match(host) else None

    def match_record(self, key: str, host: str, doc_id: bytes) -> bool:
        """Whether an order covers a record, by its address or its id: needs no text."""
        return doc_id in self.doc_ids or self.match_url(key, host) is not None

    def match_text(self, text_id: bytes, parents: Sequence[str]) -> bool:
        """Whether an order covers a text, or a text it was derived from."""
        return text_id in self.text_ids or any(
            self.match_url(key, host_of_key(key)) is not None for key in parents
        )


def _prefix_free(prefixes: Iterable[str]) -> tuple[str, ...]:
    """Sorted, without those that a shorter one covers: then only the nearest can match."""
    kept: list[str] = []
    for prefix in sorted(prefixes):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return tuple(kept)


def _host(host: str) -> str:
    try:
        return canonical_host(host.strip().removeprefix("*.").removeprefix("."))
    except ValueError as error:
        raise RecipeError(f"{host!r} is not a host; write it like example.com") from error


def _id(value: str) -> bytes:
    try:
        raw = bytes.fromhex(value)
    except ValueError as error:
        raise RecipeError(f"id {value!r} is not hexadecimal; copy it from the catalog") from error
    if len(raw) != ID_BYTES:
        raise RecipeError(f"id {value!r} has {len(raw)} bytes, not {ID_BYTES}; copy it whole")
    return raw
