"""Finding one document among many millions, beside row tables in SQLite and PostgreSQL.

    python benchmarks/lookups.py --documents 50_000_000 --out FOLDER

Makes the lineage of a synthetic corpus with the pipeline's own writers, registers it as a version
in a real catalog, and loads the same documents as rows (doc_id, url_key, host, part, row) into an
SQLite file and a PostgreSQL server, each with an index on doc_id and one on url_key. Then the same
random documents are looked up in all three, one process, one thread, after a warm-up with others.

Ours reads seven columns of the record from Parquet; the row tables give their five. Where time or
disk is short `--rows-in-tables` limits the rows of the other two, and the report says so. `--again`
measures once more in the folder of an earlier run. The folder needs about 300 bytes a document for
us, 170 for SQLite and 230 for PostgreSQL.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from machine import machine
from row_tables import Numbers, Query, load_postgresql, load_sqlite
from synthetic_lineage import (
    PARTS_PER_SHARD,
    RECORDS_PER_PART,
    SEQ_LEN,
    Block,
    make_block,
    manifest_bytes,
    tokenizer_json,
)

from catalog.ask.documents import document_history, find_host, find_url
from catalog.ask.tokens import trace_token
from catalog.db.published import CONTENTS_NAME, FUNNEL, dump_contents
from catalog.db.registry import Registry
from catalog.db.rows import (
    KeyRow,
    LineageRow,
    LockRow,
    RecipeRow,
    ShardRow,
    SnapshotRow,
    SourceRow,
    VersionRow,
)
from catalog.formats.key_files import TABLE_OF
from catalog.formats.store import FileStore
from catalog.formats.urls import host_key
from catalog.lineage.lookups import records_by_host, records_by_id, records_by_url
from catalog.lineage.tables import Lineage
from corpus_assets.core.store import sha256_hex
from corpus_assets.lineage.keys import UNITS_PER_RUN, columns_of, make_keys

VERSION = "bench"
WARM_UP = 300


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rows-in-tables", type=int, default=None)
    parser.add_argument("--lookups", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--without", action="append", default=[], choices=["sqlite", "postgresql"])
    parser.add_argument("--out", type=Path, required=True, help="an empty folder")
    parser.add_argument("--again", action="store_true", help="measure in the folder as it is")
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.out.mkdir(parents=True, exist_ok=True)
    rows = min(options.documents, options.rows_in_tables or options.documents)
    report: Numbers = {"documents": options.documents, "rows_in_tables": rows}
    results = options.out / "lookups.json"
    if options.again:
        report = json.loads(results.read_text())

    def note() -> None:
        results.write_text(json.dumps(report, indent=1) + "\n")

    registry = Registry(f"sqlite:///{options.out / 'catalog.db'}")
    store = options.out / "store"
    if not options.again:
        report["ours"] = build_ours(registry, store, options.documents, options.workers)
        note()
    files = registry.lineage_files(VERSION, "records")
    parts = files[: -(-report["rows_in_tables"] // RECORDS_PER_PART)]
    asked = draw(store, parts, options.lookups + WARM_UP)
    with Lineage(registry, FileStore(store), VERSION) as lineage:
        report["ours"] |= measure_ours(lineage, asked, options.lookups)
    note()
    for name, load in (("sqlite", load_sqlite), ("postgresql", load_postgresql)):
        if name not in options.without:
            with load(options.out, store, parts, report.get(name)) as (query, numbers):
                report[name] = numbers | measure_table(query, asked, options.lookups)
            note()
    print(table(report))


# Ours.


def build_ours(registry: Registry, root: Path, documents: int, workers: int) -> Numbers:
    """Tables, shards and key files, registered as a version; gives what that cost."""
    blocks = -(-documents // (RECORDS_PER_PART * PARTS_PER_SHARD))
    lineage: list[LineageRow] = []
    shards: list[ShardRow] = []
    numbers: Numbers = {"cpu_s": 0.0, "bytes": 0}
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(make_block, root, number, documents) for number in range(blocks)]
        for done, job in enumerate(jobs):
            block: Block = job.result()
            lineage += block.lineage
            shards += block.shards
            numbers["cpu_s"] += block.table_cpu_s
            numbers["bytes"] += block.record_bytes
            if done % 10 == 0:
                print(f"made {done + 1} of {blocks} blocks", flush=True)
        runs = [
            (root, table, number, files)
            for number, (table, files) in enumerate(key_runs(lineage, shards))
        ]
        keys: list[KeyRow] = []
        for made, cpu_s in pool.map(make_run, *zip(*runs, strict=True)):
            keys += made
            if TABLE_OF[made[0].kind] == "records":
                numbers["cpu_s"] += cpu_s
                numbers["bytes"] += sum(row.bytes for row in made)
    numbers["key_bytes"] = sum(row.bytes for row in keys)
    numbers["key_files"] = len(keys)
    numbers["lineage_files"] = len(lineage)
    started = time.perf_counter()
    register(registry, root, lineage, shards, keys)
    return numbers | {"register_s": time.perf_counter() - started}


def key_runs(
    lineage: list[LineageRow], shards: list[ShardRow]
) -> Iterator[tuple[str, list[LineageRow]]]:
    """Runs of parts of a snapshot and of shards of a group, as the pipeline has them."""
    groups = {shard.full_name: shard.group_id for shard in shards}
    for table in dict.fromkeys(TABLE_OF.values()):
        by_place: dict[str, list[LineageRow]] = {}
        for row in lineage:
            if row.table_name == table:
                place = row.snapshot if row.shard is None else groups[row.shard]
                by_place.setdefault(place, []).append(row)
        for files in by_place.values():
            for first in range(0, len(files), UNITS_PER_RUN):
                yield table, files[first : first + UNITS_PER_RUN]


def make_run(
    root: Path, table: str, number: int, files: list[LineageRow]
) -> tuple[list[KeyRow], float]:
    """The key files of one run, and what they cost."""
    started = time.process_time()
    columns = columns_of(table)
    made = make_keys(
        table,
        (
            (f.part if f.shard is None else f.shard, pq.read_table(root / f.path, columns=columns))
            for f in files
        ),
    )
    cpu_s = time.process_time() - started
    rows = []
    for kind, data in made.items():
        path = f"artifacts/lineage_keys/{number:05d}/{kind}.keys"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
        total = sum(file.rows for file in files)
        row = KeyRow(kind, files[0].snapshot, path, sha256_hex(data), len(data), total)
        rows.append(row)
    return rows, cpu_s


def register(
    registry: Registry,
    root: Path,
    lineage: list[LineageRow],
    shards: list[ShardRow],
    keys: list[KeyRow],
    version: str = VERSION,
) -> None:
    registry.upgrade()
    registry.put_source(SourceRow("synthetic", "warc", "web"))
    for rank, name in enumerate(dict.fromkeys(row.snapshot for row in lineage)):
        registry.put_snapshot(SnapshotRow(name, "synthetic", rank), [])
    registry.put_recipe(RecipeRow("r" * 64, "bench", "name: bench\n"))
    registry.put_lock(LockRow("l" * 64, "{}"))
    folder = root / "versions" / version
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_bytes(tokenizer_json()[0])
    manifest = manifest_bytes(version, shards, f"versions/{version}/tokenizer.json")
    (folder / "manifest.json").write_bytes(manifest)
    funnel = {"format": FUNNEL.format, "records": 1, "dropped": {}}
    (folder / FUNNEL.name).write_text(json.dumps(funnel))
    listed = {FUNNEL.name: sha256_hex((folder / FUNNEL.name).read_bytes())}
    contents = dump_contents(version, listed, lineage, keys)
    (folder / CONTENTS_NAME).write_bytes(contents)
    registry.publish_version(
        VersionRow(
            version, "l" * 64, "r" * 64, f"versions/{version}/manifest.json",
            sha256_hex(manifest), sum(s.documents for s in shards),
            sum(s.tokens for s in shards), sum(s.samples for s in shards),
            contents_sha256=sha256_hex(contents),
        ),
        shards,
        lineage,
        keys=keys,
    )  # fmt: skip


def draw(store: Path, files: list[LineageRow], count: int) -> list[dict[str, Any]]:
    """Random records, each of another part where there are enough."""
    rng = np.random.default_rng(11)
    asked = []
    order = rng.permutation(len(files))
    for number in range(count):
        file = files[int(order[number % len(files)])]
        if number < len(files):
            picked = rng.integers(0, file.rows, -(-count // len(files)))
            columns = ["doc_id", "url", "url_key", "host"]
            table = pq.read_table(store / file.path, columns=columns)
            asked += table.take(pa.array(picked)).to_pylist()
    rng.shuffle(asked)
    return asked[:count]


def measure_ours(lineage: Lineage, asked: list[dict[str, Any]], lookups: int) -> Numbers:
    shards = list(lineage.registry.version_shards(VERSION))
    rng = np.random.default_rng(5)

    def by_id(row: dict[str, Any]) -> None:
        expect(records_by_id(lineage, [row["doc_id"]], 10)[1][0]["url_key"] == row["url_key"])

    def by_url(row: dict[str, Any]) -> None:
        expect(records_by_url(lineage, [row["url_key"]], 10)[1][0]["url_key"] == row["url_key"])

    def by_domain(row: dict[str, Any]) -> None:
        expect(records_by_host(lineage, host_key(domain_of(row["host"])), 100)[0] > 0)

    def by_token(_: dict[str, Any]) -> None:
        shard = shards[int(rng.integers(len(shards)))]
        place = int(rng.integers(shard.samples)), int(rng.integers(SEQ_LEN))
        expect(trace_token(lineage, shard.full_name, *place).token_id >= 0)

    few = max(20, lookups // 10)
    return {
        "by id": timed(by_id, asked, lookups),
        "by URL": timed(by_url, asked, lookups),
        "domain: total and first 100": timed(by_domain, asked, few),
        "token position (catalog trace)": timed(by_token, asked, few),
        "whole story by id (catalog lineage)": timed(
            lambda row: document_history(lineage, row["doc_id"]), asked, few
        ),
        "catalog find --url": timed(lambda row: find_url(lineage, row["url"], 100), asked, few),
        "catalog find --domain": timed(
            lambda row: find_host(lineage, domain_of(row["host"]), 100), asked, few
        ),
    }


# Row tables.


def measure_table(query: Query, asked: list[dict[str, Any]], lookups: int) -> Numbers:
    def by_id(row: dict[str, Any]) -> None:
        expect(bool(query("SELECT * FROM documents WHERE doc_id = ?", [row["doc_id"]])))

    def by_url(row: dict[str, Any]) -> None:
        expect(bool(query("SELECT * FROM documents WHERE url_key = ?", [row["url_key"]])))

    def by_domain(row: dict[str, Any]) -> None:
        key = host_key(domain_of(row["host"]))
        ranges = [f"{key})", f"{key}*", f"{key},", f"{key}-", f"{key}:", f"{key};"]
        where = " OR ".join(["(url_key >= ? AND url_key < ?)"] * 3)
        total = query(f"SELECT count(*) FROM documents WHERE {where}", ranges)[0][0]
        first = query(f"SELECT * FROM documents WHERE {where} ORDER BY part, row LIMIT 100", ranges)
        expect(total >= len(first) > 0)

    return {
        "by id": timed(by_id, asked, lookups),
        "by URL": timed(by_url, asked, lookups),
        "domain: total and first 100": timed(by_domain, asked, max(20, lookups // 10)),
    }


# Measuring.


def timed(look_up: Callable[[Any], Any], asked: list[dict[str, Any]], count: int) -> Numbers:
    """Milliseconds of single calls, each with a document not asked for before."""
    for row in asked[: min(WARM_UP, count)]:
        look_up(row)
    spent = []
    cpu_before = time.process_time()
    for row in asked[WARM_UP : WARM_UP + count]:
        started = time.perf_counter()
        look_up(row)
        spent.append(1000 * (time.perf_counter() - started))
    p50, p95 = (float(value) for value in np.percentile(spent, [50, 95]))
    cpu_ms = 1000 * (time.process_time() - cpu_before) / len(spent)  # of this process
    return {"calls": len(spent), "p50_ms": p50, "p95_ms": p95, "max_ms": max(spent),
            "cpu_ms": cpu_ms}  # fmt: skip


def domain_of(host: str) -> str:
    """The site without its subdomain, in the synthetic corpus."""
    labels = host.split(".")
    return ".".join(labels[next(i for i, label in enumerate(labels) if label[:4] == "site") :])


def expect(holds: bool) -> None:
    if not holds:
        raise SystemExit("a look-up gave a wrong answer: the numbers would mean nothing")


def table(report: Numbers) -> str:
    """The report as Markdown."""
    names = [name for name in ("ours", "sqlite", "postgresql") if name in report]
    lines = [f"{report['documents']:,} documents; {report['rows_in_tables']:,} rows in the tables"]
    lines += [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]

    def add(what: str, cells: list[str]) -> None:
        lines.append(f"| {what} | {' | '.join(cells)} |")

    sizes = {name: report[name].get("rows", report["documents"]) for name in names}
    add("bytes a row", [f"{report[n]['bytes'] / sizes[n]:.0f}" for n in names])
    million = [f"{1e6 * report[n]['cpu_s'] / sizes[n]:.1f}" for n in names]
    add("CPU seconds to load a million", million)
    for what in report["ours"]:
        if isinstance(report["ours"][what], dict):
            found = [report[name].get(what) for name in names]
            add(f"{what}: p50 / p95 / max ms (mean CPU ms)", [
                f"{f['p50_ms']:.2f} / {f['p95_ms']:.2f} / {f['max_ms']:.1f} ({f['cpu_ms']:.2f})"
                if f else "-"
                for f in found
            ])  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    main()
