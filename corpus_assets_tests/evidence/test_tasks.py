"""Tasks: right answers among their choices, and which domains have signal enough to count."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.decontam import EvalItem
from corpus_assets.evidence.gate import Results, answered, compare_results, open_results
from corpus_assets.evidence.heldout import cloze_form
from corpus_assets.evidence.results import Run, measured, write_run

QUESTIONS = 40
SEEDS = (1, 2, 3, 4)


def a_run(accuracy: float, gain: float, seed: int, draws: np.random.Generator, **told: Any) -> Run:
    """Two domains of text, of which `flat` learns nothing, and questions with two choices each."""
    bits = [1.0 - gain + 0.01 * draws.standard_normal() for _ in range(20)]
    bits += [2.0 + 0.05 * seed % 0.13 + 0.01 * draws.standard_normal() for _ in range(20)]
    domain = ["prose"] * 20 + ["flat"] * 20
    item = list(range(40))
    for number in range(QUESTIONS):
        is_right = number < round(accuracy * QUESTIONS)
        own = len(item)
        domain += ["quiz", "quiz"]
        bits += [1.0 - gain, 1.0 - gain + (0.5 if is_right else -0.5)]
        item += [own, own]
    count = len(item)
    table = pa.table({
        "document": range(count), "domain": domain, "host": [f"h{i}" for i in item],
        "nats": np.array(bits) * math.log(2) * 100, "bytes": [100] * count, "tokens": [30] * count,
        "item": item,
    })  # fmt: skip
    fields: dict[str, Any] = {
        "size": "nano", "seed": seed, "steps": 1, "curve": [[1.0, 2.0]], "tokens_per_second": 1.0,
        "hardware": "none", "torch": "none",
    }  # fmt: skip
    return measured(table, **(fields | told))


def results_of(folder: Path, rule: dict[str, Any]) -> Results:
    plan = {
        "baseline": "base",
        "arms": {name: {"version": name, "manifest": "0" * 64} for name in ("base", "new")},
        "proxy": {"size": "nano", "tokens": 40, "unique_tokens": 40},
        "learning_rates": [1e-3, 5e-4], "seeds": list(SEEDS), "budgets": [10], "code": "",
        "rule": {"margin": 0.005, "confidence": 0.95, "must_not_regress": [], "unless": {}} | rule,
    }  # fmt: skip
    data = json.dumps(plan).encode()
    folder.mkdir()
    (folder / "plan.json").write_bytes(data)
    draws = np.random.default_rng(1)
    for seed in SEEDS:
        for arm, accuracy in (("base", 0.5), ("new", 0.75)):
            for rate, tokens in ((1e-3, 40), (5e-4, 40), (1e-3, 10)):
                if arm == "base" or tokens == 40:
                    run = a_run(
                        accuracy + 0.025 * (seed % 2), tokens / 100, seed, draws,
                        plan=hashlib.sha256(data).hexdigest(), arm=arm, learning_rate=rate,
                        tokens=tokens,
                    )  # fmt: skip
                    write_run(folder / "runs", run)
    return open_results(folder)


def test_accuracy_stands_beside_bits_per_byte_with_an_interval(tmp_path: Path) -> None:
    (found,) = compare_results(results_of(tmp_path / "r", {})).comparisons
    task, mean = found.accuracy
    assert (task.domain, mean.domain) == ("quiz", "macro")
    assert task.baseline_bpb == pytest.approx(0.5125)
    assert task.percent == pytest.approx(25.0)  # points: 75% of 50% would be half as much again
    assert 0 < task.low < 25 < task.high < 50
    # What a wrong choice lost is in no bits per byte.
    quiz = next(one for one in found.main if one.domain == "quiz")
    assert quiz.bpb == pytest.approx(0.6)
    assert quiz.documents == QUESTIONS


def test_choices_that_are_equal_share_the_answer() -> None:
    draws = np.random.default_rng(1)
    run = a_run(1.0, 0.0, 1, draws, plan="", arm="a", learning_rate=1e-3, tokens=40)
    rows = run.choices()
    level = rows.set_column(3, "nats", pa.array([1.0] * len(rows)))
    told = {"plan": "", "arm": "a", "size": "", "learning_rate": 1e-3, "seed": 1, "tokens": 1,
            "steps": 1, "curve": [], "tokens_per_second": 1.0, "hardware": "", "torch": ""}  # fmt: skip
    assert answered(run).tolist() == [1.0] * QUESTIONS
    assert answered(measured(level, **told)).tolist() == [0.5] * QUESTIONS


def test_a_domain_without_signal_is_left_out_by_the_rule_and_named(tmp_path: Path) -> None:
    every = compare_results(results_of(tmp_path / "all", {"min_signal": 0}))
    assert [one.domain for one in every.comparisons[0].main] == ["flat", "prose", "quiz", "macro"]
    results = results_of(tmp_path / "some", {"min_signal": 2})
    assert results.signals["prose"] > 5 > 2 > results.signals["flat"]
    some = compare_results(results)
    assert [one.domain for one in some.comparisons[0].main] == ["prose", "quiz", "macro"]
    assert any(note.startswith("flat is left out") for note in some.notes)
    guarded = results_of(tmp_path / "guarded", {"min_signal": 2, "must_not_regress": ["flat"]})
    assert "flat" in guarded.held_out.domains


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("Question: Which one?\nred\ngreen", "green", ("Which one?", "green", ["red"])),
        ("Which is 2 + 2?\nA. 3\nB. 4\nC. 5", "B", ("Which is 2 + 2?", "4", ["3", "5"])),
        ("How many?", "seven", ("How many?", "seven", [])),
        ("She took the bus to the sea", "sea", ("She took the bus to the", "sea", [])),
    ],
)
def test_a_question_is_asked_without_its_choices_and_its_answer_is_spelled_out(
    text: str, answer: str, expected: tuple[str, str, list[str]]
) -> None:
    assert cloze_form(EvalItem("1", "b", text, answer)) == expected
