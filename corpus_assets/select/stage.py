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
from corpus_assets.core.exchange import plan_groups
from corpus_assets.core.files import File
from corpus_assets.core.schemas import LABELS
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Each, Task, TaskContext, count, part_label, values
from corpus_assets.select import selection
from corpus_assets.select.columns import (
    SOURCE_TIER,
    Columns,
    failures,
    with_source,
    with_tie_keys,
)
from corpus_assets.select.groups import GroupBy, group_labels
from corpus_assets.select.losses import NOTE, RULES, language_losses, rule_counts
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


def plan_survivors(pipeline: SelectPlanner, snapshot: str) -> Sequence[Task]:
    """Plan nothing unless a cutoff is among distinct survivors."""
    rules = pipeline.recipe.selection.rules_before_distinct
    if rules is None or not pipeline.learns_from(files.CUTOFFS, snapshot):
        return []
    return _plan(pipeline, snapshot, SURVIVORS, files.SIGNALS, rules)


def run_survivors(context: TaskContext) -> None:
    context.write_table(files.SURVIVORS, _survivors(context))


def plan_score_survivors(pipeline: SelectPlanner, snapshot: str) -> Sequence[Task]:
    """Plan nothing unless an ensemble ranks scores among survivors."""
    ensemble = pipeline.recipe.signals.ensemble
    if ensemble is None or ensemble.among == "all":
        return []
    if not pipeline.learns_from(files.SCORE_RANKS, snapshot):
        return []
    rules = pipeline.recipe.selection.rules_before(pipeline.recipe.signals.ranked_columns())
    return _plan(pipeline, snapshot, SCORE_SURVIVORS, files.SCORE_SAMPLE, rules)


def run_score_survivors(context: TaskContext) -> None:
    context.write_table(files.SCORE_SURVIVORS, _survivors(context))


def _plan(
    pipeline: SelectPlanner, snapshot: str, stage: Stage, signals: File, rules: tuple[Rule, ...]
) -> Sequence[Task]:
    """Ask some rules of every part of a file with signals."""
    settings = _rules_and_source(pipeline, snapshot, rules)
    return Each(
        lambda i, part: stage.task(settings, {"signals": part}, label=part_label(snapshot, i)),
        pipeline.parts(signals, snapshot),
    )


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


def _survivors(context: TaskContext) -> pa.Table:
    """Say of each row of signals whether it passes the task's rules."""
    signals = context.table("signals")
    said, settings = context.task.settings, context.settings(SelectionSettings, "selection")
    columns = Columns(with_source(signals, said["domain"], said.get(SOURCE_TIER)))
    failed = failures(columns, settings, bounded_tiers(settings))
    count(context, signals.num_rows, signals.num_rows)
    return pa.table({"kept": ~failed.any(axis=0)})


CUTOFF_ROWS = 1 << 26
"""Documents that cutoffs are resolved from, about, where there are more: those whose ids, which are
hashes, come first. A share of so many is known to a few parts in a hundred thousand."""


def plan_cutoff_groups(pipeline: SelectPlanner, snapshot: str) -> Sequence[Task]:
    if not pipeline.learns_from(files.CUTOFFS, snapshot):
        return []
    settings = {
        "columns": sorted(pipeline.recipe.selection.signals()),
        "domain": pipeline.recipe.source_of(snapshot).domain,
        "tier": _ungraded(pipeline).get(snapshot),
    } | _seed(pipeline)
    parts: dict[str, Sequence[Output]] = {"signals": pipeline.parts(files.SIGNALS, snapshot)}
    if pipeline.recipe.selection.rules_before_distinct is not None:
        parts["members"] = _survivor_members(pipeline, snapshot)
    return plan_groups(CUTOFF_GROUPS, snapshot, settings | _share(pipeline), parts)


def run_cutoff_groups(context: TaskContext) -> None:
    said = context.task.settings
    tables = [
        _cutoff_rows(
            context, name, name.replace("/signals", "/members"), said["columns"], said["domain"],
            said["tier"], said.get("seed"),
        )
        for name in context.names("")
        if name.endswith("/signals")
    ]  # fmt: skip
    context.write_table(files.CUTOFF_GROUPS, pa.concat_tables(tables))


def plan_cutoffs(pipeline: SelectPlanner) -> list[Task]:
    inputs: dict[str, Output] = {}
    is_distinct = pipeline.recipe.selection.rules_before_distinct is not None
    for snapshot in pipeline.recipe.calibration_snapshots:
        groups = pipeline.parts(files.CUTOFF_GROUPS, snapshot)
        inputs |= {f"groups/{snapshot}/{i:05d}": group for i, group in enumerate(groups)}
        if groups:
            continue
        domain = pipeline.recipe.source_of(snapshot).domain
        for i, signals in enumerate(pipeline.parts(files.SIGNALS, snapshot)):
            inputs[f"signals/{domain}/{snapshot}/{i:05d}"] = signals
        for i, members in enumerate(_survivor_members(pipeline, snapshot) if is_distinct else ()):
            inputs[f"members/{domain}/{snapshot}/{i:05d}"] = members
    settings = pipeline.recipe.selection.identity() | _share(pipeline) | _seed(pipeline)
    ungraded = _ungraded(pipeline)
    if ungraded:
        settings["ungraded"] = ungraded
    return [QUALITY_CUTOFFS.task(settings, inputs)]


