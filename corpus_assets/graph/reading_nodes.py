"""The tasks of each node, from the results of the nodes before it: one function each.

A node asks the graph for what it reads; where that is not there yet, the graph raises
MissingInput. Settings that go into a task are exactly those that can change its output.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from corpus_assets.core.store import Output
from corpus_assets.core.task import Task
from corpus_assets.dedup import clusters, signatures
from corpus_assets.ingest import documents
from corpus_assets.ingest.extract.extract import extractor_version
from corpus_assets.ingest.list_nodes import list_inputs
from corpus_assets.ingest.parts import part_task
from corpus_assets.ingest.source_reading import index_input, index_settings, reading_params
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.select import selection
from corpus_assets.signals.stages import signals
from corpus_assets.signals.stages.signal_models import signal_models

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def documents_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    source = graph.recipe.source_of(snapshot)
    blocklists = graph.locations.files(graph.recipe.blocklists, "blocklists")
    spec = source.identity()
    del spec["snapshots"]
    spec.pop("crawl", None)  # which files it takes is in their pins
    settings = {
        "source": spec,
        "snapshot": snapshot,
        "ingest": graph.recipe.documents.identity(),
        "extractor": extractor_version(graph.recipe.documents.extraction),
        "orders": [],
    }
    lists = {f"blocklist/{i:04d}": graph.digest_of(path) for i, path in enumerate(blocklists)}
    gate = graph.recipe.documents.gates.language_gate
    model: dict[str, str] = {}
    if gate is not None and gate.languages:
        path, lists["lid"] = graph.language_model()
        model["lid"] = str(path)
    looked_up = list_inputs(graph, snapshot)
    pinned = graph.snapshot_files(snapshot)
    bases = [
        Task(
            "documents",
            documents.VERSION,
            settings | {"part": part} | index_settings(source),
            looked_up | index_input(source, pinned, part),
            extra_inputs={file.name: file.sha256} | lists,
            params={
                "file": asdict(file),
                "blocklists": [str(path) for path in blocklists],
                **model,
                **reading_params(source, graph.locations, snapshot, file),
            },
            label=f"{snapshot} {file.name}",
        )
        for part, file in enumerate(pinned.files)
    ]
    return [part_task(graph.store, base, graph.suppressions, graph.load) for base in bases]


def signals_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    settings = {
        "signals": graph.recipe.signals.model_dump(mode="json"),
        "families": graph.recipe.signals.identity(),  # with the version of each family
    }
    shared, extra, params = signal_models(graph, graph.recipe.signals.needs())
    return [
        Task(
            "signals",
            signals.VERSION,
            settings,
            {"documents": part.outputs["documents.parquet"]} | shared,
            extra,
            params,
            label=_part_label(snapshot, i),
        )
        for i, part in enumerate(graph.results("documents", snapshot))
    ]


def quality_cutoffs_tasks(graph: "Pipeline") -> list[Task]:
    inputs: dict[str, Output] = {}
    for snapshot in graph.recipe.calibration_snapshots:
        domain = graph.recipe.source_of(snapshot).domain
        for i, part in enumerate(graph.results("signals", snapshot)):
            inputs[f"{domain}/{snapshot}/{i:05d}"] = part.outputs["signals.parquet"]
    settings = graph.recipe.selection.identity()
    return [Task("quality_cutoffs", selection.VERSION, settings, inputs)]


def selection_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    cutoffs = graph.cutoffs_file()
    settings = {
        "selection": graph.recipe.selection.identity(),
        "domain": graph.recipe.source_of(snapshot).domain,
    }
    return [
        Task(
            "selection",
            selection.VERSION,
            settings,
            {"signals": part.outputs["signals.parquet"], "cutoffs": cutoffs},
            label=_part_label(snapshot, i),
        )
        for i, part in enumerate(graph.results("signals", snapshot))
    ]


def signatures_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    settings = graph.recipe.signatures.identity()
    return [
        Task(
            "signatures",
            signatures.VERSION,
            settings,
            {"documents": part.outputs["documents.parquet"]},
            label=_part_label(snapshot, i),
        )
        for i, part in enumerate(graph.results("documents", snapshot))
    ]


CLUSTER_INPUTS = {
    "signals": ("signals.parquet",),
    "selection": ("selection.parquet",),
    "signatures": ("signatures.parquet", "ties.bin", "sketches.npy"),
}


def clusters_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    inputs: dict[str, Output] = {}
    window = cluster_window(graph.recipe, snapshot)
    for name in window:
        for node, files in CLUSTER_INPUTS.items():
            for i, part in enumerate(graph.results(node, name)):
                for file in files:
                    inputs[f"{name}/{i:05d}/{file.partition('.')[0]}"] = part.outputs[file]
    settings = {
        "clusters": graph.recipe.clusters.identity(),
        "signatures": graph.recipe.signatures.identity(),
        "window": list(window),
        "parts": len(graph.results("signatures", snapshot)),
    }
    return [Task("clusters", clusters.VERSION, settings, inputs, label=snapshot)]


def cluster_window(recipe: Recipe, snapshot: str) -> Sequence[str]:
    """The snapshots whose documents a snapshot is compared with, first in rank first.

    Rank is the order in the recipe; a snapshot itself is always the last of its window.
    """
    scope = recipe.clusters.scope
    place = recipe.snapshots.index(snapshot)
    before = {"per_snapshot": 0, "all": place}[scope] if isinstance(scope, str) else scope.rolling
    return recipe.snapshots[max(0, place - before) : place + 1]


def _part_label(snapshot: str, part: int) -> str:
    return f"{snapshot} part {part}"
