"""The nodes that find repeated spans of a snapshot: four small steps, and nothing where pinned."""

from typing import TYPE_CHECKING, Any

from corpus_assets.clean import repeated_spans
from corpus_assets.clean.line_nodes import fate_inputs, step_settings
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task
from corpus_assets.decontam.nodes import verdict_settings

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def span_prints_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    return _part_tasks(graph, snapshot, "span_prints", {})


def common_prints_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    return _merging_task(graph, snapshot, "common_prints", "span_prints", "prints.parquet")


def span_grams_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    (prints,) = graph.results("common_prints", snapshot)
    return _part_tasks(graph, snapshot, "span_grams", {"prints": prints.outputs["prints.parquet"]})


def repeated_spans_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    (clusters,) = graph.results("clusters", snapshot)
    members = {f"members/{name}": output for name, output in clusters.outputs.items()}
    return _merging_task(graph, snapshot, "repeated_spans", "span_grams", "grams.parquet", members)


def span_inputs(graph: "Pipeline", snapshot: str) -> dict[str, Output]:
    """What cleaning reads of it, where the recipe asks for it."""
    if not _compares(graph, snapshot):
        return {}
    return {"repeated_spans": graph.calibration("repeated_spans", snapshot)}


def span_calibrations(graph: "Pipeline") -> dict[str, Output]:
    """The calibrations of all snapshots by their name in a lock."""
    return {
        f"repeated_spans/{snapshot}": graph.calibration("repeated_spans", snapshot)
        for snapshot in graph.recipe.snapshots
        if _compares(graph, snapshot)
    }


def _compares(graph: "Pipeline", snapshot: str) -> bool:
    settings = graph.recipe.clean_text.repeated_spans
    return settings is not None and graph.recipe.source_of(snapshot).domain in settings.domains


def _is_asked(graph: "Pipeline", snapshot: str) -> bool:
    return _compares(graph, snapshot) and not graph.pin_of("repeated_spans", snapshot)


def _part_tasks(
    graph: "Pipeline", snapshot: str, node: str, shared: dict[str, Output]
) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    lines = graph.recipe.clean_text.boilerplate.identity()
    settings = _settings(graph) | {"boilerplate": lines}
    settings |= step_settings(graph) | verdict_settings(graph)
    shared = shared | {"boilerplate": graph.boilerplate_file(snapshot)}
    fates = fate_inputs(graph, snapshot)
    return [
        Task(
            node,
            repeated_spans.VERSION,
            settings,
            {"documents": part.outputs["documents.parquet"]} | shared | fates[i],
            label=f"{snapshot} part {i}",
        )
        for i, part in enumerate(graph.results("documents", snapshot))
    ]


def _merging_task(
    graph: "Pipeline",
    snapshot: str,
    node: str,
    before: str,
    file: str,
    shared: dict[str, Output] | None = None,
) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    inputs = {
        f"parts/{i:05d}": part.outputs[file]
        for i, part in enumerate(graph.results(before, snapshot))
    }
    inputs |= shared or {}
    return [Task(node, repeated_spans.VERSION, _settings(graph), inputs, label=snapshot)]


def _settings(graph: "Pipeline") -> dict[str, Any]:
    settings = graph.recipe.clean_text.repeated_spans
    return {"spans": settings.identity()} if settings is not None else {}
