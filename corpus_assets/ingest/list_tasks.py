"""Tasks that make lists of addresses, and the lists as a documents task uses them."""

from pathlib import Path

from corpus_assets.core.task import TaskContext
from corpus_assets.ingest.fetch.opening import Reach, open_pinned
from corpus_assets.ingest.gates.categories import CategoryIndex, build_category_index
from corpus_assets.ingest.gates.robots_index import SiteFileSettings, build_index, read_site_files
from corpus_assets.ingest.gates.site_index import SiteIndex
from corpus_assets.ingest.gates.url_lists import UrlLists
from corpus_assets.ingest.source import SourceFile


def category_index(context: TaskContext) -> None:
    lists = [(category, Path(path)) for category, path in context.param("lists")]
    data, counts = build_category_index(lists)
    context.write_bytes("categories.arrow", data)
    context.notes["entries"] = dict(sorted(counts.items()))


def site_rules(context: TaskContext) -> None:
    reach = context.task.params.get("reach")
    open_file = open_pinned if reach is None else Reach.of(reach).open
    files = [SourceFile(**raw) for raw in context.param("files")]
    table = read_site_files(files, context.settings(SiteFileSettings), open_file)
    context.write_table("rules.parquet", table)
    context.counts["site_files"] = table.num_rows


def robots_index(context: TaskContext) -> None:
    settings = context.settings(SiteFileSettings)
    tables = (context.table(name) for name in context.names(""))
    sites, rules = build_index(tables, settings.agents)
    context.write_bytes("sites.arrow", sites)
    context.write_bytes("rules.arrow", rules)


def url_lists(context: TaskContext) -> UrlLists:
    """The lists that a documents task was given."""
    categories = CategoryIndex(context.path("categories")) if context.has("categories") else None
    sites = None
    if context.has("sites"):
        sites = SiteIndex(context.path("sites"), context.path("site_rules"))
    return UrlLists(categories, sites)
