"""A build in Dagster, step by step: what each asset's step records, what a failure leaves, and how a
run goes on from it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value

from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets import build as building
from corpus_assets.build import CORPUS_VERSION, SOURCE_FILES, STEPS, build
from corpus_assets.core.errors import SourceError
from corpus_assets.core.home import Home
from corpus_assets.core.task import TaskContext
from corpus_assets.definitions import defs
from corpus_assets.defs.assets import ASSETS
from corpus_assets.defs.partitions import SNAPSHOTS as BY_SNAPSHOT
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.runs import DagsterRuns
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets.graph.run import StageIncomplete
from corpus_assets.session import open_session
from corpus_assets.stages import function_of
from corpus_assets.takedown.run import CERTIFICATES, run_pending
from corpus_assets.versions.publish import publish_version
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.small_corpus import SNAPSHOTS

AUDIT = "audit: {one_token: [zzzqqqxxyy]}"
OF_VERSIONS = (CORPUS_VERSION, "release_gate")


def job() -> dg.JobDefinition:
    """The job as the code location has it, for runs that are executed again."""
    return defs.resolve_job_def("build_version")


@pytest.fixture
def instance(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    folder = str(place.home / "dagster")
    monkeypatch.setenv("DAGSTER_HOME", folder)
    with dg.DagsterInstance.from_config(folder) as found:
        yield found


def events(instance: dg.DagsterInstance, run_id: str, kind: str) -> list[Any]:
    """Events of a run, of one kind, in order."""
    logs = instance.all_logs(run_id, of_type=dg.DagsterEventType(kind))
    return [log.dagster_event for log in logs if log.dagster_event is not None]


def steps_of(instance: dg.DagsterInstance, run_id: str, kind: str) -> list[str]:
    return [event.step_key for event in events(instance, run_id, kind)]


def last_run(instance: dg.DagsterInstance) -> dg.DagsterRun:
    return instance.get_runs(limit=1)[0]


def staleness(instance: dg.DagsterInstance, version: str) -> dict[tuple[str, str | None], str]:
    """What Dagster itself says of every asset that a build makes, where it is not fresh."""
    graph = defs.get_repository_def().asset_graph
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    found = {}
    for name in (*STEPS, "release_gate"):
        key = dg.AssetKey(name)
        by_snapshot = graph.get(key).partitions_def == BY_SNAPSHOT
        partitions = SNAPSHOTS if by_snapshot else [version if name in OF_VERSIONS else None]
        for partition in partitions:
            status = resolver.get_status(key, partition)
            if status is not StaleStatus.FRESH:
                causes = [cause.reason for cause in resolver.get_stale_causes(key, partition)]
                found[name, partition] = f"{status.value}: {causes}"
    return found


def failed_partitions(instance: dg.DagsterInstance, asset: str) -> set[str]:
    """The partitions that the UI shows as failed."""
    cached = get_and_update_asset_status_cache_value(instance, dg.AssetKey(asset), BY_SNAPSHOT)
    assert cached is not None
    return set(cached.deserialize_failed_partition_subsets(BY_SNAPSHOT).get_partition_keys())


def is_shown_as_failed(instance: dg.DagsterInstance, asset: str) -> bool:
    """Whether the newest run that began to make an asset failed and did not make it."""
    (record,) = instance.get_asset_records([dg.AssetKey(asset)])
    entry = record.asset_entry
    run = instance.get_run_by_id(entry.last_run_id or "")
    assert run is not None
    made_by = entry.last_materialization.run_id if entry.last_materialization else None
    return run.status == dg.DagsterRunStatus.FAILURE and made_by != run.run_id


def checks_of(instance: dg.DagsterInstance, run_id: str, asset: str) -> dict[str, bool]:
    found = [
        e.asset_check_evaluation_data for e in events(instance, run_id, "ASSET_CHECK_EVALUATION")
    ]
    return {one.check_name: one.passed for one in found if one.asset_key == dg.AssetKey(asset)}


def ask_the_impossible(place: Place) -> str:
    """Let the recipe be another one, which takes no tokenizer over, and ask too much of its own;
    returns what it said before."""
    text = place.recipe.read_text().replace("name: small\n", "name: other\n")
    assert "\ntokenizer:\n" in text
    place.recipe.write_text(text.replace("\ntokenizer:\n", f"\ntokenizer:\n  {AUDIT}\n"))
    return text


def faulty(stage: str) -> Callable[[TaskContext], None]:
    """Every stage as it is, but that one part of `signatures` cannot be made."""

    def run(context: TaskContext) -> None:
        if stage == "signatures" and context.task.label == "crawl-2 part 1":
            raise SourceError("the second part is beyond us")
        function_of(stage)(context)

    return run


def test_every_asset_of_a_build_is_a_step_and_its_events_belong_to_it(
    instance: dg.DagsterInstance,
) -> None:
    run = last_run(instance)
    assert steps_of(instance, run.run_id, "STEP_SUCCESS") == list(STEPS)
    for kind in ("ASSET_MATERIALIZATION", "ASSET_CHECK_EVALUATION"):
        for event in events(instance, run.run_id, kind):
            data = event.event_specific_data
            key = (
                data.materialization.asset_key
                if hasattr(data, "materialization")
                else data.asset_key
            )
            name = key.to_user_string()
            assert event.step_key == (CORPUS_VERSION if name == "release_gate" else name)
    lines = {(log.step_key, log.user_message) for log in instance.all_logs(run.run_id)}
    told = [(step, text) for step, text in lines if "computed" in text]
    assert {step for step, _ in told} == set(STEPS) - {SOURCE_FILES, CORPUS_VERSION}
    assert all(text.startswith((f"{step} ", f"{step}:")) for step, text in told)


def test_what_a_build_made_is_fresh_by_dagsters_own_rule(
    place: Place, instance: dg.DagsterInstance
) -> None:
    assert staleness(instance, VERSION) == {}
    stricter = ("--set", "selection.rules.gopher_word_count.min=36")
    assert place.build(*stricter, version="stricter") == 0
    assert staleness(instance, "stricter") == {}
    assert SOURCE_FILES not in {
        event.asset_key.to_user_string()
        for event in events(instance, last_run(instance).run_id, "ASSET_MATERIALIZATION")
    }, "what has not changed is not recorded again"
    made = dg.AssetMaterialization(
        "signals", partition="crawl-2", tags={"dagster/data_version": "another"}
    )
    instance.report_runless_asset_event(made)
    stale = staleness(instance, "stricter")
    assert ("selection", "crawl-2") in stale
    assert ("selection", "crawl-1") not in stale
    assert place.build(*stricter, version="again") == 0
    assert staleness(instance, "again") == {}, "it is recorded as what it is"


def test_an_input_is_recorded_with_its_version_and_event(instance: dg.DagsterInstance) -> None:
    def of(asset: str, partition: str | None) -> Mapping[str, str]:
        where = [partition] if partition else None
        wanted = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=where)
        (record,) = instance.fetch_materializations(wanted, 1).records
        assert record.asset_materialization is not None
        return record.asset_materialization.tags or {}

    tokenizer, shards = of("tokenizer", None), of("shards", "crawl-1")
    named = "dagster/input_data_version/tokenizer"
    assert shards[named] == tokenizer["dagster/data_version"]
    assert int(shards["dagster/input_event_pointer/tokenizer"]) > 0
    assert shards["dagster/code_version"]
    by_hand = [
        spec for asset in ASSETS for spec in asset.specs if spec.key == dg.AssetKey("shards")
    ]
    assert shards["dagster/code_version"] == by_hand[0].code_version


def test_a_tokenizer_that_fails_its_audit_is_red_and_a_run_goes_on_from_it_once_corrected(
    place: Place, instance: dg.DagsterInstance, capfd: pytest.CaptureFixture[str]
) -> None:
    corrected = ask_the_impossible(place)
    computed = len(Registry(Home.resolve(str(place.home)).catalog_url).artifacts())
    assert place.build(version="other-1") == 1
    said = capfd.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("corpus: error: the tokenizer fails its audit")
    run = last_run(instance)
    assert run.status == dg.DagsterRunStatus.FAILURE
    place_of = STEPS.index("tokenizer")
    assert steps_of(instance, run.run_id, "STEP_SUCCESS") == list(STEPS[:place_of])
    assert steps_of(instance, run.run_id, "STEP_FAILURE") == ["tokenizer"]
    assert steps_of(instance, run.run_id, "STEP_START") == list(STEPS[: place_of + 1])
    assert checks_of(instance, run.run_id, "tokenizer")["audit"] is False
    assert is_shown_as_failed(instance, "tokenizer")
    for asset in ("clean_text", "shards", "lineage_keys"):
        assert not is_shown_as_failed(instance, asset), asset
        assert failed_partitions(instance, asset) == set()

    place.recipe.write_text(corrected)
    options = dg.ReexecutionOptions.from_failure(run.run_id, instance)
    with dg.execute_job(
        dg.reconstructable(job), instance, reexecution_options=options, run_config=run.run_config
    ) as done:
        assert done.success
        again = done.run_id
    assert steps_of(instance, again, "STEP_SUCCESS") == list(STEPS[place_of:])
    assert checks_of(instance, again, "tokenizer")["audit"] is True
    assert not is_shown_as_failed(instance, "tokenizer")
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    assert len(registry.artifacts()) == computed, "nothing was computed again"
    assert registry.version("other-1").state == "candidate"
    assert staleness(instance, "other-1").keys() == {("release_gate", "other-1")}, "not run yet"
    assert registry.leases("") == []


@pytest.mark.slow
def test_a_run_goes_on_from_its_failure_under_a_recipe_that_changed_upstream_too(
    place: Place, instance: dg.DagsterInstance
) -> None:
    corrected = ask_the_impossible(place)
    assert place.build(version="other-1") == 1
    run = last_run(instance)
    place.recipe.write_text(corrected.replace("seed: ", "seed: 1"))
    options = dg.ReexecutionOptions.from_failure(run.run_id, instance)
    with dg.execute_job(
        dg.reconstructable(job), instance, reexecution_options=options, run_config=run.run_config
    ) as done:
        assert done.success
    made = Registry(Home.resolve(str(place.home)).catalog_url).version("other-1")
    assert made.state == "candidate"
    assert staleness(instance, "other-1").keys() == {("release_gate", "other-1")}


def test_an_audit_that_fails_by_hand_is_a_failed_check_too(
    place: Place, instance: dg.DagsterInstance
) -> None:
    ask_the_impossible(place)
    done = dg.materialize(
        ASSETS,
        selection=["tokenizer"],
        instance=instance,
        resources={"corpus": CorpusResource(recipe=str(place.recipe), home=str(place.home))},
        raise_on_error=False,
    )
    assert not done.success
    assert checks_of(instance, done.run_id, "tokenizer")["audit"] is False
    assert is_shown_as_failed(instance, "tokenizer")


def test_the_snapshot_at_fault_is_the_one_that_is_shown(
    place: Place, instance: dg.DagsterInstance
) -> None:
    home = Home.resolve(str(place.home))
    with open_session(str(place.recipe), home, overrides={"signatures.bands": 13}) as opened:
        session = replace(opened, engine=LocalEngine(home.store_url, faulty))
        with pytest.raises(StageIncomplete):
            build(session, "broken", DagsterRuns())
    run = last_run(instance)
    (failed,) = events(instance, run.run_id, "STEP_FAILURE")
    assert failed.step_key == "signatures"
    assert "failed_parts" in failed.step_failure_data.user_failure_data.metadata
    assert failed_partitions(instance, "signatures") == {"crawl-2"}


@pytest.mark.slow
def test_takedowns_of_several_versions_are_one_run_with_a_step_for_each_asset(
    place: Place, instance: dg.DagsterInstance
) -> None:
    stricter = ("--set", "selection.rules.gopher_word_count.min=36")
    assert place.build(*stricter, version="stricter") == 0
    home = Home.resolve(str(place.home))
    registry = Registry(home.catalog_url)
    for by in ("a command", "the job"):
        number = {"a command": 2, "the job": 5}[by]
        target = url_target(f"http://site-{number}.example.org/article")
        request_takedown(registry, FileStore(home.store_url), target, "asked")
        before = len(instance.get_runs())
        if by == "a command":
            assert run_pending(home, runner=DagsterRuns()) is not None
        else:
            corpus = CorpusResource(home=str(place.home))
            takedowns = defs.resolve_job_def("takedown_job")
            assert takedowns.execute_in_process(
                instance=instance, resources={"corpus": corpus}
            ).success
        assert len(instance.get_runs()) == before + 1
        run = last_run(instance)
        assert run.job_name == "takedown_job"
        assert steps_of(instance, run.run_id, "STEP_SUCCESS") == [*STEPS, CERTIFICATES]
        made = [
            event.step_materialization_data.materialization
            for event in events(instance, run.run_id, "ASSET_MATERIALIZATION")
        ]
        td = {"a command": "td1", "the job": "td2"}[by]
        of = {one.partition for one in made if one.asset_key == dg.AssetKey(CORPUS_VERSION)}
        assert of == {f"{VERSION}.{td}", f"stricter.{td}"}
    assert [row.status for row in registry.takedowns()] == ["done", "done"]
    assert registry.leases("") == []


def test_a_takedown_job_without_requests_does_nothing(
    place: Place, instance: dg.DagsterInstance
) -> None:
    takedowns = defs.resolve_job_def("takedown_job")
    corpus = CorpusResource(home=str(place.home))
    done = takedowns.execute_in_process(instance=instance, resources={"corpus": corpus})
    assert done.success
    assert events(instance, done.run_id, "ASSET_MATERIALIZATION") == []


def test_a_fault_of_the_sources_is_the_failure_of_their_step(
    place: Place, instance: dg.DagsterInstance
) -> None:
    text = place.recipe.read_text()
    place.recipe.write_text(text.replace("crawl-2: ", "crawl-2: not-"))
    corpus = CorpusResource(recipe=str(place.recipe), home=str(place.home), workers=1)
    done = job().execute_in_process(
        instance=instance, resources={"corpus": corpus}, raise_on_error=False
    )
    assert steps_of(instance, done.run_id, "STEP_FAILURE") == [SOURCE_FILES]
    assert failed_partitions(instance, SOURCE_FILES) == {"crawl-2"}
    assert Registry(Home.resolve(str(place.home)).catalog_url).leases("") == []


@pytest.mark.parametrize("by", [pytest.param("a command", marks=pytest.mark.slow), "the job"])
def test_a_request_that_comes_in_before_publication_joins_the_takedown(
    place: Place, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    home = Home.resolve(str(place.home))
    registry = Registry(home.catalog_url)
    waiting = [url_target(f"http://site-{number}.example.org/article") for number in (2, 5)]

    def file_one() -> None:
        if waiting:
            request_takedown(registry, FileStore(home.store_url), waiting.pop(), "asked")

    def late(*arguments: Any) -> None:
        file_one()
        publish_version(*arguments)

    monkeypatch.setattr(building, "publish_version", late)
    file_one()
    if by == "a command":
        assert run_pending(home, runner=DagsterRuns()) is not None
    else:
        corpus = CorpusResource(home=str(place.home))
        takedowns = defs.resolve_job_def("takedown_job")
        done = takedowns.execute_in_process(instance=instance, resources={"corpus": corpus})
        assert steps_of(instance, done.run_id, "STEP_SUCCESS") == [*STEPS, CERTIFICATES]
    assert waiting == []
    assert [row.status for row in registry.takedowns()] == ["done", "done"]
    live = [row.name for row in registry.versions() if row.status == "live"]
    assert live == [f"{VERSION}.td1"]
    assert registry.leases("") == []
