"""The takedown sensor: when it starts a run, that it starts none twice and loses none."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from catalog.db.registry import Registry
from catalog.db.rows import NewTakedown
from corpus_assets.build import STEPS
from corpus_assets.defs import takedown_sensor
from corpus_assets.defs.takedown_sensor import (
    LastRun,
    decide,
    pause_minutes,
    takedown_job,
    wait_minutes,
)
from corpus_assets.recipe.load import load_recipe
from corpus_assets.recipe.operations import TakedownSettings
from corpus_assets.takedown.run import CERTIFICATES
from corpus_assets_tests.small_corpus import make_small_corpus

AT_ONCE = TakedownSettings()


def soon(minutes: float = 0) -> datetime:
    """A second from now, when what was just filed has waited a moment; or so much later."""
    return datetime.now(UTC) + timedelta(minutes=minutes, seconds=1)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    registry = Registry(f"sqlite:///{tmp_path}/catalog.db")
    registry.upgrade()
    return registry


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def _file(registry: Registry, *names: str) -> None:
    registry.file_takedowns(
        [
            NewTakedown("url", name, False, "asked", suppressions=(("url_key", name),))
            for name in names
        ]
    )


class Daemon:
    """What Dagster does around a sensor: starts each run key once, keeps the cursor."""

    def __init__(self, instance: dg.DagsterInstance, registry: Registry) -> None:
        self.instance, self.registry = instance, registry
        self.cursor: str | None = None
        self.keys: list[str] = []

    def tick(
        self,
        settings: TakedownSettings = AT_ONCE,
        now: datetime | None = None,
        launch: bool = True,
        keep_cursor: bool = True,
    ) -> str:
        """The run key that was started, or why none was."""
        with dg.build_sensor_context(instance=self.instance, cursor=self.cursor) as context:
            result = decide(context, self.registry, settings, now or soon())
        if result.skip_reason is not None:
            return str(result.skip_reason.skip_message)
        (request,) = result.run_requests or ()
        assert request.run_key is not None
        if request.run_key in self.keys:
            return "started before"
        if launch:
            self.keys.append(request.run_key)
            tags = {**request.tags, "dagster/run_key": request.run_key}
            self.instance.create_run_for_job(
                takedown_job, tags=tags, status=dg.DagsterRunStatus.STARTED
            )
        if keep_cursor:
            self.cursor = result.cursor
        return request.run_key

    def end_run(self, status: dg.DagsterRunStatus) -> None:
        for run in self.instance.get_runs():
            if not run.is_finished and status == dg.DagsterRunStatus.FAILURE:
                self.instance.report_run_failed(run)
            elif not run.is_finished:
                self.instance.report_run_canceled(run)


@pytest.fixture
def daemon(instance: dg.DagsterInstance, registry: Registry) -> Daemon:
    return Daemon(instance, registry)


def test_nothing_pending_starts_nothing(daemon: Daemon) -> None:
    assert daemon.tick() == "no takedown is pending"


def test_a_run_names_its_requests_and_is_started_once(daemon: Daemon) -> None:
    _file(daemon.registry, "com,a)/", "com,b)/")
    assert daemon.tick().startswith("takedown/")
    (run,) = daemon.instance.get_runs()
    assert run.tags["corpus/takedowns"] == "1,2"
    assert daemon.tick() == "a takedown run is already queued"
    _file(daemon.registry, "com,c)/")  # joins the run that is on its way, or the next
    assert daemon.tick() == "a takedown run is already queued"


def test_a_tick_that_is_repeated_asks_for_the_same_run(daemon: Daemon) -> None:
    _file(daemon.registry, "com,a)/")
    first = daemon.tick(keep_cursor=False)  # the daemon died before it kept the cursor
    assert daemon.tick() == "started before"
    assert daemon.keys == [first]


def test_requests_are_gathered_for_the_window_or_until_the_batch_is_full(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takedown_sensor, "MAX_BATCH", 3)
    hour = TakedownSettings(window_minutes=60)
    _file(daemon.registry, "com,a)/")
    assert "1 takedowns are pending; a run starts in" in daemon.tick(hour)
    _file(daemon.registry, "com,b)/")
    assert "2 takedowns are pending" in daemon.tick(hour, soon(50))
    assert daemon.tick(hour, soon(61), launch=False, keep_cursor=False)
    _file(daemon.registry, "com,c)/")
    assert daemon.tick(hour).startswith("takedown/")


def test_a_failed_run_is_tried_again_after_a_growing_pause(daemon: Daemon) -> None:
    _file(daemon.registry, "com,a)/")
    moment = soon()
    for attempt in range(1, 4):
        key = daemon.tick(now=moment)
        assert key.startswith("takedown/"), key
        daemon.registry.claim_takedowns([1], "run", 60)
        daemon.registry.fail_takedowns([1], "run", "the disk is full")
        daemon.end_run(dg.DagsterRunStatus.FAILURE)
        assert "1 takedowns are pending; a run starts in" in daemon.tick()
        moment = soon(pause_minutes(attempt))
    assert len(set(daemon.keys)) == 3
    assert daemon.registry.takedown(1).error == "the disk is full"
    assert [pause_minutes(n) for n in (1, 2, 3, 7, 40)] == [1, 2, 4, 60, 60]


def test_a_run_that_ended_before_it_began_its_work_is_made_up_for(daemon: Daemon) -> None:
    _file(daemon.registry, "com,a)/")
    first = daemon.tick()
    daemon.end_run(dg.DagsterRunStatus.CANCELED)
    assert "the last run did not begin" in daemon.tick()
    later = soon(2)
    second = daemon.tick(now=later)
    assert second.startswith("takedown/")
    assert second != first
    assert LastRun.from_cursor(daemon.cursor) == LastRun(
        second, first.split("/")[1], 1, later.timestamp()
    )


def test_a_request_whose_run_was_killed_elsewhere_is_seen_when_its_claim_runs_out(
    daemon: Daemon,
) -> None:
    _file(daemon.registry, "com,a)/")
    daemon.registry.claim_takedowns([1], "another-host:7:x", 60)
    assert daemon.tick() == "takedowns are running"
    daemon.registry.claim_takedowns([1], "another-host:7:x", -1)
    assert daemon.tick(now=soon(2)).startswith("takedown/")


def test_a_failed_request_does_not_hold_up_a_new_one(registry: Registry) -> None:
    _file(registry, "com,a)/", "com,b)/")
    registry.claim_takedowns([1], "run", 60)
    registry.fail_takedowns([1], "run", "it failed")
    assert wait_minutes(registry.takedowns()[:1], AT_ONCE, soon()) > 0
    assert wait_minutes(registry.takedowns(), AT_ONCE, soon()) == 0


def test_when_takedowns_are_carried_out_is_no_part_of_a_recipes_identity(tmp_path: Path) -> None:
    path = make_small_corpus(tmp_path)
    plain = load_recipe(path)
    waiting = load_recipe(path, {"takedowns": {"window_minutes": 90, "keep_revoked": True}})
    assert waiting.takedowns.window_minutes == 90
    assert waiting.digest == plain.digest
    assert waiting.identity() == plain.identity()


def test_the_job_has_a_step_for_each_asset_and_one_for_the_proof() -> None:
    assert {node.name for node in takedown_job.nodes} == {*STEPS, CERTIFICATES}
