"""The services of `deploy/` together, as processes: PostgreSQL, SeaweedFS, Ray nodes that are
killed, Dagster's code location, webserver and daemon. What they build is what one process builds
on a local disk."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpus_assets.core.store import LocalStore
from corpus_assets_tests.chaos import dice, files_of, from_scratch
from corpus_assets_tests.demo_build import planted, run_corpus
from corpus_assets_tests.deploy.services import (
    DEPLOY,
    Deployment,
    RayNodes,
    make_databases,
    ray_nodes,
)
from corpus_assets_tests.s3_server import BUCKET, environment, running_s3

PATIENCE_S = 1500.0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_demo_by_sensors_on_all_services_is_that_of_one_process_on_a_local_disk(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "plain"
    run_corpus(plain, "build", "demo", "--workers", "1")
    databases = make_databases(postgres_url)
    (tmp_path / "s3").mkdir()
    with running_s3(tmp_path / "s3") as s3:
        variables = environment(s3.endpoint) | {
            "CORPUS_STORE_URL": f"s3://{BUCKET}/store",
            "CORPUS_CACHE": str(tmp_path / "cache"),
            "CORPUS_CATALOG_URL": databases["corpus_catalog"],
            "CORPUS_ENGINE": "ray",
            "CORPUS_RECIPE": "demo",
            "CORPUS_LOG_BUCKET": BUCKET,
            "DAGSTER_PG_URL": databases["dagster"].replace("+psycopg2", ""),
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with ray_nodes(2, variables) as nodes:
            place = Deployment(tmp_path, variables | {"CORPUS_RAY_ADDRESS": nodes.address})
            place.run("catalog", "upgrade")
            place.start()
            try:
                _build(place, LocalStore(plain / "store"), nodes, dice())
                _take_down(place, tmp_path / "scratch", dice())
            finally:
                place.stop()
        logs = [each["path"] for page in s3.client().list("dagster-logs") for each in page]
        assert logs, "what runs print is in the bucket"


def _build(place: Deployment, plain: LocalStore, nodes: RayNodes, moments: random.Random) -> None:
    """Let the sensors build the demo, and kill both nodes on the way, one after the other."""
    [version] = {path.split("/")[1] for path in plain.list("versions")}
    place.switch_on("new_snapshots", "ingested_snapshots", "pending_takedowns")
    while not place.runs("STARTED"):
        time.sleep(0.5)
    for _ in range(2):
        time.sleep(moments.uniform(2, 20))
        assert place.registry.versions() == [], "the nodes are killed too late"
        nodes.kill(0)
        nodes.add()
    place.wait_for(version, PATIENCE_S)
    assert files_of(place.store, version) == files_of(plain, version)


def _take_down(place: Deployment, folder: Path, choice: random.Random) -> None:
    """Let the sensor carry out a request; compare with a build that never saw the page."""
    [version] = [row.name for row in place.registry.versions()]
    web = [each for each in planted(place.home) if each["expect"] is None]
    url = choice.choice([each["key"] for each in web if each["domain"] == "web"])
    place.run("catalog", "takedown", "request", "--url", url, "--reason", "asked")
    after = f"{version}.td1"
    place.wait_for(after, PATIENCE_S)
    place.run("catalog", "verify", after)
    scratch = from_scratch("demo", place.store, after, place.registry.orders()[1], folder)
    assert files_of(place.store, after) == files_of(scratch, after)


@pytest.mark.slow
def test_a_command_runs_on_a_node_that_joined_and_takes_no_tasks(tmp_path: Path) -> None:
    with ray_nodes(0, {}) as nodes:
        variables = os.environ | {
            "CORPUS_JOIN_RAY": "true",
            "CORPUS_RAY_ADDRESS": nodes.address,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            [DEPLOY / "join-ray", sys.executable, "-c", "print('ran'); raise SystemExit(5)"],
            env=variables,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 5, done.stdout + done.stderr
        assert done.stdout.endswith("ran\n")
        assert nodes.cpus() == [0.0, 0.0], "the head, and the node that joined"
