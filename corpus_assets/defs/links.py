"""Addresses of `catalog serve`, where CORPUS_PAGES_URL says under which it is reached: links from
what Dagster shows to a version, its report, a takedown and its certificate."""

import os
from collections.abc import Sequence
from urllib.parse import quote

import dagster as dg

SHOWN = 50


def page(*path: str) -> str | None:
    """Return the address of a page; None where no address is set."""
    base = os.environ.get("CORPUS_PAGES_URL", "").strip().rstrip("/")
    return "/".join([base, *(quote(part, safe="") for part in path)]) if base else None


def version_links(name: str, store_url: str) -> dict[str, dg.MetadataValue]:
    """Return where a version's report is, and its page where there is one."""
    report, shown = page("versions", name, "report"), page("versions", name)
    if report is None or shown is None:
        path = f"{store_url}/versions/{name}/report.html"
        return {"report": dg.MetadataValue.path(path)}
    return {"report": dg.MetadataValue.url(report), "page": dg.MetadataValue.url(shown)}


def takedown_link(number: int) -> dg.MetadataValue:
    """Return the number of a takedown, or its page where there is one."""
    address = page("takedowns", str(number))
    return dg.MetadataValue.int(number) if address is None else dg.MetadataValue.url(address)


def certificate_links(requests: Sequence[int]) -> dg.MetadataValue:
    """Return where the certificates of takedowns are, as a list."""
    lines = []
    for number in requests[:SHOWN]:
        file = f"{number:08d}.html"
        address = page("takedowns", str(number), file)
        lines.append(f"- [{file}]({address})" if address else f"- certificates/{file}")
    if len(requests) > SHOWN:
        lines.append(f"- and {len(requests) - SHOWN:,} more")
    return dg.MetadataValue.md("\n".join(lines))
