"""A new stage needs one file and one line: everything else follows from its declaration."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import pytest

from corpus_assets import graph
from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home
from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.core.stage import Stage, graph_of
from corpus_assets.core.task import Task, read_table
from corpus_assets.defs.assets import stage_asset
from corpus_assets.graph.checks import check_asset
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets.graph.run import run_asset
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets.versions.version import make_version
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.pipeline.new_stage import LENGTHS, STAGE, WITH_LENGTHS, function_of, plan


def test_it_is_planned_run_checked_and_shown(place: Place) -> None:
    with open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        pipeline = replace(session.pipeline, graph=WITH_LENGTHS)
        engine = LocalEngine(session.home.store_url, function_of)
        for snapshot in pipeline.recipe.snapshots:
            report = run_asset(
                pipeline, engine, session.registry, session.progress, STAGE.name, snapshot
            )
            assert [
                outcome.name for outcome in check_asset(pipeline, report) if outcome.passed
            ] == [
                "schema",
                "conservation",
                "survival",
            ]
        manifest = make_version(session.pipeline, VERSION).manifest
        for snapshot in pipeline.recipe.snapshots:
            (lengths,) = (
                read_table(pipeline.store, out) for out in pipeline.parts(LENGTHS, snapshot)
            )
            groups = [group for group in manifest.groups if group.snapshot == snapshot]
            assert lengths.num_rows == sum(group.documents for group in groups)
            assert sum(lengths["tokens"].to_pylist()) == sum(group.tokens for group in groups)
    assert list(WITH_LENGTHS.assets)[-1] == STAGE.name
    shown = stage_asset(WITH_LENGTHS.assets[STAGE.name], WITH_LENGTHS)
    assert [dep.asset_key.to_user_string() for dep in next(iter(shown.specs)).deps] == ["shards"]


def test_a_read_that_is_not_declared_is_refused(place: Place) -> None:
    hidden = replace(STAGE, reads=())
    with open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        pipeline = replace(
            session.pipeline, graph=graph_of((*STAGES.declared, hidden), STAGES.given)
        )
        with pytest.raises(ValueError, match="lengths reads shards, which it does not declare"):
            pipeline.tasks("lengths", pipeline.recipe.snapshots[0])


def test_it_says_itself_what_follows_its_tasks_and_when_they_are_planned_again(
    place: Place,
) -> None:
    told: list[str] = []
    orders = ["first"]

    def planned(pipeline: Planner[AnyRecipe], snapshot: str) -> list[Task]:
        told.append("planned")
        return plan(pipeline, snapshot)

    def after(pipeline: Planner[AnyRecipe], tasks: Sequence[Task]) -> None:
        told.append(f"{len(tasks)} done")

    def refuse(pipeline: Planner[AnyRecipe]) -> None:
        raise ModelError("lengths are not as they should be")

    own = replace(STAGE, plan=planned, plan_key=lambda *_: orders[-1], after=after, accept=refuse)
    with open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        pipeline = replace(session.pipeline, graph=graph_of((*STAGES.declared, own), STAGES.given))
        engine = LocalEngine(session.home.store_url, function_of)
        snapshot = pipeline.recipe.snapshots[0]
        for _ in range(2):  # what is cached is refused as what is new
            with pytest.raises(ModelError, match="not as they should be"):
                run_asset(
                    pipeline, engine, session.registry, session.progress, STAGE.name, snapshot
                )
        assert told == ["planned", "1 done", "1 done"]
        (task,) = pipeline.tasks(STAGE.name, snapshot)
        assert task.fingerprint in {row.fingerprint for row in session.registry.artifacts()}
        orders.append("second")
        pipeline.tasks(STAGE.name, snapshot)
        assert told[3:] == ["planned"]


def test_the_graph_knows_no_single_stage() -> None:
    modules = [
        import_module(each.name) for each in iter_modules(graph.__path__, "corpus_assets.graph.")
    ]
    assert "corpus_assets.graph.run" in {module.__name__ for module in modules}
    known = {
        f"{module.__name__} imports {name}"
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Stage)
    }
    assert known == set()
