"""The gate of models: comparisons by hand, runs on disk, versions that it lets go or holds back."""

import hashlib
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from catalog.db.registry import Registry
from catalog.db.rows import GateRow, RecipeRow
from corpus_assets.cli.main import cli
from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.store import open_store
from corpus_assets.evidence.compare import BETTER, NOT_DECIDED, WORSE, Comparison, DecisionRule
from corpus_assets.evidence.gate import (
    FAILED,
    PASSED,
    UNDECIDED,
    compare_results,
    decide_gate,
    find_results,
    judge,
    open_results,
)
from corpus_assets.evidence.page import dose_response, evidence_page, gates_section
from corpus_assets.evidence.results import measured, write_run
from corpus_assets.session import open_home
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.evidence.test_compare import DIFFERENCE

RULE = {"margin": 0.005, "confidence": 0.95, "must_not_regress": ["all"], "unless": {}}


def hand_made(
    verdict: str, low: float, high: float, other: float | None, *bad: str, unsafe: str = ""
) -> Comparison:
    macro = replace(DIFFERENCE, percent=(low + high) / 2, low=low, high=high)
    at_other = () if other is None else (replace(DIFFERENCE, percent=other),)
    doubtful = (unsafe,) if unsafe else ()
    return Comparison("b", "a", (macro,), at_other, verdict, ("why",), 3, bad, 0.95, doubtful)


@pytest.mark.parametrize(
    ("comparison", "outcome"),
    [
        (hand_made(BETTER, -1.2, -0.8, -0.5), PASSED),
        (hand_made(BETTER, -0.2, -0.01, -0.1), PASSED),
        (hand_made(WORSE, 0.8, 1.2, 0.5), FAILED),
        (hand_made(WORSE, 0.1, 0.3, 0.1), FAILED),
        (hand_made(NOT_DECIDED, -0.3, 0.3, 0.1), PASSED),  # not worse by half a percent
        (hand_made(NOT_DECIDED, -0.3, 0.6, 0.1), UNDECIDED),  # it may be
        (hand_made(NOT_DECIDED, -3.0, 3.0, 0.1), UNDECIDED),
        (hand_made(NOT_DECIDED, -0.3, 0.3, 0.9), UNDECIDED),  # not at the other rate
        (hand_made(NOT_DECIDED, -0.3, 0.3, None), UNDECIDED),  # of which nothing is known
        (hand_made(NOT_DECIDED, -1.2, -0.8, -0.5, "code"), FAILED),  # better, but not in code
        (hand_made(NOT_DECIDED, -0.3, 0.3, 0.1, "code"), FAILED),
        (hand_made(WORSE, 0.8, 1.2, 0.5, "code", "prose"), FAILED),
        (hand_made(NOT_DECIDED, -1.2, -0.8, -0.5, unsafe="code"), UNDECIDED),
        (hand_made(NOT_DECIDED, -0.3, 0.3, 0.1, unsafe="code"), UNDECIDED),  # macro alone is safe
    ],
)
def test_a_comparison_passes_fails_or_is_undecided(comparison: Comparison, outcome: str) -> None:
    found, message = judge(comparison, DecisionRule())
    assert found == outcome
    assert "macro" in message


def write_results(
    folder: Path,
    arms: dict[str, tuple[str, str, dict[str, float]]],
    seeds: int = 4,
    **changed: Any,
) -> Path:
    """Write a plan and its runs: arms by name as (version, manifest, percent by domain). At other
    budgets than 40 tokens the baseline alone runs."""
    plan = {
        "format": "corpus-evidence-plan/1",
        "baseline": "base",
        "arms": {n: {"version": v, "manifest": m} for n, (v, m, _) in arms.items()},
        "proxy": {"size": "nano", "tokens": 40},
        "learning_rates": [1e-3, 2.5e-4],
        "seeds": list(range(seeds)),
        "budgets": [10, 20],
        "rule": RULE,
    } | changed
    data = json.dumps(plan).encode()
    folder.mkdir(parents=True)
    (folder / "plan.json").write_bytes(data)
    rng = np.random.default_rng(4)
    domains = sorted(arms["base"][2])
    domain = [name for name in domains for _ in range(30)]
    for name, (_, _, percent) in arms.items():
        for rate in (1e-3, 2.5e-4):
            for seed in range(seeds):
                for tokens in (10, 20, 40) if name == "base" and rate == 1e-3 else (40,):
                    effect = np.array([percent[d] for d in domain]) + 0.05 * rng.standard_normal(
                        len(domain)
                    )
                    bits = (0.9 + 3 * tokens**-0.9) * (1 + effect / 100)
                    table = pa.table(
                        {
                            "document": range(len(domain)),
                            "domain": domain,
                            "host": [f"{d}{n % 15}" for n, d in enumerate(domain)],
                            "nats": bits * math.log(2) * 1000,
                            "bytes": [1000] * len(domain),
                            "tokens": [250] * len(domain),
                            "item": range(len(domain)),
                        }
                    )
                    run = measured(
                        table,
                        plan=hashlib.sha256(data).hexdigest(),
                        arm=name,
                        size="nano",
                        learning_rate=rate,
                        seed=seed,
                        tokens=tokens,
                        steps=1,
                        curve=[[1.0, 3.0], [float(tokens), 2.0]],
                        tokens_per_second=1.0,
                        hardware="none",
                        torch="none",
                    )
                    write_run(folder / "runs", run)
    return folder


