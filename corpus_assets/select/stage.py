"""The stages of selection: cutoffs over the calibration snapshots, then keep or drop."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from corpus_assets.core import files
from corpus_assets.core.schemas import LABELS
from corpus_assets.core.shuffle import Gather, Tables
from corpus_assets.core.stage import Calibration, part_stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import TaskContext, count, values
from corpus_assets.select import selection
from corpus_assets.select.columns import (
    SOURCE_TIER,
    Columns,
    failures,
    with_source,
    with_tie_keys,
)
from corpus_assets.select.group_labels import group_labels
from corpus_assets.select.groups import GroupBy
from corpus_assets.select.losses import LOSSES_NOTE, RULES, language_losses, rule_counts
from corpus_assets.select.planner import SelectPlanner
from corpus_assets.select.rules import Rule, SelectionSettings
from corpus_assets.select.selection import (
    bounded_tiers,
    dropped_shares,
    parse_cutoffs,
    plain_cutoffs,
    resolve_cutoffs,
    select,
)
from corpus_assets.select.shares import SHARES

GROUP_BY = TypeAdapter[GroupBy](GroupBy)


def _asks_survivors(pipeline: SelectPlanner, snapshot: str) -> bool:
    """Say whether a cutoff is among distinct survivors."""
    is_asked = pipeline.recipe.selection.rules_before_distinct is not None
    return is_asked and pipeline.learns_from(files.CUTOFFS, snapshot)


def _survivor_rules(pipeline: SelectPlanner, snapshot: str) -> dict[str, Any]:
    rules = pipeline.recipe.selection.rules_before_distinct
    return _rules_and_source(pipeline, snapshot, rules or ())


def _asks_score_survivors(pipeline: SelectPlanner, snapshot: str) -> bool:
    """Say whether an ensemble ranks scores among survivors."""
    ensemble = pipeline.recipe.signals.ensemble
    is_asked = ensemble is not None and ensemble.among != "all"
    return is_asked and pipeline.learns_from(files.SCORE_RANKS, snapshot)


def _score_survivor_rules(pipeline: SelectPlanner, snapshot: str) -> dict[str, Any]:
    ranked = pipeline.recipe.signals.ranked_columns()
    return _rules_and_source(pipeline, snapshot, pipeline.recipe.selection.rules_before(ranked))


def _rules_and_source(
    pipeline: SelectPlanner, snapshot: str, rules: tuple[Rule, ...]
) -> dict[str, Any]:
    """Return some rules, and what they may ask of a snapshot's documents besides signals."""
    chosen = SelectionSettings(rules=rules)
    if not chosen.asks_for_tiers:
        domain = pipeline.recipe.source_of(snapshot).domain
        return {"selection": chosen.identity(), "domain": domain}
    chosen = chosen.model_copy(update={"tiers": pipeline.recipe.selection.tiers})
    return {"selection": chosen.identity()} | _source(pipeline, snapshot)


def _source(pipeline: SelectPlanner, snapshot: str) -> dict[str, str]:
    """Return what documents have from their source, as `with_source` adds it."""
    source = pipeline.recipe.source_of(snapshot)
    tier = source.tier_of(snapshot)
    return {"domain": source.domain} | ({SOURCE_TIER: tier} if tier is not None else {})


def run_survivors(context: TaskContext) -> None:
    context.write_table(files.SURVIVORS, _survivors(context))


def run_score_survivors(context: TaskContext) -> None:
    context.write_table(files.SCORE_SURVIVORS, _survivors(context))


def _survivors(context: TaskContext) -> pa.Table:
    """Say of each row of signals whether it passes the task's rules."""
    signals = context.table("signals")
    task_settings, settings = (
        context.task.settings,
        context.settings(SelectionSettings, "selection"),
    )
    columns = Columns(with_source(signals, task_settings["domain"], task_settings.get(SOURCE_TIER)))
    failed = failures(columns, settings, bounded_tiers(settings))
    count(context, signals.num_rows, signals.num_rows)
    return pa.table({"kept": ~failed.any(axis=0)})


