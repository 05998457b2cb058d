"""Hosts that a recipe leaves out, with all their subdomains."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from corpus_assets.core.errors import RecipeError, SourceError
from corpus_assets.ingest.urls import canonical_host


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


def _host(host: str) -> str:
    try:
        return canonical_host(host.strip().removeprefix("*.").removeprefix("."))
    except ValueError as error:
        raise RecipeError(f"{host!r} is not a host; write it like example.com") from error
