"""Mixture weights, on losses whose best mixture is known."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from click.testing import CliRunner

from catalog.db.registry import Registry
from corpus_assets.cli.main import cli
from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.mixtures import (
    Groups,
    LogLinear,
    Predictions,
    fit_swarm,
    mixmin,
    propose_mixture,
    swarm,
    unseen_gain,
    weight_limits,
)
from corpus_assets.evidence.results import measured, read_runs, write_run
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.evidence.test_gate import write_results

FREE = np.ones(3)


def drawn(weights: list[float], tokens: int = 60_000) -> Predictions:
    """What three models of a die each say of a text that mixes their dice."""
    rng = np.random.default_rng(2)
    dice = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]])
    text = rng.choice(4, size=tokens, p=np.array(weights) @ dice)
    return Predictions(-np.log(dice[:, text]), np.full(tokens, 1 / tokens))


def test_mixmin_finds_the_mixture_that_the_text_was_drawn_from() -> None:
    truth = [0.5, 0.3, 0.2]
    found = mixmin(drawn(truth), FREE)
    assert found == pytest.approx(truth, abs=0.01)
    assert found.sum() == pytest.approx(1)


def test_no_other_mixture_has_less_loss() -> None:
    given = drawn([0.8, 0.2, 0.0], 5000)
    limits = np.array([0.6, 1.0, 1.0])
    best = mixmin(given, limits)
    assert best[0] == pytest.approx(0.6), "it is held at its limit"
    rng = np.random.default_rng(0)
    for _ in range(500):
        other = rng.dirichlet(np.ones(3))
        if (other <= limits).all():
            assert given.loss(best) <= given.loss(other) + 1e-6


def test_tokens_count_by_their_share() -> None:
    """A third of the text, of which one model knows all, counts for as much as the rest."""
    nats = np.array([[0.1] * 10 + [3.0] * 20, [3.0] * 10 + [0.1] * 20])
    shares = np.array([1 / 20] * 10 + [1 / 40] * 20)
    assert mixmin(Predictions(nats, shares), np.ones(2)) == pytest.approx([0.5, 0.5], abs=1e-3)


def test_a_swarm_gives_the_law_back_that_its_runs_followed_and_its_minimum() -> None:
    rng = np.random.default_rng(1)
    law = LogLinear(np.array([0.0, 0.6]), np.array([[-1.0, 0.0, 0.5], [0.8, -0.7, 0.4]]))
    runs = rng.dirichlet(np.ones(3), size=12)
    fitted = fit_swarm(runs, law.floors + np.exp(runs @ law.slopes.T))
    assert fitted.floors == pytest.approx(law.floors, abs=1e-3)
    assert fitted.slopes == pytest.approx(law.slopes, abs=1e-3)
    best = swarm(fitted, FREE)
    # On the edge between the first two groups both losses are one exponential each.
    grid = np.linspace(0, 1, 10_001)
    edge = [law.loss(np.array([a, 1 - a, 0])) for a in grid]
    assert best == pytest.approx([grid[np.argmin(edge)], 1 - grid[np.argmin(edge)], 0], abs=1e-3)
    with pytest.raises(ValueError, match="cannot tell 3 groups and a floor apart"):
        fit_swarm(runs[:3], np.ones((3, 1)))


def test_one_run_that_went_wrong_does_not_move_the_law() -> None:
    rng = np.random.default_rng(1)
    runs = rng.dirichlet(np.ones(3), size=12)
    losses = 0.5 + np.exp(runs @ [-0.3, 0.2, -0.8])
    spoilt = losses.copy()
    spoilt[4] += 1.0
    fits = [fit_swarm(runs, given[:, None]) for given in (losses, spoilt)]
    at = rng.dirichlet(np.ones(3), size=50)
    good, bad = ([fit.loss(row) for row in at] for fit in fits)
    assert bad == pytest.approx(good, abs=0.01)


def test_groups_are_not_repeated_beyond_their_limit() -> None:
    tokens = {"web": 1000, "code": 10, "books": 100}
    limits = weight_limits(tokens, budget=1000, max_epochs=4)
    assert limits == {"web": 1.0, "code": 0.04, "books": 0.4}
    found = propose_mixture(Groups(tokens), 1000, drawn([0.1, 0.8, 0.1]))
    assert found.weights["code"] == pytest.approx(0.04)
    assert found.gain < 0
    assert yaml.safe_load(found.recipe)["mixture"]["shares"]["domain"]["code"] == 0.04
    with pytest.raises(ValueError, match="do not fill a budget"):
        weight_limits(tokens, budget=10_000, max_epochs=4)


def test_where_one_group_changed_the_others_keep_their_ratio() -> None:
    """The die of group c is new: a and b stay at 3 to 1, and only their part is searched."""
    given = drawn([0.45, 0.15, 0.4])
    tokens = {"a": 9000, "b": 9000, "c": 9000}
    groups = Groups(tokens, "language", {"a": 0.6, "b": 0.2, "c": 0.2}, ("c",))
    found = propose_mixture(groups, 9000, given)
    assert found.weights["a"] / found.weights["b"] == pytest.approx(3)
    assert found.weights["c"] == pytest.approx(0.4, abs=0.01)
    assert yaml.safe_load(found.recipe) == {
        "mixture": {"change": {"language": {"c": round(found.weights["c"], 4)}}}
    }
    free = propose_mixture(Groups(tokens, "language"), 9000, given)
    assert free.loss <= found.loss + 1e-6
    with pytest.raises(EvidenceError, match="no language is called d; there are a, b, c"):
        Groups(tokens, "language", None, ("d",))
    law = LogLinear(np.array([0.5]), np.array([[0.2, -0.1, -0.4]]))
    assert propose_mixture(groups, 60_000, law).weights["c"] == pytest.approx(0.6), "four epochs"
    with pytest.raises(ValueError, match="keep their ratio would repeat"):
        propose_mixture(groups, 90_000, law)


@pytest.mark.parametrize("is_alike", [True, False])
def test_the_gain_on_unseen_hosts_says_when_there_is_none(is_alike: bool) -> None:
    rng = np.random.default_rng(3)
    documents, each = 80, 50
    dice = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]])
    mixed = np.array([0.5, 0.5] if is_alike else [0.95, 0.05])
    text = rng.choice(4, size=documents * each, p=mixed @ dice)
    table = pa.table({
        "domain": ["x"] * documents, "host": [f"h{n % 20}" for n in range(documents)],
        "bytes": [each] * documents, "tokens": pa.array([each] * documents, pa.int32()),
    })  # fmt: skip
    given = Predictions(-np.log(dice[:, text]), np.full(documents * each, 1 / documents / each))
    found = unseen_gain(given, table, Groups({"a": 5000, "b": 5000}), 5000, 4.0)
    assert found is not None
    assert found.low < found.percent < found.high
    assert (found.high < -5) is not is_alike
    assert ("no gain is shown" in found.words) is is_alike


def test_a_proposal_is_printed_and_nothing_is_changed(small_build: Place, tmp_path: Path) -> None:
    registry = Registry(f"sqlite:///{small_build.home}/catalog.db")
    domains = sorted({shard.domain for shard in registry.version_shards(VERSION)})
    arms = {"base": ("v0", "m0", {"x": 0.0, "y": 0.0})}
    arms |= {name: (name, name, {"x": 0.0, "y": 0.0}) for name in domains}
    folder = write_results(tmp_path / "results", arms, seeds=2)
    asked = ["evidence", "mix", VERSION, "--budget", "100", "--home", str(small_build.home)]
    bare = CliRunner().invoke(cli, [*asked, "--results", str(folder)])
    assert "run the pack with --token-nats" in str(bare.exception)
    for number, name in enumerate(domains):  # the first domain's model knows the text best
        old = next(run for run in read_runs(folder / "runs") if run.arm == name)
        told = {k: v for k, v in asdict(old).items() if k not in DERIVED}
        nats = np.full(old.table()["tokens"].to_numpy().sum(), 1.0 + number, dtype=np.float32)
        write_run(folder / "runs", measured(old.table(), nats, **told))
    plan = tmp_path / "compare.yaml"
    said = CliRunner().invoke(cli, [*asked, "--results", str(folder), "--compare", str(plan)])
    assert said.exit_code == 0, said.output
    wanted = yaml.safe_load(plan.read_text("utf-8"))
    assert (wanted["baseline"], wanted["arms"]) == (VERSION, [f"{VERSION}-mixmin"])
    assert wanted["seeds"] == [2, 3, 4, 5], "none that the search had"
    assert f"{domains[0]}: 1.0" in said.stdout
    told = json.loads(CliRunner().invoke(cli, [*asked, "--results", str(folder), "--json"]).stdout)
    assert told["loss"] == pytest.approx(250 / 1000 / np.log(2), abs=1e-5), "nats of 1,000 bytes"
    assert registry.version(VERSION).state == "released"


DERIVED = ("table_sha256", "nats_sha256", "table_bytes", "nats_bytes")
