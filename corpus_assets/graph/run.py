"""Running an asset: its stages in order, their tasks through the engine, a note in the registry."""

import contextlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from catalog.db import (
    MEASURED,
    ArtifactRow,
    FailedPartRow,
    FileRow,
    InputRow,
    MetricRow,
    OutputRow,
    Registry,
    SnapshotRow,
    SourceRow,
)
from catalog.errors import CatalogError
from catalog.figures import counted
from corpus_assets.core.errors import EngineError
from corpus_assets.core.identity import digest
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.progress import Progress
from corpus_assets.core.result_index import Bytes, Contents, fingerprints
from corpus_assets.core.stage import Stage
from corpus_assets.core.task import Finished, Task
from corpus_assets.graph.engine import Engine, FailedTask, PartsFailed
from corpus_assets.graph.finished import FinishedStages
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.reuse import with_reuse
from corpus_assets.ingest import SnapshotFiles, list_snapshot_files, with_site_files

TASKS_HELD = 512  # of those handed out last: their results are noted when they come


@dataclass
class AssetReport:
    """What running an asset did, for metadata and summaries."""

    asset: str
    snapshot: str | None
    content_hash: str = ""
    parts: int = 0
    cached: int = 0
    documents_in: int = 0
    documents_out: int = 0
    cpu_seconds: float = 0.0
    bytes: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    notes: dict[str, Any] = field(default_factory=dict)  # of its parts, the last of each name
    losses: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def survival(self) -> float:
        return self.documents_out / self.documents_in if self.documents_in else 1.0


def run_asset(
    pipeline: Pipeline,
    engine: Engine,
    registry: Registry,
    progress: Progress,
    asset: str,
    snapshot: str | None = None,
) -> AssetReport:
    """Run what is missing of an asset; what the store has is found, not computed."""
    pipeline.check_models()
    report = AssetReport(asset, snapshot)
    stages = pipeline.graph.assets[asset].stages
    for stage in stages:
        for name in snapshots_of(pipeline, stage, snapshot):
            run_stage(pipeline, engine, registry, progress, report, stage, name)
    report.content_hash = content_hash(pipeline, asset, snapshot)
    progress.finished(asset, snapshot, report.cached, report.parts - report.cached)
    return report


def metric_rows(report: AssetReport) -> list[MetricRow]:
    """Return the numbers of an asset that was computed, for the catalog: `ASSET.NUMBER`."""
    if report.parts == report.cached:
        return []
    work = {"parts": report.parts, "cpu_seconds": report.cpu_seconds, "bytes": report.bytes}
    numbers = dict(report.counts) | work
    return [
        MetricRow(f"{report.asset}.{name}", float(value), report.snapshot)
        for name, value in sorted(numbers.items())
    ]


def content_hash(pipeline: Pipeline, asset: str, snapshot: str | None) -> str:
    """Identity of what a complete asset holds; MissingInput where it is not complete."""
    stage = pipeline.graph.assets[asset].last
    if stage.calibration is not None and stage.calibration.is_by_name:
        pins = list(stage.calibration.files(pipeline).values())
    else:
        pin = pipeline.pin_of(stage.name, snapshot)
        pins = [pin] if pin is not None else []
        if not pins:
            found = pipeline.results(stage.name, snapshot)
            return digest([result.content_hash for result in found])
    return digest([digest({stage.writes[0]: pin.sha256}) for pin in pins])


def snapshots_of(pipeline: Pipeline, stage: Stage, snapshot: str | None) -> list[str | None]:
    """Return the snapshots that a stage runs for when its asset runs for one, or for none: an asset
    over all of them may have stages by snapshot, and the other way round."""
    if not stage.is_by_snapshot:
        return [None]
    return [snapshot] if snapshot is not None else list(pipeline.recipe.snapshots)


