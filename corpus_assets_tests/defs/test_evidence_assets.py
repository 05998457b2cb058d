"""The held-out set and the runs of small models as assets."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pyarrow as pa
import pytest

from catalog.db.registry import Registry
from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.core.store import Store
from corpus_assets.defs import evidence_assets
from corpus_assets.defs.assets import ASSETS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.evidence.gate import stored_results
from corpus_assets.evidence.home import import_runs, pack_plan, plan_version, train_missing
from corpus_assets.evidence.plan import Plan
from corpus_assets.evidence.results import TABLE, measured, write_run
from corpus_assets.evidence.run import Pack, wanted_runs
from corpus_assets.recipe.evidence import EvidenceSettings
from corpus_assets.session import open_home, open_session
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.evidence.tiny import texts

PROXY = {"size": "nano", "tokens": 2048, "unique_tokens": 1024, "sequence": 64, "batch_tokens": 512}


@dataclass
class Bench:
    """A home with a baseline, small-1, and a candidate, small-2, that models decide about."""

    store: Store
    registry: Registry
    home: Home
    corpus: CorpusResource
    asked: EvidenceSettings
    folder: Path
    instance: dg.DagsterInstance

    def plan(self) -> Plan:
        return plan_version(self.store, self.registry, self.asked, self.folder, "small-2")

    def materialize(self, name: str, **options: Any) -> dg.ExecuteInProcessResult:
        return dg.materialize(
            ASSETS,
            selection=[name],
            instance=self.instance,
            resources={"corpus": self.corpus},
            **options,
        )


@pytest.fixture
def bench(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("DAGSTER_HOME", str(place.home / "dagster"))
    rows = [{"id": f"h{i}", "url": f"https://h{i}.example/p", "text": text}
            for i, text in enumerate(texts(8, 5))]  # fmt: skip
    folder = tmp_path / "held"
    folder.mkdir()
    (folder / "held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "held.yaml").write_text("domains: {prose: [{files: held.jsonl}]}\n")
    asked = EvidenceSettings.model_validate(
        {"baseline": "small-1", "heldout": str(folder / "held.yaml"), "proxy": PROXY,
         "seeds": (1, 2, 3)}
    )  # fmt: skip
    given = asked.model_dump(mode="json")
    overrides = {
        "evidence": {name: given[name] for name in ("baseline", "heldout", "proxy", "seeds")}
    }
    home = Home.resolve(str(place.home))
    with open_session(str(place.recipe), home, overrides=overrides) as session:
        build(session, "small-2", release=False)
    store, registry = open_home(home)
    corpus = CorpusResource(
        home=str(place.home), recipe=str(place.recipe), overrides=overrides, workers=1
    )
    with dg.DagsterInstance.from_config(str(place.home / "dagster")) as instance:
        instance.add_dynamic_partitions("version", ["small-2"])
        yield Bench(store, registry, home, corpus, asked, folder, instance)


def test_the_held_out_set_is_stored_by_its_digest_and_described(bench: Bench) -> None:
    (event,) = bench.materialize("heldout_set").asset_materializations_for_node("heldout_set")
    own = event.metadata["digest"].value
    assert bench.store.exists(f"evidence/heldout/{own}.parquet")
    assert own == bench.plan().heldout
    (record,) = event.metadata["domains"].records
    assert (record.data["domain"], record.data["documents"]) == ("prose", 8)


def test_without_torch_the_runs_say_how_to_make_them_elsewhere(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence_assets, "find_spec", lambda name: None)
    with pytest.raises(dg.Failure, match="corpus evidence pack DIR --plan") as caught:
        bench.materialize("proxy_runs", partition_key="small-2")
    assert bench.plan().digest()[:16] in str(caught.value)


def test_imported_runs_decide_the_gate_and_hold_a_worse_version_back(
    bench: Bench, tmp_path: Path
) -> None:
    plan = bench.plan()
    pack_plan(bench.home, bench.store, bench.registry, plan, tmp_path / "pack", None)
    held = Pack(tmp_path / "pack").heldout()
    draw = np.random.default_rng(1)
    for run in wanted_runs(plan.identity()):
        bits = 2.0 * (1.05 if run.arm == "small-2" else 1.0) + 0.001 * draw.standard_normal()
        rows = {
            "document": np.arange(len(held)),
            "domain": held["domain"],
            "host": held["host"],
            "nats": held["bytes"].to_numpy() * bits * np.log(2),
            "bytes": held["bytes"],
            "tokens": np.full(len(held), 9),
            "item": range(len(held)),
        }
        told = {"plan": plan.digest(), "arm": run.arm, "size": "nano", "seed": run.seed,
                "learning_rate": run.learning_rate, "tokens": run.tokens, "steps": 4,
                "curve": [[512.0, 5.0], [2048.0, 4.0]], "tokens_per_second": 1.0,
                "hardware": "none", "torch": "none", "code": plan.code}  # fmt: skip
        write_run(tmp_path / "pack" / "runs", measured(pa.table(rows).cast(TABLE), None, **told))
    import_runs(bench.home, bench.store, bench.registry, tmp_path / "pack")
    done = bench.materialize("proxy_runs", partition_key="small-2")
    (event,) = done.asset_materializations_for_node("proxy_runs")
    assert event.metadata["verdict"].value.startswith("failed: worse")
    assert event.metadata["percent_of_bits_per_byte"].value == pytest.approx(5, abs=0.2)
    assert len(event.metadata["runs"].records) == 2 * 2 * 3
    assert "data:image/svg+xml;base64," in event.metadata["intervals"].value
    bench.materialize("release_gate", partition_key="small-2")
    assert bench.registry.version("small-2").state == "candidate"


@pytest.mark.slow  # trains twelve models of 1.6 million parameters
def test_training_that_was_stopped_goes_on_where_it_was(bench: Bench) -> None:
    pytest.importorskip("torch", reason="training needs the extra `evidence`: torch")
    plan, told = bench.plan(), []

    def stop_after_two(line: str) -> None:
        told.append(line)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_missing(bench.home, bench.store, bench.registry, plan, stop_after_two)
    (half,) = (one for one in stored_results(bench.store) if one.digest == plan.digest())
    assert len(half.runs) == 2
    done = bench.materialize("proxy_runs", partition_key="small-2")
    (event,) = done.asset_materializations_for_node("proxy_runs")
    (whole,) = (one for one in stored_results(bench.store) if one.digest == plan.digest())
    assert len(whole.runs) == 12
    before = {run.name: run.table_sha256 for run in half.runs}
    assert before.items() <= {run.name: run.table_sha256 for run in whole.runs}.items()
    outcome = event.metadata["verdict"].value.partition(":")[0]
    assert outcome in ("passed", "failed", "undecided")
