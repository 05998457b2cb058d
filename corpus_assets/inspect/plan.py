"""What a build would do: the graph asked, part by part, without running anything."""

from dataclasses import dataclass

from catalog.db import Registry, SnapshotRow
from catalog.figures import counted
from corpus_assets.core import files
from corpus_assets.core.errors import MissingInput
from corpus_assets.core.stage import Scope
from corpus_assets.graph import FinishedStages, Pipeline, snapshots_of
from corpus_assets.ingest import is_as_pinned, refuse_absent
from corpus_assets.select import SELECTION

CACHED = "cached"
RUNS = "runs"
WAITS = "waits"

SAME, OTHER, UNKNOWN = "same", "other", "unknown"  # of a calibration, if it were resolved again


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


def plan_build(pipeline: Pipeline, registry: Registry) -> list[PlanLine]:
    """One line an asset, in the order of the graph. What a build would refuse before its first task
    is refused here too.

    A stage downstream of one that runs is `waits`: what it reads is not known yet, and when it comes
    out equal to something seen before, the stage will be found in the store after all.
    """
    pipeline.check_models()
    return [_source_files(pipeline, registry), *plan_assets(pipeline)]


def plan_assets(pipeline: Pipeline) -> list[PlanLine]:
    """One line an asset after the source files, which are not looked at."""
    lines = []
    finished = FinishedStages(pipeline, read_all=True)
    for asset in pipeline.graph.assets.values():
        line = PlanLine(asset.name)
        for stage in asset.stages:
            for snapshot in snapshots_of(pipeline, stage, None):
                noted = finished.find(stage, snapshot) if snapshot is not None else None
                if noted is not None:
                    line.cached += noted.tasks
                else:
                    _ask(pipeline, line, stage.name, snapshot)
        lines.append(line)
    return lines


@dataclass(frozen=True)
class TextRead:
    """Parts whose text a stage would read again."""

    stage: str
    parts: int
    cpu_seconds: float | None  # as parts of the stage took before; None: none was measured

    def __str__(self) -> str:
        seconds = self.cpu_seconds
        took = "" if seconds is None else f", about {seconds:,.0f}" if seconds >= 1 else ", below 1"
        unit = "" if seconds is None else " CPU s"
        return f"{self.stage} ({counted(self.parts, 'part')}{took}{unit})"


def text_to_read(pipeline: Pipeline, registry: Registry) -> list[TextRead]:
    """List the stages that would read the text of whole parts again: because of their own settings,
    or because what they read would be made again.

    What waits for selection is not among them: it takes over, row by row, what is as it was.
    """
    found = []
    finished = FinishedStages(pipeline, read_all=True)
    for stage in pipeline.graph:
        extracts = files.DOCUMENTS in stage.writes
        if stage.scope is not Scope.PART or not (extracts or _TEXTS & set(stage.reads)):
            continue
        line = PlanLine(stage.name)
        for snapshot in snapshots_of(pipeline, stage, None):
            if snapshot is None or finished.find(stage, snapshot) is None:
                _ask(pipeline, line, stage.name, snapshot)
        is_after = SELECTION.name in pipeline.graph.upstream([stage.name])
        waiting = 0 if is_after else line.waiting
        if not line.to_run + waiting:
            continue
        rows = list(registry.stream_artifacts(stage.name))
        known = [row.cpu_seconds for row in rows if row.cpu_seconds is not None]
        # Parts that wait cannot be counted yet: about as many as there were.
        parts = max(
            line.to_run + waiting, len({(r.snapshot, r.part) for r in rows} if waiting else ())
        )
        cpu = sum(known) / len(known) * parts if known else None
        found.append(TextRead(stage.name, parts, cpu))
    return found


_TEXTS = {files.DOCUMENTS, files.FINAL}


def fresh_calibrations(pipeline: Pipeline) -> dict[str, str]:
    """Say of every pinned calibration what resolving all of them again would give, without doing
    it: the same file, another one, or what only running can tell."""
    fresh = pipeline.with_pins({})
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


def _source_files(pipeline: Pipeline, registry: Registry) -> PlanLine:
    line = PlanLine("source_files")
    recipe, locations = pipeline.recipe, pipeline.locations
    for rank, snapshot in enumerate(recipe.snapshots):
        try:
            pipeline.snapshot_files(snapshot)
        except MissingInput:
            refuse_absent(recipe, locations, snapshot)
            line.to_run += 1
            continue
        same_files = is_as_pinned(recipe, locations, pipeline.store, snapshot)
        if not same_files:
            refuse_absent(recipe, locations, snapshot)
        registry.check_snapshot(
            SnapshotRow(snapshot, recipe.source_of(snapshot).name, rank), same_files
        )
        line.cached += 1
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
