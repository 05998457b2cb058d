"""What the graph is partitioned by. Parts (files) are never partitions: a crawl has 90,000."""

import dagster as dg

SNAPSHOTS = dg.DynamicPartitionsDefinition(name="snapshot")
VERSIONS = dg.DynamicPartitionsDefinition(name="version")
EVERY = dg.AllPartitionMapping()
