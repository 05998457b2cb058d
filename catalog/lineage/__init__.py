"""The lineage tables: Parquet files that the registry lists, and their key files."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from catalog.lineage.duck import Row, first_line
    from catalog.lineage.limits import SPILL, QueryLimits
    from catalog.lineage.lookups import (
        SHOWN,
        SPAN,
        Found,
        cluster_rows,
        doc_ids_between,
        doc_ids_of_text,
        members_of,
        places_of,
        records_by_host,
        records_by_id,
        records_by_url,
        records_of,
        spans_of,
    )
    from catalog.lineage.rows import KeyFile, Keys, Rows, domain_ranges, prefix_ranges
    from catalog.lineage.scans import LineageFiles, empty_table, mentions, named_tables, quoted
    from catalog.lineage.tables import MIN_PREFIX, Lineage, LiveLineage, deletion, require_present
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "MIN_PREFIX",
    "SHOWN",
    "SPAN",
    "SPILL",
    "Found",
    "KeyFile",
    "Keys",
    "Lineage",
    "LineageFiles",
    "LiveLineage",
    "QueryLimits",
    "Row",
    "Rows",
    "cluster_rows",
    "deletion",
    "doc_ids_between",
    "doc_ids_of_text",
    "domain_ranges",
    "empty_table",
    "first_line",
    "members_of",
    "mentions",
    "named_tables",
    "places_of",
    "prefix_ranges",
    "quoted",
    "records_by_host",
    "records_by_id",
    "records_by_url",
    "records_of",
    "require_present",
    "spans_of",
]
