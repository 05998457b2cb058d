"""Perplexity models as nodes: each is trained by a task of its own, and one file holds them all.

That file is the calibration that a lock pins. KenLM's models come from outside and are known by
their digests.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.core.errors import ModelError
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task
from corpus_assets.signals.perplexity import MODEL, PIECES
from corpus_assets.signals.stages import perplexity_models
from corpus_assets.signals.stages.perplexity_models import PerplexityModelEntry

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline

BUNDLE = "perplexity_models"
NO_ENTRIES: dict[str, PerplexityModelEntry] = {}


def perplexity_model_tasks(graph: "Pipeline") -> list[Task]:
    if graph.pin_of(BUNDLE):
        return []
    tasks = []
    for name, entry in _trained(graph).items():
        files = graph.locations.files(entry.texts, _key(name, "texts"))
        tasks.append(
            Task(
                "perplexity_model",
                perplexity_models.VERSION,
                {"name": name, "where": entry.where, "train": entry.train.identity()},
                extra_inputs={"texts": graph.digests_of(files)},
                params={"texts": [str(path) for path in files]},
                label=name,
            )
        )
    return tasks


def perplexity_models_tasks(graph: "Pipeline") -> list[Task]:
    parts = graph.results("perplexity_model")
    if not parts:
        return []
    inputs = {f"{i:04d}": part.outputs["model.bin"] for i, part in enumerate(parts)}
    return [Task(BUNDLE, perplexity_models.VERSION, {}, inputs)]


def has_trained(graph: "Pipeline") -> bool:
    return bool(_trained(graph))


def model_inputs(
    graph: "Pipeline", needs: Sequence[str]
) -> tuple[dict[str, Output], dict[str, str], dict[str, str]]:
    """What signals read of these models: files of the store, digests and paths of others."""
    shared: dict[str, Output] = {}
    digests: dict[str, str] = {}
    paths: dict[str, str] = {}
    for need in needs:
        if not need.startswith(MODEL):
            continue
        entry = _entries(graph)[need.removeprefix(MODEL)]
        if entry.kenlm is None:
            shared[need] = graph.calibration(BUNDLE)
        for name, path in _outside(graph, need.removeprefix(MODEL), entry).items():
            digests[name], paths[name] = graph.digest_of(path), str(path)
    return shared, digests, paths


def model_pins(graph: "Pipeline") -> dict[str, tuple[PinnedFile, ...]]:
    """The files that models are trained on, for the lock."""
    return {
        f"perplexity/{name}": tuple(
            PinnedFile(name=path.name, bytes=path.stat().st_size, sha256=graph.digest_of(path))
            for path in graph.locations.files(entry.texts, _key(name, "texts"))
        )
        for name, entry in _trained(graph).items()
    }


def outside_models(graph: "Pipeline") -> dict[str, str]:
    """Digests of the models that come from outside, for the lock."""
    return {name: graph.digest_of(path) for name, path in outside_files(graph).items()}


def outside_files(graph: "Pipeline") -> dict[str, Path]:
    """The files of those models, by the names that signals need."""
    return {
        name: path
        for model, entry in _entries(graph).items()
        for name, path in _outside(graph, model, entry).items()
    }


def _outside(graph: "Pipeline", name: str, entry: PerplexityModelEntry) -> dict[str, Path]:
    """Files of a KenLM model, each checked against the recipe's digest."""
    found: dict[str, Path] = {}
    for suffix, key, stated, sha256 in (
        ("", "kenlm", entry.kenlm, entry.sha256),
        (PIECES, "sentencepiece", entry.sentencepiece, entry.sentencepiece_sha256),
    ):
        if stated is None:
            continue
        need = MODEL + name + suffix
        (path,) = graph.locations.files((stated,), _key(name, key), need)
        if graph.digest_of(path) != sha256:
            raise ModelError(
                f"{_key(name, key)}: {path} has SHA-256 {graph.digest_of(path)}, the recipe says "
                f"{sha256}: fetch the file again, or correct the recipe"
            )
        found[need] = path
    return found


def _entries(graph: "Pipeline") -> dict[str, PerplexityModelEntry]:
    settings: Any = graph.recipe.perplexity
    return NO_ENTRIES if settings is None else settings.models


def _trained(graph: "Pipeline") -> dict[str, PerplexityModelEntry]:
    return {name: entry for name, entry in _entries(graph).items() if entry.kenlm is None}


def _key(name: str, key: str) -> str:
    return f"perplexity.models.{name}.{key}"
