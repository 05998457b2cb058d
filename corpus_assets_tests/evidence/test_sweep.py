"""Sweeps: candidates of changed keys, rounds for those that are left, and what is chosen of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.cli.commands import main as catalog_main
from corpus_assets.cli.main import main
from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.home import Home
from corpus_assets.evidence.home import import_runs, stored_plan
from corpus_assets.evidence.plan import Plan
from corpus_assets.evidence.results import TABLE, measured, write_run
from corpus_assets.evidence.run import Pack
from corpus_assets.evidence.sweep import parse_values
from corpus_assets.inspect.cost import Prices, evidence_cost
from corpus_assets.session import open_home
from corpus_assets.takedown.run import run_pending
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.evidence.tiny import texts

PROXY = {"size": "nano", "tokens": 2048, "unique_tokens": 1024, "sequence": 64, "batch_tokens": 512}


def test_values_are_yaml_and_keys_need_some() -> None:
    assert parse_values(["a.b=.8,.9", "a.b=1", "c=[x, y],{z: 1}"]) == {
        "a.b": [0.8, 0.9, 1], "c": [["x", "y"], {"z": 1}],
    }  # fmt: skip
    with pytest.raises(EvidenceError, match="expected KEY=VALUE"):
        parse_values(["a.b"])
    with pytest.raises(EvidenceError, match="cannot be swept"):
        parse_values(["tokenizer.train.vocab_size=300"])


def asked_of(folder: Path) -> str:
    """What `--set evidence=` gives a recipe: a held-out set of some hosts."""
    rows = [{"id": f"h{i}", "url": f"https://h{i}.example/p", "text": text}
            for i, text in enumerate(texts(8, 5))]  # fmt: skip
    (folder / "held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "held.yaml").write_text("domains: {prose: [{files: held.jsonl}]}\n")
    told = {"baseline": "small-1", "heldout": str(folder / "held.yaml"), "proxy": PROXY,
            "gate": {"must_not_regress": []}}  # fmt: skip
    return f"evidence={json.dumps(told)}"


def measure(folder: Path, plan: Plan, percent: Mapping[str, float]) -> None:
    """Write results of a pack's runs: an arm loses `percent` more than the present value."""
    pack = Pack(folder)
    held = pack.heldout()
    draw = np.random.default_rng(1)
    for run in pack.runs():
        bits = 2 * (1 + (percent[run.arm] + 0.02 * draw.standard_normal(len(held))) / 100)
        rows = {
            "document": np.arange(len(held)), "domain": held["domain"], "host": held["host"],
            "nats": held["bytes"].to_numpy() * bits * np.log(2), "bytes": held["bytes"],
            "tokens": np.full(len(held), 9), "item": np.arange(len(held)),
        }  # fmt: skip
        told: dict[str, Any] = {
            "plan": plan.digest(), "arm": run.arm, "size": "nano", "seed": run.seed,
            "learning_rate": run.learning_rate, "tokens": run.tokens, "steps": 4,
            "curve": [[512.0, 5.0], [2048.0, 4.0]], "tokens_per_second": 1.0,
            "hardware": "none", "torch": "none", "code": plan.code,
            "device": "cuda", "seconds": 36.0, "watts": 500.0,
        }  # fmt: skip
        write_run(folder / "runs", measured(pa.table(rows).cast(TABLE), None, **told))


