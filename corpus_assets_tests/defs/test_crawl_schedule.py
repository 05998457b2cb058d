"""New crawls become snapshots by schedule, partitions and runs by sensor; twice is once."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster import AddDynamicPartitionsRequest

from catalog.db.registry import Registry
from catalog.errors import CatalogConflict
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.home import Home
from corpus_assets.definitions import defs
from corpus_assets.defs.build import open_instance
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.sensors import crawl_list_job, new_snapshots, weekly_crawl_check
from corpus_assets.inspect.snapshots import follow
from corpus_assets.session import open_session
from corpus_assets_tests.crawl_server import CrawlServer, crawl_list, every_other
from corpus_assets_tests.ingest.crawl.crawl_corpus import (
    FIRST,
    SECOND,
    Place,
    two_crawls,
    write_mirror,
)

MONDAY = datetime(2024, 5, 6, 5, 17, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[CrawlServer]:
    with CrawlServer(two_crawls()) as running:
        running.files["collinfo.json"] = crawl_list("CC-MAIN-2023-50", FIRST, SECOND)
        yield running


def resource(place: Place) -> CorpusResource:
    return CorpusResource(recipe=str(place.recipe), home=str(place.home), workers=1)


def ticked(
    corpus: CorpusResource, instance: dg.DagsterInstance, add: bool = True
) -> list[tuple[str, str]]:
    """Partitions and run keys that one tick of the sensor asks for.

    Dagster adds the partitions that a tick asks for, then starts its runs. `add` False: it died
    before both.
    """
    with dg.build_sensor_context(instance=instance, resources={"corpus": corpus}) as context:
        answer = new_snapshots(context)
    assert isinstance(answer, dg.SensorResult)
    for request in answer.dynamic_partitions_requests or () if add else ():
        assert isinstance(request, AddDynamicPartitionsRequest)
        instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
    return [(str(r.partition_key), str(r.run_key)) for r in answer.run_requests or ()]


def test_the_code_location_has_the_schedule() -> None:
    schedules = {each.name for each in defs.get_repository_def().schedule_defs}
    assert "weekly_crawl_check" in schedules


def test_a_new_crawl_is_added_once_and_its_run_is_started_once(
    server: CrawlServer, tmp_path: Path
) -> None:
    corpus = resource(Place(tmp_path, server.base, follow_after=FIRST, files=1))
    server.faults = every_other()
    with dg.DagsterInstance.ephemeral() as instance:
        assert [name for name, _ in ticked(corpus, instance)] == [FIRST]
        assert ticked(corpus, instance) == []
        for _ in range(2):
            done = crawl_list_job.execute_in_process(
                instance=instance, resources={"corpus": corpus}
            )
            assert done.success
        assert corpus.book().recipe.snapshots == (FIRST, SECOND), "2023-50 is older: left alone"
        ticks = [ticked(corpus, instance, add) for add in (False, True)]
        assert [name for name, _ in ticks[0]] == [SECOND]
        assert ticks[0] == ticks[1], "a double tick asks for the same run, which starts once"
        assert instance.get_dynamic_partitions("snapshot") == [FIRST, SECOND]
        assert ticked(corpus, instance) == []


def test_a_folder_beside_the_crawls_is_not_followed(tmp_path: Path) -> None:
    mirror = write_mirror(tmp_path / "mirror")
    corpus = resource(Place(tmp_path, str(mirror), follow_after=FIRST))
    with dg.DagsterInstance.ephemeral() as instance:
        crawl_list_job.execute_in_process(instance=instance, resources={"corpus": corpus})
    assert corpus.book().recipe.snapshots == (FIRST, SECOND)


def test_a_crawl_whose_files_are_not_there_yet_waits_for_the_next_week(
    server: CrawlServer, tmp_path: Path
) -> None:
    corpus = resource(Place(tmp_path, server.base, follow_after=FIRST))
    path = f"crawl-data/{SECOND}/warc.paths.gz"
    later = server.files.pop(path)
    with dg.DagsterInstance.ephemeral() as instance:
        crawl_list_job.execute_in_process(instance=instance, resources={"corpus": corpus})
        assert corpus.book().recipe.snapshots == (FIRST,)
        server.files[path] = later
        crawl_list_job.execute_in_process(instance=instance, resources={"corpus": corpus})
    assert corpus.book().recipe.snapshots == (FIRST, SECOND)


def test_a_crawl_whose_list_is_damaged_is_passed_over_and_taken_when_it_is_restored(
    server: CrawlServer, tmp_path: Path
) -> None:
    corpus = resource(Place(tmp_path, server.base, follow_after=FIRST))
    path = f"crawl-data/{SECOND}/warc.paths.gz"
    whole = server.files[path]
    for damaged, why in ((whole[:-9], "is truncated"), (b"<html>", "is not gzip")):
        server.files[path] = damaged
        told: list[str] = []
        assert follow(corpus.book(), told.append) == []
        assert len(told) == 1
        assert told[0].startswith(f"skipped {SECOND}: {path}: {why}")
    server.files[path] = whole
    assert [each.snapshot for each in follow(corpus.book(), print)] == [SECOND]


def gated_by_robots(place: Place) -> None:
    """Let the recipe ask for robots.txt, which it has for the first crawl only."""
    raw = yaml.safe_load(place.recipe.read_text())
    raw["documents"] = {"gates": {"robots": {"agents": ["ExampleBot"]}}}
    raw["sources"][0]["site_files"] = {FIRST: "sites"}
    place.recipe.write_text(yaml.safe_dump(raw))


def test_a_crawl_that_the_recipe_would_not_hold_with_is_passed_over_with_the_reason(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, server.base, follow_after=FIRST)
    gated_by_robots(place)
    corpus = resource(place)
    with dg.DagsterInstance.ephemeral() as instance:
        done = crawl_list_job.execute_in_process(instance=instance, resources={"corpus": corpus})
        (output,) = [e for e in done.all_events if e.event_type_value == "STEP_OUTPUT"]
        metadata = output.step_output_data.metadata
    (told,) = metadata["passed_over"].value
    assert told.startswith(f"skipped {SECOND}: ")
    assert f"{SECOND} has no robots.txt;" in told
    assert metadata["crawls"].value == []
    assert corpus.book().recipe.snapshots == (FIRST,), "the recipe can still be read"
    assert place.run("snapshots", "discover") == 0
    assert f"{SECOND} has no robots.txt;" in capsys.readouterr().err
    assert place.run("snapshots", "add", SECOND) == 1
    assert f"{SECOND} has no robots.txt;" in capsys.readouterr().err
    assert not list(place.home.glob("store/snapshots/*/*"))


def test_a_crawl_without_the_robots_records_that_the_source_pins_is_passed_over(
    server: CrawlServer, tmp_path: Path
) -> None:
    corpus = resource(Place(tmp_path, server.base, follow_after=FIRST, robots=True))
    told: list[str] = []
    assert follow(corpus.book(), told.append) == []
    assert told == [f"skipped {SECOND}: it has no robotstxt.paths.gz"]


def test_a_snapshot_that_breaks_the_recipe_can_be_removed_and_stays_removed(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, server.base, follow_after=FIRST)
    corpus = resource(place)
    assert [each.snapshot for each in follow(corpus.book(), print)] == [SECOND]
    gated_by_robots(place)
    with pytest.raises(RecipeError, match=r"corpus snapshots remove .*crawl.yaml NAME"):
        corpus.book()
    assert place.run("snapshots", "remove", SECOND) == 0
    assert f"removed {SECOND} from web" in capsys.readouterr().out
    told: list[str] = []
    assert follow(corpus.book(), told.append) == []
    assert told == [f"skipped {SECOND}: it was removed; `corpus snapshots add` adds it again"]
    assert place.run("snapshots", "remove", SECOND) == 1
    assert "was not added to recipe crawl (none was)" in capsys.readouterr().err
    assert place.run("snapshots", "remove", FIRST) == 1
    assert "that the recipe file names is removed there" in capsys.readouterr().err


def test_removing_a_snapshot_takes_its_pins_and_its_partition(
    server: CrawlServer, tmp_path: Path
) -> None:
    place = Place(tmp_path, server.base, follow_after=FIRST)
    assert place.run("snapshots", "add", SECOND, "--files", "1") == 0
    home = Home.resolve(str(place.home))
    corpus = resource(place)
    with open_session(corpus.recipe, home) as session, open_instance(session) as instance:
        keys = dict(ticked(corpus, instance))
        assert instance.get_dynamic_partitions("snapshot") == [FIRST, SECOND]
        assert place.run("snapshots", "remove", SECOND) == 0
        assert instance.get_dynamic_partitions("snapshot") == [FIRST]
        assert SECOND not in [row.name for row in session.registry.snapshots()]
        assert place.run("snapshots", "add", SECOND, "--files", "2") == 0, "it may differ now"
        assert len(place.pinned(SECOND)) == 2
        ((name, key),) = ticked(corpus, instance)
        assert name == SECOND
        assert key != keys[SECOND], "Dagster starts a run key once, and this is another run"


@pytest.mark.slow
def test_a_snapshot_of_a_live_version_is_taken_off_the_list_only(
    server: CrawlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, server.base)
    assert place.run("snapshots", "add", SECOND, "--files", "1") == 0
    place.build()
    assert place.run("snapshots", "remove", SECOND) == 1
    assert f"the live version v holds documents of {SECOND}" in capsys.readouterr().err
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    with pytest.raises(CatalogConflict, match="the live version v holds documents of it"):
        registry.forget_snapshot(SECOND)
    assert place.run("snapshots", "remove", SECOND, "--list-only") == 0
    assert resource(place).book().recipe.snapshots == (FIRST,)
    assert place.pinned(SECOND)


def test_only_crawls_behind_the_named_one_are_followed(server: CrawlServer, tmp_path: Path) -> None:
    corpus = resource(Place(tmp_path, server.base, follow_after=SECOND))
    with dg.DagsterInstance.ephemeral() as instance:
        crawl_list_job.execute_in_process(instance=instance, resources={"corpus": corpus})
    assert corpus.book().recipe.snapshots == (FIRST,)


def test_a_week_has_one_run_and_a_recipe_that_does_not_follow_has_none(
    server: CrawlServer, tmp_path: Path
) -> None:
    following = resource(Place(tmp_path / "a", server.base, follow_after=FIRST))
    still = resource(Place(tmp_path / "b", server.base))
    with dg.DagsterInstance.ephemeral() as instance:

        def tick(corpus: CorpusResource, now: datetime = MONDAY) -> object:
            with dg.build_schedule_context(
                instance=instance, scheduled_execution_time=now, resources={"corpus": corpus}
            ) as context:
                return weekly_crawl_check(context)

        asked = [tick(following) for _ in range(2)]
        assert [getattr(each, "run_key", None) for each in asked] == ["crawls/2024-19"] * 2
        assert isinstance(tick(still), dg.SkipReason)
        later = tick(following, MONDAY + timedelta(days=5))
        assert getattr(later, "run_key", None) == "crawls/2024-19", "a missed tick is made up for"
        before = tick(following, MONDAY - timedelta(days=1))
        assert getattr(before, "run_key", None) == "crawls/2024-18"
    assert server.requests() == 0, "a tick itself asks no server"
