"""The stages of selection: cutoffs over the calibration snapshots, then keep or drop."""

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from corpus_assets.core import files
from corpus_assets.core.schemas import LABELS
from corpus_assets.core.stage import Calibration, File, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, count, part_label, values
from corpus_assets.select import selection
from corpus_assets.select.columns import SOURCE_TIER, Columns, failures, with_source
from corpus_assets.select.groups import GroupBy, group_labels
from corpus_assets.select.losses import NOTE, language_losses
from corpus_assets.select.rules import Rule, SelectionSettings
from corpus_assets.select.selection import bounded_tiers, resolve_cutoffs, select

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline

GROUP_BY = TypeAdapter[GroupBy](GroupBy)


def plan_survivors(graph: "Pipeline", snapshot: str) -> list[Task]:
    """Plan nothing unless a cutoff is among distinct survivors."""
    rules = graph.recipe.selection.rules_before_distinct
    if rules is None or not graph.learns_from(files.CUTOFFS, snapshot):
        return []
    return _plan(graph, snapshot, SURVIVORS, files.SIGNALS, rules)


def run_survivors(context: TaskContext) -> None:
    context.write_table(files.SURVIVORS, _survivors(context))


def plan_score_survivors(graph: "Pipeline", snapshot: str) -> list[Task]:
    """Plan nothing unless an ensemble ranks scores among survivors."""
    ensemble = graph.recipe.signals.ensemble
    if ensemble is None or ensemble.among == "all":
        return []
    if not graph.learns_from(files.SCORE_RANKS, snapshot):
        return []
    rules = graph.recipe.selection.rules_before(graph.recipe.signals.ranked_columns())
    return _plan(graph, snapshot, SCORE_SURVIVORS, files.SCORE_SAMPLE, rules)


def run_score_survivors(context: TaskContext) -> None:
    context.write_table(files.SCORE_SURVIVORS, _survivors(context))


def _plan(
    graph: "Pipeline", snapshot: str, stage: Stage, signals: File, rules: tuple[Rule, ...]
) -> list[Task]:
    """Ask some rules of every part of a file with signals."""
    settings = _rules_and_source(graph, snapshot, rules)
    return [
        stage.task(settings, {"signals": part}, label=part_label(snapshot, i))
        for i, part in enumerate(graph.parts(signals, snapshot))
    ]


def _rules_and_source(graph: "Pipeline", snapshot: str, rules: tuple[Rule, ...]) -> dict[str, Any]:
    """Return some rules, and what they may ask of a snapshot's documents besides signals."""
    chosen = SelectionSettings(rules=rules)
    if not chosen.asks_for_tiers:
        domain = graph.recipe.source_of(snapshot).domain
        return {"selection": chosen.identity(), "domain": domain}
    chosen = chosen.model_copy(update={"tiers": graph.recipe.selection.tiers})
    return {"selection": chosen.identity()} | _source(graph, snapshot)


def _source(graph: "Pipeline", snapshot: str) -> dict[str, str]:
    """Return what documents have from their source, as `with_source` adds it."""
    source = graph.recipe.source_of(snapshot)
    tier = source.tier_of(snapshot)
    return {"domain": source.domain} | ({SOURCE_TIER: tier} if tier is not None else {})


def _survivors(context: TaskContext) -> pa.Table:
    """Say of each row of signals whether it passes the task's rules."""
    signals = context.table("signals")
    said, settings = context.task.settings, context.settings(SelectionSettings, "selection")
    columns = Columns(with_source(signals, said["domain"], said.get(SOURCE_TIER)))
    failed = failures(columns, settings, bounded_tiers(settings))
    count(context, signals.num_rows, signals.num_rows)
    return pa.table({"kept": ~failed.any(axis=0)})


def plan_cutoffs(graph: "Pipeline") -> list[Task]:
    inputs: dict[str, Output] = {}
    is_distinct = graph.recipe.selection.rules_before_distinct is not None
    for snapshot in graph.recipe.calibration_snapshots:
        domain = graph.recipe.source_of(snapshot).domain
        for i, signals in enumerate(graph.parts(files.SIGNALS, snapshot)):
            inputs[f"signals/{domain}/{snapshot}/{i:05d}"] = signals
        for clusters in (
            graph.results(files.SURVIVOR_MEMBERS.stage, snapshot) if is_distinct else ()
        ):
            for i in range(len(clusters.outputs)):
                members = clusters.outputs[files.SURVIVOR_MEMBERS.numbered(i)]
                inputs[f"members/{domain}/{snapshot}/{i:05d}"] = members
    settings = graph.recipe.selection.identity()
    given = {
        snapshot: graph.recipe.source_of(snapshot).tier_of(snapshot)
        for snapshot in graph.recipe.calibration_snapshots
    }
    given = {snapshot: tier for snapshot, tier in given.items() if tier is not None}
    if given and graph.recipe.selection.asks_for_tiers:
        settings["ungraded"] = given
    elif given and graph.recipe.selection.tiers is not None:  # which tier, makes no difference
        settings["ungraded"] = dict.fromkeys(given, "given")
    return [QUALITY_CUTOFFS.task(settings, inputs)]


