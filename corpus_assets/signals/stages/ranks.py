"""The stages of an ensemble: scores of a sample, then their ranks.

Ranks are a calibration: where the lock pins them there are no tasks.
"""

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corpus_assets.core import files
from corpus_assets.core.errors import SourceError
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, count, part_label
from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.ensemble import RANKS, Ensemble, rank_table
from corpus_assets.signals.stages.signal_models import model_files, signal_models
from corpus_assets.signals.stages.signals import VERSION, SignalSettings, compute_signals
from corpus_assets.signals.stages.training_sample import first_drawn, places
from corpus_assets.signals.text_step import TextStep

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def ensemble_of(graph: "Pipeline") -> Ensemble | None:
    return next((f for f in graph.recipe.signals.families if isinstance(f, Ensemble)), None)


def plan_score_sample(graph: "Pipeline", snapshot: str) -> list[Task]:
    """Return the scores that an ensemble reads, of documents drawn from a calibration snapshot."""
    ensemble = ensemble_of(graph)
    if ensemble is None or graph.pin_of(RANKS) or not _makes_ranks(graph, ensemble, snapshot):
        return []
    before = scoring_families(graph.recipe.signals, ensemble)
    shared, extra, params = signal_models(graph, before.needs())
    settings = {
        "signals": before.model_dump(mode="json"),
        "families": before.identity(),
        "scores": list(ensemble.scores),
        "max_documents": ensemble.max_documents,
        "seed": graph.recipe.seed,
    }
    return [
        SCORE_SAMPLE.task(
            settings,
            {"documents": documents} | shared,
            extra,
            params,
            label=part_label(snapshot, i),
        )
        for i, documents in enumerate(graph.parts(files.DOCUMENTS, snapshot))
    ]


def plan_score_ranks(graph: "Pipeline") -> list[Task]:
    ensemble = ensemble_of(graph)
    if ensemble is None:
        return []
    inputs = {
        f"{snapshot}/{i:05d}": scores
        for snapshot in graph.recipe.calibration_snapshots
        for i, scores in enumerate(graph.parts(files.SCORE_SAMPLE, snapshot))
    }
    settings = {
        "scores": list(ensemble.scores),
        "steps": ensemble.steps,
        "max_documents": ensemble.max_documents,
    }
    return [SCORE_RANKS.task(settings, inputs)]


def scoring_families(settings: SignalSettings, ensemble: Ensemble) -> SignalSettings:
    """Return the families that give an ensemble's scores, what they read, and the text steps before
    them: what a sample needs to get the scores that documents will get."""
    before = settings.families[: settings.families.index(ensemble)]
    wanted = set(ensemble.scores)
    kept: list[SignalFamily] = []
    for family in reversed(before):
        if isinstance(family, TextStep) or wanted.intersection(family.columns()):
            kept.append(family)
            wanted.update(family.reads())
    return SignalSettings(families=tuple(reversed(kept)))


def _makes_ranks(graph: "Pipeline", ensemble: Ensemble, snapshot: str) -> bool:
    domain = graph.recipe.source_of(snapshot).domain
    is_wanted = ensemble.domains is None or domain in ensemble.domains
    return is_wanted and snapshot in graph.recipe.calibration_snapshots


def run_score_sample(context: TaskContext) -> None:
    settings = context.task.settings
    table = context.table("documents", ["doc_id", "domain", "text"])
    place = places(table["doc_id"], settings["seed"])
    rows = np.sort(np.argsort(place, kind="stable")[: settings["max_documents"]])
    drawn = table.take(pa.array(rows))
    scores = compute_signals(
        drawn, context.settings(SignalSettings, "signals"), model_files(context)
    )
    chosen = scores.select(settings["scores"]).append_column("place", pa.array(place[rows]))
    context.write_table(files.SCORE_SAMPLE, chosen)
    count(context, table.num_rows, drawn.num_rows)


def run_score_ranks(context: TaskContext) -> None:
    settings = context.task.settings
    names = context.names("")
    scores = first_drawn((context.table(name) for name in names), settings["max_documents"])
    ranks = {}
    for name in settings["scores"]:
        column = scores[name].cast(pa.float32()).fill_null(float("nan"))
        ranks[name] = rank_table(column.to_numpy(), settings["steps"])
        if not ranks[name]:
            raise SourceError(
                f"signals.families (ensemble): no document of the calibration snapshots has a "
                f"{name} to rank; check its domains, or `calibrate_on`"
            )
    context.write_bytes(files.SCORE_RANKS, json.dumps(ranks, sort_keys=True).encode())
    context.counts["documents_in"] = scores.num_rows


def _calibrations(graph: "Pipeline") -> dict[str, Output]:
    if ensemble_of(graph) is None:
        return {}
    return {RANKS: graph.calibration(files.SCORE_RANKS)}


SCORE_SAMPLE = Stage(
    "score_sample",
    VERSION,
    Scope.PART,
    plan_score_sample,
    run_score_sample,
    asset="score_ranks",
    reads=(files.DOCUMENTS, files.CLASSIFIER, files.PERPLEXITY_MODELS),
    writes=(files.SCORE_SAMPLE,),
)

SCORE_RANKS = Stage(
    "score_ranks",
    VERSION,
    Scope.ALL,
    plan_score_ranks,
    run_score_ranks,
    about="Ranks of an ensemble's scores, resolved from a sample of the calibration snapshots.",
    reads_all=(files.SCORE_SAMPLE,),
    writes=(files.SCORE_RANKS,),
    calibration=Calibration(
        files.SCORE_RANKS,
        "quantiles of scores over many documents; no text",
        _calibrations,
        asks=("signals", "calibrate_on"),
        follows=("classifiers", "perplexity_models"),
    ),
)
