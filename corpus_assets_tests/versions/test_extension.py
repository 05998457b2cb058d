"""A version that extends another: only what is new is computed."""

import json
import re
import shutil
from pathlib import Path

import pytest

from catalog.db.registry import Registry
from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.recipe import load_recipe
from corpus_assets.versions.extension import extendable
from corpus_assets.versions.growth import version_growth
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.registry_states import revoke
from corpus_assets_tests.small_corpus import SNAPSHOTS, THIRD, add_third_crawl


def shards(place: Place, version: str) -> dict[str, str]:
    """Digests of the shards' files by their paths."""
    files = place.files(version)
    return {path: sha256 for path, sha256 in files.items() if path.startswith("artifacts/")}


def registry_of(place: Place) -> Registry:
    return Registry(Home.resolve(str(place.home)).catalog_url)


def extended(place: Place, *arguments: str) -> str:
    """Build on the small version; returns the name of the new one."""
    command = ["build", str(place.recipe), "--home", str(place.home), "--workers", "1"]
    assert main([*command, "--extends", VERSION, *arguments]) == 0
    return registry_of(place).versions()[-1].name


def test_only_the_new_snapshot_is_computed_and_old_shards_are_shared(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    registry, before = registry_of(place), shards(place, VERSION)
    known = {(row.stage, row.fingerprint) for row in registry.artifacts()}
    plain = load_recipe(place.recipe)
    add_third_crawl(place.recipe)
    store = open_store(str(place.store))
    recipe = load_recipe(place.recipe)
    assert extendable(store, registry, plain) == "", "it adds nothing"
    assert extendable(store, registry, recipe) == VERSION
    assert recipe.snapshots == ("crawl-1", "crawl-2", THIRD, "books-1")
    assert main(["gc", "--home", str(place.home), "--keep", "takedowns"]) == 0

    name = extended(place)
    assert re.fullmatch(r"small-\d{4}-\d\d-\d\d", name)
    told = capsys.readouterr().err
    assert f"extends {VERSION}: reuses 3 snapshots and " in told
    assert f"new: {THIRD}" in told

    after = shards(place, name)
    assert {path: after[path] for path in before} == before
    assert set(after) > set(before)
    new = [row for row in registry.artifacts() if (row.stage, row.fingerprint) not in known]
    assert {row.snapshot for row in new if row.snapshot in SNAPSHOTS} == set()
    locks = [
        json.loads((place.store / "versions" / each / "lock.json").read_bytes())["calibrations"]
        for each in (VERSION, name)
    ]
    assert locks[0].items() <= locks[1].items()
    assert {each.rpartition("/")[2] for each in locks[1].keys() - locks[0].keys()} == {THIRD}

    row = registry.version(name)
    growth = version_growth(registry, store, row)
    assert growth is not None
    assert growth.before == VERSION
    old = registry.version(VERSION)
    difference = (row.documents - old.documents, row.tokens - old.tokens)
    assert growth.by_source == {"web": difference}
    assert min(difference) > 0
    assert growth.languages == {"en": row.documents - old.documents}
    assert growth.parts == len(new)
    assert growth.cpu_seconds > 0
    assert growth.details()["in web"] == f"documents +{difference[0]}, tokens +{difference[1]:,}"
    assert version_growth(registry, store, old) is None

    assert main(["build", str(place.recipe), "--home", str(place.home), "--extends", VERSION]) == 0
    assert registry.versions()[-1].name == name, "a second build finds it"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--set", "selection.rules.gopher_word_count.min=31"),
         f"differs from that of version {VERSION} in selection.rules.gopher_word_count.min: "),
        (("--set", "seed=8"), "in seed: "),
        (("--set", "sources.web.skip_files={crawl-1: [part-00000.warc.gz]}"),
         "in sources.web.skip_files.crawl-1: "),
        (("--upgrade", "tokenizer"), "leave out --lock, --calibrations and --upgrade"),
    ],
)  # fmt: skip
def test_what_would_change_old_snapshots_is_refused(
    small_build: Place,
    arguments: tuple[str, ...],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ("plan", str(small_build.recipe), "--home", str(small_build.home))
    assert main([*command, "--extends", VERSION, *arguments]) == 1
    assert why in capsys.readouterr().err


def test_a_changed_list_a_revoked_version_and_a_deleted_result_are_refused(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["build", str(place.recipe), "--home", str(place.home), "--extends", VERSION]
    blocked = place.source("blocklist.txt")
    text = blocked.read_text()
    blocked.write_text(text + "other.example.com\n")
    assert main(command) == 1
    assert f"are not those that version {VERSION} pins; restore them" in capsys.readouterr().err
    blocked.write_text(text)
    shutil.rmtree(place.artifacts("signals")[0].parent)
    assert main(command) == 1
    assert (
        " would be recomputed: another release than this one computed it" in capsys.readouterr().err
    )
    revoke(registry_of(place), VERSION)
    assert main(command) == 1
    assert f"version {VERSION} is revoked" in capsys.readouterr().err


@pytest.mark.slow
def test_it_equals_a_build_from_nothing_and_a_takedown_on_it_does_too(
    place: Place, tmp_path: Path
) -> None:
    """P1 and P4: the same recipe and lock in an empty home give the same bytes, and so do both
    after a takedown of a page that a chapter of the books was nearly."""
    add_third_crawl(place.recipe)
    name = extended(place)
    other = Place(tmp_path / "other")
    shutil.copytree(place.folder / "corpus", other.folder / "corpus")
    lock = place.store / "versions" / name / "lock.json"
    assert other.build("--lock", str(lock), version=name) == 0
    before = place.files(name)
    assert other.files(name) == before
    url = "http://site-3.example.org/article"
    for each in (place, other):
        assert each.catalog("takedown", "request", "--url", url, "--reason", "asked") == 0
        assert each.catalog("takedown", "run") == 0
    after = [place.files(f"{name}.td1"), other.files(f"{name}.td1")]
    assert after[0] == after[1]
    assert set(after[0].values()) - set(before.values()), "some shards are new"
