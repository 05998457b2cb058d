"""Addresses that somebody may have meant whose request matches nothing.

A request is exact: `/a` and `/a/` are two pages, and so are `/A` and `/a`. Who asks in vain sees
what stands in the live versions instead: addresses that differ by a slash, by case, by the name of
an index page or by the query; then those of the same site that are spelled most like it; then hosts.
"""

import re
from dataclasses import dataclass
from typing import Annotated

from catalog.answers import Shown
from catalog.formats.urls import one_spelling
from catalog.lineage import LiveLineage
from catalog.takedown.match import HOST_OF_KEY, focus_on_targets
from catalog.takedown.target import Target

SHOWN = 5
LOOKED_AT = 200
MAX_CHARS = 300  # of a path that is compared
MAX_ROWS = 50_000_000  # of the ledgers: beyond, hosts are not compared
_INDEX = re.compile(r"/(?:index|default|home)\.[a-z]{3,5}$")


@dataclass(frozen=True)
class Nearest:
    """A live address or host, and what it differs by from the one that was asked for."""

    address: Annotated[str, Shown("nearest URL")]
    differs_by: str


def nearest(live: LiveLineage, target: Target) -> list[Nearest]:
    """Return live addresses or hosts that are most like one that matches nothing, and how each
    differs; none for requests by id or text. Reads the ledger of one site."""
    if target.kind == "domain":
        return _hosts(live, target.value)
    if target.kind not in ("url", "url_prefix"):
        return []
    asked = one_spelling(target.value)
    place, end, _ = asked.partition(")/")
    site = f"{place})/" if end else asked.partition(":")[0] + ":"
    focus_on_targets(live, [(Target("url_prefix", site, "", (("url_prefix", site),)), False)])
    begin = asked.partition("?")[0].lower()[:MAX_CHARS]
    chars = len(begin) if target.kind == "url_prefix" else MAX_CHARS
    path = f"left(lower(split_part(url_key, '?', 1)), {chars})"
    found = live.query(
        f"SELECT url_key, any_value(url) AS url, levenshtein({path}, ?) AS distance "
        f"FROM {live.scan('records')} WHERE reason IS NULL AND starts_with(url_key, ?) "
        "GROUP BY url_key ORDER BY distance, url_key LIMIT ?",
        [begin, site, LOOKED_AT],
    )
    if not found and end:
        host = live.query(f"SELECT {HOST_OF_KEY} AS host FROM (SELECT ? AS url_key)", [site])
        return _hosts(live, host[0]["host"])
    forms = _forms(asked)
    ranked = sorted(found, key=lambda row: (_rank(forms, row["url_key"]), row["distance"]))
    return [
        Nearest(row["url"] or row["url_key"], list(forms)[_rank(forms, row["url_key"])])
        for row in ranked[:SHOWN]
    ]


def _forms(key: str) -> dict[str, str]:
    """Return a key without what people get wrong, one thing more each time."""
    slash = one_spelling(key).rstrip("/")
    case = slash.lower()
    index = _INDEX.sub("", case)
    query = _INDEX.sub("", case.partition("?")[0].rstrip("/"))
    return {"slash": slash, "case": case, "index page": index, "query": query, "path": ""}


def _rank(forms: dict[str, str], key: str) -> int:
    other = _forms(key)
    return next(n for n, name in enumerate(forms) if not forms[name] or forms[name] == other[name])


def _hosts(live: LiveLineage, asked: str) -> list[Nearest]:
    """Return hosts above and below the one that was asked for, then those spelled almost like it."""
    live.focus({})
    if sum(row.rows for files in live.files.values() for row in files["records"]) > MAX_ROWS:
        return []
    rows = live.query(
        "SELECT host FROM (SELECT DISTINCT host, levenshtein(host, ?) AS distance, "
        "ends_with(host, '.' || ?) OR ends_with(?, '.' || host) AS is_kin "
        f"FROM {live.scan('records')} WHERE reason IS NULL AND host IS NOT NULL) "
        "WHERE is_kin OR distance <= greatest(1, length(host) // 5) "
        "ORDER BY is_kin DESC, distance, host LIMIT ?",
        [asked, asked, asked, SHOWN],
    )
    return [Nearest(row["host"], "host") for row in rows]
