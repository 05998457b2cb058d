"""The graph as Dagster sees it: its assets, partitions, checks and sensors."""

import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from catalog.db.registry import Registry
from catalog.db.rows import GateRow
from catalog.formats.store import FileStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.build import build
from corpus_assets.cli.main import main
from corpus_assets.core.errors import MissingInput, RecipeError
from corpus_assets.core.home import Home
from corpus_assets.definitions import defs
from corpus_assets.defs.assets import ASSETS, with_owner
from corpus_assets.defs.build import BuildConfig, build_version
from corpus_assets.defs.launched import file_takedown
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.sensors import INGESTED, ingested_snapshots, new_snapshots
from corpus_assets.defs.takedown_sensor import pending_takedowns, takedown_job
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets.versions.drift import DRIFT_CHECKS
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.crawl_server import CrawlServer
from corpus_assets_tests.ingest.crawl.crawl_corpus import FIRST
from corpus_assets_tests.ingest.crawl.crawl_corpus import Place as CrawlPlace
from corpus_assets_tests.small_corpus import (
    SNAPSHOTS,
    THIRD,
    add_third_crawl,
    make_small_corpus,
)

BY_SNAPSHOT = {asset.name for asset in STAGES.assets.values() if asset.is_by_snapshot}
OVER_ALL = set(STAGES.assets) - BY_SNAPSHOT
BY_VERSION = {"corpus_version", "proxy_runs", "release_gate"}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CorpusResource:
    for name in ("CORPUS_STORE_URL", "CORPUS_CATALOG_URL", "CORPUS_RECIPE", "CORPUS_HOME"):
        monkeypatch.delenv(name, raising=False)
    recipe = make_small_corpus(tmp_path / "corpus")
    return CorpusResource(recipe=str(recipe), home=str(tmp_path / "home"), workers=1)


def _assets() -> dict[str, dg.AssetsDefinition]:
    return {asset.key.to_user_string(): asset for asset in ASSETS}


def test_every_declared_asset_is_one_of_dagsters() -> None:
    assert set(_assets()) == set(STAGES.assets) | {"source_files", *BY_VERSION, "heldout_set"}


def test_edges_are_those_of_the_declarations() -> None:
    for name in STAGES.assets:
        spec = next(iter(_assets()[name].specs))
        found = {dep.asset_key.to_user_string(): dep.partition_mapping for dep in spec.deps}
        assert {n: m is not None for n, m in found.items()} == {
            edge.asset: edge.is_across for edge in STAGES.edges(name)
        }


def test_stages_are_partitioned_by_snapshot_and_calibrations_are_not() -> None:
    assert {a.name for a in STAGES.assets.values() if a.is_calibration} == OVER_ALL
    partitions = {
        name: asset.partitions_def.name  # type: ignore[union-attr]
        for name, asset in _assets().items()
        if asset.partitions_def is not None
    }
    expected = dict.fromkeys({"source_files", *BY_SNAPSHOT}, "snapshot")
    assert partitions == expected | dict.fromkeys(BY_VERSION, "version")


def test_every_asset_says_what_it_does_and_which_code_made_it() -> None:
    for asset in _assets().values():
        spec = next(iter(asset.specs))
        assert spec.description
        assert spec.code_version


def test_assets_belong_to_whom_the_setting_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_owner(ASSETS) == ASSETS
    monkeypatch.setenv("CORPUS_OWNERS", "team:data, legal@example.org")
    found = with_owner(ASSETS)
    assert [asset.key for asset in found] == [asset.key for asset in ASSETS]
    for asset in found:
        assert [list(spec.owners) for spec in asset.specs] == [["team:data", "legal@example.org"]]
    dg.Definitions(assets=found, resources={"corpus": CorpusResource()}).get_repository_def()
    monkeypatch.setenv("CORPUS_OWNERS", "somebody")
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="somebody"):
        with_owner(ASSETS)


def test_every_column_that_the_ui_shows_is_described() -> None:
    shown = {
        name: next(iter(asset.specs)).metadata["dagster/column_schema"].columns
        for name, asset in _assets().items()
        if "dagster/column_schema" in next(iter(asset.specs)).metadata
    }
    assert {"documents", "selection", "clusters", "shards"} <= set(shown)
    absent = [(name, c.name) for name, cs in shown.items() for c in cs if not c.description]
    assert absent == []