def run_cutoffs(context: TaskContext) -> None:
    said = dict(context.task.settings)
    ungraded = said.pop("ungraded", {})
    settings = SelectionSettings.model_validate(said)
    is_distinct = settings.rules_before_distinct is not None
    tables, distinct = [], [np.zeros(0, np.bool_)]
    for name in context.names("signals/"):
        table = context.table(name)
        _, domain, snapshot, _ = name.split("/")
        tables.append(with_source(table, domain, ungraded.get(snapshot)))
        if is_distinct:
            members = context.table(f"members/{name.partition('/')[2]}", ["row", "kept"])
            copies = members.filter(pc.invert(members["kept"]))
            distinct.append(np.ones(table.num_rows, np.bool_))
            distinct[-1][copies["row"].to_numpy()] = False
    cutoffs = resolve_cutoffs(tables, settings, np.concatenate(distinct) if is_distinct else None)
    context.write_bytes(files.CUTOFFS, json.dumps(cutoffs, sort_keys=True, indent=1).encode())
    context.notes["cutoffs"] = cutoffs


def plan_selection(graph: "Pipeline", snapshot: str) -> list[Task]:
    cutoffs = graph.calibration(files.CUTOFFS)
    settings = {"selection": graph.recipe.selection.identity()} | _source(graph, snapshot)
    group_by = graph.recipe.shards.identity().get("group_by")
    settings |= {"group_by": group_by} if group_by else {}
    return [
        SELECTION.task(
            settings, {"signals": signals, "cutoffs": cutoffs}, label=part_label(snapshot, i)
        )
        for i, signals in enumerate(graph.parts(files.SIGNALS, snapshot))
    ]


def run_selection(context: TaskContext) -> None:
    computed = context.table("signals")
    said = context.task.settings
    keys = with_source(computed.select(["doc_id"]), said["domain"], said.get(SOURCE_TIER))
    settings = context.settings(SelectionSettings, "selection")
    chosen = select(keys, computed, settings, context.json("cutoffs"))
    if "group_by" in said:
        labels = group_labels(computed, GROUP_BY.validate_python(said["group_by"]))
        chosen = chosen.append_column(LABELS, pc.if_else(chosen["kept"], labels, None))
    context.write_table(files.SELECTION, chosen)
    kept = pc.sum(chosen["kept"]).as_py() or 0
    count(context, chosen.num_rows, kept, Counter(values(chosen["reason"])))
    columns = Columns(with_source(computed, said["domain"], said.get(SOURCE_TIER)))
    about = {
        rule.name: columns.concerns(rule, settings, context.json("cutoffs"))
        for rule in settings.rules
        if rule.where is not None
    }
    context.notes[NOTE] = language_losses(chosen, settings, about)


SURVIVORS = Stage(
    "survivors",
    selection.VERSION,
    Scope.PART,
    plan_survivors,
    run_survivors,
    asset="quality_cutoffs",
    reads=(files.SIGNALS,),
    writes=(files.SURVIVORS,),
)

SCORE_SURVIVORS = Stage(
    "score_survivors",
    selection.VERSION,
    Scope.PART,
    plan_score_survivors,
    run_score_survivors,
    asset="score_ranks",
    reads=(files.SCORE_SAMPLE,),
    writes=(files.SCORE_SURVIVORS,),
)

QUALITY_CUTOFFS = Stage(
    "quality_cutoffs",
    selection.VERSION,
    Scope.ALL,
    plan_cutoffs,
    run_cutoffs,
    about="Score cutoffs and tier bounds per language, resolved from the calibration snapshots.",
    reads_all=(files.SIGNALS, files.SURVIVOR_MEMBERS),
    writes=(files.CUTOFFS,),
    calibration=Calibration(
        files.CUTOFFS,
        "quantiles of scores over many documents; no text",
        lambda graph: {"quality_cutoffs": graph.calibration(files.CUTOFFS)},
        asks=("selection.cutoffs", "selection.tiers", "sources.tier", "signals", "calibrate_on"),
        follows=("classifiers", "perplexity_models", "score_ranks"),
    ),
)

SELECTION = Stage(
    "selection",
    selection.VERSION,
    Scope.PART,
    plan_selection,
    run_selection,
    about="Keep or drop by the recipe's thresholds over the signals; the first failing rule is the "
    "reason, all failing rules are kept.",
    reads=(files.SIGNALS, files.CUTOFFS),
    writes=(files.SELECTION,),
    drops=("*",),  # the rule that failed first
    fed_by=("signals", "documents_out"),
)