NONE = {"prose": 0.0, "code": 0.0}


def test_runs_on_disk_are_compared_and_drawn(tmp_path: Path) -> None:
    better = {"prose": -2.0, "code": -1.0}
    arms = {"base": ("v1", "m1", NONE), "new": ("v2", "m2", better)}
    folder = write_results(tmp_path / "results", arms)
    results = open_results(folder)
    assert results.strays == ()
    compared = compare_results(results)
    (found,) = compared.comparisons
    assert found.verdict == BETTER
    assert [round(d.percent) for d in found.main[:2]] == [-1, -2]
    factor = compared.of("new").compute_factor
    assert factor is not None
    assert factor.factor > 1
    drawn = evidence_page(results, compared)
    assert drawn.count("<svg") == 2
    assert "better" in drawn
    assert "<svg" in dose_response([("shuffled", [(0.1, DIFFERENCE), (0.5, DIFFERENCE)])])
    asked = ["evidence", "compare", "v1", "new", "--results", str(folder)]
    said = CliRunner().invoke(cli, asked)
    assert said.exit_code == 0, said.output
    assert "new against base: better; worth" in said.stdout
    told = json.loads(CliRunner().invoke(cli, [*asked, "--json"]).stdout)
    assert told["arms"][0]["verdict"] == "better"
    assert len(told["arms"][0]["differences"]) == 3


def test_compare_judges_an_arm_among_all_arms_of_its_plan(tmp_path: Path) -> None:
    slight = {"prose": -0.1, "code": -0.1}
    arms = {"base": ("v1", "m1", NONE), "new": ("v2", "m2", slight)}
    arms |= {f"other{k}": (f"o{k}", f"n{k}", NONE) for k in range(9)}
    folder = write_results(tmp_path / "results", arms)
    asked = ["evidence", "compare", "v1", "v2", "--results", str(folder), "--json"]
    (shown,) = json.loads(CliRunner().invoke(cli, asked).stdout)["arms"]
    of_plan = compare_results(open_results(folder)).of("new")
    assert shown["arm"] == "new"
    assert shown["macro_confidence"] == of_plan.confidence > 0.99
    assert shown["verdict"] == of_plan.verdict
    for path in (folder / "runs").glob("other*"):  # not run yet: they count all the same
        path.unlink()
    (alone,) = json.loads(CliRunner().invoke(cli, asked).stdout)["arms"]
    assert alone["macro_confidence"] >= shown["macro_confidence"]


def test_a_version_is_compared_with_itself_by_sets_of_its_seeds(tmp_path: Path) -> None:
    """The benchmark that counts how often equal arms are decided."""
    arms = {"base": ("v1", "m1", NONE), "new": ("v2", "m2", NONE)}
    folder = write_results(tmp_path / "results", arms, seeds=6)
    script = Path(__file__).parents[2] / "benchmarks" / "evidence.py"
    asked = ["pairs", folder, "--pairs", "20", "--seeds-each", "3", "--save", tmp_path / "pairs"]
    subprocess.run([sys.executable, script, *asked], check=True, capture_output=True)
    told = json.loads((tmp_path / "pairs.json").read_text())
    assert told["pairs"]["3"]["decided"] <= told["pairs"]["3"]["macro_misses_0"] <= 0.3


def test_results_that_stray_from_their_plan_say_so(tmp_path: Path) -> None:
    arms = {"base": ("v1", "m1", NONE), "new": ("v2", "m2", NONE)}
    folder = write_results(tmp_path / "results", arms)
    for path in sorted((folder / "runs").glob("new*seed3*")):
        path.unlink()
    first, second = sorted((folder / "runs").glob("new*.json"))[:2]
    for path, change in ((first, {"plan": "0" * 64}), (second, {"code": "other"})):
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
    said = " ".join(open_results(folder).strays)
    assert "was made for another plan" in said
    assert "was made by different code" in said
    assert "3 of 16 planned runs have no result" in said
    with pytest.raises(EvidenceError, match="no results of a plan with v9"):
        find_results(folder, "v9")


