"""`corpus mix`, `corpus plan-tokens` and `corpus tokenizer`, on the small corpus."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets.graph.checks import TOKENIZER_CHECKS, tokenizer_checks
from corpus_assets.session import open_session
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer
from corpus_assets_tests.cli.test_commands import said
from corpus_assets_tests.conftest import VERSION, Place

Captured = pytest.CaptureFixture[str]


def answer(place: Place, capsys: Captured, *words: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert main([*words, "--home", str(place.home), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def failure(place: Place, capsys: Captured, *words: str) -> str:
    return said(capsys, *words, "--home", str(place.home), code=1)


class TestMix:
    def test_a_version_is_mixed_as_its_manifest_says(
        self, small_build: Place, capsys: Captured
    ) -> None:
        found = answer(small_build, capsys, "mix", VERSION)
        manifest = json.loads(
            (small_build.store / f"versions/{VERSION}/manifest.json").read_bytes()
        )
        drawn = {
            group["id"]: sum(
                phase["blocks"] * phase["counts"].get(group["id"], 0)
                for phase in manifest["phases"]
            )
            for group in manifest["groups"]
        }
        assert {row["group"]: row["drawn_samples"] for row in found["rows"]} == drawn
        assert found["problem"] is None

    def test_other_weights_need_the_manifest_and_nothing_else(
        self, place: Place, capsys: Captured
    ) -> None:
        shutil.rmtree(place.store / "artifacts")
        change = ("--set", "mixture.change.domain.books=0.5")
        found = answer(place, capsys, "mix", VERSION, *change, "--by", "domain")
        shares = {row["group"]: row["share"] for row in found["rows"]}
        assert shares["books"] == pytest.approx(0.5, abs=0.05)
        assert not (place.store / "artifacts").exists()

    def test_a_recipe_is_mixed_over_what_a_build_would_find(
        self, small_build: Place, capsys: Captured
    ) -> None:
        recipe = answer(small_build, capsys, "mix", str(small_build.recipe))
        version = answer(small_build, capsys, "mix", VERSION)
        assert recipe["rows"] == version["rows"]
        assert recipe["of"] == "recipe small"
        other = ("--set", "selection.rules.gopher_word_count.min=20")
        stale = answer(small_build, capsys, "mix", str(small_build.recipe), *other)
        assert stale["of"] == f"recipe small over version {VERSION}"

    def test_a_run_beyond_the_epochs_allowed_shows_the_table_and_ends_with_the_reason(
        self, small_build: Place, capsys: Captured
    ) -> None:
        capsys.readouterr()
        words = ["mix", VERSION, "--tokens", "5M", "--home", str(small_build.home)]
        assert main(words) == 1
        shown = capsys.readouterr()
        assert "crawl-1/web/high" in shown.out
        assert "epochs of group" in shown.err
        assert "allowed are 50 by mixture.max_epochs" in shown.err
        found = answer(small_build, capsys, "mix", VERSION, "--tokens", "5e6", code=1)
        assert found["run_tokens"] == 5_000_000

    def test_two_mixes_are_compared_group_by_group(
        self, small_build: Place, capsys: Captured
    ) -> None:
        words = ("mix", VERSION, "--set", "mixture.change.domain.books=0.5", "--against", VERSION)
        rows = answer(small_build, capsys, *words)["differences"]
        books = next(row for row in rows if row["group"] == "books-1/books/high")
        assert books["share"]["after"] > books["share"]["before"] + 0.2
        assert books["tokens"]["before"] == books["tokens"]["after"]
        text = said(capsys, *words, "--home", str(small_build.home))
        assert "of the run's tokens move to another group" in text

    def test_rows_of_a_source_are_gathered(self, small_build: Place, capsys: Captured) -> None:
        words = ("mix", VERSION, "--set", "mixture.weights.source={web: 2}", "--by", "source")
        rows = answer(small_build, capsys, *words)["rows"]
        assert [row["group"] for row in rows] == ["books/books", "web/web"]

    @pytest.mark.parametrize("ending", ["svg", "html"])
    @pytest.mark.parametrize("compared", [(), ("--against", VERSION)])
    def test_the_plot_is_the_same_file_each_time_and_needs_no_other(
        self,
        small_build: Place,
        capsys: Captured,
        tmp_path: Path,
        ending: str,
        compared: tuple[str, ...],
    ) -> None:
        files = [tmp_path / f"{number}.{ending}" for number in range(2)]
        for file in files:
            answer(small_build, capsys, "mix", VERSION, "--plot", str(file), *compared)
        text = files[0].read_text()
        assert text == files[1].read_text()
        assert "<svg" in text
        assert ending == "html" or 'xmlns="http://www.w3.org/2000/svg"' in text
        assert "crawl-1/web/high" in text
        assert "<script" not in text
        assert text.count("http") == text.count("http://www.w3.org/2000/svg")

    def test_what_cannot_be_mixed_is_one_line(
        self, small_build: Place, tmp_path: Path, capsys: Captured
    ) -> None:
        assert "only keys of `mixture`" in failure(
            small_build, capsys, "mix", VERSION, "--set", "seed=8"
        )
        assert "neither a recipe" in failure(small_build, capsys, "mix", "nowhere")
        assert ".svg or .html" in failure(small_build, capsys, "mix", VERSION, "--plot", "x.png")
        message = said(capsys, "mix", str(small_build.recipe), "--home", str(tmp_path), code=1)
        assert "has no tokens to mix yet" in message

    @pytest.mark.parametrize(
        "changes",
        [
            ["mixture.change.domain.books=0.5"],
            ["mixture.phases.cooldown.weights.source={web: 0}"],
            ["mixture.shares={}", "mixture.temperature.domain=3"],
        ],
    )
    def test_a_build_with_other_weights_writes_a_manifest_and_no_artifact(
        self, place: Place, changes: list[str]
    ) -> None:
        before = sorted(path.name for path in place.store.glob("artifacts/*/*"))
        words = [word for change in changes for word in ("--set", change)]
        assert place.build(*words, version="mixed") == 0
        manifests = [(place.store / f"versions/{name}/manifest.json").read_bytes()
                     for name in (VERSION, "mixed")]  # fmt: skip
        old, new = (json.loads(manifest) for manifest in manifests)
        assert old["groups"] == new["groups"]
        assert old["phases"] != new["phases"]
        assert sorted(path.name for path in place.store.glob("artifacts/*/*")) == before


class TestPlanTokens:
    def test_a_large_model_wants_more_than_there_is(
        self, small_build: Place, capsys: Captured
    ) -> None:
        found = answer(small_build, capsys, "plan-tokens", "--params", "7e9")
        assert found["tokens_wanted"] == 140_000_000_000
        assert found["flops"] == pytest.approx(6 * 7e9 * 140e9)
        assert found["missing_tokens"] > 139_000_000_000
        assert {row["group"] for row in found["groups"]} == {"books/high", "web/high", "web/low"}
        text = said(capsys, "plan-tokens", "--params", "7B", "--home", str(small_build.home))
        assert "Missing: " in text

    @pytest.mark.parametrize(
        ("options", "tokens"),
        [
            (("--regime", "overtrain"), 1_875_000),
            (("--tokens-per-param", "5"), 5_000),
            ((), 20_000),
        ],
    )
    def test_a_regime_or_a_ratio_sets_the_tokens(
        self, small_build: Place, capsys: Captured, options: tuple[str, ...], tokens: int
    ) -> None:
        found = answer(small_build, capsys, "plan-tokens", "--params", "1k", *options)
        assert found["tokens_wanted"] == tokens

    def test_without_a_version_the_demand_is_said_alone(
        self, tmp_path: Path, capsys: Captured
    ) -> None:
        text = said(capsys, "plan-tokens", "--params", "8B", "--home", str(tmp_path))
        assert "160,000,000,000" in text
        assert "There is no version yet" in text

    @pytest.mark.parametrize("wrong", ["many", "-7e9", "0", "7Q", "1e99"])
    def test_an_amount_that_is_none_is_refused(self, wrong: str, capsys: Captured) -> None:
        assert main(["plan-tokens", f"--params={wrong}"]) == 2
        assert "write it like 7e9" in capsys.readouterr().err


class TestTokenizer:
    def test_a_version_is_measured_on_documents_that_were_not_trained_on(
        self, small_build: Place, capsys: Captured
    ) -> None:
        rows = [
            row
            for file in small_build.artifacts("tokenizer_sample", "sample.parquet")
            for row in pq.read_table(file).to_pylist()
        ]
        held_out = {row["doc_id"] for row in rows if row["held_out"]}
        assert held_out
        assert held_out.isdisjoint(row["doc_id"] for row in rows if not row["held_out"])
        found = answer(small_build, capsys, "tokenizer", "audit", VERSION)
        assert found["passed"]
        assert found["held_out"]["documents"] == len(held_out)
        assert set(found["held_out"]["by_domain"]) == {"web", "books"}
        assert set(found["held_out"]["by_language"]) == {"en"}
        assert found["bytes_covered"] == 256

    def test_the_sample_tells_of_each_document_on_which_side_it_was(
        self, small_build: Place, capsys: Captured
    ) -> None:
        [first, *_] = small_build.artifacts("tokenizer_sample", "sample.parquet")
        row = pq.read_table(first).to_pylist()[0]
        words = ("tokenizer", "sample", VERSION, "--doc", row["doc_id"].hex())
        found = answer(small_build, capsys, *words)
        assert found["document"]["side"] == (
            "held out, measured on" if row["held_out"] else "trained on"
        )
        absent = answer(small_build, capsys, *words[:-1], "00" * 16)
        assert absent["document"]["side"] == "not in the sample"
        assert "trained on" in said(
            capsys, "tokenizer", "sample", VERSION, "--home", str(small_build.home)
        )

    def test_a_tokenizer_whose_sample_is_gone_is_measured_on_the_version_and_says_so(
        self, place: Place, capsys: Captured
    ) -> None:
        shutil.rmtree(place.store / "artifacts/tokenizer_sample")
        found = answer(place, capsys, "tokenizer", "audit", VERSION)
        manifest = json.loads((place.store / "versions" / VERSION / "manifest.json").read_bytes())
        documents = sum(group["documents"] for group in manifest["groups"])
        assert found["held_out"]["documents"] == documents > 20
        assert any("may have been trained on" in warning for warning in found["warnings"])
        shutil.rmtree(place.store / "artifacts/tokenizer")
        assert "deleted by a takedown" in failure(place, capsys, "tokenizer", "sample", VERSION)

    def test_files_are_compared_side_by_side_on_given_text(
        self, small_build: Place, tmp_path: Path, capsys: Captured
    ) -> None:
        text = "the harbour master kept a list of every fishing boat " * 40
        (tmp_path / "notes.txt").write_text(text)
        lines = [{"text": "ein Fuchs", "domain": "tales", "language": "de"}, {"text": "fox"}]
        (tmp_path / "more.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        for name, size in (("a", 600), ("b", 512)):
            settings = TokenizerSettings(vocab_size=size, min_documents=1)
            (tmp_path / f"{name}.json").write_bytes(train_tokenizer([text], settings))
        words = ["tokenizer", "audit", str(tmp_path / "a.json")]
        words += ["--against", str(tmp_path / "b.json"), "--against", VERSION]
        words += ["--text", str(tmp_path / "notes.txt"), "--text", str(tmp_path / "more.jsonl")]
        found = answer(small_build, capsys, *words)
        assert set(found["held_out"]["by_domain"]) == {"notes", "tales", "more"}
        plain, other = found["against"]
        assert plain["held_out"]["bytes_per_token"] == pytest.approx(1, abs=0.01)
        assert found["held_out"]["bytes_per_token"] > 2 * plain["held_out"]["bytes_per_token"]
        assert other["of"] == f"version {VERSION}"
        shown = said(capsys, *words, "--home", str(small_build.home))
        assert "bytes per token, by tokenizer:" in shown
        assert f"a.json  b.json  version {VERSION}" in shown

    def test_a_tokenizer_that_fails_ends_with_status_1_and_its_problems(
        self, small_build: Place, tmp_path: Path, capsys: Captured
    ) -> None:
        definition = json.loads(train_tokenizer([], TokenizerSettings(vocab_size=512)))
        definition["normalizer"] = {"type": "NFC"}
        path = tmp_path / "nfc.json"
        path.write_text(json.dumps(definition))
        found = answer(small_build, capsys, "tokenizer", "audit", str(path), code=1)
        assert "normalizer" in found["problems"][0]
        message = failure(small_build, capsys, "tokenizer", "audit", "nothing")
        assert "neither a file nor a version" in message

    def test_reserved_slots_of_a_file_get_names(self, tmp_path: Path, capsys: Captured) -> None:
        path, out = tmp_path / "t.json", tmp_path / "named.json"
        path.write_bytes(train_tokenizer([], TokenizerSettings(vocab_size=512)))
        words = ("tokenizer", "name-slots", str(path), "<|im_start|>", "-o", str(out))
        assert "sha256" in said(capsys, *words)
        vocabulary = json.loads(out.read_bytes())["model"]["vocab"]
        assert vocabulary["<|im_start|>"] == 2

    def test_the_asset_checks_carry_the_audit_while_the_store_has_it(self, place: Place) -> None:
        home = Home.resolve(str(place.home))
        lock = str(place.store / "versions" / VERSION / "lock.json")
        for files in ({}, {"lock": lock}):
            with open_session(str(place.recipe), home, **files) as session:  # type: ignore[arg-type]
                outcomes = {check.name: check for check in tokenizer_checks(session.pipeline)}
            assert set(outcomes) == set(TOKENIZER_CHECKS)
            assert all(outcome.passed for outcome in outcomes.values())
            assert outcomes["compression"].numbers["bytes_per_token (domain web)"] > 1
            assert outcomes["merges"].numbers["across_words"] == 0
        shutil.rmtree(place.store / "artifacts/tokenizer")
        with open_session(str(place.recipe), home) as session:
            pinned = {check.name: check for check in tokenizer_checks(session.pipeline)}
        assert "0 held-out texts: not measured" in pinned["audit"].message
        assert pinned["audit"].is_warning
        assert not pinned["compression"].passed
        assert pinned["compression"].is_warning
