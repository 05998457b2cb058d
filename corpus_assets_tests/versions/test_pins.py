"""Calibrations stay as they were resolved, until the recipe asks for others or someone upgrades."""

import json
import shutil
from pathlib import Path

import pytest

from corpus_assets.cli.main import main
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.home import Home
from corpus_assets.session import open_home, open_session
from corpus_assets.versions.pins import ReusedCalibrations
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.registry_states import revoke

RULE = "selection.rules.gopher_word_count.min"
KEPT_SETS = {
    *("boilerplate/books-1", "boilerplate/crawl-1", "boilerplate/crawl-2"),
    *("repeated_spans/crawl-1", "repeated_spans/crawl-2"),
}
"""Counted over the documents that are kept."""


def reused(place: Place, *upgrade: str, **changes: object) -> ReusedCalibrations:
    home = Home.resolve(str(place.home))
    with open_session(str(place.recipe), home, overrides=dict(changes), upgrade=upgrade) as session:
        return session.reused


def pinned(place: Place) -> set[str]:
    lock = json.loads((place.store / "versions" / VERSION / "lock.json").read_bytes())
    return set(lock["calibrations"]) - {"eval_index"}  # made from files alone, never reused


def test_all_are_reused_from_a_live_version(small_build: Place) -> None:
    found = reused(small_build)
    assert set(found.pins) == pinned(small_build)
    assert set(found.origin.values()) == {f"version {VERSION}"}
    assert found.changed == ()


def test_a_new_snapshot_or_weight_changes_none(small_build: Place) -> None:
    more = {"crawl-1": "web/crawl-1/*", "crawl-2": "web/crawl-2/*", "crawl-3": "web/crawl-2/*"}
    new = {"sources.0.snapshots": more, "sources.0.site_files": dict.fromkeys(more, "sites")}
    assert set(reused(small_build, **new).pins) == pinned(small_build)
    assert set(reused(small_build, **{"mixture.change.domain.web": 0.9}).pins) == pinned(
        small_build
    )


def test_a_new_threshold_counts_lines_again_and_trains_nothing(small_build: Place) -> None:
    found = reused(small_build, **{RULE: 31})
    assert set(found.changed) == KEPT_SETS
    assert set(found.pins) == pinned(small_build) - KEPT_SETS


@pytest.mark.parametrize(
    ("changes", "anew"),
    [
        ({"tokenizer.train.vocab_size": 500}, {"tokenizer"}),
        ({"shards.tokens_per_shard": 4096}, {"shard_counts/crawl-1"}),
        ({"selection.cutoffs.words.drop_share": 0.3}, {"quality_cutoffs"} | KEPT_SETS),
        ({"classifiers.quality.train.epochs": 3}, {"classifiers/quality", "quality_cutoffs"}),
        ({"calibrate_on": ["crawl-2"]}, {"quality_cutoffs", "tokenizer"}),
        ({"sources.books.tier": "low"}, {"quality_cutoffs", "shard_counts/books-1"}),
    ],
)
def test_what_the_recipe_asks_otherwise_is_resolved_anew_with_what_is_made_with_it(
    small_build: Place, changes: dict[str, object], anew: set[str]
) -> None:
    found = reused(small_build, **changes)
    assert anew <= set(found.changed)
    assert not anew & set(found.pins)
    assert set(found.changed) | set(found.pins) == pinned(small_build)


def test_other_training_texts_train_again(place: Place) -> None:
    (texts,) = place.source("quality").glob("positives*")
    texts.write_bytes(texts.read_bytes() * 2)
    found = reused(place)
    assert {"classifiers/quality", "quality_cutoffs"} <= set(found.changed)
    assert "tokenizer" in found.pins


def test_an_upgrade_names_calibrations_or_stages_or_all(small_build: Place) -> None:
    assert "tokenizer" not in reused(small_build, "tokenizer").pins
    one = set(reused(small_build, "shard_counts/crawl-1").pins)
    assert pinned(small_build) - one == {"shard_counts/crawl-1"}
    assert {"classifiers/quality", "quality_cutoffs"} <= pinned(small_build) - set(
        reused(small_build, "classifiers").pins
    )
    assert reused(small_build, "all").pins == {}
    with pytest.raises(RecipeError, match="no calibration is called 'tokeniser'; known: "):
        reused(small_build, "tokeniser")


def test_revoked_versions_give_none(place: Place) -> None:
    _, registry = open_home(Home.resolve(str(place.home)))
    revoke(registry, VERSION)
    assert reused(place).pins == {}


def test_the_lock_beside_a_recipe_gives_the_same_bytes_in_another_home(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P1: recipe, lock and inputs. The threshold differs from that of the lock's build."""
    home = ("--home", str(place.home), "--workers", "1")
    assert main(["lock", str(place.recipe), *home]) == 0
    folder = place.recipe.parent / "small.lock"
    assert f"written to {folder / 'lock.json'}" in capsys.readouterr().out
    changed = ("--set", f"{RULE}=60")
    assert place.build(*changed, version="other") == 0
    assert "from small.lock" in capsys.readouterr().err
    copied = Place(tmp_path / "copied")
    shutil.copytree(place.recipe.parent, copied.recipe.parent)
    assert copied.build(*changed, version="other") == 0
    assert copied.files("other") == place.files("other")


@pytest.mark.slow
def test_lock_writes_what_was_upgraded_and_keeps_the_rest(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    def locked(*arguments: str) -> dict[str, str]:
        home = ("--home", str(place.home), "--workers", "1")
        assert main(["lock", str(place.recipe), *home, *arguments]) == 0
        folder = place.recipe.parent / "small.lock"
        body = json.loads((folder / "lock.json").read_bytes())
        files = {path.name for path in (folder / "calibrations").iterdir()}
        assert files == {pin["sha256"] for pin in body["calibrations"].values()}
        return {name: pin["sha256"] for name, pin in body["calibrations"].items()}

    before = locked()
    text = place.recipe.read_text()
    place.recipe.write_text(text.replace("min: 30", "min: 90"))
    assert place.recipe.read_text() != text
    kept = locked()
    assert {name for name in before if kept[name] != before[name]} <= KEPT_SETS
    after = locked("--upgrade", "tokenizer", "--upgrade", "quality_cutoffs")
    assert set(after) == set(before)
    assert after["classifiers/quality"] == before["classifiers/quality"]


@pytest.mark.slow
def test_a_plan_says_what_a_fresh_lock_would_change(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    def plan(*arguments: str) -> str:
        assert main(["plan", str(place.recipe), "--home", str(place.home), *arguments]) == 0
        return capsys.readouterr().out

    assert f"from version {VERSION}" in plan()
    assert "fresh lock" not in plan()
    assert "a fresh lock would recompute: " in plan("--set", f"{RULE}=182")
    _, registry = open_home(Home.resolve(str(place.home)))
    assert place.build("--set", f"{RULE}=182", "--upgrade", "all", version="anew") == 0
    revoke(registry, "anew")
    assert "a fresh lock would change: " in plan("--set", f"{RULE}=182")
    body = json.loads(plan("--json"))
    assert body["tokenizer"]["calibrations"]["tokenizer"] == {
        "from": f"version {VERSION}",
        "fresh": "same",
    }


def test_a_named_lock_and_an_upgrade_exclude_each_other(small_build: Place) -> None:
    lock = str(small_build.store / "versions" / VERSION / "lock.json")
    home = Home.resolve(str(small_build.home))
    with (
        pytest.raises(RecipeError, match="use only one of the two"),
        open_session(str(small_build.recipe), home, lock=lock, upgrade=("all",)),
    ):
        pass