def test_every_stage_is_checked_for_schema_conservation_and_survival() -> None:
    for name in BY_SNAPSHOT:
        checks = {key.name for key in _assets()[name].check_keys}
        more = {
            "documents": {"declared_recall"},
            "signals": {"fasttext"},
            "selection": {"language_losses"},
            "signatures": {"datasketch"},
            "clean_text": {"losses", "last_copies", "yield_losses"},
        }
        own = more.get(name, set())
        assert checks - set(DRIFT_CHECKS) == {"schema", "conservation", "survival"} | own


def test_checks_are_of_one_partition_and_some_of_them_block() -> None:
    for name, asset in _assets().items():
        for spec in asset.check_specs:
            assert spec.partitions_def == asset.partitions_def
            expected = spec.name in {"schema", "conservation", "last_copies", *DRIFT_CHECKS}
            assert spec.blocking == expected, f"{name} {spec.name}"


def test_assets_are_grouped_by_subject() -> None:
    groups: dict[str, set[str]] = {}
    for name, asset in _assets().items():
        groups.setdefault(next(iter(asset.specs)).group_name or "", set()).add(name)
    assert groups == {
        "ingest": {"source_files", "documents"},
        "filter": {"signals", "selection"},
        "deduplicate": {"signatures", "clusters"},
        "decontaminate": {"contamination"},
        "write": {"clean_text", "shards", "lineage_keys"},
        "calibrations": OVER_ALL,
        "release": {"corpus_version", "release_gate"},
        "evidence": {"heldout_set", "proxy_runs"},
    }


def test_drift_above_its_error_bound_stops_a_build_in_one_line(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(place.home / "dagster")  # all is in the store, and Dagster has seen none of it
    bounds = [f"drift.{name}={value}" for name, value in
              (("min_documents", 1), ("survival.warn", 0), ("survival.error", 0))]  # fmt: skip
    options = [part for bound in bounds for part in ("--set", bound)]
    assert place.build(*options, version="drifted") == 1
    last = capfd.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("corpus: error: selection of crawl-2: survival_drift: ")
    assert "no version published" in last
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    assert "drifted" not in {row.name for row in registry.versions()}
    with dg.DagsterInstance.from_config(str(place.home / "dagster")) as instance:
        failed = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))
        assert len(failed) == 1
        assert failed[0].tags["corpus/recipe"] == "small"


def test_a_build_is_one_run_of_its_job_that_the_ui_can_start_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(place.home / "dagster"))
    with dg.DagsterInstance.from_config(str(place.home / "dagster")) as instance:
        (run,) = instance.get_runs()
        assert run.job_name == build_version.name
        assert {run.tags[f"corpus/{n}"] for n in ("recipe", "version")} == {"small", VERSION}
        for name in STAGES.assets:
            partitions = instance.get_materialized_partitions(dg.AssetKey(name))
            assert partitions == (set(SNAPSHOTS) if name in BY_SNAPSHOT else set())
            assert instance.get_latest_materialization_event(dg.AssetKey(name)) is not None
        checks = [(asset.key, spec) for asset in ASSETS for spec in asset.check_specs]
        for key, spec in checks:
            found = instance.event_log_storage.get_asset_check_execution_history(spec.key, 10)
            of = {None} if spec.partitions_def is None else set(SNAPSHOTS)
            of = {VERSION} if key.to_user_string() in BY_VERSION else of
            assert {one.partition for one in found} == of
            assert {one.run_id for one in found} == {run.run_id}
        released = instance.get_materialized_partitions(dg.AssetKey("release_gate"))
        assert released == {VERSION}
        before = place.files()
        config = dict(run.run_config)
        config["resources"]["corpus"]["config"] |= {
            "home": str(place.home),
            "recipe": str(place.recipe),
        }  # fmt: skip - the fixture's build was made elsewhere
        again = build_version.execute_in_process(
            config, instance=instance, resources={"corpus": CorpusResource()}
        )
        assert again.success
    assert place.files() == before