def test_imported_results_are_found_by_their_arms(tmp_path: Path) -> None:
    arms = {"base": ("v1", "m1", NONE), "new": ("v2", "m2", NONE)}
    store = open_store(str(tmp_path / "store"))
    for name, seeds in (("one", 2), ("two", 3)):
        folder = write_results(tmp_path / name, arms | {name: (name, name, NONE)}, seeds)
        plan = (folder / "plan.json").read_bytes()
        digest = hashlib.sha256(plan).hexdigest()
        store.write(f"evidence/plans/{digest}.json", plan)
        for file in (folder / "runs").iterdir():
            store.write(f"evidence/runs/{digest}/{file.name}", file.read_bytes())
    assert len(find_results(store, "v1", "two").runs) == 3 * (3 * 2 + 2)
    with pytest.raises(EvidenceError, match="there are 2 results of a plan with v1 and v2"):
        find_results(store, "v1", "v2")
    with pytest.raises(EvidenceError, match="no results of a plan with v1 and three"):
        find_results(store, "v1", "three")
    one = find_results(store, "v1", "one")
    detail = {"message": "<better>", "plan": one.digest, "baseline": "v1",
              "intervals": [["prose", -1.0, -2.0, 0.5, 0.5]]}  # fmt: skip
    section = gates_section(store, [GateRow("v2", "models", True, detail=detail)])
    assert (section.title, section.body.count("<svg")) == ("Gates", 2)
    assert "&lt;better&gt;" in section.body
    assert gates_section(store, []).body == ""


@pytest.fixture
def candidate(small_build: Place, tmp_path: Path) -> tuple[Registry, Any]:
    """The version of the shared build as a candidate in a catalog of its own, compared with v0."""
    _, built = open_home_of(small_build)
    registry = Registry(f"sqlite:///{tmp_path}/catalog.db")
    registry.upgrade()
    row = built.version(VERSION)
    registry.put_recipe(RecipeRow(row.recipe_digest, "small", built.recipe(row.recipe_digest).yaml))
    registry.put_lock(built.lock(row.lock_digest))
    closed = GateRow(VERSION, "models", False, detail={"message": "not compared yet"})
    bare = replace(row, released_at=None, released_by=None, release_reason=None)
    registry.publish_version(bare, [], [], gates=[closed])
    return registry, open_store(str(small_build.store))


def open_home_of(place: Place) -> tuple[Any, Registry]:
    from corpus_assets.core.home import Home

    return open_home(Home.resolve(str(place.home)))


@pytest.mark.parametrize(
    ("percent", "outcome", "said"),
    [
        ({"prose": -2.0, "code": -1.0}, PASSED, "better"),
        ({"prose": 5.0, "code": 5.0}, FAILED, "worse"),
        ({"prose": -4.0, "code": 2.0}, FAILED, "code must not regress"),
    ],
    ids=["better", "planted", "worse code"],
)
def test_the_gate_of_a_version_follows_its_comparison(
    candidate: tuple[Registry, Any],
    tmp_path: Path,
    percent: dict[str, float],
    outcome: str,
    said: str,
) -> None:
    registry, store = candidate
    manifest = registry.version(VERSION).manifest_sha256
    arms = {"base": ("v0", "m0", NONE), "new": (VERSION, manifest, percent)}
    results = open_results(write_results(tmp_path / "results", arms))
    gate = decide_gate(registry, store, VERSION, results)
    assert gate.detail["outcome"] == outcome
    assert said in gate.detail["message"]
    (stored,) = registry.gates(VERSION)
    assert stored.passed == (outcome == PASSED)
    assert registry.metrics(name="bpb_change_code", version=VERSION)[0].value == pytest.approx(
        percent["code"], abs=0.1
    )
    wrong = arms | {"new": (VERSION, "0" * 64, percent)}
    with pytest.raises(EvidenceError, match="no arm with the manifest"):
        decide_gate(
            registry, store, VERSION, open_results(write_results(tmp_path / "other", wrong))
        )


def test_missing_runs_keep_a_good_comparison_undecided(
    candidate: tuple[Registry, Any], tmp_path: Path
) -> None:
    registry, store = candidate
    manifest = registry.version(VERSION).manifest_sha256
    arms = {"base": ("v0", "m0", NONE), "new": (VERSION, manifest, {"prose": -2.0, "code": -1.0})}
    folder = write_results(tmp_path / "results", arms, seeds=3)
    for path in sorted((folder / "runs").glob("new*seed2*")):
        path.unlink()
    gate = decide_gate(registry, store, VERSION, open_results(folder))
    assert (gate.passed, gate.detail["outcome"]) == (False, UNDECIDED)
    assert "2 of 12 planned runs have no result" in gate.detail["message"]


@pytest.mark.parametrize("by", ["gate", "ann"])
def test_a_release_by_gates_is_withdrawn_where_models_fail_later(
    candidate: tuple[Registry, Any], tmp_path: Path, by: str
) -> None:
    registry, store = candidate
    manifest = registry.version(VERSION).manifest_sha256
    registry.release_version(VERSION, by, "seen", override=True)
    assert registry.version().name == VERSION
    arms = {"base": ("v0", "m0", NONE), "new": (VERSION, manifest, {"prose": 5.0, "code": 5.0})}
    gate = decide_gate(registry, store, VERSION, open_results(write_results(tmp_path / "r", arms)))
    assert gate.detail["outcome"] == FAILED
    assert registry.version(VERSION).state == ("candidate" if by == "gate" else "released")
