"""The tasks of the nodes behind an ensemble: scores of a sample, then their ranks.

Ranks are a calibration: where the lock pins them there are no tasks.
"""

from typing import TYPE_CHECKING

from corpus_assets.core.task import Task
from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.ensemble import RANKS, Ensemble
from corpus_assets.signals.stages import signals
from corpus_assets.signals.stages.signal_models import signal_models
from corpus_assets.signals.stages.signals import SignalSettings
from corpus_assets.signals.text_step import TextStep

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def ensemble_of(graph: "Pipeline") -> Ensemble | None:
    return next((f for f in graph.recipe.signals.families if isinstance(f, Ensemble)), None)


def score_sample_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    """The scores that an ensemble reads, of documents drawn from a calibration snapshot."""
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
        Task(
            "score_sample",
            signals.VERSION,
            settings,
            {"documents": part.outputs["documents.parquet"]} | shared,
            extra,
            params,
            label=f"{snapshot} part {i}",
        )
        for i, part in enumerate(graph.results("documents", snapshot))
    ]


def score_ranks_tasks(graph: "Pipeline") -> list[Task]:
    ensemble = ensemble_of(graph)
    if ensemble is None:
        return []
    inputs = {
        f"{snapshot}/{i:05d}": part.outputs["scores.parquet"]
        for snapshot in graph.recipe.calibration_snapshots
        for i, part in enumerate(graph.results("score_sample", snapshot))
    }
    settings = {
        "scores": list(ensemble.scores),
        "steps": ensemble.steps,
        "max_documents": ensemble.max_documents,
    }
    return [Task(RANKS, signals.VERSION, settings, inputs)]


def scoring_families(settings: SignalSettings, ensemble: Ensemble) -> SignalSettings:
    """The families that give an ensemble's scores, what they read, and the text steps before
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
