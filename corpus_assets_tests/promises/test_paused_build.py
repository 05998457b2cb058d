"""A build that overslept its lease: others go on, it publishes nothing and says what to do."""

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.db.registry import Registry
from catalog.errors import CatalogBusy
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.graph.leases import collecting
from corpus_assets.versions.gc import collect_garbage
from corpus_assets_tests.demo_build import corpus_command, environment, run_corpus, version_files
from corpus_assets_tests.small_corpus import make_small_corpus

BUILD = ("--version", "small-1", "--workers", "2")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small_corpus(tmp_path_factory.mktemp("paused"))


@pytest.fixture(scope="module")
def undisturbed(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("undisturbed") / "home"
    run_corpus(home, "build", str(recipe), *BUILD)
    return version_files(home, "small-1")


def _pause(pid: int, url: str) -> None:
    """Stop a process and its workers at a moment when it holds no lock on the catalog."""
    database = Registry(url, busy_timeout_s=0.3).database
    while True:
        os.killpg(pid, signal.SIGSTOP)
        try:
            with database.write():
                return
        except CatalogBusy:
            os.killpg(pid, signal.SIGCONT)
            time.sleep(0.05)


@pytest.mark.slow
def test_a_paused_build_loses_its_lease_publishes_nothing_and_is_repeated_byte_for_byte(
    recipe: Path, undisturbed: dict[str, str], empty_url: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    place = replace(Home.resolve(str(home)), catalog_url=empty_url)
    settings = environment(home) | {"CORPUS_CATALOG_URL": empty_url}
    command = corpus_command("build", str(recipe), *BUILD)
    registry = Registry(empty_url)
    registry.upgrade()
    build = subprocess.Popen(
        command,
        env=settings | {"CORPUS_LEASE_S": "6"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not registry.artifacts("documents") and build.poll() is None:
        time.sleep(0.1)
    assert build.poll() is None, build.communicate()
    _pause(build.pid, empty_url)
    while registry.leases("build/"):
        time.sleep(0.1)
    store = open_store(place.store_url)
    with collecting(registry) as held:  # all that is finished, as if it were old
        collect_garbage(store, held, replace(place, keep_unpublished_days=0))
    assert list(store.list("artifacts/documents")) == []
    os.killpg(build.pid, signal.SIGCONT)
    printed, told = build.communicate()
    assert build.returncode == 1
    last = told.strip().splitlines()[-1]
    assert last.startswith("corpus: error: "), told
    assert "lease" in last
    assert "run the same command again, finished parts are kept" in last
    assert "Traceback" not in told + printed
    assert registry.versions() == []
    assert list(store.list("versions")) == []
    assert registry.artifacts("documents") == [], "nothing is recorded after the lease was lost"
    assert list(store.list("artifacts/documents")) == []
    again = subprocess.run(command, env=settings, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert version_files(home, "small-1") == undisturbed
