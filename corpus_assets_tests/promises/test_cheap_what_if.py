"""P5: a threshold or a weight recomputes no text; `corpus plan` says so before anything runs."""

import contextlib
import io
import json
from pathlib import Path

import pytest

from corpus_assets.cli.main import main
from corpus_assets_tests.demo_build import VERSION, hashes
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.small_corpus import prose
from corpus_assets_tests.tiny_corpus import make_tiny_corpus

EVERYTHING = {
    "source_files", "documents", "eval_index", "classifiers", "perplexity_models", "score_ranks",
    "signals", "quality_cutoffs",
    "selection", "signatures", "clusters", "contamination", "common_items", "clean_text", "tokenizer",
    "shards", "lineage_keys",
}  # fmt: skip


def _corpus(home: Path, command: str, *arguments: str) -> str:
    """What a command about the demo prints. In this process: it shows what is computed, not what a
    start costs."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main([command, "demo", "--home", str(home), *arguments]) == 0
    return printed.getvalue()


def _cached(home: Path, *changes: str) -> set[str]:
    settings = [word for change in changes for word in ("--set", change)]
    plan = json.loads(_corpus(home, "plan", "--json", *settings))
    return {asset for asset, line in plan.items() if line["state"] == "cached"}


def test_without_a_change_everything_is_cached(demo_home: Path) -> None:
    assert _cached(demo_home) == EVERYTHING


@pytest.mark.parametrize(
    "change",
    [
        "selection.rules.word_count.min=80",
        "selection.cutoffs.quality.drop_share=0.25",
        "selection.tiers.shares=[0.2, 0.5, 0.3]",
    ],
)
def test_a_changed_threshold_recomputes_no_text_signal_signature_or_tokenizer(
    demo_home: Path, change: str
) -> None:
    cached = _cached(demo_home, change)
    assert cached >= {
        "documents", "signals", "tokenizer", "signatures", "contamination", "classifiers",
        "eval_index",
    }  # fmt: skip
    assert "selection" not in cached


@pytest.mark.slow
def test_longer_samples_of_long_documents_tokenize_nothing_again(tmp_path: Path) -> None:
    """A phase of long context is a second version of the same tokens."""
    others = {f"https://long.example/{i}": prose("long", i, sentences=200) for i in range(3)}
    recipe = make_tiny_corpus(tmp_path, others=others, vocab_size=700)
    shards = "shards: {seq_len: 64, group_by: {n_words: {long: 1000}}}"
    recipe.write_text(recipe.read_text().replace("shards: {seq_len: 256}", shards))
    where = [str(recipe), "--home", str(tmp_path / "home")]
    assert main(["build", *where, "--version", "base"]) == 0
    changes = ["--set", "shards.seq_len=512", "--set", "mixture.only.n_words=[long]"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["plan", *where, "--json", *changes]) == 0
    plan = json.loads(printed.getvalue())
    assert {asset for asset, line in plan.items() if line["state"] != "cached"} == {
        "shards", "lineage_keys",
    }  # fmt: skip
    assert (plan["shards"]["cached"], plan["shards"]["to_run"]) == (1, 2)  # tokens, and two shards
    assert main(["build", *where, "--version", "long", *changes]) == 0


def test_a_changed_contamination_threshold_scans_no_text(demo_home: Path) -> None:
    cached = _cached(demo_home, "contamination.drop_share=0.9")
    assert "contamination" in cached
    assert "clean_text" not in cached


def test_changed_weights_leave_everything_but_the_manifest(demo_home: Path) -> None:
    changes = (
        "mixture.change.domain.code=0.3",
        "mixture.weights.source={books: 2}",
        "mixture.weights.tier.low=0.25",
    )
    assert _cached(demo_home, *changes) == EVERYTHING


def test_a_new_mix_writes_a_manifest_and_shares_every_shard(
    demo_home: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    copy_home(demo_home, home)
    before = hashes(home / "store" / "artifacts")
    change = ("--set", "mixture.change.domain.code=0.3")
    _corpus(home, "build", "--version", "mix-2", "--workers", "1", *change)
    assert hashes(home / "store" / "artifacts") == before
    old, new = (
        json.loads((home / "store" / "versions" / name / "manifest.json").read_bytes())
        for name in (VERSION, "mix-2")
    )
    assert old["phases"] != new["phases"]
    assert old["groups"] == new["groups"]


@pytest.mark.slow
def test_a_change_that_selects_the_same_documents_finds_all_later_stages_again(
    demo_home: Path, tmp_path: Path
) -> None:
    """Identity is by content: a threshold nobody is near changes no cluster, text or shard."""
    home = tmp_path / "home"
    copy_home(demo_home, home)
    before = set(hashes(home / "store" / "artifacts"))
    change = ("--set", "selection.rules.word_count.max=99999")
    _corpus(home, "build", "--version", "same-2", "--workers", "1", *change)
    added = {path.split("/")[0] for path in set(hashes(home / "store" / "artifacts")) - before}
    assert added == {"selection"}
