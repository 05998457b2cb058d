"""Results of runs on disk: whole or not there, and what they say is what was measured."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.results import TABLE, Run, measured, read_runs, write_run


def a_run(seed: int = 1, **other: Any) -> Run:
    table = pa.table(
        {
            "document": [0, 1],
            "domain": ["prose", "code"],
            "host": ["a.example", "b.example"],
            "nats": [10.5, 1 / 3],
            "bytes": [40, 7],
            "tokens": [9, 2],
            "item": [0, 1],
        },
        schema=TABLE,
    )
    told: dict[str, Any] = {
        "plan": "ab" * 32, "arm": "demo-1", "size": "17M", "learning_rate": 2.5e-4, "seed": seed,
        "tokens": 1024, "steps": 8, "curve": [[128.0, 9.0], [1024.0, 5.5]],
        "tokens_per_second": 3.5, "hardware": "cpu", "torch": "2.9.1",
    }  # fmt: skip
    return measured(table, **(told | other))


def test_a_run_reads_back_as_it_was_measured(tmp_path: Path) -> None:
    nats = np.arange(11, dtype=np.float32) / 8
    run = a_run(token_nats=nats)
    write_run(tmp_path, run)
    (found,) = read_runs(tmp_path)
    assert found == run
    assert found.table()["nats"].to_pylist() == [10.5, 1 / 3]
    assert found.token_nats().tolist() == nats.tolist()
    assert a_run().token_nats() is None


def test_runs_of_other_seeds_and_arms_lie_beside_each_other_by_name(tmp_path: Path) -> None:
    for run in (a_run(2), a_run(1), a_run(1, arm="demo-2"), a_run(1, learning_rate=1e-3)):
        write_run(tmp_path, run)
    assert [(run.arm, run.learning_rate, run.seed) for run in read_runs(tmp_path)] == [
        ("demo-1", 2.5e-4, 1), ("demo-1", 2.5e-4, 2), ("demo-1", 1e-3, 1), ("demo-2", 2.5e-4, 1),
    ]  # fmt: skip


def test_a_table_that_is_not_the_measured_one_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path, a_run(1))
    write_run(tmp_path, a_run(2))
    one, other = (tmp_path / f"{a_run(seed).name}.parquet" for seed in (1, 2))
    one.write_bytes(other.read_bytes() + b" ")
    with pytest.raises(EvidenceError, match="not those that were measured"):
        read_runs(tmp_path)


def test_a_run_without_its_table_and_a_json_of_something_else_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path, a_run())
    next(tmp_path.glob("*.parquet")).unlink()
    with pytest.raises(EvidenceError, match="run the pack again"):
        read_runs(tmp_path)
    next(tmp_path.glob("*.json")).write_text("[1]")
    (tmp_path / f"{a_run().name}.parquet").write_bytes(b"")
    with pytest.raises(EvidenceError, match="not the JSON of a run"):
        read_runs(tmp_path)


def test_a_writer_killed_before_its_last_rename_left_no_run(tmp_path: Path) -> None:
    killed = (
        "import os, signal, sys; from pathlib import Path\n"
        "from corpus_assets.evidence import results\n"
        "from corpus_assets_tests.evidence.test_results import a_run\n"
        "replace = os.replace\n"
        "def stop(source, target):\n"
        "    if str(target).endswith('.json'): os.kill(os.getpid(), signal.SIGKILL)\n"
        "    replace(source, target)\n"
        "results.os.replace = stop\n"
        "results.write_run(Path(sys.argv[1]), a_run())\n"
    )
    ended = subprocess.run([sys.executable, "-c", killed, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert list(tmp_path.glob("*.parquet"))
    assert read_runs(tmp_path) == []
