"""The model files that signal families read: what they are to a task, and where they lie in one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpus_assets.core import files
from corpus_assets.core.errors import ModelError
from corpus_assets.core.lock import FOLDER
from corpus_assets.core.model_choice import ModelChoice
from corpus_assets.core.store import Output, local_checked
from corpus_assets.core.task import TaskContext
from corpus_assets.core.word_lists import read_word_list
from corpus_assets.signals.base import FILE
from corpus_assets.signals.embedding_score import EmbeddingScore
from corpus_assets.signals.import_tables import find_import
from corpus_assets.signals.imported import IMPORT
from corpus_assets.signals.stages.classifiers import learned_inputs
from corpus_assets.signals.stages.perplexity import model_inputs
from corpus_assets.signals.stages.planner import SignalsPlanner
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets.signals.text_step import TextStep

MODEL_FILES = (files.CLASSIFIER, files.PERPLEXITY_MODELS, files.SCORE_RANKS)
"""What `models_of_signals` may read of other stages."""

MODEL = "model:"
"""Begins the names in a lock of models that families take by name."""


def models_of_signals(
    pipeline: SignalsPlanner, needs: Sequence[str]
) -> tuple[dict[str, Output], dict[str, str], dict[str, Any]]:
    """Return inputs from the store, digests of files outside it, and where those lie (parameters)."""
    shared, extra, outside = model_inputs(pipeline, needs)
    learned = learned_inputs(pipeline, needs)
    shared, extra, outside = shared | learned[0], extra | learned[1], outside | learned[2]
    params: dict[str, Any] = {}
    if "lid" in needs:
        path, extra["lid"] = pipeline.language_model()
        params["lid"] = str(path)
    for name in needs:
        if name.startswith(FILE):
            (path,) = pipeline.locations.files((name.removeprefix(FILE),), "signals.families", name)
            extra[name] = pipeline.digest_of(path)
            outside[name] = str(path)
        elif name.startswith(FOLDER):
            model = folder_models(pipeline.recipe.signals)[name]
            place, extra[name] = pipeline.model(model, "signals.families", name)
            if not place.is_dir():
                raise ModelError(f"signals.families: {place} is not a model folder; correct it")
            outside[name] = str(place)
        elif name.startswith(IMPORT):
            kept = find_import(pipeline.store, name.removeprefix(IMPORT))
            extra[name] = kept.sha256
            params.setdefault("imports", {})[name] = [kept.path, kept.now]
    if outside:
        params["files"] = outside
    return shared, extra, params


def with_listed_entries(pipeline: SignalsPlanner) -> SignalSettings:
    """Return the settings of signals with the entries of installed lists in the steps that rewrite
    text, in place of the names of the lists."""

    def entries(place: str) -> list[str]:
        paths = pipeline.locations.files((place,), "signals.families", FILE + place)
        return [entry for path in paths for entry in read_word_list(path)]

    settings = pipeline.recipe.signals
    return settings.only(
        each.with_lists(entries) if isinstance(each, TextStep) else each
        for each in settings.families
    )


def folder_models(settings: SignalSettings) -> dict[str, ModelChoice]:
    """Return the models in folders, by the names that families need them by."""
    scored = [each for each in settings.families if isinstance(each, EmbeddingScore)]
    return {each.needs()[0]: each.model for each in scored}


def installed_folders(pipeline: SignalsPlanner) -> dict[str, str]:
    """Digests of the installed folders that families name, for the lock."""
    models = folder_models(pipeline.recipe.signals)
    names = {need: model.name for need, model in models.items() if model.name}
    digests = models_of_signals(pipeline, list(names))[1]
    return {f"{MODEL}{names[need]}": sha256 for need, sha256 in digests.items()}


def model_files(context: TaskContext) -> dict[str, Path]:
    """The same files in a task, by the names that families need."""
    params = context.task.params
    models = {"lid": Path(params["lid"])} if "lid" in params else {}
    models |= {name: context.path(name) for name in context.task.inputs if name != "documents"}
    for name, (path, sha256) in params.get("imports", {}).items():
        models[name] = local_checked(context.store, path, sha256)
    return models | {name: Path(path) for name, path in params.get("files", {}).items()}
