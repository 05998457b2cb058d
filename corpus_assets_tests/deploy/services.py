"""The services of `deploy/`, as processes of this machine: Dagster's with deploy's settings, and a
Ray cluster whose nodes can be killed."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import create_engine, make_url

from catalog.db.registry import Registry
from corpus_assets.core.store import Store, open_store
from corpus_assets_tests.ray_cluster import NODE

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
ASK = "query($statuses: [RunStatus!]) { runsOrError(filter: {statuses: $statuses}) { ... on Runs { results { runId jobName status } } } }"  # fmt: skip
START = "mutation($sensor: SensorSelector!) { startSensor(sensorSelector: $sensor) { __typename } }"


def make_databases(url: str) -> dict[str, str]:
    """Make the databases that deploy asks for, anew; return their addresses."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    names = []
    with engine.connect() as connection:
        for line in (DEPLOY / "databases.sql").read_text().splitlines():
            if line.startswith("CREATE DATABASE"):
                names.append(line.split()[2].rstrip(";"))
                connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {names[-1]} WITH (FORCE)")
                connection.exec_driver_sql(line)
    engine.dispose()
    place = make_url(url)
    return {name: place.set(database=name).render_as_string(False) for name in names}


class RayNodes:
    """A head without CPUs and nodes of one CPU, of the environment that they are started in."""

    def __init__(self, number: int) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args=NODE | {"num_cpus": 0})
        self.address: str = self._cluster.address
        self.nodes = [self._cluster.add_node(**NODE | {"num_cpus": 1}) for _ in range(number)]

    def kill(self, index: int) -> None:
        self._cluster.remove_node(self.nodes.pop(index), allow_graceful=False)

    def stop(self, index: int) -> None:
        """Stop the process that stands for a node: the cluster does not hear from it any more."""
        node = self.nodes.pop(index)
        for each in node.all_processes["raylet"]:
            os.kill(each.process.pid, signal.SIGSTOP)

    def add(self) -> None:
        self.nodes.append(self._cluster.add_node(**NODE | {"num_cpus": 1}))

    def cpus(self) -> list[float]:
        """The CPUs of every node that is there, as the cluster counts them."""
        import ray

        ray.init(address=self.address, log_to_driver=False)
        try:
            return [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
        finally:
            ray.shutdown()

    def shutdown(self) -> None:
        self._cluster.shutdown()


class Deployment:
    """Code location, webserver and daemon on one home, with deploy's settings or others."""

    def __init__(
        self, folder: Path, variables: dict[str, str], settings: Path = DEPLOY / "dagster.yaml"
    ) -> None:
        self.home, self._ports = folder / "home", free_ports(2)
        dagster = self.home / "dagster"
        dagster.mkdir(parents=True)
        shutil.copy(settings, dagster)
        place = yaml.safe_load((DEPLOY / "workspace.yaml").read_text())
        place["load_from"][0]["grpc_server"] |= {"host": "127.0.0.1", "port": self._ports[0]}
        self._workspace = dagster / "workspace.yaml"
        self._workspace.write_text(yaml.safe_dump(place))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CORPUS_", "DAGSTER_"))}
        for name in ("CORPUS_MODELS", "CORPUS_SHARED_DATA"):
            if name in os.environ:
                kept[name] = os.environ[name]
        own = {"CORPUS_HOME": str(self.home), "DAGSTER_HOME": str(dagster)}
        self.env = kept | variables | own
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def store(self) -> Store:
        return open_store(self.env.get("CORPUS_STORE_URL", str(self.home / "store")))

    @property
    def registry(self) -> Registry:
        default = f"sqlite:///{self.home}/catalog.db"
        return Registry(self.env.get("CORPUS_CATALOG_URL", default))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._ports[1]}"

    def start(self, with_daemon: bool = True) -> None:
        code, web = (str(port) for port in self._ports)
        self._run("dagster", "api", "grpc", "--host=127.0.0.1", f"--port={code}",
                  "--module-name=corpus_assets.definitions")  # fmt: skip
        self.until(lambda: _listens(self._ports[0]), 120)
        self._run("dagster-webserver", "--host=127.0.0.1", f"--port={web}",
                  f"--workspace={self._workspace}")  # fmt: skip
        if with_daemon:
            self.start_daemon()
        self.until(lambda: _listens(self._ports[1]), 120)

    def start_daemon(self) -> None:
        self._run("dagster-daemon", "run", f"--workspace={self._workspace}")

    def serve_catalog(self, port: int) -> None:
        self._run("catalog", "serve", f"--port={port}")
        self.until(lambda: _listens(port), 60)

    def _run(self, *command: str) -> None:
        program = str(Path(sys.executable).with_name(command[0]))
        with open(self._folder / f"{command[0]}.log", "ab") as log:
            started = subprocess.Popen(
                [program, *command[1:]],
                env=self.env,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
            )
        self._processes.append(started)

    def ask(self, query: str, **variables: Any) -> Any:
        """Ask Dagster's webserver, as its UI does."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"{self.address}/graphql",
            body,
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert "errors" not in found, found
        return found["data"]

    def switch_on(self, *sensors: str) -> None:
        for name in sensors:
            place = {
                "repositoryName": "__repository__",
                "repositoryLocationName": "corpus_assets",
                "sensorName": name,
            }
            found = self.ask(START, sensor=place)
            assert found["startSensor"]["__typename"] == "Sensor", found

    def runs(self, *statuses: str) -> list[dict[str, str]]:
        with contextlib.suppress(urllib.error.URLError):
            found: list[dict[str, str]] = self.ask(ASK, statuses=statuses)["runsOrError"]["results"]
            return found
        return []

    def wait_for(self, version: str, patience_s: float) -> None:
        """Wait until a version is live; a run that failed ends the wait."""
        self.until(lambda: self._is_live(version), patience_s)

    def _is_live(self, version: str) -> bool:
        assert not self.runs("FAILURE"), self.last_words()
        found = self.registry.versions()
        return any(row.name == version and row.status == "live" for row in found)

    def until(self, is_so: Any, patience_s: float) -> None:
        end = time.monotonic() + patience_s
        while not is_so():
            assert time.monotonic() < end, self.last_words()
            assert all(each.poll() is None for each in self._processes), self.last_words()
            time.sleep(0.5)

    def last_words(self) -> str:
        return "\n".join(
            f"{log.name}:\n{log.read_text(errors='replace')[-3000:]}"
            for log in sorted(self._folder.glob("*.log"))
        )

    def run(self, *command: str) -> str:
        """Run `corpus` or `catalog` on the deployment's home."""
        modules = {"corpus": "corpus_assets.cli.main", "catalog": "catalog"}
        done = subprocess.run(
            [sys.executable, "-m", modules[command[0]], *command[1:]],
            env=self.env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def stop(self) -> None:
        for each in reversed(self._processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGTERM)
        for each in self._processes:
            try:
                each.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()
        self._processes = []


@contextlib.contextmanager
def ray_nodes(number: int, variables: dict[str, str]) -> Iterator[RayNodes]:
    """A cluster whose nodes have these variables."""
    pytest.importorskip("ray", reason="ray is absent: pip install 'corpus-assets[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        made = RayNodes(number)
        try:
            yield made
        finally:
            made.shutdown()


def free_ports(number: int) -> Sequence[int]:
    places = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [place.getsockname()[1] for place in places]
    for place in places:
        place.close()
    return ports


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
