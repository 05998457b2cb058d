"""The code location: the asset graph, its jobs, sensors and resources."""

import warnings

import dagster as dg

from corpus_assets.defs import (
    ASSETS,
    RESOURCES,
    build_version,
    crawl_list_job,
    file_takedown,
    ingest_job,
    ingested_snapshots,
    new_snapshots,
    notices,
    pending_takedowns,
    quarantined_parts,
    release_version,
    remove_snapshot,
    takedown_job,
    weekly_crawl_check,
    with_owner,
)

# Dagster gives this parameter itself, with no value, where it binds resources to a sensor.
warnings.filterwarnings("ignore", "Parameter `owners` of initializer", dg.BetaWarning)

defs = dg.Definitions(
    assets=with_owner(ASSETS),
    jobs=[
        ingest_job,
        build_version,
        release_version,
        crawl_list_job,
        remove_snapshot,
        quarantined_parts,
        file_takedown,
        takedown_job,
    ],
    schedules=[weekly_crawl_check],
    sensors=[new_snapshots, ingested_snapshots, pending_takedowns, notices],
    resources=RESOURCES,
    # Parallel work happens inside a step, over parts, in a pool that is warm for the whole run.
    executor=dg.in_process_executor,
)