CUTOFF_ROWS = 1 << 26
"""Documents that cutoffs are resolved from, about, where there are more: those whose ids, which are
hashes, come first. A share of so many is known to a few parts in a hundred thousand."""


def _cutoff_parts(pipeline: SelectPlanner, snapshot: str) -> dict[str, Sequence[Output]]:
    parts: dict[str, Sequence[Output]] = {"signals": pipeline.parts(files.SIGNALS, snapshot)}
    if pipeline.recipe.selection.rules_before_distinct is not None:
        listed = pipeline.results(files.SURVIVOR_MEMBERS.stage, snapshot)
        parts["members"] = files.SURVIVOR_MEMBERS.of_parts(listed)
    return parts


def _cutoff_settings(pipeline: SelectPlanner, snapshots: Sequence[str]) -> dict[str, Any]:
    """Return what says which rows of these snapshots cutoffs are resolved from."""
    ungraded = _ungraded(pipeline)
    sources = {
        snapshot: {
            "domain": pipeline.recipe.source_of(snapshot).domain,
            "tier": ungraded.get(snapshot),
        }
        for snapshot in snapshots
    }
    settings = {"columns": sorted(pipeline.recipe.selection.signals()), "sources": sources}
    return settings | _share(pipeline) | _seed(pipeline)


def _ungraded(pipeline: SelectPlanner) -> dict[str, str]:
    """Return the tiers that sources say, by calibration snapshot; which tier it is, makes a
    difference only where rules ask for it."""
    given = {
        snapshot: pipeline.recipe.source_of(snapshot).tier_of(snapshot)
        for snapshot in pipeline.recipe.calibration_snapshots
    }
    tiers = {snapshot: tier for snapshot, tier in given.items() if tier is not None}
    if pipeline.recipe.selection.asks_for_tiers:
        return tiers
    return dict.fromkeys(tiers, "given") if pipeline.recipe.selection.tiers is not None else {}


def _share(pipeline: SelectPlanner) -> dict[str, float]:
    """Return the share of documents that cutoffs are resolved from, where it is not all."""
    rows = sum(
        signals.rows
        for snapshot in pipeline.recipe.calibration_snapshots
        for signals in pipeline.parts(files.SIGNALS, snapshot)
    )
    return {"share": CUTOFF_ROWS / rows} if rows > CUTOFF_ROWS else {}


def _seed(pipeline: SelectPlanner) -> dict[str, int]:
    """Return what tie keys are drawn with, where the recipe asks for shares."""
    return {"seed": pipeline.recipe.seed} if pipeline.recipe.selection.asks_for_shares else {}


def _cutoff_rows(context: TaskContext, snapshot: str, part: str) -> pa.Table:
    """Return some signals of a part's documents that cutoffs are resolved from, with what they have
    from their source, their tie keys and, where it is asked, whether each is the one that is kept
    of its copies."""
    settings = context.task.settings
    source = settings["sources"][snapshot]
    table = context.table(f"{part}signals")
    ids = table["doc_id"].combine_chunks()
    known = [name for name in settings["columns"] if name in table.schema.names]
    table = table.select(["doc_id", *known])
    if "seed" in settings:
        table = with_tie_keys(table, settings["seed"])
    table = with_source(table.drop_columns("doc_id"), source["domain"], source["tier"])
    if context.has(f"{part}members"):
        copies = context.table(f"{part}members", ["row", "kept"])
        copies = copies.filter(pc.invert(copies["kept"]))
        distinct = np.ones(table.num_rows, np.bool_)
        distinct[copies["row"].to_numpy()] = False
        table = table.append_column("distinct", pa.array(distinct))
    if "share" not in settings:
        return table
    heads = np.frombuffer(ids.buffers()[1], ">u8", 2 * len(ids), 16 * ids.offset)[::2]
    return table.filter(pa.array(heads < np.uint64(settings["share"] * 2.0**64)))


