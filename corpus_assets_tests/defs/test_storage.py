"""Dagster's records in a home: one file for all runs, the same to every process."""

import queue
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets.core.home import Home
from corpus_assets.defs import storage
from corpus_assets.defs.build import open_instance
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets_tests.conftest import Place

CLUSTERS = dg.AssetKey("clusters")


def instance_of(place: Place) -> dg.DagsterInstance:
    with open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        return open_instance(session)


def test_a_build_is_recorded_in_one_file_and_read_back_by_threads_and_by_reference(
    place: Place,
) -> None:
    history = place.home / "dagster" / "history"
    assert {path.name.partition(".db")[0] for path in history.iterdir()} == {"event_log", "runs"}
    with instance_of(place) as instance:
        assert type(instance.event_log_storage).__module__ == storage.__name__
        runs = instance.get_runs()
        assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}
        keys = [dg.AssetKey(name) for name in STAGES.assets] * 3
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(instance.get_latest_materialization_event, keys))
        assert None not in found
        with dg.DagsterInstance.from_ref(instance.get_ref()) as other:  # as a launched run does
            assert len(other.get_runs()) == len(runs)
            assert other.get_materialized_partitions(CLUSTERS) == {"books-1", "crawl-1", "crawl-2"}


def test_who_watches_a_run_hears_of_events_that_another_process_writes(tmp_path: Path) -> None:
    heard: queue.Queue[str] = queue.Queue()
    here = storage.PooledSqliteStorage(str(tmp_path)).event_log_storage
    here.watch("run-1", None, lambda entry, cursor: heard.put(entry.user_message))
    write = (
        "import sys, time\n"
        "from dagster._core.events.log import EventLogEntry\n"
        "from corpus_assets.defs.storage import PooledSqliteStorage\n"
        "log = PooledSqliteStorage(sys.argv[1]).event_log_storage\n"
        "for text in ('one', 'two'):\n"
        "    log.store_event(EventLogEntry(None, 10, text, 'run-1', time.time()))\n"
        "time.sleep(60)\n"  # a run holds its records open: nothing moves them to the database
    )
    writer = subprocess.Popen([sys.executable, "-c", write, str(tmp_path)])
    try:
        assert [heard.get(timeout=50) for _ in range(2)] == ["one", "two"]
    finally:
        writer.kill()
        writer.wait()
        here.dispose()


@pytest.mark.slow
def test_a_home_whose_settings_name_no_storage_is_built_as_before(place: Place) -> None:
    shutil.rmtree(place.home / "dagster")
    (place.home / "dagster").mkdir()
    (place.home / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    assert place.build() == 0
    assert Path(place.home, "dagster", "history", "runs", "index.db").exists()
    with instance_of(place) as instance:
        assert instance.get_latest_materialization_event(CLUSTERS) is not None
