"""The stages of an ensemble: scores of a sample, then their ranks (who of the sample survives is for
`select.stage` to say).

Ranks are a calibration: where the lock pins them there are no tasks.
"""

import json
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core import files
from corpus_assets.core.errors import SourceError
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.sample import PLACE, first_drawn
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, count, part_label
from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.ensemble import MAX_DOCUMENTS, RANKS, Ensemble, rank_table
from corpus_assets.signals.stages.planner import SignalsPlanner
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets.signals.stages.signal_models import (
    model_files,
    models_of_signals,
    with_listed_entries,
)
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets.signals.stages.training_sample import documents_sample
from corpus_assets.signals.text_step import TextStep
from corpus_assets.text.ties import flat_line, tie_keys

VERSION = 4
CHARACTERS = "n_chars"
TIE_KEY = "tie_key"


def plan_score_sample(pipeline: SignalsPlanner, snapshot: str) -> Sequence[Task]:
    """Return the scores that an ensemble reads, of documents drawn from a calibration snapshot."""
    ensemble = pipeline.recipe.signals.ensemble
    if ensemble is None or pipeline.pin_of(RANKS) or not _makes_ranks(pipeline, ensemble, snapshot):
        return []
    wanted = {*ensemble.scores, CHARACTERS} | _read_by_rules(pipeline, ensemble)
    before = families_for(with_listed_entries(pipeline), wanted)
    shared, extra, params = models_of_signals(pipeline, before.needs())
    settings = {
        "signals": before.plain(),
        "families": before.identity(),
        "columns": sorted(wanted),
        "max_documents": MAX_DOCUMENTS,
        "seed": pipeline.recipe.seed,
    }
    return LazySequence(
        lambda i, documents: SCORE_SAMPLE.task(
            settings,
            {"documents": documents} | shared,
            extra,
            params,
            label=part_label(snapshot, i),
        ),
        pipeline.parts(files.DOCUMENTS, snapshot),
    )


def plan_score_ranks(pipeline: SignalsPlanner) -> list[Task]:
    ensemble = pipeline.recipe.signals.ensemble
    if ensemble is None:
        return []
    inputs = {
        f"{name}/{snapshot}/{i:05d}": output
        for snapshot in pipeline.recipe.calibration_snapshots
        for name, file in (("scores", files.SCORE_SAMPLE), ("survivors", files.SCORE_SURVIVORS))
        for i, output in enumerate(pipeline.parts(file, snapshot))
    }
    settings = {
        "scores": list(ensemble.scores),
        "steps": ensemble.steps,
        "max_documents": MAX_DOCUMENTS,
        "among": ensemble.among,
        "weigh": ensemble.weigh,
        "seed": pipeline.recipe.seed,
    }
    return [SCORE_RANKS.task(settings, inputs)]


def _read_by_rules(pipeline: SignalsPlanner, ensemble: Ensemble) -> set[str]:
    """Return the columns that say which documents reach the ensemble."""
    if ensemble.among == "all":
        return set()
    rules = pipeline.recipe.selection.rules_before(pipeline.recipe.signals.ranked_columns())
    read = pipeline.recipe.selection.reads(rules) | {"language"}
    return read.intersection(pipeline.recipe.signals.columns())


def families_for(settings: SignalSettings, wanted: Collection[str]) -> SignalSettings:
    """Return the families that give some columns, what they read, and the text steps before them:
    what a sample needs to get the values that documents will get."""
    wanted = set(wanted)
    kept: list[SignalFamily] = []
    for family in reversed(settings.families):
        is_step = isinstance(family, TextStep) and bool(kept)
        if is_step or wanted.intersection(family.columns()):
            kept.append(family)
            wanted.update(family.reads())
    return settings.only(reversed(kept))


def _makes_ranks(pipeline: SignalsPlanner, ensemble: Ensemble, snapshot: str) -> bool:
    domain = pipeline.recipe.source_of(snapshot).domain
    is_wanted = ensemble.domains is None or domain in ensemble.domains
    return is_wanted and snapshot in pipeline.recipe.calibration_snapshots


