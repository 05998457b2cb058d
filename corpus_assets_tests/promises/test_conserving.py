"""P2: ingested = in shards + dropped, exactly, and every drop has one stage and one reason."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
from fastwarc.warc import ArchiveIterator, WarcRecordType

from corpus_assets_tests.demo_build import VERSION, environment, planted

STAGES = {"documents", "selection", "clusters", "contamination", "clean_text"}


def _parquet(home: Path, stage: str, name: str) -> str:
    return str(home / "store" / "artifacts" / stage / "*" / name)


def test_every_planted_record_has_exactly_one_decision(demo_home: Path) -> None:
    wanted = {}
    for record in planted(demo_home):
        wanted[record["snapshot"]] = wanted.get(record["snapshot"], 0) + 1
    found = dict(
        duckdb.sql(
            "select snapshot, count(*) from read_parquet(?) group by 1",
            params=[_parquet(demo_home, "clean_text", "decisions.parquet")],
        ).fetchall()
    )
    assert found == wanted


def test_kept_plus_dropped_is_ingested_and_kept_is_in_shards(demo_home: Path) -> None:
    manifest = json.loads(
        (demo_home / "store" / "versions" / VERSION / "manifest.json").read_bytes()
    )
    in_shards: dict[str, int] = {}
    for group in manifest["groups"]:
        in_shards[group["snapshot"]] = in_shards.get(group["snapshot"], 0) + group["documents"]
    rows = duckdb.sql(
        "select snapshot, count(*), sum(kept::int), sum((not kept)::int) "
        "from read_parquet(?) group by 1",
        params=[_parquet(demo_home, "clean_text", "decisions.parquet")],
    ).fetchall()
    records = dict(
        duckdb.sql(
            "select snapshot, count(*) from read_parquet(?) group by 1",
            params=[_parquet(demo_home, "documents", "records.parquet")],
        ).fetchall()
    )
    assert len(rows) == len(records) == 7
    for snapshot, decided, kept, dropped in rows:
        assert records[snapshot] == decided == kept + dropped
        assert kept == in_shards[snapshot]


def test_every_drop_has_a_stage_and_a_reason_and_no_kept_document_has_one(demo_home: Path) -> None:
    path = _parquet(demo_home, "clean_text", "decisions.parquet")
    bad = duckdb.sql(
        "select count(*) from read_parquet(?) "
        "where kept = (stage is not null) or kept = (reason is not null)",
        params=[path],
    ).fetchall()
    stages = duckdb.sql(
        "select distinct stage from read_parquet(?) where not kept", params=[path]
    ).fetchall()
    assert bad == [(0,)]
    assert {stage for (stage,) in stages} <= STAGES


def test_an_independent_reader_counts_the_same_records(demo_home: Path) -> None:
    snapshot = "CC-DEMO-2024-10"
    responses = 0
    for file in sorted((demo_home / "demo-sources" / "web" / snapshot).glob("*.warc.gz")):
        with open(file, "rb") as stream:
            iterator = ArchiveIterator(stream, record_types=WarcRecordType.response)
            responses += sum(1 for _ in iterator)
    ledger = duckdb.sql(
        "select count(*) from read_parquet(?) where snapshot = ?",
        params=[_parquet(demo_home, "documents", "records.parquet"), snapshot],
    ).fetchall()
    assert ledger == [(responses,)]


def test_verify_agrees(demo_home: Path) -> None:
    command = [sys.executable, "-m", "catalog", "verify", VERSION]
    done = subprocess.run(command, env=environment(demo_home), capture_output=True, text=True)
    assert "all files and counts match what was recorded" in done.stdout, done.stderr
