"""What the graph is partitioned by. Parts (files) are never partitions: a crawl has 90,000."""

import dagster as dg

from corpus_assets.core.home import Home

SNAPSHOTS = dg.DynamicPartitionsDefinition(name="snapshot")
VERSIONS = dg.DynamicPartitionsDefinition(name="version")
EVERY = dg.AllPartitionMapping()


def forget_partition(home: Home, snapshot: str) -> None:
    """Delete a snapshot's partition from the home's own Dagster records, where there are any."""
    if (home.dagster / "dagster.yaml").exists():
        with dg.DagsterInstance.from_config(str(home.dagster)) as instance:
            instance.delete_dynamic_partition(SNAPSHOTS.name or "", snapshot)