def run_score_sample(context: TaskContext) -> None:
    settings = context.task.settings
    families = SignalSettings.of_plain(context.task.settings["signals"])
    table = context.table("documents", families.document_columns())
    place = documents_sample(settings["seed"]).places(table["doc_id"].to_pylist())
    rows = np.sort(np.argsort(place, kind="stable")[: settings["max_documents"]])
    drawn = table.take(pa.array(rows))
    scores = compute_signals(drawn, families, model_files(context))
    chosen = scores.select(settings["columns"]).append_column(PLACE, pa.array(place[rows]))
    keys = tie_keys(drawn["doc_id"], settings["seed"])
    chosen = chosen.append_column(TIE_KEY, pa.array(keys))
    context.write_table(files.SCORE_SAMPLE, chosen)
    count(context, table.num_rows, drawn.num_rows)


def run_score_ranks(context: TaskContext) -> None:
    settings = context.task.settings
    scores = first_drawn(
        (_scores(context, name) for name in context.names("scores/")), settings["max_documents"]
    )
    if settings["among"] == "survivors":
        scores = scores.filter(scores["kept"])
    weights = scores[CHARACTERS].to_numpy() if settings["weigh"] == "characters" else None
    ranks = {}
    for name in settings["scores"]:
        column = scores[name].cast(pa.float32()).fill_null(float("nan"))
        values, ties = column.to_numpy(), scores[TIE_KEY].to_numpy()
        _refuse_flat(name, values[~np.isnan(values)])
        ranks[name] = rank_table(values, ties, settings["steps"], weights)
        if not ranks[name]:
            raise SourceError(
                f"signals.families (ensemble): no document of the calibration snapshots that is "
                f"ranked has a {name}; check its `domains` and `among`, or `calibrate_on`"
            )
    table = {"seed": settings["seed"], "scores": ranks}
    context.write_bytes(files.SCORE_RANKS, json.dumps(table, sort_keys=True).encode())
    context.counts["documents_in"] = scores.num_rows


def _refuse_flat(name: str, values: npt.NDArray[np.float32]) -> None:
    """Refuse a score that most documents share: it has no ranks to give."""
    distinct, counts = np.unique(values, return_counts=True)
    flat = flat_line(values, distinct[counts.argmax()]) if counts.size else None
    if flat is not None:
        raise SourceError(
            f"signals.families (ensemble): {name} is flat or saturated: {flat} and would be ranked "
            "at random; train or choose a model that separates them, or leave it out"
        )


def _scores(context: TaskContext, name: str) -> pa.Table:
    table = context.table(name)
    if context.task.settings["among"] == "all":
        return table
    survivors = context.table(name.replace("scores/", "survivors/", 1))
    return table.append_column("kept", survivors["kept"])


def _calibrations(pipeline: SignalsPlanner) -> dict[str, Output]:
    if pipeline.recipe.signals.ensemble is None:
        return {}
    return {RANKS: pipeline.calibration(files.SCORE_RANKS)}


SCORE_SAMPLE = Stage(
    "score_sample",
    VERSION,
    Scope.PART,
    plan_score_sample,
    run_score_sample,
    reads=(files.DOCUMENTS, files.CLASSIFIER, files.PERPLEXITY_MODELS),
    writes=(files.SCORE_SAMPLE,),
)

SCORE_RANKS = Stage(
    "score_ranks",
    VERSION,
    Scope.ALL,
    plan_score_ranks,
    run_score_ranks,
    about="Ranks of an ensemble's scores, from a sample of the calibration snapshots.",
    reads_all=(files.SCORE_SAMPLE, files.SCORE_SURVIVORS),
    writes=(files.SCORE_RANKS,),
    calibration=Calibration(
        files.SCORE_RANKS,
        "quantiles of scores over many documents; no text",
        _calibrations,
        asks=("signals", "calibrate_on", "seed"),
        follows=("classifiers", "perplexity_models"),
    ),
)
