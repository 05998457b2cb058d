"""Lists that a page's address is looked up in, beside the recipe's own blocklist."""

from dataclasses import dataclass

from corpus_assets.ingest.gates.categories import CategoryIndex
from corpus_assets.ingest.gates.site_index import SiteIndex


@dataclass(frozen=True)
class UrlLists:
    """None: the recipe asks for no such list."""

    categories: CategoryIndex | None = None
    sites: SiteIndex | None = None
