"""The nodes that find the boilerplate lines of a snapshot; none of them runs where they are pinned.

Only `line_keys` reads text, and it waits for no selection: another threshold costs columns.
"""

from typing import TYPE_CHECKING, Any

from corpus_assets.clean import boilerplate
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task
from corpus_assets.decontam.nodes import verdict_inputs, verdict_settings
from corpus_assets.signals.stages.signals import SignalSettings

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def line_keys_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    settings = _settings(graph, "domains", "min_chars", "bucket") | step_settings(graph)
    inputs = [
        {"documents": part.outputs["documents.parquet"]}
        for part in graph.results("documents", snapshot)
    ]
    return _part_tasks(graph, snapshot, "line_keys", settings, inputs)


def line_counts_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    return _part_tasks(
        graph, snapshot, "line_counts", verdict_settings(graph), _line_inputs(graph, snapshot)
    )


def common_lines_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    settings = _settings(graph, "min_documents", "min_share", "prose_words")
    return _merging_task(graph, snapshot, "common_lines", "line_counts", settings)


def line_candidates_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    common = _common(graph, snapshot)
    inputs = [own | common for own in _line_inputs(graph, snapshot)]
    return _part_tasks(graph, snapshot, "line_candidates", verdict_settings(graph), inputs)


def boilerplate_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    settings = {"min_chars": graph.recipe.clean_text.min_chars}
    return _merging_task(
        graph, snapshot, "boilerplate", "line_candidates", settings, _common(graph, snapshot)
    )


def fate_inputs(graph: "Pipeline", snapshot: str) -> list[dict[str, Output]]:
    """What says, for each part, which of its documents the stages before cleaning drop."""
    members = graph.results("clusters", snapshot)[0]
    selected = graph.results("selection", snapshot)
    return [
        {
            "selection": selected[i].outputs["selection.parquet"],
            "members": members.outputs[f"members-{i:05d}.parquet"],
        }
        | hits
        for i, hits in enumerate(verdict_inputs(graph, snapshot))
    ]


def step_settings(graph: "Pipeline") -> dict[str, Any]:
    """The families that rewrite text before it is cleaned."""
    steps = SignalSettings(families=graph.recipe.signals.text_steps())
    if not steps.families:
        return {}
    return {"steps": steps.model_dump(mode="json"), "step_versions": steps.identity()}


def _settings(graph: "Pipeline", *names: str) -> dict[str, Any]:
    """Those that can change what a node makes; the others keep their defaults there."""
    body = graph.recipe.clean_text.boilerplate.identity()
    return {"boilerplate": {name: body[name] for name in names}}


def _common(graph: "Pipeline", snapshot: str) -> dict[str, Output]:
    if graph.pin_of("boilerplate", snapshot):
        return {}
    (common,) = graph.results("common_lines", snapshot)
    return {"common": common.outputs["common_lines.parquet"]}


def _line_inputs(graph: "Pipeline", snapshot: str) -> list[dict[str, Output]]:
    if graph.pin_of("boilerplate", snapshot):
        return []
    documents = graph.results("documents", snapshot)
    keys = graph.results("line_keys", snapshot)
    return [
        {
            "documents": documents[i].outputs["documents.parquet"],
            "line_keys": keys[i].outputs["line_keys.parquet"],
        }
        | fates
        for i, fates in enumerate(fate_inputs(graph, snapshot))
    ]


def _part_tasks(
    graph: "Pipeline",
    snapshot: str,
    node: str,
    settings: dict[str, Any],
    inputs: list[dict[str, Output]],
) -> list[Task]:
    if graph.pin_of("boilerplate", snapshot):
        return []
    return [
        Task(node, boilerplate.VERSION, settings, own, label=f"{snapshot} part {i}")
        for i, own in enumerate(inputs)
    ]


def _merging_task(
    graph: "Pipeline",
    snapshot: str,
    node: str,
    before: str,
    settings: dict[str, Any],
    shared: dict[str, Output] | None = None,
) -> list[Task]:
    if graph.pin_of("boilerplate", snapshot):
        return []
    inputs = {
        f"parts/{i:05d}/{name.removesuffix('.parquet')}": output
        for i, part in enumerate(graph.results(before, snapshot))
        for name, output in part.outputs.items()
    }
    return [Task(node, boilerplate.VERSION, settings, inputs | (shared or {}), label=snapshot)]