def run_stage(
    pipeline: Pipeline,
    engine: Engine,
    registry: Registry,
    progress: Progress,
    report: AssetReport,
    stage: Stage,
    snapshot: str | None,
) -> None:
    """Run the tasks of one stage that are not done. What comes is counted, noted and let go."""
    tasks = with_reuse(pipeline, stage, snapshot, pipeline.tasks(stage.name, snapshot))
    progress.started(report.asset, report.snapshot, len(tasks))
    if not len(tasks):  # most steps of exchanges, where a snapshot has few parts
        _note_finished(pipeline, stage, snapshot, fingerprints(tasks))
        return
    finished = pipeline.finished(stage.name, snapshot, look_again=True)
    prints = fingerprints(tasks)
    rows = finished.rows(prints)
    failed_before = registry.failed_parts(stage.name, snapshot) if len(tasks) > 1 else ()
    known = {row.fingerprint: row for row in failed_before}
    names = [each.tobytes().hex() for each in prints] if known else []
    quarantined = [known[name] for name in names if name in known]
    notes = _Notes(registry)
    is_last = stage is pipeline.graph.assets[report.asset].last

    def advance(done: Finished) -> None:
        documents = done.result.counts.get("documents_in", 0)
        progress.advanced(report.asset, report.snapshot, documents, done.cached)
        _sum_up(report, done, is_last)

    is_open = np.array([name not in known for name in names]) if known else rows == rows
    todo = np.flatnonzero((rows < 0) & is_open)
    cached = np.flatnonzero((rows >= 0) & is_open)
    recorded = Contents(
        pipeline.recorded(stage.name, snapshot) if pipeline.recorded and len(cached) else ()
    )
    is_recorded = recorded.has(prints[cached])
    del recorded
    for part, is_noted in zip(map(int, cached), is_recorded, strict=True):
        found = Finished(finished.columns.result(int(rows[part])), 0.0, cached=True)
        advance(found)
        if not is_noted:  # a catalog that was lost is filled again
            notes.add(_artifact_row(part, tasks[part], found, snapshot))

    task_of = lru_cache(TASKS_HELD)(lambda part: tasks[part])

    def on_done(number: int, done: Finished) -> None:
        finished.add(done.result)
        advance(done)
        part = int(todo[number])
        notes.add(_artifact_row(part, task_of(part), done, snapshot))

    try:
        engine.run(LazySequence(lambda _, part: task_of(int(part)), todo), on_done)
    except PartsFailed as error:
        notes.write()
        if len(tasks) == 1:  # there is nothing to go on with, so nothing to quarantine
            raise error.failures[0].error from None
        failed = [_failed_row(int(todo[e.number]), e, snapshot) for e in error.failures]
        registry.quarantine(failed)
        quarantined += failed
    except BaseException:
        with contextlib.suppress(CatalogError):  # the first error is the one to tell
            notes.write()
        raise
    registry.expect_leases()
    finished.save()
    if quarantined:
        raise _incomplete(report, quarantined, len(tasks))
    if stage.after is not None:
        stage.after(pipeline, tasks)
    notes.write()
    _note_finished(pipeline, stage, snapshot, prints)
    if stage.accept is not None:
        stage.accept(pipeline)


def _note_finished(pipeline: Pipeline, stage: Stage, snapshot: str | None, prints: Bytes) -> None:
    if snapshot is not None:
        FinishedStages(pipeline).note(stage, snapshot, prints)


def _failed_row(part: int, failed: FailedTask, snapshot: str | None) -> FailedPartRow:
    task = failed.task
    return FailedPartRow(
        stage=task.stage,
        fingerprint=task.fingerprint,
        snapshot=snapshot,
        part=part,
        label=task.label,
        error=failed.reason,
        tries=failed.tries.own + failed.tries.world,
    )


class StageIncomplete(EngineError):
    """Parts of a stage are quarantined; all others are done."""

    def __init__(self, message: str, quarantined: Sequence[FailedPartRow]) -> None:
        super().__init__(message)
        self.quarantined = tuple(quarantined)


