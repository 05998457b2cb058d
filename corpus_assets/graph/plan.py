"""What a build would do: the graph asked, part by part, without running anything."""

from dataclasses import dataclass, replace

from corpus_assets.core.errors import MissingInput
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import snapshots_of
from corpus_assets.ingest.snapshots import refuse_absent

CACHED = "cached"
RUNS = "runs"
WAITS = "waits"

SAME, OTHER, UNKNOWN = "same", "other", "unknown"  # of a calibration, were it resolved anew


@dataclass
class PlanLine:
    """One asset over all snapshots."""

    asset: str
    cached: int = 0
    to_run: int = 0
    waiting: int = 0  # snapshots whose inputs are not there yet: parts cannot be counted

    @property
    def state(self) -> str:
        if self.to_run:
            return RUNS
        return WAITS if self.waiting else CACHED


def plan(pipeline: Pipeline) -> list[PlanLine]:
    """One line an asset, in the order of the graph.

    A stage downstream of one that runs is `waits`: what it reads is not known yet, and when it comes
    out equal to something seen before, the stage will be found in the store after all.
    """
    pipeline.check_models()
    lines = [_source_files(pipeline)]
    for asset in pipeline.graph.assets.values():
        line = PlanLine(asset.name)
        for stage in asset.stages:
            for snapshot in snapshots_of(pipeline, stage, None):
                _ask(pipeline, line, stage.name, snapshot)
        lines.append(line)
    return lines


def fresh_calibrations(pipeline: Pipeline) -> dict[str, str]:
    """Say of every pinned calibration what resolving all of them anew would give, without doing
    it: the same file, another one, or what only running can tell."""
    fresh = replace(pipeline, pins={}, is_locked=False)
    found: dict[str, str] = {}
    for stage, calibration in pipeline.graph.calibrations.items():
        try:
            resolved = calibration.files(fresh)
        except MissingInput:
            resolved = {}
        for name, pin in pipeline.pins.items():
            if name.partition("/")[0] == stage:
                now = resolved.get(name)
                found[name] = (
                    UNKNOWN if now is None else SAME if now.sha256 == pin.sha256 else OTHER
                )
    return found


def _source_files(pipeline: Pipeline) -> PlanLine:
    line = PlanLine("source_files")
    for snapshot in pipeline.recipe.snapshots:
        try:
            pipeline.snapshot_files(snapshot)
            line.cached += 1
        except MissingInput:
            refuse_absent(pipeline.recipe, pipeline.locations, snapshot)
            line.to_run += 1
    return line


def _ask(pipeline: Pipeline, line: PlanLine, stage: str, snapshot: str | None) -> None:
    try:
        tasks = pipeline.tasks(stage, snapshot)
    except MissingInput:
        line.waiting += 1
        return
    done = pipeline.is_done(stage, snapshot, tasks)
    line.cached += int(done.sum())
    line.to_run += int((~done).sum())
