"""What the stages of ingest ask: beside what all stages do, which files a snapshot has, and which
takedowns are in force."""

from typing import Protocol

from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.core.result_index import StageResults
from corpus_assets.core.store import Result
from corpus_assets.ingest.entry import SourceEntry
from corpus_assets.ingest.gates import Categories
from corpus_assets.ingest.locations import Locations
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.ingest.snapshots import SnapshotFiles
from corpus_assets.ingest.suppressions import Suppressions


class SourcedRecipe(AnyRecipe, Protocol):
    """A recipe, as far as its sources are asked for."""

    def source_of(self, snapshot: str) -> SourceEntry: ...


class IngestRecipe(SourcedRecipe, Protocol):
    @property
    def blocklists(self) -> tuple[str, ...]: ...
    @property
    def blocked_categories(self) -> Categories: ...
    @property
    def documents(self) -> IngestSettings: ...


class IngestPlanner(Planner[IngestRecipe], Protocol):
    @property
    def locations(self) -> Locations: ...
    @property
    def suppressions(self) -> Suppressions: ...
    def snapshot_files(self, snapshot: str) -> SnapshotFiles: ...
    def delivered(self) -> dict[str, tuple[PinnedFile, ...]]: ...
    def finished(self, name: str, snapshot: str | None) -> StageResults: ...
    def load(self, stage: str, fingerprint: str, snapshot: str | None = None) -> Result | None: ...
