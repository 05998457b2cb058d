"""What may be deleted of a published version is made again with equal bytes."""

import json
from pathlib import Path

import pytest

from catalog.db.registry import Registry
from catalog.db.rows import ArtifactRow
from corpus_assets.cli.main import gc, main
from corpus_assets.core.home import Home
from corpus_assets.recipe.load import load_recipe
from corpus_assets.recipe.operations import KEEPS
from corpus_assets.stages import STAGES
from corpus_assets.versions.retention import BETWEEN, FREED_STAGES, OF_CALIBRATIONS
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.homes import copy_home


def artifacts(place: Place) -> list[ArtifactRow]:
    return Registry(Home.resolve(str(place.home)).catalog_url).artifacts()


def contents(place: Place) -> dict[tuple[str, str], str]:
    return {(row.stage, row.fingerprint): row.content_hash for row in artifacts(place)}


def collected(
    place: Place, capsys: pytest.CaptureFixture[str], *arguments: str
) -> dict[str, object]:
    capsys.readouterr()
    assert main(["gc", "--home", str(place.home), "--json", *arguments]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_what_a_version_names_and_what_reads_sources_is_never_let_go() -> None:
    named = {stage.name for stage, _ in STAGES.lineage()} | STAGES.calibrations.keys()
    (option,) = (each for each in gc.params if each.name == "keep")
    assert tuple(option.type.choices) == KEEPS == tuple(FREED_STAGES)  # type: ignore[attr-defined]
    assert not named & FREED_STAGES["published"]
    assert (
        not {"text_keys", "lineage_keys", "robots_index", "category_index"}
        & FREED_STAGES["published"]
    )
    assert {"line_keys", "tokenizer_sample", "classifier_sample"} <= OF_CALIBRATIONS
    assert {"signatures", "tokens", "cluster_keys", "selection"} <= BETWEEN
    for stage in STAGES:  # of calibrations nothing else reads
        for file in (*stage.reads, *stage.reads_all):
            if file.stage in OF_CALIBRATIONS:
                assert stage.name in OF_CALIBRATIONS | STAGES.calibrations.keys()


def test_gc_says_what_it_could_free_and_what_was_freed_is_made_again(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    before, rows = contents(place), artifacts(place)
    said = collected(place, capsys, "--dry-run")
    assert said["bytes"] == 0
    for one in said["freeable"]:  # type: ignore[attr-defined]
        level = FREED_STAGES["takedowns"] if one["keep"] == "takedowns" else BETWEEN
        some = [row for row in rows if row.stage in level]
        assert (one["artifacts"], one["bytes"]) == (len(some), sum(row.bytes for row in some))
        assert one["cpu_hours"] == pytest.approx(sum(row.cpu_seconds or 0 for row in some) / 3600)
        assert one["bytes"] > 0
    assert [one["keep"] for one in said["freeable"]] == ["takedowns", "published"]  # type: ignore[attr-defined]

    stored = sum(path.stat().st_size for path in place.store.rglob("*") if path.is_file())
    freed = collected(place, capsys, "--keep", "published")
    assert freed["bytes"] == sum(one["bytes"] for one in said["freeable"])  # type: ignore[attr-defined]
    left = sum(path.stat().st_size for path in place.store.rglob("*") if path.is_file())
    assert stored - left >= freed["bytes"]  # type: ignore[operator]
    assert {stage for stage, _ in contents(place)} == {s for s, _ in before} - FREED_STAGES[
        "published"
    ]
    assert place.catalog("verify", VERSION) == 0

    files = place.files()
    assert place.build() == 0
    again = contents(place)
    assert again == {key: sha256 for key, sha256 in before.items() if key[0] not in OF_CALIBRATIONS}
    assert place.files() == files


def test_gc_keeps_what_the_recipe_of_a_live_version_asks_for(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = load_recipe(place.recipe).digest
    text = place.recipe.read_text()
    place.recipe.write_text(text + "retention: takedowns\n")
    assert load_recipe(place.recipe).digest == digest, "what is left of it is not what it is"
    assert place.build(version="other") == 0
    before = [row for row in artifacts(place) if row.stage in OF_CALIBRATIONS]
    assert collected(place, capsys)["artifacts"] == len(before) > 0


@pytest.mark.slow
def test_a_takedown_after_it_gives_what_it_gives_without(place: Place, tmp_path: Path) -> None:
    """P4 where the results between stages are gone."""
    other = Place(tmp_path / "other")
    copy_home(place.home, other.home)
    assert main(["gc", "--home", str(place.home), "--keep", "published"]) == 0
    for each in (place, other):
        url = ("--url", "http://site-3.example.org/article")
        assert each.catalog("takedown", "request", *url, "--reason", "asked") == 0
        assert each.catalog("takedown", "run") == 0
    after = [each.files(f"{VERSION}.td1") for each in (place, other)]
    assert after[0] == after[1]
