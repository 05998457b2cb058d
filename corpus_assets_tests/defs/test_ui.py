"""A day in the UI, in a real browser: daemon, webserver, code location and pages run as they do for
a person, crawls come from a server, notices go to one, and no command is run."""

import gzip
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.scheduler.instigation import ScheduleInstigatorData

from catalog.db.rows import VersionRow
from corpus_assets_tests.chromium import Page, chromium
from corpus_assets_tests.crawl_server import CrawlServer, crawl_files, crawl_list
from corpus_assets_tests.defs.test_notices import receiver
from corpus_assets_tests.deploy.services import Deployment, free_ports
from corpus_assets_tests.ingest.crawl.crawl_corpus import FIRST, RECIPE, archives
from corpus_assets_tests.small_corpus import first_crawl

DAMAGED = "CC-MAIN-2024-22"
SETTINGS = Path(__file__).resolve().parents[2] / "dagster.yaml"
SWITCH = "label[class*=formatSwitch]:not([class*=disabled])"
PATIENCE_S = 1200.0  # kernels may have to be compiled first
TAKEN = "http://site-5.example.org/article"


@dataclass(frozen=True)
class Desk:
    """What a person has before them: a browser on the UI, and what is behind it."""

    page: Page
    services: Deployment
    pages_url: str
    told: list[Any]

    def switch_on(self, kind: str, name: str) -> None:
        self.page.open(f"{self.services.address}/locations/corpus_assets/{kind}/{name}")
        self.page.shows("Latest tick")
        self.page.click(None, SWITCH)
        is_on = f"document.querySelector('{SWITCH} input')?.checked === true"
        self.page.until(lambda: self.page.value(is_on), f"{name} stays off")

    def launch(self, job: str, op: str, config: dict[str, Any]) -> None:
        """Write the fields of a job into its launchpad, launch it and wait until it is done."""
        self.page.open(f"{self.services.address}/locations/corpus_assets/jobs/{job}")
        self.page.click("Launchpad", "a, [role=tab]")
        self.page.shows("Launch Run")
        self.page.click(None, ".CodeMirror-line")
        self.page.press("a", 65, control=True)
        self.page.write(yaml.safe_dump({"ops": {op: {"config": config}}}))
        self.page.until(lambda: "No errors" in self.page.text, "the launchpad finds errors")
        self.page.picture(f"launchpad-{job}")
        self.page.click("Launch Run", "button")
        self.page.until(lambda: "/runs/" in self.page.address, "no run was launched")
        self.page.until(lambda: "Success" in self.page.text, f"{job} does not succeed")
        self.page.picture(f"run-{job}")

    def both_sizes(self, name: str) -> None:
        """Take a picture on a desktop and on a telephone, where nothing may stick out."""
        self.page.picture(name)
        self.page.size(390, 844)
        self.page.picture(f"{name}-telephone")
        wide = self.page.value("document.documentElement.scrollWidth")
        self.page.size(1400, 900)
        assert wide <= 390, f"{name} is {wide} px wide on a telephone"

    def links(self, words: str) -> list[str]:
        """Where the links on the page lead whose text has these words."""
        found: list[str] = self.page.value(
            "[...document.querySelectorAll('a')].filter((a) => a.innerText.includes("
            f"{words!r})).map((a) => a.href)"
        )
        return found

    def versions(self) -> list[VersionRow]:
        return self.services.registry.versions()

    def hears(self, words: str) -> str:
        """Wait for a notice that has these words."""
        found: list[str] = []

        def is_told() -> bool:
            found[:] = [one["text"] for one in self.told if words in one["text"]]
            return bool(found)

        self.services.until(is_told, PATIENCE_S)
        return found[0]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A recipe that follows crawls and has none yet, on a home where nothing was ever run."""
    raw = yaml.safe_load(RECIPE)
    recipe = tmp_path / "crawl.yaml"
    with (
        chromium(tmp_path) as page,
        CrawlServer(crawl_files(FIRST, archives(first_crawl(), FIRST, 2))) as crawls,
        receiver() as (hook, told),
    ):
        crawls.files["collinfo.json"] = crawl_list(FIRST, DAMAGED)
        listed = gzip.compress(b"crawl-data/CC-MAIN-2024-22/segments/1/warc/1.warc.gz\n" * 50)
        crawls.files[f"crawl-data/{DAMAGED}/warc.paths.gz"] = listed[:-10]
        raw["sources"][0]["snapshots"] = []
        raw["sources"][0]["crawl"] |= {"base": crawls.base, "follow_after": "CC-MAIN-2024-01"}
        recipe.write_text(yaml.safe_dump(raw))
        (port,) = free_ports(1)
        pages_url = f"http://127.0.0.1:{port}"
        variables = {
            "CORPUS_RECIPE": str(recipe),
            "CORPUS_NOTIFY_WEBHOOK": hook,
            "CORPUS_PAGES_URL": pages_url,
        }
        services = Deployment(tmp_path, variables, SETTINGS)
        monkeypatch.setenv("DAGSTER_HOME", services.env["DAGSTER_HOME"])
        services.start(with_daemon=False)
        try:
            yield Desk(page, services, pages_url, told)
        finally:
            services.stop()


def an_hour_ago(services: Deployment, schedule: str) -> None:
    """Let the schedule have been switched on an hour ago, with no daemon there to tick since."""
    with dg.DagsterInstance.from_config(services.env["DAGSTER_HOME"]) as instance:
        (state,) = [s for s in instance.all_instigator_state() if s.name == schedule]
        data = state.instigator_data
        assert isinstance(data, ScheduleInstigatorData)
        earlier = (data.start_timestamp or time.time()) - timedelta(hours=1).total_seconds()
        instance.update_instigator_state(
            state.with_data(ScheduleInstigatorData(data.cron_schedule, earlier))
        )


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_from_a_new_crawl_to_a_release_and_a_certificate_without_a_command(desk: Desk) -> None:
    page, services = desk.page, desk.services
    desk.switch_on("schedules", "weekly_crawl_check")
    for sensor in ("new_snapshots", "ingested_snapshots"):
        desk.switch_on("sensors", sensor)
    page.picture("sensor")
    an_hour_ago(services, "weekly_crawl_check")
    services.start_daemon()

    # A crawl appears and becomes a candidate; a damaged one is refused, and both are told.
    refused = desk.hears("A new crawl was skipped.")
    assert f"skipped {DAMAGED}: " in refused
    assert "is truncated" in refused
    published = desk.hears("is published.")
    (version,) = desk.versions()
    assert f"Version {version.name} is published." in published
    assert version.state == "candidate"
    services.serve_catalog(int(desk.pages_url.rpartition(":")[2]))

    # It is looked at, on a telephone too, and released by a person.
    page.open(f"{services.address}/assets/corpus_version")
    page.shows("most dropped as")
    page.picture("corpus-version")
    (report,) = [link for link in desk.links("/report") if link.startswith(desk.pages_url)]
    page.open(report)
    page.shows(version.name)
    desk.both_sizes("report")
    page.open(f"{desk.pages_url}/versions/{version.name}/what-if")
    page.shows("Other thresholds")
    desk.both_sizes("what-if")
    desk.launch("release_version", "release", {"version": version.name, "by": "Ada"})
    (released,) = desk.versions()
    assert (released.state, released.released_by) == ("released", "Ada")
    page.open(f"{services.address}/assets/release_gate?partition={version.name}")
    page.shows("small models compared it with no other version")
    page.picture("release-gate")

    # A takedown is filed; the sensor has it carried out; its certificate is opened.
    asked = {"kind": "url", "value": TAKEN, "reason": "the owner of the page asks"}
    desk.launch("file_takedown", "file_request", asked)
    assert services.registry.takedowns() == [], "a dry run files nothing"
    desk.launch("file_takedown", "file_request", asked | {"dry_run": False})
    done = desk.hears("Takedown 1 is done.")
    assert f"page: {desk.pages_url}/takedowns/1" in done
    page.open(f"{services.address}/assets/corpus_version?partition={version.name}.td1")
    page.shows("00000001.html")
    page.picture("version-after-takedown")
    page.open(desk.links("00000001.html")[0])
    page.shows(TAKEN)
    desk.both_sizes("certificate")
    page.open(f"{desk.pages_url}/find?q={TAKEN}")
    page.shows("dropped by documents: suppressed")

    states = {row.name: row.state for row in desk.versions()}
    assert states == {version.name: "revoked", f"{version.name}.td1": "released"}
    assert services.runs("FAILURE") == [], services.last_words()
    texts = "\n".join(one["text"] for one in desk.told)
    assert not re.search("Traceback|harbour", texts), "notices have no text of documents"
    services.run("catalog", "verify", f"{version.name}.td1")
