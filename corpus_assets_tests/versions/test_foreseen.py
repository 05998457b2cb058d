"""A mixture that cannot be met is told before tokens are computed, with the ways out."""

import json
import shutil

import pytest

from corpus_assets.cli.main import main
from corpus_assets.core.errors import MissingInput
from corpus_assets.core.home import Home
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.session import open_session
from corpus_assets.versions.foreseen import (
    CHARS_PER_TOKEN,
    chars_per_token,
    estimated_groups,
    foresee,
)
from corpus_assets.versions.version import shard_groups
from corpus_assets_tests.cli.test_commands import said
from corpus_assets_tests.conftest import Place

Captured = pytest.CaptureFixture[str]
SET = ("--set", "mixture.run_tokens=100000000")
WAYS_OUT = ("lower ", "raise ", "run_tokens to ")


def estimate(pipeline: Pipeline) -> dict[str, int]:
    return {
        group.id: group.tokens for group in estimated_groups(pipeline, chars_per_token(pipeline))
    }


def test_tokens_are_estimated_from_selected_characters_as_the_tokenizer_was_measured(
    place: Place,
) -> None:
    """Deduplication, benchmarks and cleaning take text away after it: there are fewer tokens, in
    groups that were foreseen."""
    home = Home.resolve(str(place.home))
    with open_session(str(place.recipe), home) as session:
        measured = estimate(session.pipeline)
        made = {group.id: group.tokens for group in shard_groups(session.pipeline)}
    assert set(measured) == set(made)
    for name, tokens in made.items():
        assert 0.9 * tokens < measured[name] < 6 * tokens, name
    [result] = place.artifacts("tokenizer", "result.json")
    notes = json.loads(result.read_bytes())["notes"]
    tokens = notes["audit"]["held_out"]["by_domain"]["books"]["tokens"]
    ratio = notes["sample"]["books"]["held_out_chars"] / tokens
    shutil.rmtree(place.store / "artifacts/tokenizer")
    shutil.rmtree(place.store / "artifacts/shards")
    with open_session(str(place.recipe), home) as session:
        assumed = estimate(session.pipeline)
        found = foresee(session.pipeline)
    assert found is not None
    assert found.is_assumed
    books = "books-1/books/high"
    assert measured[books] / assumed[books] == pytest.approx(CHARS_PER_TOKEN / ratio, rel=0.02)


def test_nothing_is_foreseen_before_selection(small_build: Place) -> None:
    home = Home.resolve(str(small_build.home))
    other = {"selection.rules.gopher_word_count.min": 21}
    with open_session(str(small_build.recipe), home, overrides=other) as session:
        assert foresee(session.pipeline) is None
        with pytest.raises(MissingInput):
            estimated_groups(session.pipeline, {})


def test_plan_says_what_the_mixture_lacks_from_shards_or_from_an_estimate(
    place: Place, capsys: Captured
) -> None:
    at = ("--home", str(place.home))
    assert "mixture:" not in said(capsys, "plan", str(place.recipe), *at)
    exact = said(capsys, "plan", str(place.recipe), *SET, *at)
    assert "mixture: it cannot be met: the mixture asks for" in exact
    assert all(way in exact for way in WAYS_OUT)
    without = ("--set", "mixture.inside={domain: {books: {shares: {tier: {low: 0.5}}}}}")
    empty = said(capsys, "plan", str(place.recipe), *without, *at)
    assert "books.shares.tier.low gets 0.00% instead of" in empty
    assert "there is no text of it" in empty
    shutil.rmtree(place.store / "artifacts/shards")
    text = said(capsys, "plan", str(place.recipe), *SET, *at)
    assert "mixture: by an estimate of " in text
    assert "characters, it cannot be met" not in text, "the tokenizer was measured"
    assert all(way in text for way in WAYS_OUT)
    capsys.readouterr()
    assert main(["plan", str(place.recipe), *SET, *at, "--json"]) == 0
    shards = json.loads(capsys.readouterr().out)["shards"]
    assert shards["mixture"]["is_estimate"]
    assert "epochs of group" in shards["mixture"]["problem"]


def test_a_build_tells_it_before_it_writes_shards_and_leaves_the_version_with_a_shorter_run(
    place: Place, capsys: Captured
) -> None:
    shutil.rmtree(place.store / "artifacts/shards")
    capsys.readouterr()
    assert place.build(*SET, version="greedy") == 0
    shown = capsys.readouterr()
    lines = (shown.out + shown.err).splitlines()
    told = [n for n, line in enumerate(lines) if line.startswith("mixture: by an estimate of ")]
    wrote = [n for n, line in enumerate(lines) if line.startswith(("clean_text ", "shards "))]
    gave_way = [n for n, line in enumerate(lines) if line.startswith("mixture: the run is short")]
    assert len(told) == len(gave_way) == 1
    assert told[0] < wrote[0] < gave_way[0]
