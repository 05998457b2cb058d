"""Dagster on a store on S3 that its resource alone leads to: no AWS_* variable says anything."""

import os
import re
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from corpus_assets.core.store import LocalStore
from corpus_assets.core.store_s3 import S3Store
from corpus_assets.defs.assets import ASSETS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.s3 import StoreOnS3
from corpus_assets_tests.chaos import files_of
from corpus_assets_tests.chromium import chromium
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.defs.test_by_webserver import HERE, LAUNCH, PATIENCE_S, SETTINGS, status_of
from corpus_assets_tests.deploy.services import Deployment
from corpus_assets_tests.s3_server import BUCKET, WRITER, S3Server, environment

pytestmark = pytest.mark.usefixtures("nothing_of_the_user")

SNAPSHOT = "crawl-1"
PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/use-postgresql-and-s3.md"


def settings(s3_server: S3Server) -> dict[str, Any]:
    """The resource as a person fills it in; the secret is in a variable of another name."""
    return {
        "endpoint_url": s3_server.endpoint,
        "region_name": "us-east-1",
        "aws_access_key_id": WRITER["key"],
        "aws_secret_access_key": {"env": "SECRET_OF_THE_STORE"},
        "use_ssl": False,
    }


def files_on(s3_server: S3Server, url: str, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    """The store, as the command line sees it with the usual variables."""
    for name, value in environment(s3_server.endpoint).items():
        monkeypatch.setenv(name, value)
    return S3Store(url)


def test_assets_are_materialized_on_the_server_that_the_resource_names(
    s3_server: S3Server, small_build: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{BUCKET}/{tmp_path.name}"
    monkeypatch.setenv("CORPUS_STORE_URL", url)
    monkeypatch.setenv("SECRET_OF_THE_STORE", WRITER["secret"])
    s3 = StoreOnS3.of_environment()
    corpus = CorpusResource(
        recipe=str(small_build.recipe), home=str(tmp_path / "home"), workers=2, s3=s3
    )
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("snapshot", [SNAPSHOT])
        done = dg.materialize(
            ASSETS,
            selection=["source_files", "documents"],
            partition_key=SNAPSHOT,
            instance=instance,
            resources={"s3": s3, "corpus": corpus},
            run_config={"resources": {"s3": {"config": settings(s3_server)}}},
        )
        assert done.success
        logged = str(instance.all_logs(done.run_id)) + str(instance.get_runs())
    assert "SECRET_OF_THE_STORE" in logged, "the run's configuration names the variable"
    assert WRITER["secret"] not in logged
    assert not [name for name in os.environ if name.startswith("AWS_")]
    store = files_on(s3_server, url, monkeypatch)
    built = small_build.artifacts("documents", "documents.parquet")
    made = [
        path for path in store.list("artifacts/documents") if path.endswith("/documents.parquet")
    ]
    assert made
    for path in made:
        assert small_build.store / path in built
        assert (small_build.store / path).read_bytes() == store.read(path)


def test_logs_of_runs_go_to_the_bucket_that_dagster_yaml_names(
    s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the lines that the page on S3 has for it."""
    for name, value in environment(s3_server.endpoint).items():
        monkeypatch.setenv(name, value)
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    [lines] = [yaml.safe_load(block) for block in blocks if "compute_logs" in block]
    prefix = lines["compute_logs"]["config"]["prefix"] = tmp_path.name
    lines["compute_logs"]["config"] |= {"bucket": BUCKET, "local_dir": str(tmp_path / "local")}
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    (tmp_path / "dagster.yaml").write_text(SETTINGS.read_text() + yaml.safe_dump(lines))
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:

        @dg.op
        def speak() -> None:
            print("what a run prints")

        @dg.job
        def speaking() -> None:
            speak()

        assert speaking.execute_in_process(instance=instance).success
    written = [each["path"] for page in s3_server.client().list(prefix) for each in page]
    texts = [s3_server.client().get(path).bytes().to_bytes() for path in written]
    assert any(b"what a run prints" in text for text in texts)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_a_run_of_the_launchpad_builds_where_its_resource_says(
    s3_server: S3Server, small_build: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{BUCKET}/{tmp_path.name}"
    variables = {
        "CORPUS_RECIPE": str(small_build.recipe),
        "CORPUS_STORE_URL": url,
        "CORPUS_CACHE": str(tmp_path / "cache"),
        "SECRET_OF_THE_STORE": WRITER["secret"],
    }
    services = Deployment(tmp_path, variables, SETTINGS)
    services.start()
    config = {
        "resources": {"s3": {"config": settings(s3_server)}},
        "ops": {"corpus_version": {"config": {"version": VERSION}}},
    }
    job: dict[str, Any] = {"selector": HERE | {"jobName": "build_version"}, "runConfigData": config}
    try:
        with chromium(tmp_path) as page:
            page.open(f"{services.address}/locations/corpus_assets/resources")
            page.shows("s3")
            page.open(f"{services.address}/locations/corpus_assets/resources/s3")
            page.shows("Server, region and credentials of the store on S3")
            page.shows("aws_secret_access_key")
            page.picture("resource-s3")
            run = services.ask(LAUNCH, params=job)["launchRun"]["run"]["runId"]
            services.until(lambda: status_of(services, run) in ("SUCCESS", "FAILURE"), PATIENCE_S)
            assert status_of(services, run) == "SUCCESS", services.last_words()
            page.open(f"{services.address}/assets/signals?view=checks&checkDetail=fasttext")
            page.shows("fasttext")
            page.shows("match those of the fastText library")
            page.shows("fastText agrees on")
            page.picture("check-fasttext")
    finally:
        services.stop()
    store = files_on(s3_server, url, monkeypatch)
    assert files_of(store, VERSION) == files_of(LocalStore(small_build.store), VERSION)
