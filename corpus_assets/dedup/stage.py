"""The stages of deduplication: signatures of every document, then clusters over a window."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core import files
from corpus_assets.core.each import Each
from corpus_assets.core.earlier import known_rows
from corpus_assets.core.stage import File, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import LOOKUP_ROWS, Task, TaskContext, count, part_label, values
from corpus_assets.dedup import clusters, signatures
from corpus_assets.dedup.candidate_keys import CandidateKeys, pack_candidate_keys
from corpus_assets.dedup.clusters import MEMBERS, REASONS, ClusterSettings
from corpus_assets.dedup.signatures import (
    Signatures,
    SignatureSettings,
    compute_signatures,
    parse_sketches,
    sketch_bytes,
)
from corpus_assets.dedup.window import WindowClusters, cluster_window

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline
    from corpus_assets.recipe.recipe import Recipe


SIGNED_FILES = (files.SIGNALS, files.SIGNATURES, files.CANDIDATE_KEYS, files.SKETCHES)

CLUSTER_KEYS = ["url_key", "text_id", "fetched_at"]


def plan_signatures(graph: "Pipeline", snapshot: str) -> Sequence[Task]:
    settings = graph.recipe.signatures.identity()
    return Each(
        lambda i, documents: SIGNATURES.task(
            settings, {"documents": documents}, label=part_label(snapshot, i)
        ),
        graph.parts(files.DOCUMENTS, snapshot),
    )


def run_signatures(context: TaskContext) -> None:
    signed = _known_signatures(context)
    if signed is None:
        table = context.table("documents", ["doc_id", *CLUSTER_KEYS, "text"])
        signed = compute_signatures(table, context.settings(SignatureSettings))
        keys = [(name, table[name]) for name in CLUSTER_KEYS]
        signed = replace(signed, table=with_columns(signed.table, keys))
    context.write_table(files.SIGNATURES, signed.table)
    context.write_bytes(files.CANDIDATE_KEYS, pack_candidate_keys(signed.table, signed.band_keys))
    context.write_bytes(files.SKETCHES, sketch_bytes(signed.sketches), signed.table.num_rows)
    count(context, signed.table.num_rows, signed.table.num_rows)


def _known_signatures(context: TaskContext) -> Signatures | None:
    """Signatures of a part that documents left, taken over row by row; None where they must be
    computed."""
    known = known_rows(context)
    if known is None:
        return None
    earlier, rows = known
    places = np.array(rows, np.int64)
    return Signatures(
        earlier.output(files.SIGNATURES).take(pa.array(places)),
        CandidateKeys.open(earlier.path(files.CANDIDATE_KEYS)).band_keys()[places],
        parse_sketches(earlier.content(files.SKETCHES))[places],
    )


def plan_clusters(graph: "Pipeline", snapshot: str) -> list[Task]:
    window = window_of(graph.recipe, snapshot)
    return [_window_task(graph, CLUSTERS, window, files.SELECTION)]


def plan_survivor_clusters(graph: "Pipeline", snapshot: str) -> list[Task]:
    """Plan the copies among documents that cutoffs are resolved from, where a cutoff asks which of
    them are distinct."""
    is_asked = graph.recipe.selection.rules_before_distinct is not None
    if not is_asked or not graph.learns_from(files.CUTOFFS, snapshot):
        return []
    known = graph.recipe.calibration_snapshots
    window = [name for name in window_of(graph.recipe, snapshot) if name in known]
    return [_window_task(graph, SURVIVOR_CLUSTERS, window, files.SURVIVORS)]


def _window_task(graph: "Pipeline", stage: Stage, window: Sequence[str], kept: File) -> Task:
    inputs: dict[str, Output] = {}
    for name in window:
        for file in (*SIGNED_FILES, kept):
            key = "selection" if file is kept else file.partition(".")[0]
            for i, output in enumerate(graph.parts(file, name)):
                inputs[f"{name}/{i:05d}/{key}"] = output
    settings = {
        "clusters": graph.recipe.clusters.identity(),
        "signatures": graph.recipe.signatures.identity(),
        "window": list(window),
        "parts": len(graph.parts(files.SIGNATURES, window[-1])),
    }
    return stage.task(settings, inputs, label=window[-1])


def window_of(recipe: "Recipe", snapshot: str) -> Sequence[str]:
    """Return the snapshots whose documents a snapshot is compared with, first in rank first.

    Rank is the order in the recipe; a snapshot itself is always the last of its window.
    """
    scope = recipe.clusters.scope
    place = recipe.snapshots.index(snapshot)
    before = {"per_snapshot": 0, "all": place}[scope] if isinstance(scope, str) else scope.rolling
    return recipe.snapshots[max(0, place - before) : place + 1]


def run_clusters(context: TaskContext) -> None:
    dropped: Counter[str] = Counter()
    with _window_clusters(context) as found:
        for part, rows in found.parts():
            context.write_table(files.MEMBERS.numbered(part), rows, LOOKUP_ROWS)
            lost = rows.filter(pc.invert(rows["kept"]))
            dropped.update(REASONS[kind] for kind in values(lost["kind"]))
    count(context, found.n_documents, found.n_documents - dropped.total(), dropped)
    context.notes["clusters"] = found.n_clusters


def run_survivor_clusters(context: TaskContext) -> None:
    with _window_clusters(context) as found:
        for part, rows in found.parts():
            context.write_table(files.SURVIVOR_MEMBERS.numbered(part), rows)
    count(context, found.n_documents, found.n_documents)


def _window_clusters(context: TaskContext) -> WindowClusters:
    return cluster_window(
        stored_parts(context),
        context.task.settings["window"],
        context.settings(ClusterSettings, "clusters"),
        context.settings(SignatureSettings, "signatures"),
    )


def with_columns(table: pa.Table, columns: Sequence[tuple[str, pa.ChunkedArray]]) -> pa.Table:
    for name, column in columns:
        table = table.append_column(name, column)
    return table


def stored_parts(context: TaskContext) -> list["StoredPart"]:
    """Return the parts of a clusters task's window, by rank and number."""
    parts = []
    for rank, snapshot in enumerate(context.task.settings["window"]):
        for name in context.names(f"{snapshot}/"):
            if name.endswith("/signatures"):
                parts.append(StoredPart(context, name.removesuffix("/signatures"), rank))
    return parts


