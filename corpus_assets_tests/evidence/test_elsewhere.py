"""Packs that run elsewhere: on the nodes of a Ray cluster, in an array of Slurm jobs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.on_ray import run_on_ray
from corpus_assets.evidence.results import read_runs
from corpus_assets.evidence.run import Pack, Power
from corpus_assets_tests.evidence.tiny import tiny_encoder, tiny_pack

BATCH = Path(__file__).parents[2] / "deploy" / "slurm" / "evidence.sbatch"

TRAINER = """
import json, os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pathlib import Path
import pyarrow as pa
from corpus_assets.evidence.results import measured, write_run
from corpus_assets.evidence.run import Pack, parse_part
told = dict(zip(sys.argv[1::2], sys.argv[2::2]))
pack = Pack(Path(__file__).parent)
first, count = parse_part(told["--part"])
for number, run in enumerate(pack.runs()):
    if number % count != first:
        continue
    if run.arm == os.environ.get("BROKEN"):
        sys.exit("out of memory")
    held = pack.heldout()
    table = pa.table({"document": range(len(held)), "domain": held["domain"], "host": held["host"],
                      "nats": held["bytes"], "bytes": held["bytes"], "tokens": held["bytes"],
                      "item": range(len(held))})
    write_run(Path(told["--out"]) / "runs", measured(
        table, plan=pack.plan_digest, arm=run.arm, size="nano", learning_rate=run.learning_rate,
        seed=run.seed, tokens=run.tokens, steps=4, curve=[[1.0, 1.0]], tokens_per_second=1.0,
        hardware=os.environ.get("CUDA_VISIBLE_DEVICES", ""), torch="", code=pack.plan["code"]))
"""
"""In place of training, which needs torch: a result for each run of its part, and the GPU it had."""


def pack_of(folder: Path) -> Path:
    tiny_pack(folder, tiny_encoder())
    (folder / "run.py").write_text(TRAINER)
    return folder


@pytest.mark.slow  # starts nodes
def test_runs_go_to_gpus_of_a_cluster_and_come_back(ray_cluster: Any, tmp_path: Path) -> None:
    folder = pack_of(tmp_path / "pack")
    with pytest.raises(EvidenceError, match="no node of the cluster has 1 of a GPU"):
        run_on_ray(folder, address=ray_cluster.address, gpus=1)
    node = ray_cluster.add_node(num_cpus=2, num_gpus=2, object_store_memory=100 << 20)
    try:
        said: list[str] = []
        count = run_on_ray(folder, address=ray_cluster.address, gpus=1, say=said.append)
        found = read_runs(folder / "runs")
        assert count == len(found) == len(list(Pack(folder).runs())) == 4
        assert {run.hardware for run in found} <= {"0", "1"}, "a run sees its own GPU"
        assert run_on_ray(folder, address=ray_cluster.address, gpus=1) == 0
    finally:
        ray_cluster.remove_node(node)


def test_power_is_what_the_driver_says_and_unknown_where_it_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    said = tmp_path / "nvidia-smi"
    said.write_text(
        f'#!/bin/bash\n[ "$1" = --id=5 ] && echo 412.5\necho "$1" >> {tmp_path}/asked\n'
    )
    said.chmod(0o755)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    assert Power("cuda:1", every_s=0.01).stop() == 412.5, "as the machine counts its devices"
    assert Power("cuda", every_s=0.01).stop() is None
    assert (tmp_path / "asked").read_text().split()[-1] == "--id=4"
    assert Power("cpu").stop() is None


def test_the_tasks_of_a_slurm_array_share_the_runs(tmp_path: Path) -> None:
    folder = pack_of(tmp_path / "pack")

    def task(number: int, last: int = 2, count: int = 3) -> subprocess.CompletedProcess[str]:
        told = {"SLURM_ARRAY_TASK_ID": number, "SLURM_ARRAY_TASK_MIN": 0,
                "SLURM_ARRAY_TASK_MAX": last, "SLURM_ARRAY_TASK_COUNT": count}  # fmt: skip
        given = os.environ | {"PYTHON": sys.executable} | {k: str(v) for k, v in told.items()}
        return subprocess.run(
            ["bash", str(BATCH), str(folder), "--out", str(folder)],
            env=given, capture_output=True, text=True, check=False,
        )  # fmt: skip

    runs = [task(number).returncode for number in range(3)]
    assert runs == [0, 0, 0]
    assert len(read_runs(folder / "runs")) == 4
    assert "without gaps" in task(0, last=7).stderr
