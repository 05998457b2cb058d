"""Whether a site's own files let a page be used, and what they say about training on it.

The files are robots.txt, tdmrep.json and ai.txt as they were when the page was fetched. Cost: about
80 us a page with 30 rules a host on a Neoverse N1 (`benchmarks/gates.py`); a host's rules are
decoded once.
"""

from corpus_assets.core.urls import Address
from corpus_assets.ingest.gates.optout import OPTED_OUT, frees_itself
from corpus_assets.ingest.gates.path_rules import path_of
from corpus_assets.ingest.gates.preferences import DISALLOW, Statement
from corpus_assets.ingest.gates.settings import RobotsSettings
from corpus_assets.ingest.gates.site_index import SiteIndex, site_of
from corpus_assets.ingest.records import RawRecord, Refusal

NO_ROBOTS = "no_robots_txt"


def ask_site(
    record: RawRecord,
    address: Address,
    media_type: str,
    robots: RobotsSettings | None,
    sites: SiteIndex,
) -> tuple[Refusal | None, list[Statement]]:
    """Return what the files of a page's host say against fetching it, and about training on it."""
    url = record.url or ""
    site = site_of(url, address)
    rules = None if site is None else sites.find(site, record.fetched_at)
    path = path_of(url)
    if robots is not None:
        if rules is None or rules.agents is None:
            if robots.missing == "refuse":
                return Refusal("robots_disallowed", NO_ROBOTS), []
        else:
            closed = rules.disallowed(path)
            if closed:
                return Refusal("robots_disallowed", closed[0]), []
    if rules is None:
        return None, []
    statements = rules.robots_statements(path)
    if rules.tdmrep and rules.reserved_by_tdmrep(path):
        markup = b"" if media_type == "text/plain" else record.payload
        if not frees_itself(markup, record.header("tdm-reservation")):
            statements.append(Statement(DISALLOW, "file tdmrep.json", OPTED_OUT))
    if rules.refused_by_ai_txt(path, media_type):
        statements.append(Statement(DISALLOW, "file ai.txt", OPTED_OUT))
    return None, statements
