"""Read the columns of all documents of a published version, or of a recipe whose signals are
computed but which was not built to the end.

A version is read through its lineage in the catalog: no source file is looked at and no
fingerprint computed, so a question can be asked of a version that today's code would build
otherwise. No text is read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db import Registry, VersionRow
from catalog.takedown import expect_book
from corpus_assets.core import files
from corpus_assets.core.errors import CorpusError, CorruptArtifact, MissingInput, RecipeError
from corpus_assets.core.home import Home
from corpus_assets.core.identity import digest
from corpus_assets.core.store import Store, open_store, read_output
from corpus_assets.ingest import Suppressions
from corpus_assets.recipe import Recipe
from corpus_assets.select import (
    Cutoffs,
    SelectionSettings,
    as_judged,
    parse_cutoffs,
    resolve_cutoffs,
)
from corpus_assets.versions import load_published_recipe, published_pins
from textkernels.hashing import GOLDEN, mix_all

if TYPE_CHECKING:
    from corpus_assets.graph import Pipeline

BATCH_ROWS = 1 << 20

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PartFiles:
    """Where one part's tables are in the store."""

    snapshot: str
    part: int
    domain: str
    tier: str | None  # where its source says it
    signals: str
    rows: int
    records: str = ""
    documents: str = ""
    final: str = ""
    decisions: str = ""


@dataclass(frozen=True)
class Ruling:
    """All that decides over a document: rules, and their cutoffs resolved."""

    settings: SelectionSettings
    cutoffs: Cutoffs


@dataclass
class VersionColumns:
    """What is known of the documents of a version, or of a recipe on the way to one."""

    title: str
    recipe: Recipe
    ruling: Ruling
    store: Store
    parts: list[PartFiles]
    spans: dict[str, list[str]] = field(default_factory=dict)  # snapshot -> files of its shards
    members: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    orders: Suppressions = field(default_factory=Suppressions)

    @property
    def documents(self) -> int:
        return sum(part.rows for part in self.parts)

    def read(self, path: str, columns: Sequence[str]) -> pa.Table:
        """Columns of one file; a signal that was never computed is an error to act on."""
        try:
            file = pq.ParquetFile(self.store.local(path))
            stored = set(file.schema_arrow.names)  # the schema is rebuilt at every access
            absent = [name for name in columns if name not in stored]
            if absent:
                raise RecipeError(
                    f"{self.title} has no signal {absent[0]!r}; only stored columns are "
                    "available. Add its family to the recipe, then `corpus build`"
                )
            return file.read(list(columns))
        except pa.ArrowException as error:
            raise CorruptArtifact(f"{path} is not readable Parquet: {error}") from error

    def batches(
        self, columns: Sequence[str], snapshots: Sequence[str] | None = None
    ) -> Iterator[tuple[list[PartFiles], pa.Table]]:
        """Parts in the order of the recipe, about a million rows at once, with `domain`, ids and tie
        keys."""
        held: list[PartFiles] = []
        for part in self.parts:
            if snapshots is not None and part.snapshot not in snapshots:
                continue
            held.append(part)
            if sum(p.rows for p in held) >= BATCH_ROWS:
                yield held, self._table(held, columns)
                held = []
        if held:
            yield held, self._table(held, columns)

    def _table(self, parts: Sequence[PartFiles], columns: Sequence[str]) -> pa.Table:
        tables = []
        for part in parts:
            table = self.read(part.signals, list(dict.fromkeys(["doc_id", *columns])))
            tables.append(as_judged(table, part.domain, part.tier, self.recipe.seed))
        return pa.concat_tables(tables)

    def resolve(self, recipe: Recipe) -> Cutoffs:
        """Compute the cutoffs that a build of another recipe would resolve from these documents."""
        settings = recipe.selection
        if not settings.cutoffs and settings.tiers is None:
            return {}
        wanted = recipe.calibration_snapshots
        known = {part.snapshot for part in self.parts}
        absent = [name for name in wanted if name not in known]
        if absent:
            raise MissingInput(
                f"cutoffs are resolved on {absent[0]}, which {self.title} does not have; keep its "
                "cutoffs with --pin-cutoffs, or build the recipe first"
            )
        names = [name for name in settings.signals() if name in recipe.signals.columns()]
        return resolve_cutoffs((t for _, t in self.batches(names, wanted)), settings)


