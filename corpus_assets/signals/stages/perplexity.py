"""The stages of perplexity models: each is trained by a task of its own, and one file holds them all.

That file is the calibration that a lock pins. KenLM's models come from outside and are known by
their digests.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core import files
from corpus_assets.core.errors import SourceError
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext
from corpus_assets.models import NgramSettings, join_ngram_models, train_ngram_model
from corpus_assets.signals.perplexity import MODEL, PIECES
from corpus_assets.signals.stages.perplexity_settings import PerplexityModelEntry
from corpus_assets.signals.stages.planner import SignalsPlanner
from corpus_assets.signals.stages.training_sample import read_texts

VERSION = 2


def plan_perplexity_model(pipeline: SignalsPlanner) -> list[Task]:
    if pipeline.pin_of(files.PERPLEXITY_MODELS.stage):
        return []
    tasks = []
    for name, entry in _trained(pipeline).items():
        texts = pipeline.locations.files(entry.texts, _key(name, "texts"))
        tasks.append(
            PERPLEXITY_MODEL.task(
                {"name": name, "where": entry.where, "order": entry.order},
                extra_inputs={"texts": pipeline.digests_of(texts)},
                params={"texts": [str(path) for path in texts]},
                label=name,
            )
        )
    return tasks


def plan_perplexity_models(pipeline: SignalsPlanner) -> list[Task]:
    inputs = {f"{i:04d}": model for i, model in enumerate(pipeline.parts(files.PERPLEXITY_MODEL))}
    return [PERPLEXITY_MODELS.task({}, inputs)] if inputs else []


def _calibrations(pipeline: SignalsPlanner) -> dict[str, Output]:
    if not _trained(pipeline):
        return {}
    return {files.PERPLEXITY_MODELS.stage: pipeline.calibration(files.PERPLEXITY_MODELS)}


def model_inputs(
    pipeline: SignalsPlanner, needs: Sequence[str]
) -> tuple[dict[str, Output], dict[str, str], dict[str, str]]:
    """Return what signals read of these models: files of the store, digests and paths of others."""
    shared: dict[str, Output] = {}
    digests: dict[str, str] = {}
    paths: dict[str, str] = {}
    for need in needs:
        if not need.startswith(MODEL):
            continue
        entry = pipeline.recipe.perplexity[need.removeprefix(MODEL)]
        if entry.is_trained:
            shared[need] = pipeline.calibration(files.PERPLEXITY_MODELS)
        for name, path in _outside(pipeline, need.removeprefix(MODEL), entry).items():
            digests[name], paths[name] = pipeline.digest_of(path), str(path)
    return shared, digests, paths


def model_pins(pipeline: SignalsPlanner) -> dict[str, tuple[PinnedFile, ...]]:
    """Return the files that models are trained on, for the lock."""
    return {
        f"perplexity/{name}": tuple(
            PinnedFile(name=path.name, bytes=path.stat().st_size, sha256=pipeline.digest_of(path))
            for path in pipeline.locations.files(entry.texts, _key(name, "texts"))
        )
        for name, entry in _trained(pipeline).items()
    }


def outside_models(pipeline: SignalsPlanner) -> dict[str, str]:
    """Digests of the models that come from outside, for the lock."""
    return {name: pipeline.digest_of(path) for name, path in outside_files(pipeline).items()}


def outside_files(pipeline: SignalsPlanner) -> dict[str, Path]:
    """The files of those models, by the names that signals need."""
    return {
        name: path
        for model, entry in pipeline.recipe.perplexity.items()
        for name, path in _outside(pipeline, model, entry).items()
    }


def _outside(pipeline: SignalsPlanner, name: str, entry: PerplexityModelEntry) -> dict[str, Path]:
    """Files of a KenLM model, each checked against its digest."""
    found: dict[str, Path] = {}
    for suffix, key, model in (("", "model", entry.model), (PIECES, "pieces", entry.pieces)):
        if model is not None:
            need = MODEL + name + suffix
            found[need], _ = pipeline.model(model, _key(name, key), need)
    return found


def _trained(pipeline: SignalsPlanner) -> dict[str, PerplexityModelEntry]:
    return {name: entry for name, entry in pipeline.recipe.perplexity.items() if entry.is_trained}


def _key(name: str, key: str) -> str:
    return f"perplexity.{name}.{key}"


def run_perplexity_model(context: TaskContext) -> None:
    texts: list[str] = []
    where: dict[str, str] = context.task.settings["where"]
    for path in context.param("texts"):
        is_parquet = path.endswith(".parquet")
        texts += _read_parquet(path, where) if is_parquet else read_texts([path], where)
    if not texts:
        raise SourceError(
            f"perplexity.{context.task.settings['name']}: no row of its texts has "
            f"{', '.join(f'{key}: {value}' for key, value in where.items()) or 'a text'}"
        )
    settings = NgramSettings(order=context.task.settings["order"])
    trained = train_ngram_model(context.task.settings["name"], texts, settings)
    context.write_bytes(files.PERPLEXITY_MODEL, trained.model)
    context.counts["documents_in"] = len(texts)
    context.notes["metrics"] = {context.task.settings["name"]: trained.metrics}


def run_perplexity_models(context: TaskContext) -> None:
    context.write_bytes(
        files.PERPLEXITY_MODELS,
        join_ngram_models(context.content(name) for name in context.names("")),
    )


def _read_parquet(path: str, where: Mapping[str, str]) -> list[str]:
    """Return the column `text`; a row without one is an error, training data is curated."""
    try:
        table = pq.read_table(path, columns=["text", *where])
        for name, value in where.items():
            table = table.filter(pc.equal(table[name].cast(pa.string()), value))
        column = table["text"]
    except (OSError, pa.ArrowException, KeyError) as error:
        wanted = ", ".join(f"`{name}`" for name in ("text", *where))
        raise SourceError(f"{path}: cannot be read as Parquet with {wanted} ({error})") from error
    if column.null_count or not (
        pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ):
        raise SourceError(f"{path}: `text` must be a string in every row")
    texts: list[str] = column.to_pylist()
    return texts


PERPLEXITY_MODEL = Stage(
    "perplexity_model",
    VERSION,
    Scope.ALL,
    plan_perplexity_model,
    run_perplexity_model,
    writes=(files.PERPLEXITY_MODEL,),
    inputs=model_pins,
)

PERPLEXITY_MODELS = Stage(
    "perplexity_models",
    VERSION,
    Scope.ALL,
    plan_perplexity_models,
    run_perplexity_models,
    about="N-gram language models, trained on texts of the recipe.",
    reads=(files.PERPLEXITY_MODEL,),
    writes=(files.PERPLEXITY_MODELS,),
    calibration=Calibration(
        files.PERPLEXITY_MODELS,
        "64-bit hashes of words, and how often they follow each other, from files that the recipe "
        "names; no spelling, and no documents of snapshots",
        _calibrations,
        is_model=True,
        asks=("perplexity",),
    ),
)
