"""What Dagster shows of an asset while it runs, and of the parts that failed."""

import time
from collections.abc import Sequence

import dagster as dg

from catalog.db import FailedPartRow
from catalog.figures import counted
from corpus_assets.core.progress import Progress
from corpus_assets.graph import StageIncomplete

OBSERVED_EVERY_S = 30.0
SHOWN = 100  # rows of a table: `corpus parts failed` has all


class Observed:
    """Progress that Dagster sees too: every half minute a line in the run's log, and numbers that
    the asset's page plots."""

    def __init__(
        self, progress: Progress, context: dg.AssetExecutionContext | dg.OpExecutionContext
    ) -> None:
        self._progress, self._context = progress, context
        self._begin("", None)

    def _begin(self, asset: str, snapshot: str | None) -> None:
        self._asset, self._snapshot = asset, snapshot
        self._began = self._seen = time.monotonic()
        self._parts = self._done = self._ran = self._documents = 0

    def started(self, asset: str, snapshot: str | None, parts: int) -> None:
        self._progress.started(asset, snapshot, parts)
        if (asset, snapshot) != (self._asset, self._snapshot):
            self._begin(asset, snapshot)
        self._parts += parts

    def advanced(self, asset: str, snapshot: str | None, documents: int, cached: bool) -> None:
        self._progress.advanced(asset, snapshot, documents, cached)
        self._done += 1
        self._ran += not cached
        self._documents += 0 if cached else documents
        now = time.monotonic()
        if now - self._seen >= OBSERVED_EVERY_S:
            self._seen = now
            self._observe(now - self._began)

    def _observe(self, seconds: float) -> None:
        left = (self._parts - self._done) * seconds / max(self._ran, 1)
        speed = self._documents / seconds
        where = f"{self._asset} of {self._snapshot}" if self._snapshot else self._asset
        self._context.log.info(
            f"{where}: {self._done} of {self._parts} parts done, {speed:,.0f} documents/s, "
            f"{left / 60:,.0f} minutes left"
        )
        numbers: dict[str, int | float] = {
            "parts_done": self._done,
            "parts": self._parts,
            "documents_per_second": speed,
            "minutes_left": left / 60,
        }
        self._context.log_event(
            dg.AssetObservation(self._asset, metadata=numbers, partition=self._snapshot)
        )

    def finished(self, asset: str, snapshot: str | None, cached: int, ran: int) -> None:
        self._progress.finished(asset, snapshot, cached, ran)
        where = f"{asset} of {snapshot}" if snapshot else asset
        self._context.log.info(f"{where}: {counted(ran, 'part')} computed, {cached:,} cached")

    def log(self, line: str) -> None:
        self._progress.log(line)
        self._context.log.info(line)


def failure_of(error: StageIncomplete) -> dg.Failure:
    """Return the failure of a step with quarantined parts; they are its metadata."""
    parts = _failed_parts(error.quarantined)
    return dg.Failure(str(error), {"failed_parts": parts}, allow_retries=False)


def _failed_parts(quarantined: Sequence[FailedPartRow]) -> dg.TableMetadataValue:
    """Return the quarantined parts as a table."""
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {"stage": row.stage, "part": row.label, "tries": row.tries, "error": row.error}
            )
            for row in quarantined[:SHOWN]
        ],
        schema=dg.TableSchema(
            [
                dg.TableColumn("stage"),
                dg.TableColumn("part"),
                dg.TableColumn("tries", "int"),
                dg.TableColumn("error"),
            ]
        ),
    )