def test_a_sweep_drops_what_is_worse_and_proposes_what_is_better(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe, key = str(place.recipe), "mixture.change.domain.books"
    home = ["--home", str(place.home)]
    asked = [*home, "--set", asked_of(tmp_path), "--set", f"{key}=0.2"]

    def answer(*words: str) -> Any:
        assert main(["evidence", "sweep", *words, *home, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    values = f"{key}=0.2,0.3,0.5"
    found = answer(recipe, values, "--seeds", "6", *asked)
    digest = found["plan"]
    assert found["runs_left"] == 3 * 2 * 3, "the present value and two others, three seeds"
    assert [one["value"] for one in found["keys"][0]["values"]] == [0.2, 0.3, 0.5]
    opened = open_home(Home.resolve(str(place.home)))
    plan = stored_plan(opened[0], digest)
    assert plan.sweep is not None
    assert plan.sweep.rounds == ((1, 3, 5), (2, 4, 6))

    truth = {"present": 0.0, "books-0.3": -3.0, "books-0.5": -3.001}
    for number, arms in enumerate([set(truth), {"books-0.3", "books-0.5"}]):
        folder = tmp_path / f"pack{number}"
        assert main(["evidence", "pack", str(folder), "--plan", digest, *home]) == 0
        assert set(Pack(folder).body["arms"]) == arms
        (copy,) = (one for one in opened[1].copies() if one.place == str(folder))
        assert set(copy.holds) == {plan.arms[arm].version for arm in arms}, "a takedown finds it"
        measure(folder, plan, truth)
        imported = import_runs(Home.resolve(str(place.home)), *opened, folder)
        assert imported.strays == ()
        capsys.readouterr()
        page = tmp_path / "page.html"
        found = answer("--plan", digest[:16], "--page", str(page))
    cost = evidence_cost(opened[1], plan.arms["books-0.3"].version, Prices(gpu_hour=2.0))
    assert cost is not None
    assert (cost.runs, cost.gpu_hours, cost.money) == (12, pytest.approx(0.12), pytest.approx(0.24))
    assert str(cost).startswith("12 runs, 432.0 GPU s, 0.0 CPU s, 0.06 kWh")
    (result,) = found["keys"]
    assert (found["runs_left"], found["looks"], result["verdict"]) == (0, 2, "better")
    assert result["chosen"] in (0.3, 0.5)
    assert result["left"] == [0.3, 0.5]
    assert result["change"] == f"--set '{key}={result['chosen']}'"
    present, *others = result["values"]
    assert present["state"].startswith("worse than")
    assert present["state"].endswith("round 1")
    assert all(one["low"] < -3 < one["high"] and one["seeds"] == 3 for one in others)
    assert "not told apart from 0." in result["reasons"][0]
    assert "difference from the present value" in page.read_text("utf-8")

    # The report of any version of the recipe says which of its keys rest on that, and how old it is.
    for version, words in (
        (plan.arms["books-0.5"].version, "not told apart from 0.3"),
        ("small-1", "not measured; these were: 0.2, 0.3, 0.5"),
    ):
        report = tmp_path / f"{version}.html"
        assert main(["report", version, "-o", str(report), *home]) == 0
        text = report.read_text("utf-8")
        assert key in text
        assert words in text
        assert digest[:16] in text


def test_values_that_need_the_text_again_are_refused_with_what_they_cost(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(open_home(Home.resolve(str(place.home)))[1].versions())
    asked = ["--home", str(place.home), "--set", asked_of(tmp_path)]
    values = [
        "mixture.change.domain.books=0.3", "selection.rules.low_quality.min=0.4",
        "clean_text.repeated_spans.min_words=30", "classifiers.quality.train.epochs=50",
    ]  # fmt: skip
    assert main(["evidence", "sweep", str(place.recipe), *values, *asked]) == 1
    told = capsys.readouterr().err
    assert "text would be read again for min-words-30: " in told
    assert "; epochs-50: score_sample (" in told
    assert ", signals (5 parts" in told, "its scores come from a model that is trained again"
    assert "min-0.4" not in told
    assert "CPU s" in told
    assert "--recompute" in told
    assert "books-0.3" not in told
    assert len(open_home(Home.resolve(str(place.home)))[1].versions()) == before


def test_a_recipe_without_a_held_out_set_is_told_what_is_missing(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(place.home)]
    assert main(["evidence", "sweep", str(place.recipe), "seed=8", *home]) == 1
    assert "evidence.heldout" in capsys.readouterr().err


@pytest.mark.slow  # a takedown of three versions
def test_a_takedown_reaches_candidates_and_packs_of_a_sweep_and_stops_it(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(place.home)]
    asked = [*home, "--set", asked_of(tmp_path), "--json"]
    key = "mixture.change.domain.books"
    words = ["evidence", "sweep", str(place.recipe), f"{key}=0.3,0.5", "--seeds", "3", *asked]
    assert main(words) == 0
    digest = json.loads(capsys.readouterr().out)["plan"]
    store, registry = open_home(Home.resolve(str(place.home)))
    plan = stored_plan(store, digest)
    folder = place.home / "packs" / "one"
    assert main(["evidence", "pack", str(folder), "--plan", digest, *home]) == 0
    held = pq.read_table(folder / "arms.parquet")["doc_id"].to_pylist()
    with pytest.raises(SystemExit, match="0"):
        catalog_main(["takedown", "request", "--doc-id", held[0].hex(), "--reason", "asked", *home])
    run_pending(Home.resolve(str(place.home)))
    assert not folder.exists(), "a pack of the home goes with the takedown"
    assert {registry.version(arm.version).status for arm in plan.arms.values()} == {"revoked"}
    again = ["evidence", "pack", str(folder), "--plan", digest, *home]
    assert main(again) == 1
    assert "was revoked by a takedown; plan the comparison again" in capsys.readouterr().err
