"""A new stage needs one file and one line: everything else follows from its declaration."""

from dataclasses import replace

import pytest

from corpus_assets.core.home import Home
from corpus_assets.core.stage import Graph
from corpus_assets.core.task import read_table
from corpus_assets.defs.assets import stage_asset
from corpus_assets.graph.checks import check_asset
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets.graph.run import run_asset
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets.versions.version import make_version
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.pipeline.new_stage import LENGTHS, STAGE, WITH_LENGTHS, function_of


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
        pipeline = replace(session.pipeline, graph=Graph((*STAGES, hidden), STAGES.given))
        with pytest.raises(ValueError, match="lengths reads shards, which it does not declare"):
            pipeline.tasks("lengths", pipeline.recipe.snapshots[0])
