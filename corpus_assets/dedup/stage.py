"""The stages of deduplication: signatures of every document, then clusters over a window."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core import files
from corpus_assets.core.earlier import known_rows
from corpus_assets.core.exchange import read_ranges
from corpus_assets.core.stage import Scope, Stage, part_stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import LOOKUP_ROWS, Task, TaskContext, count, values
from corpus_assets.dedup import clusters, signatures
from corpus_assets.dedup.candidate_keys import CandidateKeys, pack_candidate_keys
from corpus_assets.dedup.clusters import REASONS
from corpus_assets.dedup.exchange import GroupClusters
from corpus_assets.dedup.exchange_stages import ClusterExchange
from corpus_assets.dedup.parts import SIGNED_FILES, group_parts, stored_parts, with_columns
from corpus_assets.dedup.planner import DedupPlanner, DedupRecipe
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.signatures import (
    Signatures,
    compute_signatures,
    parse_sketches,
    sketch_bytes,
)
from corpus_assets.dedup.window import WindowClusters, cluster_window

CLUSTER_KEYS = ["url_key", "text_id", "fetched_at"]


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
    """Signatures of a part that documents left, reused row by row; None where they must be
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


def plan_clusters(pipeline: DedupPlanner, snapshot: str) -> Sequence[Task]:
    return _plan_window(pipeline, CLUSTERS, CLUSTER_EXCHANGE, snapshot)


def plan_survivor_clusters(pipeline: DedupPlanner, snapshot: str) -> Sequence[Task]:
    return _plan_window(pipeline, SURVIVOR_CLUSTERS, SURVIVOR_EXCHANGE, snapshot)


def _plan_window(
    pipeline: DedupPlanner, stage: Stage, exchange: ClusterExchange, snapshot: str
) -> Sequence[Task]:
    """Plan one task that clusters a window at once, or the last step of an exchange."""
    window = exchange.window(pipeline, snapshot)
    if not window:
        return []
    cut = exchange.layout(pipeline, snapshot)
    if cut is not None:
        return exchange.plan_members(pipeline, snapshot, stage, cut)
    inputs: dict[str, Output] = {}
    for name in window:
        for file in (*SIGNED_FILES, exchange.kept):
            for i, output in enumerate(pipeline.parts(file, name)):
                inputs[f"{name}/{i:05d}/{exchange.kind(file)}"] = output
    settings = {
        "clusters": pipeline.recipe.clusters.identity(),
        "signatures": pipeline.recipe.signatures.identity(),
        "window": list(window),
        "parts": len(pipeline.parts(files.SIGNATURES, window[-1])),
    }
    return [stage.task(settings, inputs, label=snapshot)]


def cluster_window_of(pipeline: DedupPlanner, snapshot: str) -> Sequence[str]:
    return window_of(pipeline.recipe, snapshot)


def survivor_window_of(pipeline: DedupPlanner, snapshot: str) -> Sequence[str]:
    """Return the snapshots whose documents cutoffs are resolved from, where a cutoff asks which of
    them are distinct."""
    is_asked = pipeline.recipe.selection.rules_before_distinct is not None
    if not is_asked or not pipeline.learns_from(files.CUTOFFS, snapshot):
        return []
    known = pipeline.recipe.calibration_snapshots
    return [name for name in window_of(pipeline.recipe, snapshot) if name in known]


def window_of(recipe: DedupRecipe, snapshot: str) -> Sequence[str]:
    """Return the snapshots whose documents a snapshot is compared with, first in rank first.

    Rank is the order in the recipe; a snapshot itself is always the last of its window.
    """
    scope = recipe.clusters.scope
    place = recipe.snapshots.index(snapshot)
    before = {"per_snapshot": 0, "all": place}[scope] if isinstance(scope, str) else scope
    return recipe.snapshots[max(0, place - before) : place + 1]


def run_clusters(context: TaskContext) -> None:
    dropped: Counter[str] = Counter()
    with _found_clusters(context) as found:
        for part, rows in found.parts():
            context.write_table(files.MEMBERS.numbered(part), rows, LOOKUP_ROWS)
            lost = rows.filter(pc.invert(rows["kept"]))
            dropped.update(REASONS[kind] for kind in values(lost["kind"]))
    count(context, found.n_documents, found.n_documents - dropped.total(), dropped)
    context.notes["clusters"] = found.n_clusters


def run_survivor_clusters(context: TaskContext) -> None:
    with _found_clusters(context) as found:
        for part, rows in found.parts():
            context.write_table(files.SURVIVOR_MEMBERS.numbered(part), rows)
    count(context, found.n_documents, found.n_documents)


def _found_clusters(context: TaskContext) -> WindowClusters | GroupClusters:
    """Return what a task found: in a window at once, or at the end of an exchange."""
    if "window" not in context.task.settings:
        snapshot = context.task.settings["snapshot"]
        return GroupClusters(group_parts(context), read_ranges(context), snapshot)
    return cluster_window(
        stored_parts(context),
        context.task.settings["window"],
        context.settings(ClusterSettings, "clusters"),
        context.settings(SignatureSettings, "signatures"),
    )


SIGNATURES = part_stage(
    "signatures",
    signatures.VERSION,
    run_signatures,
    reads={"documents": files.DOCUMENTS},
    writes=(files.SIGNATURES, files.CANDIDATE_KEYS, files.SKETCHES),
    settings=lambda pipeline, snapshot: pipeline.recipe.signatures.identity(),
    about="Exact keys and MinHash signatures of every document.",
    fed_by=("documents", "documents_out"),
    by_row=frozenset({"documents"}),
)

CLUSTER_EXCHANGE = ClusterExchange("cluster", files.SELECTION, cluster_window_of, goes_on=True)
SURVIVOR_EXCHANGE = ClusterExchange("survivor", files.SURVIVORS, survivor_window_of)

CLUSTERS = Stage(
    "clusters",
    clusters.VERSION,
    Scope.SNAPSHOT,
    plan_clusters,
    run_clusters,
    about="Duplicates by capture, URL, exact text and near text; one member of each cluster is kept.",
    reads=CLUSTER_EXCHANGE.reads,
    reads_all=(files.RECORDS, *SIGNED_FILES, files.SELECTION),
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
    reads=SURVIVOR_EXCHANGE.reads,
    reads_all=(files.RECORDS, *SIGNED_FILES, files.SURVIVORS),
    writes=(files.SURVIVOR_MEMBERS,),
)