def open_version(home: Home, version: str | None) -> tuple[Registry, VersionColumns]:
    """Return the registry and the columns of a live version."""
    registry = Registry(home.catalog_url, home.catalog_busy_s, home.root)
    store = open_store(home.store_url)
    expect_book(registry, store)
    row = registry.version(version)
    if row.status != "live":
        raise CorpusError(
            f"version {row.name} is {row.status}; `catalog versions` shows its replacement"
        )
    orders = Suppressions.from_rows((order.kind, order.value) for order in registry.suppressions())
    return registry, columns_of_version(registry, store, row, orders)


def open_columns(
    home: Home, recipe: str, name: str, version: str | None, overrides: Mapping[str, Any]
) -> VersionColumns:
    """Open the version asked for, else the newest of the recipe's name, else the recipe itself,
    changed by `overrides`."""
    if version is None:
        registry = Registry(home.catalog_url, home.catalog_busy_s, home.root)
        live = [row for row in registry.versions() if row.status == "live"]
        named = [row for row in live if registry.recipe(row.recipe_digest).name == name]
        if not named:
            from corpus_assets.session import open_session  # all of the graph, and rarely asked

            with open_session(recipe, home, overrides=overrides) as session:
                return columns_of_recipe(session.pipeline)
        version = named[-1].name
    return open_version(home, version)[1]


def columns_of_version(
    registry: Registry, store: Store, row: VersionRow, orders: Suppressions
) -> VersionColumns:
    """Open the columns of a published version."""
    recipe, _ = load_published_recipe(store, row.recipe_digest)
    pins = published_pins(store, row)
    cutoffs = parse_cutoffs(json.loads(read_output(store, pins["quality_cutoffs"])))
    files: dict[tuple[str, int], dict[str, str]] = {}
    rows: dict[tuple[str, int], int] = {}
    spans: dict[str, list[str]] = {}
    members: dict[str, list[tuple[int, str]]] = {}
    for file in registry.lineage_files(row.name):
        if file.table_name == "spans":
            spans.setdefault(file.snapshot, []).append(file.path)
        elif file.table_name == "cluster_members":
            members.setdefault(file.snapshot, []).append((file.part or 0, file.path))
        else:
            place = (file.snapshot, file.part or 0)
            files.setdefault(place, {})[file.table_name] = file.path
            if file.table_name == "signals":
                rows[place] = file.rows
    rank = {name: i for i, name in enumerate(recipe.snapshots)}
    parts = [
        PartFiles(
            snapshot,
            part,
            recipe.source_of(snapshot).domain,
            recipe.source_of(snapshot).tier_of(snapshot),
            tables["signals"],
            rows[snapshot, part],
            tables["records"],
            tables["documents"],
            tables["final_text"],
            tables["decisions"],
        )
        for (snapshot, part), tables in sorted(
            files.items(), key=lambda item: (rank[item[0][0]], item[0][1])
        )
    ]
    ruling = Ruling(recipe.selection, cutoffs)
    title = f"version {row.name}"
    return VersionColumns(title, recipe, ruling, store, parts, spans, members, orders)


def columns_of_recipe(pipeline: "Pipeline") -> VersionColumns:
    """Open the columns of a recipe that has signals and no version; else MissingInput."""
    recipe = pipeline.recipe
    parts = [
        PartFiles(
            snapshot,
            part,
            recipe.source_of(snapshot).domain,
            recipe.source_of(snapshot).tier_of(snapshot),
            result.outputs[files.SIGNALS].path,
            result.outputs[files.SIGNALS].rows,
            ingested.outputs[files.RECORDS].path,
            ingested.outputs[files.DOCUMENTS].path,
        )
        for snapshot in recipe.snapshots
        for part, (result, ingested) in enumerate(
            zip(
                pipeline.results("signals", snapshot),
                pipeline.results("documents", snapshot),
                strict=True,
            )
        )
    ]
    found = VersionColumns(
        f"recipe {recipe.name}", recipe, Ruling(recipe.selection, {}), pipeline.store, parts
    )
    found.orders = pipeline.suppressions
    try:
        resolved = read_output(pipeline.store, pipeline.calibration(files.CUTOFFS))
        cutoffs = parse_cutoffs(json.loads(resolved))
    except MissingInput:
        cutoffs = found.resolve(recipe)
    found.ruling = Ruling(recipe.selection, cutoffs)
    return found


def draw_order(keys: Keys, seed: int) -> Keys:
    """Compute a keyed order of documents: the smallest come first in samples (splitmix64)."""
    key = np.uint64(int(digest({"draw": seed})[:16], 16))
    with np.errstate(over="ignore"):
        order: Keys = mix_all((keys ^ key) + GOLDEN)
    return order
