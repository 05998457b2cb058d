"""The Ray engine: a cluster whose nodes come and go gives what one process gives."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from catalog.db.database import clock
from catalog.errors import LeaseLost
from corpus_assets.cli.main import main
from corpus_assets.core.errors import EngineError, MissingExtra, OtherCode
from corpus_assets.core.home import Home
from corpus_assets.core.store import LocalStore, load_result
from corpus_assets.core.task import Finished, Task
from corpus_assets.graph.engine import ray as ray_engine
from corpus_assets.graph.engine import schedule
from corpus_assets.graph.engine.choice import EngineChoice
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets.graph.engine.ray import RayEngine
from corpus_assets.graph.engine.travel import Packer, code_digest
from corpus_assets.graph.run import snapshots_of
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.demo_build import corpus_command, environment, hashes, version_files
from corpus_assets_tests.graph.engine import tiny_tasks
from corpus_assets_tests.graph.engine.test_failures import tasks, tries
from corpus_assets_tests.graph.engine.test_local import results_of
from corpus_assets_tests.ray_cluster import NODE

TINY = tiny_tasks.function_of


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture
def engine(ray_cluster: Any, store: LocalStore) -> Iterator[RayEngine]:
    made = RayEngine(store.url, TINY, address=ray_cluster.address)
    yield made
    made.close()


def naps(log: Path, number: int, seconds: float, doomed: str = "") -> list[Task]:
    return tasks("nap", range(number), log, seconds=str(seconds), doomed=doomed)


def calls(log: Path) -> list[list[str]]:
    """(node, call) of every try."""
    return [line.split() for line in (log / "calls").read_text().splitlines()]


def test_small_tasks_share_calls_and_leave_the_files_that_one_process_leaves(
    engine: RayEngine, store: LocalStore, tmp_path: Path
) -> None:
    todo = naps(tmp_path, 60, 0)
    done = results_of(engine, todo)
    assert [each.result.counts["n"] for each in done] == list(range(60))
    shared = Counter(call for _, call in calls(tmp_path))
    assert sum(shared.values()) == 60
    assert max(shared.values()) > 1, "small tasks go in batches"
    assert len(shared) > 4, "and all CPUs get some"
    assert all(each.cached for each in results_of(engine, todo))
    squares = tasks("square", range(5), tmp_path)
    results_of(engine, squares)
    other = LocalStore(tmp_path / "other")
    results_of(LocalEngine(other.url, TINY), squares)
    for name in other.list("artifacts"):
        assert store.read(name) == other.read(name)


@pytest.mark.slow
def test_tasks_of_a_node_that_is_killed_run_on_one_that_came(
    engine: RayEngine, ray_cluster: Any, tmp_path: Path
) -> None:
    nodes = [ray_cluster.add_node(**NODE)]
    todo = naps(tmp_path, 60, 0.5, doomed=nodes[0].node_id)

    def replace_a_node(number: int, finished: Finished) -> None:
        if len(nodes) == 1 and any(node == nodes[0].node_id for node, _ in calls(tmp_path)):
            ray_cluster.remove_node(nodes[0], allow_graceful=False)
            nodes.append(ray_cluster.add_node(**NODE))

    try:
        done = results_of(engine, todo, replace_a_node)
        assert [each.result.counts["n"] for each in done] == list(range(60))
        assert len(nodes) == 2
        assert any(tries(tmp_path, n) > 1 for n in range(60)), "what the first had in hand"
        assert any(node == nodes[1].node_id for node, _ in calls(tmp_path))
    finally:
        ray_cluster.remove_node(nodes[-1])


def test_a_call_that_never_begins_is_copied_where_a_cpu_is_free(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that fell silent holds the request; here calls ask for what no node has."""
    results_of(engine, tasks("square", [0], tmp_path))  # so that it is connected
    for module in (ray_engine, schedule):
        monkeypatch.setattr(module, "BEGIN_PATIENCE_S", 1.0)
    held, demands = [], engine._demands

    class Held:
        def remote(self, *given: Any) -> Any:
            held.append(given)
            return work.options(resources={"absent": 1}).remote(*given)

    work = engine._work
    monkeypatch.setattr(engine, "_work", Held())
    done = results_of(engine, tasks("square", range(1, 4), tmp_path))
    assert [each.result.counts["n"] for each in done] == [1, 2, 3]
    assert len(held) == 3, "their copies ask for workers anew"
    assert engine._demands == demands + 1, "once for all of them"
    results_of(engine, tasks("square", [4], tmp_path))
    assert len(held) == 3, "and so does what comes after them"


