"""What cleaning reads of the stages before it: which documents they drop, which text they rewrite.

Every stage of this room works on the documents that are left, and finds here which those are.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from corpus_assets.clean.planner import CleanPlanner
from corpus_assets.clean.rewriting import Left
from corpus_assets.core import files
from corpus_assets.core.decisions import Drop
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.store import Output
from corpus_assets.core.task import TaskContext
from corpus_assets.decontam import PartVerdicts, part_verdicts, verdict_inputs
from corpus_assets.dedup import REASONS
from corpus_assets.signals import SignalSettings, TextStep, with_listed_entries

UPSTREAM_FILES = (
    files.DOCUMENTS,
    files.SELECTION,
    files.MEMBERS,
    files.HITS,
    files.COMMON_ITEMS,
    files.JUDGEMENTS,
)
"""What `upstream_inputs` reads."""

KEPT_KEYS = (
    "documents",
    "signals",
    "selection",
    "signatures",
    "clusters",
    "eval_suites",
    "eval_index",
    "contamination",
    "clean_text",
)
"""Keys of the recipe that say which documents are left and what is counted over them. A line that
one document keeps for all must not be cut where another threshold drops that document."""


def upstream_inputs(pipeline: CleanPlanner, snapshot: str) -> Sequence[dict[str, Output]]:
    """Return what says, for each part, which of its documents the stages before cleaning drop."""
    return LazySequence(
        lambda _, selected, members, hits: {"selection": selected, "members": members} | hits,
        pipeline.parts(files.SELECTION, snapshot),
        files.MEMBERS.of_parts(pipeline.results(files.MEMBERS.stage, snapshot)),
        verdict_inputs(pipeline, snapshot),
    )


def step_settings(pipeline: CleanPlanner) -> dict[str, Any]:
    """Return the families that rewrite text before it is cleaned."""
    listed = with_listed_entries(pipeline)
    steps = listed.only(listed.text_steps())
    if not steps.families:
        return {}
    return {"steps": steps.model_dump(mode="json"), "step_versions": steps.identity()}


def text_steps(context: TaskContext) -> tuple[TextStep, ...]:
    """Return the families of the task that rewrite text."""
    has_steps = "steps" in context.task.settings
    return context.settings(SignalSettings, "steps").text_steps() if has_steps else ()


def with_texts(table: pa.Table, left: Sequence[Left]) -> pa.Table:
    """Ids and times of documents with what is left of their texts."""
    texts = pa.array([one.text for one in left], pa.large_string())
    return table.select(["doc_id", "fetched_at"]).append_column("text", texts)


def cluster_keepers(context: TaskContext, chosen: pa.Table) -> dict[int, bytes]:
    """Rows that go as duplicates, each with the id of the document that its cluster keeps. One that
    the selection drops goes for that."""
    reasons = chosen["reason"].to_pylist()
    members = context.table("members", ["row", "kept", "kept_doc_id"]).to_pylist()
    return {
        member["row"]: member["kept_doc_id"]
        for member in members
        if not member["kept"] and reasons[member["row"]] is None
    }


def drops_before_cleaning(
    context: TaskContext, chosen: pa.Table, hits: PartVerdicts | None = None
) -> dict[int, Drop]:
    """Rows that an earlier stage dropped; the first stage of the graph wins."""
    drops = dict((hits or part_verdicts(context)).drops)
    for member in context.table("members").to_pylist():
        if not member["kept"]:
            detail = f"{member['kind']} of {member['kept_doc_id'].hex()}"
            drops[member["row"]] = Drop(files.MEMBERS.stage, REASONS[member["kind"]], detail)
    for row, reason in enumerate(chosen["reason"].to_pylist()):
        if reason is not None:
            drops[row] = Drop(files.SELECTION.stage, reason)
    return drops
