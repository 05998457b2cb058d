"""What the UI's buttons do, asked of the webserver as the UI asks: the whole graph materialized by
one backfill, a build that is terminated in the middle and executed again, one that a command started
and that goes on from its failure; and what the UI shows of that failure, in a real browser."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.db.registry import Registry
from corpus_assets.build import STEPS
from corpus_assets.cli.main import main
from corpus_assets.defs.assets import ASSETS
from corpus_assets_tests.chromium import chromium
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.defs.test_steps import ask_the_impossible
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.deploy.services import Deployment
from corpus_assets_tests.small_corpus import SNAPSHOTS

SETTINGS = Path(__file__).resolve().parents[2] / "dagster.yaml"
PATIENCE_S = 1500.0
HERE = {"repositoryName": "__repository__", "repositoryLocationName": "corpus_assets"}
ADD = """mutation($where: RepositorySelector!, $of: String!, $key: String!) {
  addDynamicPartition(repositorySelector: $where, partitionsDefName: $of, partitionKey: $key) {
    __typename } }"""
BACKFILL = """mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
STATE = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill { status error { message } } } }"""
LAUNCH = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
AGAIN = """mutation($params: ReexecutionParams!) { launchRunReexecution(reexecutionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
TERMINATE = "mutation($id: String!) { terminateRun(runId: $id) { __typename } }"


@pytest.fixture
def services(small_build: Place, tmp_path: Path) -> Iterator[Deployment]:
    """The services on an empty home, for the recipe that `corpus build` has built elsewhere."""
    running = Deployment(tmp_path, {"CORPUS_RECIPE": str(small_build.recipe)}, SETTINGS)
    running.start()
    try:
        yield running
    finally:
        running.stop()


def status_of(services: Deployment, run: str) -> str:
    return {each["runId"]: each["status"] for each in services.runs()}.get(run, "")


def contents(registry: Registry) -> dict[str, str]:
    return {row.fingerprint: row.content_hash for row in registry.artifacts()}


def until(services: Deployment, is_so: Callable[[], bool]) -> None:
    """Wait for something, without a pause in which it could be over."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, services.last_words()
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_one_backfill_of_the_whole_graph_gives_the_bytes_of_a_build(
    services: Deployment, small_build: Place
) -> None:
    keys = [("snapshot", name) for name in SNAPSHOTS] + [("version", VERSION)]
    for of, key in keys:
        added = services.ask(ADD, where=HERE, of=of, key=key)
        assert added["addDynamicPartition"]["__typename"] == "AddDynamicPartitionSuccess"
    chosen = [{"path": asset.key.path} for asset in ASSETS]
    params = {"assetSelection": chosen, "allPartitions": True}
    launched = services.ask(BACKFILL, params=params)["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched

    def is_done() -> bool:
        state = services.ask(STATE, id=launched["backfillId"])["partitionBackfillOrError"]
        assert not state["error"], state
        assert not services.runs("FAILURE"), services.last_words()
        return bool(state["status"] == "COMPLETED_SUCCESS")

    services.until(is_done, PATIENCE_S)
    assert version_files(services.home, VERSION) == small_build.files()
    assert services.registry.version(VERSION).state == "released"


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_a_build_that_is_terminated_leaves_nothing_claimed_and_goes_on_when_executed_again(
    services: Deployment, small_build: Place
) -> None:
    config = {"ops": {"corpus_version": {"config": {"version": VERSION}}}}
    job: dict[str, Any] = {"selector": HERE | {"jobName": "build_version"}, "runConfigData": config}
    run = services.ask(LAUNCH, params=job)["launchRun"]["run"]["runId"]
    registry = services.registry
    until(services, lambda: (services.home / "catalog.db").exists())
    until(services, lambda: bool(registry.leases("")) and bool(registry.artifacts("documents")))
    assert services.ask(TERMINATE, id=run)["terminateRun"]["__typename"] == "TerminateRunSuccess"
    services.until(lambda: status_of(services, run) == "CANCELED", PATIENCE_S)
    assert registry.versions() == [], "it was terminated too late"
    assert registry.leases("") == []
    made = contents(registry)
    params = {"parentRunId": run, "strategy": "ALL_STEPS"}
    again = services.ask(AGAIN, params=params)["launchRunReexecution"]["run"]["runId"]
    services.until(lambda: status_of(services, again) == "SUCCESS", PATIENCE_S)
    assert version_files(services.home, VERSION) == small_build.files()
    assert made.items() <= contents(registry).items(), "what was finished is found"
    assert registry.leases("") == []


STEPS_OF = """query($id: ID!) { runOrError(runId: $id) {
    ... on Run { stepStats { stepKey status } } } }"""


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_a_failed_build_of_a_command_is_red_in_the_ui_and_goes_on_from_there(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrected = ask_the_impossible(place)
    shutil.rmtree(place.home / "dagster")
    services = Deployment(tmp_path, {"CORPUS_RECIPE": str(place.recipe)}, SETTINGS)
    assert services.home == place.home
    with monkeypatch.context() as patch:
        patch.setenv("DAGSTER_HOME", services.env["DAGSTER_HOME"])
        build = ["build", str(place.recipe), "--home", str(place.home), "--version", "other-1"]
        assert main([*build, "--workers", "1"]) == 1
    services.start()
    try:
        (run,) = [each["runId"] for each in services.runs("FAILURE")]
        with chromium(tmp_path) as page:
            page.open(f"{services.address}/runs/{run}")
            page.shows("Not executed (3)")
            page.shows("Errored (1)")
            page.picture("failed-run")
            page.open(f"{services.address}/assets/tokenizer")
            page.shows("Failed in")
            page.picture("failed-asset")
        place.recipe.write_text(corrected)
        params = {"parentRunId": run, "strategy": "FROM_FAILURE"}
        launched = services.ask(AGAIN, params=params)["launchRunReexecution"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        again = launched["run"]["runId"]
        services.until(lambda: status_of(services, again) == "SUCCESS", PATIENCE_S)
        stats = services.ask(STEPS_OF, id=again)["runOrError"]["stepStats"]
    finally:
        services.stop()
    assert [each["stepKey"] for each in stats] == list(STEPS[STEPS.index("tokenizer") :])
    assert {each["status"] for each in stats} == {"SUCCESS"}
    assert services.registry.version("other-1").state == "candidate"
    assert services.registry.leases("") == []
