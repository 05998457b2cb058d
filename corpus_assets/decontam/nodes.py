"""The nodes of decontamination: the index of suites, the search, and items that are common."""

from typing import TYPE_CHECKING, Any

from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task
from corpus_assets.decontam import (
    contamination,
    eval_index,
)
from corpus_assets.decontam import (
    verdicts as contamination_verdicts,
)

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def eval_index_tasks(graph: "Pipeline") -> list[Task]:
    if not graph.recipe.suites:
        return []
    described: list[dict[str, Any]] = []
    digests: dict[str, str] = {}
    suites = []
    for number, suite in enumerate(graph.recipe.suites):
        paths = graph.locations.files(suite.files, "eval_suites")
        body = suite.identity()
        del body["exclude"], body["files"]  # they change no item
        described.append(body)
        for i, path in enumerate(paths):
            digests[f"{number:04d}/{i:04d}"] = graph.digest_of(path)
        suites.append([suite.model_dump(mode="json"), [str(path) for path in paths]])
    return [
        Task(
            "eval_index",
            eval_index.VERSION,
            {"index": graph.recipe.eval_index.identity(), "suites": described},
            extra_inputs=digests,
            params={"suites": suites},
        )
    ]


def suite_pins(graph: "Pipeline") -> tuple[PinnedFile, ...]:
    """The files of all suites, for the lock."""
    return tuple(
        PinnedFile(name=path.name, bytes=path.stat().st_size, sha256=graph.digest_of(path))
        for suite in graph.recipe.suites
        for path in graph.locations.files(suite.files, "eval_suites")
    )


def contamination_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    if not graph.recipe.suites:
        return []
    index = graph.calibration("eval_index")
    settings = graph.recipe.contamination.scan.identity()
    return [
        Task(
            "contamination",
            contamination.VERSION,
            settings,
            {"documents": part.outputs["documents.parquet"], "eval_index": index},
            label=f"{snapshot} part {i}",
        )
        for i, part in enumerate(graph.results("documents", snapshot))
    ]


def common_items_tasks(graph: "Pipeline") -> list[Task]:
    """One task over the hits of the calibration snapshots; it reads no text."""
    if not graph.recipe.suites:
        return []
    settings = {
        "common": graph.recipe.contamination.common.identity(),
        "drop_share": graph.recipe.contamination.drop_share,
    }
    inputs: dict[str, Output] = {}
    if graph.recipe.contamination.common_documents is not None:
        for snapshot in graph.recipe.calibration_snapshots:
            texts = graph.results("documents", snapshot)
            for i, part in enumerate(graph.results("contamination", snapshot)):
                inputs[f"{snapshot}/{i:05d}/hits"] = part.outputs["hits.parquet"]
                inputs[f"{snapshot}/{i:05d}/texts"] = texts[i].outputs["documents.parquet"]
    return [Task("common_items", contamination_verdicts.VERSION, settings, inputs)]


def verdict_settings(graph: "Pipeline") -> dict[str, Any]:
    """What a task needs to know to say which documents go."""
    settings: dict[str, Any] = {"verdict": graph.recipe.contamination.verdict.identity()}
    exclude = {
        suite.benchmark or f"suite {number}": suite.exclude.identity()
        for number, suite in enumerate(graph.recipe.suites, 1)
        if suite.exclude
    }
    return settings | {"exclude": exclude} if exclude else settings


def verdict_inputs(graph: "Pipeline", snapshot: str) -> list[dict[str, Output]]:
    """What it reads for that, for each part; nothing where the recipe has no suite."""
    if not graph.recipe.suites:
        return [{} for _ in graph.results("documents", snapshot)]
    common = graph.calibration("common_items")
    return [
        {"hits": part.outputs["hits.parquet"], "common_items": common}
        for part in graph.results("contamination", snapshot)
    ]
