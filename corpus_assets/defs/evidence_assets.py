"""What small models say about versions: the held-out set, and the runs of every version."""

from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from catalog.pages import charts
from corpus_assets.core.home import Home
from corpus_assets.defs.partitions import EVERY, VERSIONS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.version_assets import corpus_version_asset, intervals_image
from corpus_assets.evidence import (
    Results,
    baseline_of,
    decide_gate,
    loss_curves,
    missing_runs,
    plan_version,
    store_heldout,
    stored_results,
    train_missing,
)
from corpus_assets.session import open_home

Result = dg.MaterializeResult
GROUP = "evidence"
NOT_ASKED = "the recipe has no section `evidence` with a held-out set: no models are trained"


@dg.asset(name="heldout_set", group_name=GROUP, kinds={"python", "parquet"}, code_version="1")
def heldout_set_asset(corpus: CorpusResource) -> Result:
    """What small models are asked: texts by domain and gold answers, pinned by digest, without what
    was taken down."""
    book = corpus.book()
    asked = book.recipe.evidence
    if asked is None or asked.heldout is None:
        return dg.MaterializeResult(metadata={"not_asked": NOT_ASKED})
    store, registry = open_home(Home.resolve(corpus.home or None))
    own, table = store_heldout(store, registry, Path(book.locations.resolve(asked.heldout)))
    return dg.MaterializeResult(
        metadata={
            "digest": own,
            "documents": len(table),
            "domains": dg.MetadataValue.table(_domains(table)),
        },
        data_version=dg.DataVersion(own),
    )


@dg.asset(
    name="proxy_runs",
    partitions_def=VERSIONS,
    group_name=GROUP,
    kinds={"python", "torch"},
    deps=[dg.AssetDep(heldout_set_asset, partition_mapping=EVERY), corpus_version_asset],
    code_version="1",
)
def proxy_runs_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Train small models on a version and on its baseline, as the recipe plans, and let their
    comparison decide the version's gate `models`.

    Runs that were made elsewhere and imported are not repeated. What is stopped goes on where it
    was when it is materialized again.
    """
    book, name = corpus.book(), context.partition_key
    asked = book.recipe.evidence
    if asked is None or asked.heldout is None:
        return dg.MaterializeResult(metadata={"not_asked": NOT_ASKED})
    home = Home.resolve(corpus.home or None)
    store, registry = open_home(home)
    version = registry.version(name).name
    baseline = baseline_of(registry, book.recipe, version)
    if baseline in (None, version):
        return dg.MaterializeResult(metadata={"baseline": "other versions are compared with it"})
    folder = book.locations.recipe_folder
    plan = plan_version(store, registry, asked, folder, version, baseline)
    missing = missing_runs(store, plan)
    if missing:
        engine = corpus.chosen_engine()
        if find_spec("torch") is None and not engine.is_ray:
            raise dg.Failure(
                f"{missing} runs of plan {plan.digest()[:16]} are missing, and torch is not installed here: "
                f"`corpus evidence pack DIR --plan {plan.digest()[:16]}`, run it on a machine with "
                "a GPU, `corpus evidence import DIR`, then materialize this again; or install "
                "corpus-assets[evidence]",
                allow_retries=False,
            )
        train_missing(home, store, registry, plan, context.log.info, engine=engine)
    (found,) = stored_results(store, plan.digest())
    gate = decide_gate(registry, store, registry.version(name).name, found)
    return dg.MaterializeResult(
        metadata={
            "plan": plan.digest(),
            "verdict": f"{gate.detail['outcome']}: {gate.detail['message']}",
            "runs": dg.MetadataValue.table(_runs(found)),
            "percent_of_bits_per_byte": gate.value,
            "intervals": dg.MetadataValue.md(intervals_image(gate.detail["intervals"])),
            "loss_curves": dg.MetadataValue.md(
                charts.as_image(loss_curves(found.runs), "nats per token over tokens")
            ),
        },
        data_version=dg.DataVersion(plan.digest()),
    )


def _domains(table: pa.Table) -> list[dg.TableRecord]:
    names = table["domain"].to_pylist()
    texts, hosts = table["text"].to_pylist(), table["host"].to_pylist()
    sizes: Counter[str] = Counter()
    for name, text in zip(names, texts, strict=True):
        sizes[name] += len(text.encode())
    owners: dict[str, set[str]] = {}
    for name, host in zip(names, hosts, strict=True):
        owners.setdefault(name, set()).add(host)
    return [
        dg.TableRecord(
            {"domain": name, "documents": count, "hosts": len(owners[name]), "bytes": sizes[name]}
        )
        for name, count in sorted(Counter(names).items())
    ]


def _runs(results: Results) -> list[dg.TableRecord]:
    rows: list[dict[str, Any]] = [
        {
            "arm": run.arm,
            "learning rate": f"{run.learning_rate:g}",
            "seed": run.seed,
            "tokens": run.tokens,
            "loss": round(run.curve[-1][1], 4),
            "tokens/s": round(run.tokens_per_second),
            "hardware": run.hardware,
        }
        for run in results.runs
    ]
    return [dg.TableRecord(row) for row in rows]
