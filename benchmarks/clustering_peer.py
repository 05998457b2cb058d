"""Group-bys of polars and DuckDB over band keys; run by clustering.py in the peers' environment.

    python clustering_peer.py polars|duckdb KEYS.u8 ...

Each file holds one band's keys (little-endian uint64); loading it is not timed. One thread, so
that CPU time has no waiting of many threads in it. Prints JSON.
"""

import json
import os
import resource
import sys
import time

os.environ["POLARS_MAX_THREADS"] = "1"

import numpy as np
import pyarrow as pa


def by_polars(tables):
    import polars

    spent = groups = 0
    for table in tables:
        frame = polars.from_arrow(table)
        began = time.process_time()
        found = (
            frame.group_by("key")
            .agg(polars.col("row").min().alias("first"), polars.len().alias("n"))
            .filter(polars.col("n") > 1)
        )
        spent += time.process_time() - began
        groups += len(found)
    return polars.__version__, spent, groups


def by_duckdb(tables):
    import duckdb

    connection = duckdb.connect()
    connection.execute("set threads = 1")
    spent = groups = 0
    for table in tables:
        connection.register("t", table)
        began = time.process_time()
        found = connection.sql(
            "select key, min(row) as first, count(*) as n from t group by key having count(*) > 1"
        ).to_arrow_table()
        spent += time.process_time() - began
        groups += found.num_rows
    return duckdb.__version__, spent, groups


def main():
    peer, *paths = sys.argv[1:]

    def tables():
        for path in paths:
            keys = np.fromfile(path, "<u8")
            yield pa.table({"key": keys, "row": np.arange(keys.size, dtype=np.uint32)})

    version, spent, groups = {"polars": by_polars, "duckdb": by_duckdb}[peer](tables())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"version": version, "cpu_s": spent, "groups": groups, "peak_mib": peak}))


if __name__ == "__main__":
    main()