def _resolve_cutoffs(context: TaskContext, rows: Tables) -> None:
    settings = context.settings(SelectionSettings, "selection")
    tables = list(rows)
    distinct = None
    if settings.rules_before_distinct is not None:
        held = [table["distinct"].to_numpy() for table in tables]
        distinct = np.concatenate([np.zeros(0, np.bool_), *held])
    plain = plain_cutoffs(resolve_cutoffs(tables, settings, distinct))
    context.write_bytes(files.CUTOFFS, json.dumps(plain, sort_keys=True, indent=1).encode())
    context.notes["cutoffs"] = plain


def _selection_settings(pipeline: SelectPlanner, snapshot: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"selection": pipeline.recipe.selection.identity()}
    settings |= _source(pipeline, snapshot) | _seed(pipeline)
    group_by = pipeline.recipe.shards.identity().get("group_by")
    return settings | ({"group_by": group_by} if group_by else {})


def run_selection(context: TaskContext) -> None:
    computed = context.table("signals")
    task_settings = context.task.settings
    if "seed" in task_settings:
        computed = with_tie_keys(computed, task_settings["seed"])
    whole = with_source(computed, task_settings["domain"], task_settings.get(SOURCE_TIER))
    settings, cutoffs = (
        context.settings(SelectionSettings, "selection"),
        parse_cutoffs(context.json("cutoffs")),
    )
    chosen = select(whole, whole, settings, cutoffs)
    if "group_by" in task_settings:
        labels = group_labels(computed, GROUP_BY.validate_python(task_settings["group_by"]))
        chosen = chosen.append_column(LABELS, pc.if_else(chosen["kept"], labels, None))
    context.write_table(files.SELECTION, chosen)
    kept = pc.sum(chosen["kept"]).as_py() or 0
    count(context, chosen.num_rows, kept, Counter(values(chosen["reason"])))
    columns = Columns(whole)
    about = {
        rule.name: columns.concerns(rule, settings, cutoffs)
        for rule in settings.rules
        if rule.where is not None
    }
    context.notes[LOSSES_NOTE] = language_losses(chosen, settings, about)
    context.notes[RULES] = rule_counts(chosen)
    if settings.asks_for_shares:
        context.notes[SHARES] = dropped_shares(columns, settings, cutoffs)


SURVIVORS = part_stage(
    "survivors",
    selection.VERSION,
    run_survivors,
    reads={"signals": files.SIGNALS},
    writes=(files.SURVIVORS,),
    settings=_survivor_rules,
    is_asked=_asks_survivors,
)

SCORE_SURVIVORS = part_stage(
    "score_survivors",
    selection.VERSION,
    run_score_survivors,
    reads={"signals": files.SCORE_SAMPLE},
    writes=(files.SCORE_SURVIVORS,),
    settings=_score_survivor_rules,
    is_asked=_asks_score_survivors,
)

QUALITY_CUTOFFS = Gather(
    files.CUTOFFS,
    _cutoff_parts,
    _cutoff_rows,
    _resolve_cutoffs,
    version=selection.VERSION,
    reads=(files.SIGNALS, files.SURVIVOR_MEMBERS),
    settings=_cutoff_settings,
    finish_settings=lambda pipeline: {"selection": pipeline.recipe.selection.identity()},
    about="Cutoffs and tier bounds, computed from the calibration snapshots.",
    calibration=Calibration(
        files.CUTOFFS,
        "quantiles of scores over many documents; no text",
        lambda pipeline: {"quality_cutoffs": pipeline.calibration(files.CUTOFFS)},
        asks=(
            "selection.cutoffs",
            "selection.tiers",
            "sources.tier",
            "signals",
            "calibrate_on",
            "seed",
        ),
        follows=("classifiers", "perplexity_models", "score_ranks"),
    ),
)

SELECTION = part_stage(
    "selection",
    selection.VERSION,
    run_selection,
    reads={"signals": files.SIGNALS},
    writes=(files.SELECTION,),
    settings=_selection_settings,
    shared=lambda pipeline, snapshot: {"cutoffs": pipeline.calibration(files.CUTOFFS)},
    reads_shared=(files.CUTOFFS,),
    about="Keeps or drops documents by rules over their signals.",
    drops=("*",),  # the rule that failed first
    fed_by=("signals", "documents_out"),
)
