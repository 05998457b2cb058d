"""The code location: the asset graph, its jobs, sensors and resources."""

import warnings

import dagster as dg

from corpus_assets.defs.assets import ASSETS, owned
from corpus_assets.defs.build import build_version
from corpus_assets.defs.launched import (
    file_takedown,
    parts_set_aside,
    release_version,
    remove_snapshot,
)
from corpus_assets.defs.notices import notices
from corpus_assets.defs.resources import RESOURCES
from corpus_assets.defs.sensors import (
    crawl_list_job,
    ingest_job,
    ingested_snapshots,
    new_snapshots,
    weekly_crawl_check,
)
from corpus_assets.defs.takedown_sensor import pending_takedowns, takedown_job

# Dagster gives this parameter itself, with no value, where it binds resources to a sensor.
warnings.filterwarnings("ignore", "Parameter `owners` of initializer", dg.BetaWarning)

defs = dg.Definitions(
    assets=owned(ASSETS),
    jobs=[
        ingest_job,
        build_version,
        release_version,
        crawl_list_job,
        remove_snapshot,
        parts_set_aside,
        file_takedown,
        takedown_job,
    ],
    schedules=[weekly_crawl_check],
    sensors=[new_snapshots, ingested_snapshots, pending_takedowns, notices],
    resources=RESOURCES,
    # Parallel work happens inside a step, over parts, in a pool that is warm for the whole run.
    executor=dg.in_process_executor,
)
