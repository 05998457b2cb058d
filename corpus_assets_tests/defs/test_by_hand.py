"""Assets that someone materializes by hand, on a home that has a version."""

from pathlib import Path

import dagster as dg
import pytest

from catalog.formats.store import FileStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.core.errors import CorpusError, MissingInput
from corpus_assets.core.home import Home
from corpus_assets.defs.assets import ASSETS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.runs import DagsterRuns
from corpus_assets.session import open_home
from corpus_assets.stages import STAGES
from corpus_assets.takedown.run import run_pending
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.small_corpus import SNAPSHOTS

BEHIND_CALIBRATIONS = ["selection", "clusters", "clean_text", "shards"]


def materialize(
    place: Place, assets: list[str], partition: str | None, recalibrate: bool = False
) -> dg.ExecuteInProcessResult:
    corpus = CorpusResource(
        recipe=str(place.recipe), home=str(place.home), workers=1, recalibrate=recalibrate
    )
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("snapshot", list(SNAPSHOTS))
        instance.add_dynamic_partitions("version", [VERSION])
        return dg.materialize(
            ASSETS,
            selection=assets,
            partition_key=partition,
            instance=instance,
            resources={"corpus": corpus},
        )


def take_down(place: Place) -> None:
    home = Home.resolve(str(place.home))
    _, registry = open_home(home)
    target = url_target("http://site-3.example.org/article")
    request_takedown(registry, FileStore(home.store_url), target, "asked")
    assert run_pending(home, runner=DagsterRuns()) is not None
    assert registry.version().name == f"{VERSION}.td1"


@pytest.mark.slow
def test_after_a_takedown_everything_is_materialized_under_the_lock_of_the_live_version(
    place: Place,
) -> None:
    take_down(place)
    for snapshot in SNAPSHOTS:
        done = materialize(place, BEHIND_CALIBRATIONS, snapshot)
        for asset in BEHIND_CALIBRATIONS:
            (made,) = done.asset_materializations_for_node(asset)
            parts, cached = (made.metadata[name].value for name in ("parts", "parts_cached"))
            assert parts == cached, f"the live version has {asset} of {snapshot} already"
    with pytest.raises(CorpusError) as refused:
        materialize(place, ["corpus_version"], VERSION)
    assert f"{VERSION} is revoked, replaced by {VERSION}.td1" in str(refused.value)
    assert "another partition of corpus_version" in str(refused.value)


@pytest.mark.slow
def test_after_a_takedown_new_calibrations_are_reached_by_doing_what_messages_say(
    place: Place,
) -> None:
    take_down(place)
    partitioned = {asset.key.to_user_string(): asset.partitions_def is not None for asset in ASSETS}
    waiting: list[tuple[str, str | None]] = [("shards", SNAPSHOTS[0])]
    named = []
    while waiting:
        asset, partition = waiting[-1]
        try:
            materialize(place, [asset], partition, recalibrate=True)
            waiting.pop()
        except MissingInput as missing:
            what, _, then = str(missing).partition(" is not complete; ")
            assert then.startswith("materialize it first")
            asset, _, snapshot = what.partition(" of ")
            assert partitioned[asset] == bool(snapshot)
            assert (asset, snapshot or None) not in named, "it was materialized already"
            waiting.append((asset, snapshot or None))
            named.append(waiting[-1])
    assert {"quality_cutoffs", "tokenizer"} <= {asset for asset, _ in named}


@pytest.mark.slow
def test_backfills_of_every_asset_give_the_bytes_of_a_build(place: Place, tmp_path: Path) -> None:
    """As the UI does it: a run for each partition, one of them tried again after it failed."""
    home = tmp_path / "by-hand"
    corpus = CorpusResource(recipe=str(place.recipe), home=str(home), workers=1)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("snapshot", list(SNAPSHOTS))
        instance.add_dynamic_partitions("version", [VERSION])

        def run(asset: str, partition: str | None) -> bool:
            return dg.materialize(
                ASSETS,
                selection=[asset],
                partition_key=partition,
                instance=instance,
                resources={"corpus": corpus},
                raise_on_error=False,
            ).success

        assert not run("documents", SNAPSHOTS[0]), "its files are not pinned yet"
        for snapshot in SNAPSHOTS:
            assert run("source_files", snapshot)
        for asset in STAGES.assets.values():
            for snapshot in SNAPSHOTS if asset.is_by_snapshot else (None,):
                assert run(asset.name, snapshot), f"{asset.name} of {snapshot}"
        assert run("corpus_version", VERSION)
    assert version_files(home, VERSION) == place.files()
