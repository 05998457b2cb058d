"""Assets that someone materializes by hand, on a home that has a version."""

import dagster as dg
import pytest

from catalog.files import Store
from catalog.takedown import request
from catalog.takedown_target import url_target
from corpus_assets.defs.assets import ASSETS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.takedown import run_pending
from corpus_assets.errors import MissingInput
from corpus_assets.home import Home
from corpus_assets.session import live_pins, open_home
from corpus_assets.snapshot_list import Book
from corpus_assets_tests.pipeline.conftest import VERSION, Place
from corpus_assets_tests.pipeline.small_corpus import SNAPSHOTS

BEHIND_CALIBRATIONS = ["selection", "clusters", "clean_text", "shards"]


def materialize(
    place: Place, assets: list[str], partition: str, recalibrate: bool = False
) -> dg.ExecuteInProcessResult:
    corpus = CorpusResource(
        recipe=str(place.recipe), home=str(place.home), workers=1, recalibrate=recalibrate
    )
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("snapshot", list(SNAPSHOTS))
        return dg.materialize(
            ASSETS,
            selection=assets,
            partition_key=partition,
            instance=instance,
            resources={"corpus": corpus},
        )


def test_after_a_takedown_everything_is_materialized_under_the_lock_of_the_live_version(
    place: Place,
) -> None:
    home = Home.resolve(str(place.home))
    _, registry = open_home(home)
    target = url_target("http://site-3.example.org/article")
    request(registry, Store(home.store_url), target, "asked")
    assert run_pending(home) is not None
    assert registry.version().name == f"{VERSION}.td1"
    for snapshot in SNAPSHOTS:
        done = materialize(place, BEHIND_CALIBRATIONS, snapshot)
        for asset in BEHIND_CALIBRATIONS:
            (made,) = done.asset_materializations_for_node(asset)
            parts, cached = (made.metadata[name].value for name in ("parts", "parts_cached"))
            assert parts == cached, f"the live version has {asset} of {snapshot} already"
    with pytest.raises(MissingInput) as missing:
        materialize(place, ["shards"], SNAPSHOTS[0], recalibrate=True)
    named = str(missing.value).split()[0]
    assert named in {asset.key.to_user_string() for asset in ASSETS}, missing.value


def test_calibrations_are_those_of_the_same_recipe_whatever_snapshots_it_names(
    place: Place,
) -> None:
    home = Home.resolve(str(place.home))
    store, registry = open_home(home)

    def pins(**changes: object) -> int:
        book = Book.open(str(place.recipe), home, dict(changes))
        return len(live_pins(store, registry, book.recipe))

    assert pins() > 5
    more = {"crawl-1": "web/crawl-1/*", "crawl-2": "web/crawl-2/*", "crawl-3": "web/crawl-2/*"}
    sites = dict.fromkeys(more, "sites")
    assert pins(**{"sources.0.snapshots": more, "sources.0.site_files": sites}) == pins()
    assert pins(**{"tokenizer.train.vocab_size": 500}) == 0, "another recipe has its own"
    registry.set_version_status(VERSION, "revoked")
    assert pins() == 0
