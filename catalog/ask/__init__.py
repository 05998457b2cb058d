"""Answers to questions about versions, documents and tokens, as plain values."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from catalog.ask.benchmarks import BY_BENCHMARK, BY_ITEM, BenchmarkFound, benchmarks_found
    from catalog.ask.documents import (
        ClusterStory,
        FoundRecords,
        History,
        cluster_story,
        document_history,
        find_host,
        find_ids,
        find_text,
        find_url,
        outcome_of,
        resolve_doc_id,
    )
    from catalog.ask.exposure import Exposure, training_exposure
    from catalog.ask.home import Status, home_status
    from catalog.ask.raw import (
        FetchedRecord,
        fetch_original,
        refuse_suppressed,
        takedowns_covering,
        withheld,
    )
    from catalog.ask.sql import QueryAnswer, check_query, run_query
    from catalog.ask.tokens import Padding, Traced, sample_tokens, trace_token
    from catalog.ask.versions import (
        Moved,
        Resolved,
        VersionDifference,
        diff_documents,
        diff_settings,
        diff_versions,
        resolve_version,
        version_funnel,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "BY_BENCHMARK",
    "BY_ITEM",
    "BenchmarkFound",
    "ClusterStory",
    "Exposure",
    "FetchedRecord",
    "FoundRecords",
    "History",
    "Moved",
    "Padding",
    "QueryAnswer",
    "Resolved",
    "Status",
    "Traced",
    "VersionDifference",
    "benchmarks_found",
    "check_query",
    "cluster_story",
    "diff_documents",
    "diff_settings",
    "diff_versions",
    "document_history",
    "fetch_original",
    "find_host",
    "find_ids",
    "find_text",
    "find_url",
    "home_status",
    "outcome_of",
    "refuse_suppressed",
    "resolve_doc_id",
    "resolve_version",
    "run_query",
    "sample_tokens",
    "takedowns_covering",
    "trace_token",
    "training_exposure",
    "version_funnel",
    "withheld",
]
