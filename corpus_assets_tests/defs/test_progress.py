"""What the UI shows of an asset at work: how far it is, and which parts failed."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.core.home import Home
from corpus_assets.core.task import TaskContext
from corpus_assets.defs import progress, resources
from corpus_assets.defs.assets import ASSETS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.session import open_session
from corpus_assets.stages import function_of
from corpus_assets_tests.small_corpus import make_small_corpus

SNAPSHOT = "crawl-1"


def faulty(stage: str) -> Callable[[TaskContext], None]:
    """Every stage as it is, but that one part of `signatures` cannot be made."""

    def run(context: TaskContext) -> None:
        if stage == "signatures" and context.task.label == f"{SNAPSHOT} part 1":
            raise SourceError("the second part is beyond us")
        function_of(stage)(context)

    return run


def test_a_run_tells_how_far_it_is_and_names_the_parts_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "OBSERVED_EVERY_S", 0.0)
    recipe, home = str(make_small_corpus(tmp_path)), Home.resolve(str(tmp_path / "home"))
    with open_session(recipe, home) as opened, dg.DagsterInstance.ephemeral() as instance:
        pin_snapshot(opened.pipeline, opened.registry, SNAPSHOT)
        session = replace(opened, engine=LocalEngine(home.store_url, faulty))
        instance.add_dynamic_partitions("snapshot", [SNAPSHOT])
        monkeypatch.setattr(resources, "open_session", lambda *_, **__: nullcontext(session))
        done = dg.materialize(
            ASSETS,
            selection=["documents", "signatures"],
            partition_key=SNAPSHOT,
            instance=instance,
            resources={"corpus": CorpusResource()},
            raise_on_error=False,
        )
        observed = instance.fetch_observations(dg.AssetKey("documents"), limit=10).records
    numbers = [
        (record.asset_observation.metadata["parts_done"].value, record.partition_key)
        for record in observed
        if record.asset_observation is not None
    ]
    assert sorted(numbers) == [(n, SNAPSHOT) for n in range(1, len(numbers) + 1)]
    assert len(numbers) >= 2
    (failure,) = done.filter_events(lambda event: event.is_step_failure)
    data = failure.step_failure_data
    assert "1 of 2 parts failed and was quarantined" in (data.user_failure_data.description or "")
    (row,) = data.user_failure_data.metadata["failed_parts"].records
    assert row.data["part"] == f"{SNAPSHOT} part 1"
    assert row.data["tries"] == 3
    assert "beyond us" in row.data["error"]