class StoredPart:
    """A part as `cluster_window` asks for it. Files are checked against their hashes whenever
    they are read; candidate keys, which are read in slices, the first time."""

    def __init__(self, context: TaskContext, prefix: str, rank: int) -> None:
        self.rank = rank
        self.number = int(prefix.rpartition("/")[2])
        self.n_rows = context.task.inputs[f"{prefix}/signatures"].rows
        self._context = context
        self._prefix = prefix
        self._keys_path: Path | None = None

    def kept(self) -> npt.NDArray[np.bool_]:
        chosen = self._context.table(f"{self._prefix}/selection", ["kept"])
        return np.asarray(chosen["kept"].to_numpy(), dtype=np.bool_)

    def candidate_keys(self) -> CandidateKeys:
        if self._keys_path is None:
            self._keys_path = self._context.path(f"{self._prefix}/ties")
        return CandidateKeys.open(self._keys_path)

    def members(self) -> pa.Table:
        table = self._context.table(f"{self._prefix}/signatures")
        scores = self._scores()
        n = table.num_rows
        columns = {
            "snapshot_rank": pa.repeat(pa.scalar(self.rank, pa.int32()), n),
            "part": pa.repeat(pa.scalar(self.number, pa.int32()), n),
            "row": pa.array(np.arange(n, dtype=np.int32)),
            "n_chars": scores["n_chars"].cast(pa.int64()),
            "quality": (
                scores["quality_score"].cast(pa.float32())
                if "quality_score" in scores.column_names
                else pa.nulls(n, pa.float32())
            ),
        }
        return with_columns(table, list(columns.items())).select(MEMBERS.names)

    def _scores(self) -> pa.Table:
        """Return the two signals that a policy may ask for, and none of the many others."""
        data = self._context.content(f"{self._prefix}/signals")
        file = pq.ParquetFile(pa.BufferReader(data))
        wanted = ("n_chars", "quality_score")
        columns = [name for name in wanted if name in file.schema_arrow.names]
        return file.read(columns=columns, use_threads=False)

    def sketches(self) -> npt.NDArray[np.uint8]:
        return parse_sketches(self._context.content(f"{self._prefix}/sketches"))


SIGNATURES = Stage(
    "signatures",
    signatures.VERSION,
    Scope.PART,
    plan_signatures,
    run_signatures,
    about="Exact keys and MinHash signatures of every document.",
    reads=(files.DOCUMENTS,),
    writes=(files.SIGNATURES, files.CANDIDATE_KEYS, files.SKETCHES),
    fed_by=("documents", "documents_out"),
    by_row=frozenset({"documents"}),
)

CLUSTERS = Stage(
    "clusters",
    clusters.VERSION,
    Scope.SNAPSHOT,
    plan_clusters,
    run_clusters,
    about="Duplicates by capture, URL, exact text and near text; one member of each cluster is "
    "kept.",
    reads_all=(*SIGNED_FILES, files.SELECTION),
    writes=(files.MEMBERS,),
    drops=tuple(REASONS.values()),
    fed_by=("selection", "documents_out"),
)

SURVIVOR_CLUSTERS = Stage(
    "survivor_clusters",
    clusters.VERSION,
    Scope.SNAPSHOT,
    plan_survivor_clusters,
    run_survivor_clusters,
    asset="quality_cutoffs",
    reads_all=(*SIGNED_FILES, files.SURVIVORS),
    writes=(files.SURVIVOR_MEMBERS,),
)
