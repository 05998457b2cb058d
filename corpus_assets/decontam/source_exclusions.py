"""Places that are known to hold a benchmark: their documents go, whatever their text.

A mirror of a benchmark's repository holds its answers, tests and discussions as well, in forms
that no search for questions finds. Places are matched by a document's key alone, so a longer list
recomputes no text.
"""

import re
from collections.abc import Mapping

import pyarrow as pa

from corpus_assets.core.urls import Blocklist
from corpus_assets.decontam.settings import ExclusionSettings, is_host, prefix_key

REASON = "holds_benchmark"


class Exclusions:
    """All places of a recipe's suites, by benchmark or number of the suite."""

    def __init__(self, places: Mapping[str, ExclusionSettings]) -> None:
        self._places = [
            (
                name,
                Blocklist(entry for entry in settings.addresses if is_host(entry)),
                tuple(
                    (prefix_key(entry) or "", entry)
                    for entry in settings.addresses
                    if not is_host(entry)
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