@pytest.mark.slow
def test_a_worker_with_other_code_refuses_and_names_both(
    engine: RayEngine, store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "code_digest", lambda: "0123456789abcdef")
    todo = tasks("square", range(9), tmp_path)
    with pytest.raises(OtherCode) as caught:
        results_of(engine, todo)
    assert f"({code_digest()[:12]})" in str(caught.value)
    assert "(0123456789ab)" in str(caught.value)
    assert not any(load_result(store, "square", task.fingerprint) for task in todo)


@pytest.mark.slow
def test_no_more_tasks_run_at_once_than_there_are_cpus(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that waits for an answer keeps its CPU: else Ray would start another one beside it."""
    monkeypatch.setattr(ray_engine, "Watch", tiny_tasks.SlowWatch)
    busy = tmp_path / "busy"
    busy.mkdir()
    results_of(engine, tasks("beside", range(16), tmp_path, busy=f"file:{busy}", seconds="0.7"))
    seen = [int(line) for line in (tmp_path / "beside").read_text().split()]
    assert len(seen) == 16
    assert max(seen) == 2, "the cluster has two CPUs"


@pytest.mark.slow
def test_a_node_with_other_code_is_left_out_and_the_build_goes_on(
    ray_cluster: Any, store: LocalStore, tmp_path: Path
) -> None:
    other = tmp_path / "xxhash-9.9.9.dist-info"  # of a library that the node has updated
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: xxhash\nVersion: 9.9.9\n")
    node = ray_cluster.add_node(**NODE, env_vars={"PYTHONPATH": str(tmp_path)})
    said: list[str] = []
    engine = RayEngine(store.url, TINY, address=ray_cluster.address, tell=said.append)
    try:
        done = results_of(engine, naps(tmp_path, 12, 0.3))
    finally:
        engine.close()
        ray_cluster.remove_node(node)
    assert [each.result.counts["n"] for each in done] == list(range(12))
    assert node.node_id not in {ran for ran, _ in calls(tmp_path)}
    (line,) = said
    assert "different code" in line
    assert "continues without that node" in line


SQUARES = """
import sys
from pathlib import Path
from corpus_assets.graph.engine.ray import RayEngine
from corpus_assets_tests.graph.engine import tiny_tasks
from corpus_assets_tests.graph.engine.test_failures import tasks
from corpus_assets_tests.graph.engine.test_local import results_of

store, address = sys.argv[1], sys.argv[2] or None
engine = RayEngine(store, tiny_tasks.function_of, 1, address)
print(len(results_of(engine, tasks("square", range(2), Path(store)))), "squares")
engine.close()
"""


@pytest.mark.slow
def test_a_cluster_started_after_an_earlier_one_can_be_used(tmp_path: Path) -> None:
    """Ray leaves a token behind, and asks for it from then on."""
    pytest.importorskip("ray", reason="ray is absent: pip install 'corpus-assets[ray]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    surroundings = environment(tmp_path) | {"HOME": str(tmp_path)}
    surroundings.pop("RAY_AUTH_MODE", None)
    ray = str(Path(sys.executable).with_name("ray"))

    def squares(address: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", SQUARES, str(tmp_path / f"store-{address[-4:]}"), address]
        return subprocess.run(command, env=surroundings, capture_output=True, text=True)

    first = squares("")
    assert "2 squares" in first.stdout, first.stderr
    assert (tmp_path / ".ray" / "auth_token").exists()
    start = ["start", "--head", f"--port={port}", "--num-cpus=1", "--include-dashboard=false"]
    subprocess.run([ray, *start], env=surroundings, check=True, capture_output=True)
    try:
        second = squares(f"127.0.0.1:{port}")
        (tmp_path / ".ray" / "auth_token").unlink()
        third = squares(f"127.0.0.1:{port}")
    finally:
        subprocess.run([ray, "stop", "--force"], env=surroundings, capture_output=True)
    assert "2 squares" in second.stdout, second.stderr
    assert "asks for a token: copy ~/.ray/auth_token" in third.stderr


LOST = """
import sys
from pathlib import Path
from ray.cluster_utils import Cluster
from corpus_assets.graph.engine.ray import RayEngine
from corpus_assets_tests.graph.engine import tiny_tasks
from corpus_assets_tests.graph.engine.test_local import results_of
from corpus_assets_tests.graph.engine.test_ray import naps
from corpus_assets_tests.ray_cluster import NODE

store = Path(sys.argv[1])
cluster = Cluster(initialize_head=True, head_node_args=NODE)
engine = RayEngine(str(store), tiny_tasks.function_of, 1, cluster.address)
done = []
try:
    def lose(number, finished):
        done.append(number)
        if len(done) == 2:
            cluster.head_node.kill_gcs_server()
    engine.run(naps(store, 400, 0.5), lose)
except Exception as error:
    print(type(error).__name__, error, flush=True)
finally:
    engine.close()
    for node in cluster.list_all_nodes():
        node.kill_all_processes(check_alive=False)
"""


@pytest.mark.slow
def test_a_lost_head_ends_the_build_with_our_own_message_before_ray_ends_the_process(
    tmp_path: Path,
) -> None:
    pytest.importorskip("ray", reason="ray is absent: pip install 'corpus-assets[ray]'")
    command = [sys.executable, "-c", LOST, str(tmp_path)]
    ended = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.startswith("EngineError the head of the Ray cluster was lost ("), ended
    assert "finished parts are kept" in ended.stdout
    assert "Fatal" not in ended.stderr


@pytest.mark.slow
def test_a_worker_without_the_code_is_told_about(
    ray_cluster: Any, store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = types.ModuleType("module_of_this_machine_only")
    exec("def function_of(stage): return None", absent.__dict__)
    monkeypatch.setitem(sys.modules, absent.__name__, absent)
    engine = RayEngine(store.url, absent.function_of, address=ray_cluster.address)
    try:
        with pytest.raises(OtherCode, match="module_of_this_machine_only.*install the same"):
            results_of(engine, tasks("square", range(3), tmp_path))
    finally:
        engine.close()


@pytest.mark.slow
def test_after_the_moment_that_it_is_allowed_until_nothing_is_stored(
    engine: RayEngine, store: LocalStore, tmp_path: Path
) -> None:
    first, second = tasks("square", [1, 2], tmp_path), tasks("square", [3, 4], tmp_path)
    engine.allow_until(clock() + 600)
    results_of(engine, first)
    engine.allow_until(0.0)
    with pytest.raises(LeaseLost, match=r"square \(number [34]\) was not stored: .*lease ran out"):
        results_of(engine, second)
    assert [load_result(store, "square", task.fingerprint) for task in second] == [None, None]
    assert all(done.cached for done in results_of(engine, first)), "what is there is found"


@pytest.mark.slow
def test_workers_bound_what_is_under_way(
    ray_cluster: Any, store: LocalStore, tmp_path: Path
) -> None:
    engine = RayEngine(store.url, TINY, workers=1, address=ray_cluster.address)
    try:  # every task fails where it sees another one beside it, at its third try for good
        assert len(results_of(engine, tasks("alone_at_last", range(4), tmp_path))) == 4
        assert [tries(tmp_path, n) for n in range(4)] == [3] * 4
    finally:
        engine.close()


@pytest.mark.slow
def test_ctrl_c_ends_what_runs_on_the_cluster(
    engine: RayEngine, store: LocalStore, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.touch()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        while len(log.read_text().split()) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            results_of(
                engine, [Task("sleep", 1, {"n": n}, params={"log": f"file:{log}"}) for n in (1, 2)]
            )
    finally:
        waiting.join()
        signal.signal(signal.SIGINT, before)
    for pid in log.read_text().split():
        _wait_until_gone(int(pid))
    assert len(results_of(engine, tasks("square", [1, 2], tmp_path))) == 2


def _wait_until_gone(pid: int) -> None:
    while Path(f"/proc/{pid}").exists():  # the test's own time limit ends this
        time.sleep(0.05)


DRIVER = """
import sys
from pathlib import Path
from corpus_assets.graph.engine.ray import RayEngine
from corpus_assets.graph.engine.travel import Packer
from corpus_assets.graph.run import snapshots_of
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets_tests.graph.engine.test_ray import TINY, naps, results_of
url, address, log = sys.argv[1:]
results_of(RayEngine(url, TINY, address=address), naps(Path(log), 2, 4.0))
"""


@pytest.mark.slow
def test_a_task_whose_driver_was_killed_stores_nothing(
    ray_cluster: Any, store: LocalStore, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", DRIVER, store.url, ray_cluster.address, str(tmp_path)]
    driver = subprocess.Popen(command)
    while not tries(tmp_path, 0) or not tries(tmp_path, 1):
        assert driver.poll() is None
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    for number in (0, 1):
        _wait_until_gone(int((tmp_path / f"{number}.tries").read_text()))
    todo = naps(tmp_path, 2, 4.0)
    assert [load_result(store, "nap", task.fingerprint) for task in todo] == [None, None]


@pytest.mark.slow
def test_the_small_corpus_and_a_takedown_have_the_same_bytes_on_ray(
    ray_cluster: Any, small_build: Place, place: Place, tmp_path: Path
) -> None:
    """`place` is built by one process, as `small_build` is, and one of its pages taken down."""
    on_ray = ["--engine", "ray", "--ray-address", ray_cluster.address]
    home = tmp_path / "ray"
    command = ["build", str(place.recipe), "--home", str(home), "--version", VERSION]
    assert main([*command, *on_ray]) == 0
    assert hashes(home / "store" / "artifacts") == hashes(small_build.store / "artifacts")
    assert version_files(home, VERSION) == small_build.files()
    page = ["takedown", "request", "--url", "http://site-5.example.org/article", "--reason", "t"]
    for where, options in ((place.home, []), (home, on_ray)):
        for command in (page, ["takedown", "run", *options]):
            done = CliRunner().invoke(catalog, [*command, "--home", str(where)])
            assert done.exit_code == 0, done.output
    assert version_files(home, f"{VERSION}.td1") == place.files(f"{VERSION}.td1")


@pytest.mark.slow
def test_but_for_source_files_no_task_of_a_corpus_carries_a_path(place: Place) -> None:
    named = 0
    with open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        pipeline = session.pipeline
        packer = Packer(session.home.store_url)
        for stage in STAGES:
            for snapshot in snapshots_of(pipeline, stage, None):
                for task in pipeline.tasks(stage.name, snapshot):
                    named += str(place.folder) in json.dumps(_without_sources(task.params))
                    sent = packer.packed(task)
                    assert str(place.folder) not in json.dumps(_without_sources(sent.params))
                    assert str(place.folder) not in repr(replace(sent, params={}))
    assert named, "some name lists, suites or models"


def _without_sources(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_sources(v) for k, v in value.items() if k != "uri"}
    return [_without_sources(v) for v in value] if isinstance(value, list | tuple) else value


@pytest.mark.slow
def test_sigterm_ends_a_build_on_ray_with_one_line(
    ray_cluster: Any, place: Place, tmp_path: Path
) -> None:
    on_ray = ["--engine", "ray", "--ray-address", ray_cluster.address]
    home = tmp_path / "ray"
    build = subprocess.Popen(
        corpus_command("build", str(place.recipe), "--version", VERSION, *on_ray),
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(home.glob("store/artifacts/documents/*/result.json")):
        assert build.poll() is None
        time.sleep(0.05)
    build.send_signal(signal.SIGTERM)
    printed, told = build.communicate()
    assert build.returncode == 143
    assert told.strip().splitlines()[-1].startswith("corpus: stopped")
    assert "Traceback" not in told + printed


def test_without_ray_the_engine_says_what_to_install(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'corpus-assets\[ray\]'"):
        RayEngine(store.url, TINY)


def test_a_cluster_that_is_not_there_is_told_at_once(store: LocalStore, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is absent: pip install 'corpus-assets[ray]'")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(EngineError, match=f"at {address}: ConnectionRefused.*ray start --head"):
        results_of(RayEngine(store.url, TINY, address=address), tasks("square", [1], tmp_path))


def test_ray_client_is_refused_with_what_to_do_instead(store: LocalStore) -> None:
    with pytest.raises(EngineError, match="ray://head:10001: .*ray start --address"):
        RayEngine(store.url, TINY, address="ray://head:10001")


def test_options_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert EngineChoice.resolve(workers=3) == EngineChoice("local", 3)
    assert EngineChoice.resolve(ray_address="head:6379") == EngineChoice("ray", 0, "head:6379")
    monkeypatch.setenv("CORPUS_ENGINE", "ray")
    monkeypatch.setenv("CORPUS_RAY_ADDRESS", "head:6379")
    assert EngineChoice.resolve() == EngineChoice("ray", 0, "head:6379")
    assert EngineChoice.resolve(ray_address="other:1", workers=2).ray_address == "other:1"
    assert EngineChoice.resolve("local", local_workers=1) == EngineChoice("local", 1)
    monkeypatch.setenv("CORPUS_ENGINE", "spark")
    with pytest.raises(EngineError, match="no engine spark; choose local or ray"):
        EngineChoice.resolve()
    with pytest.raises(EngineError, match="--ray-address is for the engine ray"):
        EngineChoice.resolve("local", ray_address="head:6379")
