"""The model files that signal families read: what they are to a task, and where they lie in one."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.pipeline.classifier_nodes import learned_inputs
from corpus_assets.pipeline.perplexity_nodes import model_inputs
from corpus_assets.signals.base import FILE
from corpus_assets.store import Output
from corpus_assets.task import TaskContext

if TYPE_CHECKING:
    from corpus_assets.pipeline.graph import Pipeline


def signal_models(
    graph: "Pipeline", needs: Sequence[str]
) -> tuple[dict[str, Output], dict[str, str], dict[str, Any]]:
    """Inputs from the store, digests of files outside it, and where those lie (parameters)."""
    shared, extra, files = model_inputs(graph, needs)
    for found, more in zip((shared, extra, files), learned_inputs(graph, needs), strict=True):
        found.update(more)  # type: ignore[arg-type]
    params: dict[str, Any] = {}
    if "lid" in needs:
        path, extra["lid"] = graph.language_model()
        params["lid"] = str(path)
    for name in needs:
        if name.startswith(FILE):
            (path,) = graph.locations.files((name.removeprefix(FILE),), "signals.families")
            extra[name] = graph.digest_of(path)
            files[name] = str(path)
    if files:
        params["files"] = files
    return shared, extra, params


def model_files(context: TaskContext) -> dict[str, Path]:
    """The same files in a task, by the names that families need."""
    params = context.task.params
    models = {"lid": Path(params["lid"])} if "lid" in params else {}
    models |= {name: context.path(name) for name in context.task.inputs if name != "documents"}
    return models | {name: Path(path) for name, path in params.get("files", {}).items()}
