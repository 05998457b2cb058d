"""Dagster's records in a home: one file for all runs, the same to every process."""

import shutil
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


@pytest.mark.slow
def test_a_home_whose_settings_name_no_storage_is_built_as_before(place: Place) -> None:
    shutil.rmtree(place.home / "dagster")
    (place.home / "dagster").mkdir()
    (place.home / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    assert place.build() == 0
    assert Path(place.home, "dagster", "history", "runs", "index.db").exists()
    with instance_of(place) as instance:
        assert instance.get_latest_materialization_event(CLUSTERS) is not None