def _incomplete(
    report: AssetReport, quarantined: Sequence[FailedPartRow], parts: int
) -> StageIncomplete:
    """Say what is missing of a stage, and what to do."""
    first = quarantined[0]
    which = f"{first.stage} of {report.snapshot}" if report.snapshot else first.stage
    return StageIncomplete(
        f"{which}: {len(quarantined)} of {counted(parts, 'part')} failed and "
        f"{'was' if len(quarantined) == 1 else 'were'} quarantined, the others are kept; {first.label}, "
        f"{counted(first.tries, 'try', 'tries')}: {first.error} (`corpus parts failed` lists them; "
        "fix the cause and run `corpus parts retry`, then the same command again; or "
        "`corpus parts skip` to continue without their files)",
        quarantined,
    )


class _Notes:
    """Artifacts for the registry, written while the work goes on: a collection deletes what is
    not recorded, and a snapshot's parts take days. One transaction a second costs nothing."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._rows = registry, list[ArtifactRow]()
        self._written = time.monotonic()

    def add(self, row: ArtifactRow) -> None:
        self._rows.append(row)
        if time.monotonic() - self._written >= 1.0:
            self.write()

    def write(self) -> None:
        if self._rows:
            self._registry.record_artifacts(self._rows)
        self._rows, self._written = [], time.monotonic()


def _sum_up(report: AssetReport, done: Finished, is_last: bool) -> None:
    """Count a part; of documents those of the stage that completes the asset."""
    result = done.result
    report.parts += 1
    report.cached += done.cached
    report.cpu_seconds += done.cpu_seconds
    report.bytes += result.bytes
    if is_last:
        report.documents_in += result.counts.get("documents_in", 0)
        report.documents_out += result.counts.get("documents_out", 0)
        report.reasons.update(result.notes.get("reasons", {}))
        report.counts.update(result.counts)
        report.notes |= result.notes


def _artifact_row(part: int, task: Task, finished: Finished, snapshot: str | None) -> ArtifactRow:
    result = finished.result
    hashes = {name: out.sha256 for name, out in task.inputs.items()} | dict(task.extra_inputs)
    return ArtifactRow(
        stage=task.stage,
        fingerprint=task.fingerprint,
        content_hash=result.content_hash,
        snapshot=snapshot,
        part=part,
        documents_in=result.counts.get("documents_in", 0),
        documents_out=result.counts.get("documents_out", 0),
        bytes=result.bytes,
        bytes_in=sum(out.bytes for out in task.inputs.values())
        + task.params.get("file", {}).get("size", 0),
        **_measured(finished),
        outputs=tuple(
            OutputRow(name, out.path, out.sha256, out.bytes, out.rows)
            for name, out in result.outputs.items()
        ),
        inputs=tuple(InputRow(name, value) for name, value in hashes.items()),
    )


def _measured(finished: Finished) -> dict[str, Any]:
    if finished.cached:
        return {}
    return {name: getattr(finished, name) for name in MEASURED}


def pin_snapshot(pipeline: Pipeline, registry: Registry, snapshot: str) -> SnapshotFiles:
    """List and hash a snapshot's files, unless the pinned list still fits what is there."""
    recipe = pipeline.recipe
    source = recipe.source_of(snapshot)
    found = list_snapshot_files(recipe, pipeline.locations, pipeline.store, snapshot)
    pinned = with_site_files(found, source, pipeline.locations)
    registry.put_source(SourceRow(source.name, source.format, source.domain, source.licence))
    registry.put_snapshot(
        SnapshotRow(snapshot, source.name, recipe.snapshots.index(snapshot)),
        [
            FileRow(part, file.name, file.uri, file.size, file.sha256)
            for part, file in enumerate(pinned.files)
        ],
    )
    pipeline.save_files(pinned)  # last: the registry refuses changed files
    return pinned
