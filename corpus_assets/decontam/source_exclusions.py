"""Places that are known to hold a benchmark: their documents go, whatever their text.

A mirror of a benchmark's repository holds its answers, tests and discussions as well, in forms
that no search for questions finds. Places are told from a document's key alone, so a longer list
recomputes no text.
"""

import re
from collections.abc import Mapping

import pyarrow as pa
from pydantic import Field, field_validator

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings
from corpus_assets.core.urls import Blocklist, address_of

REASON = "holds_benchmark"

REPOSITORY = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}")


class ExclusionSettings(Settings):
    """Addresses and repositories."""

    addresses: tuple[str, ...] = Field(
        default=(),
        description="hosts with all their subdomains, and begins of URLs in whole path segments: "
        "`example.org/data` leaves `/database` alone",
    )
    repositories: tuple[str, ...] = Field(
        default=(),
        description="`owner/name` of a repository, found as two path segments of an address or "
        "of a source file's key, on any host, in any case",
    )

    @field_validator("addresses")
    @classmethod
    def _are_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if _is_host(entry):
                try:
                    Blocklist([entry])
                except RecipeError as error:
                    raise ValueError(str(error)) from error
            elif _prefix_key(entry) is None:
                raise ValueError(f"{entry!r} is not a URL; write it like example.org/data")
        return value

    @field_validator("repositories")
    @classmethod
    def _are_repositories(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not REPOSITORY.fullmatch(name):
                raise ValueError(f"{name!r} is not a repository; write it like owner/name")
        return value

    def __bool__(self) -> bool:
        return bool(self.addresses or self.repositories)


def _is_host(entry: str) -> bool:
    return "/" not in entry


def _prefix_key(prefix: str) -> str | None:
    address = address_of(prefix if "://" in prefix else f"http://{prefix}")
    return None if address is None else address.key.rstrip("/")


class Exclusions:
    """All places of a recipe's suites, by benchmark or number of the suite."""

    def __init__(self, places: Mapping[str, ExclusionSettings]) -> None:
        self._places = [
            (
                name,
                Blocklist(entry for entry in settings.addresses if _is_host(entry)),
                tuple(
                    (_prefix_key(entry) or "", entry)
                    for entry in settings.addresses
                    if not _is_host(entry)
                ),
                tuple((f"/{repo.lower()}/", repo) for repo in settings.repositories),
            )
            for name, settings in places.items()
            if settings
        ]

    def __bool__(self) -> bool:
        return bool(self._places)

    def match(self, key: str, host: str | None) -> str | None:
        """`BENCHMARK: place` for a document that stands in one, the first in recipe order."""
        plain = re.split(r"\)/|:", key, maxsplit=1)[-1].partition("?")[0].lower()
        path = f"/{plain.removesuffix('/')}/".replace(".git/", "/")
        for name, hosts, prefixes, repositories in self._places:
            found = hosts.match(host) if host else None
            for start, prefix in prefixes if found is None else ():
                if key.startswith(start) and key[len(start) : len(start) + 1] in ("", "/", "?"):
                    found = prefix
                    break
            for segments, repository in repositories if found is None else ():
                if segments in path:
                    found = repository
                    break
            if found is not None:
                return f"{name}: {found}"
        return None

    def matches(self, documents: pa.Table) -> dict[int, str]:
        """Row -> place, for the documents (url_key, host) of a part. About a microsecond each."""
        if not self._places:
            return {}
        columns = (documents[name].to_pylist() for name in ("url_key", "host"))
        found = ((row, self.match(*names)) for row, names in enumerate(zip(*columns, strict=True)))
        return {row: place for row, place in found if place is not None}
