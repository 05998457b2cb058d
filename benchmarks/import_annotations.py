"""What `corpus signals import` costs for many rows, and a look-up of them for a document.

    python benchmarks/import_annotations.py [--rows 1000000]

Addresses are made up: nine in ten as most are spelled, one in ten with a query, which only Python
turns into a key. Times are of one process; DuckDB and Arrow may use every core.
"""

import argparse
import random
import resource
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from machine import machine

from corpus_assets.core.store import open_store
from corpus_assets.ingest.purge import covered_keys
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.signals.annotations import read_annotations
from corpus_assets.signals.import_tables import find_rows, keep_import, redact_imports, sorted_table

DOCUMENTS = 1_000  # of a batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    draw = random.Random(1)
    urls = [
        f"https://www.site-{draw.randrange(50_000)}.example.org/pages/{i}"
        + ("?b=2&a=1" if i % 10 == 0 else "")
        for i in range(rows)
    ]
    print(f"{machine()}\n\n| step | seconds |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "annotations.parquet"
        topics = pa.array(draw.choices(["law", "health", "games"], k=rows))
        scores = pa.array([draw.random() for _ in range(rows)])
        pq.write_table(pa.table({"url": urls, "topic": topics, "score": scores}), file)
        store = open_store(str(Path(folder) / "store"))
        sorted_table(pa.array(["a"]), {"x": pa.array([1.0])})  # compiled before
        start = time.perf_counter()
        keys, columns = read_annotations(file, "url", "url", {"topic": "topic", "score": "score"})
        read = time.perf_counter()
        table = sorted_table(keys, columns)
        ordered = time.perf_counter()
        keep_import(store, table, "it", "url", lambda kind, some: covered_keys(kind, some, NONE))
        written = time.perf_counter()
        print(f"| read {rows:,} rows and make keys | {read - start:.2f} |")
        print(f"| sort | {ordered - read:.2f} |")
        print(f"| write | {written - ordered:.2f} |")
        asked = keys.take(pa.array(draw.sample(range(rows), DOCUMENTS)))
        start = time.perf_counter()
        for _ in range(20):
            find_rows(table, asked)
        print(f"| look {DOCUMENTS:,} documents up | {(time.perf_counter() - start) / 20:.4f} |")
        start = time.perf_counter()
        orders = Suppressions.from_rows([("host", "site-7.example.org")])
        gone = redact_imports(store, lambda kind, some: covered_keys(kind, some, orders))
        print(f"| take the {gone} rows of a site out | {time.perf_counter() - start:.2f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nmost memory: {peak:.1f} GiB")


NONE = Suppressions()

if __name__ == "__main__":
    main()