def test_a_build_with_nothing_to_do_loads_neither_dagster_nor_alembic(place: Place) -> None:
    build = ["build", str(place.recipe), "--home", str(place.home), "--version", VERSION]
    code = (
        f"import sys; from corpus_assets.cli.main import main; code = main({build!r}); "
        "sys.exit(code or 3 * bool({'dagster', 'alembic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_selection_is_checked_for_drift() -> None:
    checks = {key.name for key in _assets()["selection"].check_keys}
    assert checks > set(DRIFT_CHECKS) == {
        "survival_drift", "language_drift", "quality_drift", "shares",
    }  # fmt: skip


def test_the_code_location_loads_with_its_jobs_and_sensors() -> None:
    repository = defs.get_repository_def()
    assert repository.has_job("ingest_snapshot")
    assert repository.has_job("takedown_job")
    assert repository.has_job("build_version")
    sensors = {"new_snapshots", "ingested_snapshots", "pending_takedowns"}
    assert sensors <= {s.name for s in repository.sensor_defs}


def test_what_ticks_is_described_and_loading_it_warns_of_nothing() -> None:
    code = (
        "from corpus_assets.definitions import defs; repository = defs.get_repository_def(); "
        "ticking = [*repository.sensor_defs, *repository.schedule_defs]; "
        "print(sum(bool(one.description) for one in ticking) == len(ticking))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (loaded.stdout, loaded.stderr) == ("True\n", "")


def test_settings_of_the_recipe_are_changed_by_a_mapping(corpus: CorpusResource) -> None:
    changes = {"seed": 77, "clusters.min_similarity": 0.9}
    changed = corpus.model_copy(update={"overrides": changes})
    assert changed.book().recipe.seed == 77
    assert changed.book().recipe.clusters.min_similarity == 0.9


def test_every_field_of_the_launchpad_is_described() -> None:
    for model in (CorpusResource, BuildConfig):
        assert all(about.description for about in model.model_fields.values())


def test_the_sensor_adds_new_snapshots_and_asks_for_their_runs(corpus: CorpusResource) -> None:
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance=instance, resources={"corpus": corpus}) as context,
    ):
        first = new_snapshots(context)
        assert isinstance(first, dg.SensorResult)
        assert [request.partition_key for request in first.run_requests or ()] == list(SNAPSHOTS)
        for request in first.dynamic_partitions_requests or ():
            instance.add_dynamic_partitions(
                str(request.partitions_def_name), list(request.partition_keys)
            )
        second = new_snapshots(context)
        assert isinstance(second, dg.SensorResult)
        assert second.skip_reason is not None


def test_a_build_is_asked_for_once_all_snapshots_are_ingested(corpus: CorpusResource) -> None:
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance=instance, resources={"corpus": corpus}) as context,
    ):
        for asset in INGESTED:
            for snapshot in SNAPSHOTS:
                early = ingested_snapshots(context)
                assert isinstance(early, dg.SensorResult)
                assert not early.run_requests
                why = early.skip_reason.skip_message if early.skip_reason else ""
                assert why == f"{asset} of {snapshot} is not ingested yet"
                instance.report_runless_asset_event(
                    dg.AssetMaterialization(asset, partition=snapshot)
                )
        asked = [ingested_snapshots(context), ingested_snapshots(context)]
        keys = [[r.run_key for r in a.run_requests or ()] for a in asked if a]  # type: ignore[union-attr]
        assert keys[0] == keys[1]
        assert len(keys[0]) == 1


def test_a_build_extends_the_newest_release_where_only_snapshots_are_new(place: Place) -> None:
    corpus = CorpusResource(recipe=str(place.recipe), home=str(place.home))

    def asked(instance: dg.DagsterInstance) -> list[object]:
        with dg.build_sensor_context(instance=instance, resources={"corpus": corpus}) as context:
            tick = ingested_snapshots(context)
        assert isinstance(tick, dg.SensorResult)
        return [request.run_config for request in tick.run_requests or ()]

    with dg.DagsterInstance.ephemeral() as instance:
        for asset in INGESTED:
            for snapshot in (*SNAPSHOTS, THIRD):
                event = dg.AssetMaterialization(asset, partition=snapshot)
                instance.report_runless_asset_event(event)
        assert asked(instance) == [{}], "nothing is new"
        add_third_crawl(place.recipe)
        (config,) = asked(instance)
        assert config == {"ops": {"corpus_version": {"config": {"extends": VERSION}}}}
        assert dg.validate_run_config(build_version, config)
        place.recipe.write_text(place.recipe.read_text().replace("min: 30", "min: 31"))
        assert asked(instance) == [{}], "another threshold makes all of it again"


