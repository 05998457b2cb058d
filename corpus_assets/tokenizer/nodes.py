"""The tasks of the nodes behind the tokenizer: amounts, draw, sample, training and audit.

Under a lock there are none: the tokenizer is pinned, and nobody needs its sample.
"""

from typing import TYPE_CHECKING, Any

from corpus_assets.clean.scrubbing import sample_settings
from corpus_assets.core.task import Task
from corpus_assets.tokenizer import train as tokenizer

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def tokenizer_amounts_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    settings = _place_settings(graph, snapshot)
    return [
        Task(
            "tokenizer_amounts",
            tokenizer.VERSION,
            settings,
            {"signals": part.outputs["signals.parquet"]},
            label=f"{snapshot} part {i}",
        )
        for i, part in enumerate(graph.results("signals", snapshot))
    ]


def tokenizer_draw_tasks(graph: "Pipeline") -> list[Task]:
    if graph.pin_of("tokenizer"):
        return []
    inputs = {}
    domains = {}
    for snapshot in graph.recipe.calibration_snapshots:
        domains[snapshot] = graph.recipe.source_of(snapshot).domain
        for i, part in enumerate(graph.results("tokenizer_amounts", snapshot)):
            inputs[f"{snapshot}/{i:05d}"] = part.outputs["amounts.parquet"]
    settings = {
        "sample": graph.recipe.tokenizer.sample.identity(),
        "domains": domains,
        "is_trained": graph.recipe.tokenizer.train is not None,
    }
    return [Task("tokenizer_draw", tokenizer.VERSION, settings, inputs)]


def tokenizer_sample_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    settings = _place_settings(graph, snapshot) | sample_settings(graph, snapshot)
    (draw,) = graph.results("tokenizer_draw")
    scores = graph.results("signals", snapshot)
    return [
        Task(
            "tokenizer_sample",
            tokenizer.VERSION,
            settings,
            {
                "documents": part.outputs["documents.parquet"],
                "signals": scores[i].outputs["signals.parquet"],
                "draw": draw.outputs["draw.json"],
            },
            label=f"{snapshot} part {i}",
        )
        for i, part in enumerate(graph.results("documents", snapshot))
    ]


def tokenizer_tasks(graph: "Pipeline") -> list[Task]:
    entry = graph.recipe.tokenizer
    inputs = {
        f"sample/{snapshot}/{i:05d}": part.outputs["sample.parquet"]
        for snapshot in graph.recipe.calibration_snapshots
        for i, part in enumerate(graph.results("tokenizer_sample", snapshot))
    }
    (draw,) = graph.results("tokenizer_draw")
    inputs["draw"] = draw.outputs["draw.json"]
    settings: dict[str, Any] = {"special": entry.special_names()}
    params: dict[str, Any] = {}
    if entry.train is not None:
        settings["train"] = entry.train.identity()
    elif entry.pinned is not None:
        settings["sha256"] = entry.sha256
        params["pinned"] = str(graph.locations.files((entry.pinned,), "tokenizer.pinned")[0])
    return [Task("tokenizer", tokenizer.VERSION, settings, inputs, params=params)]


def _is_asked(graph: "Pipeline", snapshot: str) -> bool:
    return snapshot in graph.recipe.calibration_snapshots and not graph.pin_of("tokenizer")


def _place_settings(graph: "Pipeline", snapshot: str) -> dict[str, Any]:
    return {
        "sample": graph.recipe.tokenizer.sample.identity(),
        "seed": graph.recipe.seed,
        "domain": graph.recipe.source_of(snapshot).domain,
    }