def _ungraded(pipeline: SelectPlanner) -> dict[str, str]:
    """Return the tiers that sources say, by calibration snapshot; which tier it is, makes a
    difference only where rules ask for it."""
    given = {
        snapshot: pipeline.recipe.source_of(snapshot).tier_of(snapshot)
        for snapshot in pipeline.recipe.calibration_snapshots
    }
    said = {snapshot: tier for snapshot, tier in given.items() if tier is not None}
    if pipeline.recipe.selection.asks_for_tiers:
        return said
    return dict.fromkeys(said, "given") if pipeline.recipe.selection.tiers is not None else {}


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


def _survivor_members(pipeline: SelectPlanner, snapshot: str) -> Sequence[Output]:
    """Return who is a copy of whom among survivors, part by part."""
    return files.SURVIVOR_MEMBERS.of_parts(pipeline.results(files.SURVIVOR_MEMBERS.stage, snapshot))


def run_cutoffs(context: TaskContext) -> None:
    said = dict(context.task.settings)
    ungraded = said.pop("ungraded", {})
    said.pop("share", None)
    seed = said.pop("seed", None)
    settings = SelectionSettings.model_validate(said)
    tables = [context.table(name) for name in context.names("groups/")]
    for name in context.names("signals/"):
        _, domain, snapshot, _ = name.split("/")
        members, tier = name.replace("signals/", "members/", 1), ungraded.get(snapshot)
        tables.append(_cutoff_rows(context, name, members, settings.signals(), domain, tier, seed))
    distinct = None
    if settings.rules_before_distinct is not None:
        held = [table["distinct"].to_numpy() for table in tables]
        distinct = np.concatenate([np.zeros(0, np.bool_), *held])
    cutoffs = resolve_cutoffs(tables, settings, distinct)
    plain = plain_cutoffs(cutoffs)
    context.write_bytes(files.CUTOFFS, json.dumps(plain, sort_keys=True, indent=1).encode())
    context.notes["cutoffs"] = plain


def _cutoff_rows(
    context: TaskContext,
    signals: str,
    members: str,
    columns: Sequence[str],
    domain: str,
    tier: str | None,
    seed: int | None,
) -> pa.Table:
    """Return some signals of a part's documents that cutoffs are resolved from, with what they have
    from their source, their tie keys and, where it is asked, whether each is the one that is kept
    of its copies."""
    table = context.table(signals)
    ids = table["doc_id"].combine_chunks()
    table = table.select(["doc_id", *(name for name in columns if name in table.schema.names)])
    if seed is not None:
        table = with_tie_keys(table, seed)
    table = with_source(table.drop_columns("doc_id"), domain, tier)
    if context.has(members):
        copies = context.table(members, ["row", "kept"])
        copies = copies.filter(pc.invert(copies["kept"]))
        distinct = np.ones(table.num_rows, np.bool_)
        distinct[copies["row"].to_numpy()] = False
        table = table.append_column("distinct", pa.array(distinct))
    share = context.task.settings.get("share")
    if share is None:
        return table
    heads = np.frombuffer(ids.buffers()[1], ">u8", 2 * len(ids), 16 * ids.offset)[::2]
    return table.filter(pa.array(heads < np.uint64(share * 2.0**64)))


def plan_selection(pipeline: SelectPlanner, snapshot: str) -> Sequence[Task]:
    cutoffs = pipeline.calibration(files.CUTOFFS)
    settings: dict[str, Any] = {"selection": pipeline.recipe.selection.identity()}
    settings |= _source(pipeline, snapshot) | _seed(pipeline)
    group_by = pipeline.recipe.shards.identity().get("group_by")
    settings |= {"group_by": group_by} if group_by else {}
    return Each(
        lambda i, signals: SELECTION.task(
            settings, {"signals": signals, "cutoffs": cutoffs}, label=part_label(snapshot, i)
        ),
        pipeline.parts(files.SIGNALS, snapshot),
    )


def run_selection(context: TaskContext) -> None:
    computed = context.table("signals")
    said = context.task.settings
    if "seed" in said:
        computed = with_tie_keys(computed, said["seed"])
    whole = with_source(computed, said["domain"], said.get(SOURCE_TIER))
    settings, cutoffs = (
        context.settings(SelectionSettings, "selection"),
        parse_cutoffs(context.json("cutoffs")),
    )
    chosen = select(whole, whole, settings, cutoffs)
    if "group_by" in said:
        labels = group_labels(computed, GROUP_BY.validate_python(said["group_by"]))
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
    context.notes[NOTE] = language_losses(chosen, settings, about)
    context.notes[RULES] = rule_counts(chosen)
    if settings.asks_for_shares:
        context.notes[SHARES] = dropped_shares(columns, settings, cutoffs)


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

CUTOFF_GROUPS = Stage(
    "cutoff_groups",
    2,
    Scope.SNAPSHOT,
    plan_cutoff_groups,
    run_cutoff_groups,
    asset="quality_cutoffs",
    reads=(files.SURVIVOR_MEMBERS,),
    reads_all=(files.SIGNALS,),
    writes=(files.CUTOFF_GROUPS,),
)

QUALITY_CUTOFFS = Stage(
    "quality_cutoffs",
    selection.VERSION,
    Scope.ALL,
    plan_cutoffs,
    run_cutoffs,
    about="Score cutoffs and tier bounds per language, resolved from the calibration snapshots.",
    reads_all=(files.SIGNALS, files.SURVIVOR_MEMBERS, files.CUTOFF_GROUPS),
    writes=(files.CUTOFFS,),
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