def test_a_recipe_without_snapshots_is_not_built(tmp_path: Path) -> None:
    with CrawlServer({}) as server:
        place = CrawlPlace(tmp_path, server.base, follow_after=FIRST)
    text = place.recipe.read_text()
    place.recipe.write_text(text.replace("snapshots:\n  - CC-MAIN-2024-10", "snapshots: []"))
    corpus = CorpusResource(recipe=str(place.recipe), home=str(place.home))
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance=instance, resources={"corpus": corpus}) as context,
    ):
        assert corpus.book().recipe.snapshots == ()
        tick = ingested_snapshots(context)
    assert isinstance(tick, dg.SensorResult)
    assert not tick.run_requests
    assert "has no snapshot yet" in str(tick.skip_reason)


def test_the_job_builds_a_version_as_the_command_does(place: Place) -> None:
    corpus = CorpusResource(recipe=str(place.recipe), home=str(place.home), workers=1)
    before = place.files()
    config = {"ops": {"corpus_version": {"config": {"version": VERSION}}}}
    done = build_version.execute_in_process(config, resources={"corpus": corpus})
    assert done.success
    assert place.files() == before
    assert [v.name for v in Registry(f"sqlite:///{place.home}/catalog.db").versions()] == [VERSION]


def test_one_snapshot_can_be_materialized_by_hand_with_passing_checks(
    corpus: CorpusResource,
) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("snapshot", ["crawl-1"])
        done = dg.materialize(
            ASSETS,
            selection=["source_files", "documents", "signatures"],
            partition_key="crawl-1",
            instance=instance,
            resources={"corpus": corpus},
        )
        checks = done.get_asset_check_evaluations()
        assert [check.check_name for check in checks].count("datasketch") == 1
        assert len(checks) == 8
        assert all(check.passed for check in checks)
        metadata = done.asset_materializations_for_node("documents")[0].metadata
        assert metadata["documents_in"].value == 26
        assert "drop_reasons" in metadata


def test_a_stage_asked_for_too_early_says_what_to_materialize_first(
    corpus: CorpusResource,
) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("snapshot", ["crawl-1"])
        with pytest.raises(MissingInput, match="materialize source_files first"):
            dg.materialize(
                ASSETS,
                selection=["documents"],
                partition_key="crawl-1",
                instance=instance,
                resources={"corpus": corpus},
            )


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["broken", "gone"])
def test_takedowns_are_carried_out_when_the_recipes_file_is(
    corpus: CorpusResource, tmp_path: Path, fault: str
) -> None:
    home = Home.resolve(str(tmp_path / "home"))
    recipe = Path(corpus.recipe)
    window = "\ntakedowns: {window_minutes: 45}\n"
    recipe.write_text(recipe.read_text() + window)
    build = ["build", corpus.recipe, "--home", corpus.home, "--version", "v", "--workers", "1"]
    assert main(build) == 0
    registry = Registry(home.catalog_url)
    target = url_target("http://site-2.example.org/article")
    request_takedown(registry, FileStore(home.store_url), target, "asked")
    recipe.write_text("name: [") if fault == "broken" else recipe.unlink()
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance=instance, resources={"corpus": corpus}) as context,
    ):
        tick = pending_takedowns(context)
        assert isinstance(tick, dg.SensorResult)
        assert tick.skip_reason is not None
        assert "a run starts in 45 minutes" in str(tick.skip_reason.skip_message)
        instance.add_dynamic_partitions("snapshot", ["crawl-1"])
        with pytest.raises(RecipeError, match=str(recipe)):
            dg.materialize(
                ASSETS,
                selection=["documents"],
                partition_key="crawl-1",
                instance=instance,
                resources={"corpus": corpus},
            )
        takedown_job.execute_in_process(instance=instance, resources={"corpus": corpus})
    assert {v.name: v.status for v in registry.versions()} == {"v": "revoked", "v.td1": "live"}


