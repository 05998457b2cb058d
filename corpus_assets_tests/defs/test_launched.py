"""Jobs that people launch, as the launchpad runs them."""

from pathlib import Path

import dagster as dg
import pytest

from catalog.db.registry import Registry
from catalog.db.rows import FailedPartRow, GateRow
from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.defs.launched import (
    PartsConfig,
    ReleaseConfig,
    RemoveConfig,
    TakedownConfig,
    quarantined_parts,
    release_version,
    remove_snapshot,
)
from corpus_assets.defs.links import certificate_links, takedown_link, version_links
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.session import open_session
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.crawl_server import CrawlServer
from corpus_assets_tests.ingest.crawl.crawl_corpus import FIRST, SECOND, two_crawls
from corpus_assets_tests.ingest.crawl.crawl_corpus import Place as CrawlPlace


def launch(
    job: dg.JobDefinition,
    op: str,
    config: dict[str, object],
    corpus: CorpusResource,
    instance: dg.DagsterInstance,
) -> tuple[bool, str]:
    """Run a job; return whether it succeeded, and what a failure said."""
    done = job.execute_in_process(
        {"ops": {op: {"config": config}}},
        instance=instance,
        resources={"corpus": corpus},
        raise_on_error=False,
    )
    said = [e.event_specific_data.error.message for e in done.all_events if e.is_step_failure]  # type: ignore[union-attr]
    return done.success, "".join(said)


def test_every_field_of_their_launchpads_is_described() -> None:
    for model in (ReleaseConfig, RemoveConfig, PartsConfig, TakedownConfig):
        assert all(about.description for about in model.model_fields.values())


def test_a_candidate_with_a_closed_gate_is_released_with_a_reason_only(place: Place) -> None:
    home = Home.resolve(str(place.home))
    with open_session(str(place.recipe), home) as session:
        build(session, "made", release=False)
    registry = Registry(home.catalog_url)
    registry.put_gate(GateRow("made", "models", False, detail={"message": "worse by 2%"}))
    place.recipe.unlink()  # what is published needs no recipe to be released
    corpus = CorpusResource(home=str(place.home), recipe=str(place.recipe))
    asked: dict[str, object] = {"version": "made", "by": "Ada"}
    with dg.DagsterInstance.ephemeral() as instance:
        done, said = launch(release_version, "release", asked, corpus, instance)
        assert not done
        assert "models: worse by 2%" in said
        assert registry.version("made").state == "candidate"
        more = asked | {"override": "the eval was broken"}
        assert launch(release_version, "release", more, corpus, instance) == (True, "")
        row = registry.version("made")
        assert (row.released_by, row.release_reason) == ("Ada", "override: the eval was broken")
        gate = dg.AssetKey("release_gate")
        assert instance.get_materialized_partitions(gate) == {"made"}
        key = dg.AssetCheckKey(gate, "released")
        (check,) = instance.event_log_storage.get_asset_check_execution_history(key, 2)
        assert (check.partition, check.status.value) == ("made", "SUCCEEDED")


def test_a_snapshot_that_was_added_is_removed_with_its_partition(tmp_path: Path) -> None:
    with CrawlServer(two_crawls()) as server:
        place = CrawlPlace(tmp_path, server.base, follow_after=FIRST)
        assert place.run("snapshots", "add", SECOND, "--files", "1") == 0
    corpus = CorpusResource(recipe=str(place.recipe), home=str(place.home))
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("snapshot", [FIRST, SECOND])
        asked: dict[str, object] = {"snapshot": SECOND}
        assert launch(remove_snapshot, "remove", asked, corpus, instance) == (True, "")
        assert instance.get_dynamic_partitions("snapshot") == [FIRST]
        assert corpus.book().recipe.snapshots == (FIRST,)
        done, said = launch(remove_snapshot, "remove", {"snapshot": FIRST}, corpus, instance)
        assert not done
        assert "that the recipe file names is removed there" in said


def test_quarantined_parts_are_retried_or_skipped(place: Place) -> None:
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    corpus = CorpusResource(home=str(place.home), recipe=str(place.recipe))
    rows = [
        FailedPartRow("documents", f"{part:064x}", "crawl-1", part, f"crawl-1 {part}", "broken", 3)
        for part in range(2)
    ]
    for remedy in ("retry", "skip"):
        registry.quarantine(rows)
        with dg.DagsterInstance.ephemeral() as instance:
            asked: dict[str, object] = {"remedy": remedy, "snapshot": "crawl-1"}
            assert launch(quarantined_parts, "remedy_parts", asked, corpus, instance) == (True, "")
        assert registry.failed_parts() == []
        listed = place.store / "skipped/small/crawl-1.json"
        assert listed.exists() == (remedy == "skip")


def test_links_lead_to_the_pages_where_their_address_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert set(version_links(VERSION, "/store")) == {"report"}
    assert certificate_links([3]).value == "- certificates/00000003.html"
    monkeypatch.setenv("CORPUS_PAGES_URL", "https://pages.example.org/")
    assert takedown_link(3).value == "https://pages.example.org/takedowns/3"
    links = version_links("a b", "/store")
    assert links["report"].value == "https://pages.example.org/versions/a%20b/report"
    listed = str(certificate_links(range(1, 61)).value).splitlines()
    first = "- [00000001.html](https://pages.example.org/takedowns/1/00000001.html)"
    assert (listed[0], len(listed), listed[-1]) == (first, 51, "- and 10 more")
