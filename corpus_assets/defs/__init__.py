"""Dagster, and only here: assets, sensors, schedules, made from declarations."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.defs.assets import ASSETS, with_owner
    from corpus_assets.defs.build import build_version
    from corpus_assets.defs.folder import workspace_file
    from corpus_assets.defs.launched import (
        file_takedown,
        quarantined_parts,
        release_version,
        remove_snapshot,
    )
    from corpus_assets.defs.notice_sensor import notices
    from corpus_assets.defs.partitions import forget_partition
    from corpus_assets.defs.resources import RESOURCES
    from corpus_assets.defs.runs import DagsterRuns
    from corpus_assets.defs.sensors import (
        crawl_list_job,
        ingest_job,
        ingested_snapshots,
        new_snapshots,
        weekly_crawl_check,
    )
    from corpus_assets.defs.takedown import run_takedowns
    from corpus_assets.defs.takedown_sensor import pending_takedowns, takedown_job
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "ASSETS",
    "RESOURCES",
    "DagsterRuns",
    "build_version",
    "crawl_list_job",
    "file_takedown",
    "forget_partition",
    "ingest_job",
    "ingested_snapshots",
    "new_snapshots",
    "notices",
    "pending_takedowns",
    "quarantined_parts",
    "release_version",
    "remove_snapshot",
    "run_takedowns",
    "takedown_job",
    "weekly_crawl_check",
    "with_owner",
    "workspace_file",
]