@pytest.mark.slow
def test_a_takedown_is_filed_from_the_launchpad_and_the_sensor_has_it_carried_out(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = str(place.home)
    monkeypatch.setenv("DAGSTER_HOME", f"{home}/dagster")
    corpus = CorpusResource(recipe=str(place.recipe), home=home, workers=1)
    registry = Registry(Home.resolve(home).catalog_url)
    with (
        dg.DagsterInstance.from_config(f"{home}/dagster") as instance,
        dg.build_sensor_context(instance=instance, resources={"corpus": corpus}) as context,
    ):
        quiet = pending_takedowns(context)
        assert isinstance(quiet, dg.SensorResult)
        assert quiet.skip_reason is not None
        # A page that no shard holds: its text is in the lineage all the same, and must go.
        asked = {"kind": "url", "value": "http://site-2.example.org/article", "reason": "asked"}
        for more in ({}, {"dry_run": False}):
            filed = file_takedown.execute_in_process(
                {"ops": {"file_request": {"config": asked | more}}},
                instance=instance,
                resources={"corpus": corpus},
            )
            assert filed.success
            assert [row.reason for row in registry.takedowns()] == ["asked"] * len(more)
        ticks = [pending_takedowns(context) for _ in range(2)]
        keys = {r.run_key for tick in ticks for r in tick.run_requests or ()}  # type: ignore[union-attr]
        assert len(keys) == 1, "a double tick must not start a second run"
        place.recipe.unlink()  # what is published holds
        done = takedown_job.execute_in_process(instance=instance, resources={"corpus": corpus})
        assert done.success
        run = instance.get_run_by_id(done.run_id)
        assert run is not None
        tags = [run.tags[f"corpus/{name}"] for name in ("takedowns", "versions", "snapshots")]
        assert tags == ["1", VERSION, "crawl-1"]
        records = instance.fetch_materializations(
            dg.AssetRecordsFilter(
                dg.AssetKey("corpus_version"), asset_partitions=[f"{VERSION}.td1"]
            ),
            1,
        ).records
        made = records[0].asset_materialization
        assert made is not None
        assert made.metadata["removed_documents"].value == 1
        funnel = made.metadata["funnel"]
        assert isinstance(funnel, dg.TableMetadataValue)
        assert next(row.data["stage"] for row in funnel.records) == "documents"
        versions = instance.get_runs(dg.RunsFilter(tags={"corpus/version": f"{VERSION}.td1"}))
        assert [run.run_id for run in versions] == [records[0].run_id] == [done.run_id]
        seen = instance.fetch_observations(
            dg.AssetRecordsFilter(dg.AssetKey("corpus_version"), asset_partitions=[VERSION]), 1
        ).records
        observed = seen[0].asset_observation
        assert observed is not None
        assert observed.metadata["replaced_by"].value == f"{VERSION}.td1"
    assert {v.name: v.status for v in registry.versions()} == {
        VERSION: "revoked",
        f"{VERSION}.td1": "live",
    }
    assert [row.status for row in registry.takedowns()] == ["done"]


def test_a_version_that_the_job_built_is_a_candidate_until_its_gate_is_run(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(place.home / "dagster"))
    home = Home.resolve(str(place.home))
    with open_session(str(place.recipe), home) as session:
        build(session, "scheduled", release=False)
        assert session.registry.version("scheduled").state == "candidate"
        assert session.registry.version().name == VERSION, "the newest released one"
    corpus = CorpusResource(home=str(place.home), recipe=str(place.recipe))
    with dg.DagsterInstance.from_config(str(place.home / "dagster")) as instance:
        instance.add_dynamic_partitions("version", ["scheduled"])
        rows = [["code", 0.1, -0.2, 0.4, 0.5], ["macro", -0.3, -0.5, -0.1, None]]
        Registry(home.catalog_url).put_gate(
            GateRow("scheduled", "models", True, -0.3, detail={"intervals": rows})
        )
        done = dg.materialize(
            ASSETS,
            selection=["release_gate"],
            partition_key="scheduled",
            instance=instance,
            resources={"corpus": corpus},
        )
        (check,) = done.get_asset_check_evaluations()
        (event,) = done.asset_materializations_for_node("release_gate")
    assert "data:image/svg+xml;base64," in event.metadata["gates"].value
    assert event.metadata["gate_models"].value == -0.3
    assert check.passed
    assert Registry(home.catalog_url).version().name == "scheduled"
