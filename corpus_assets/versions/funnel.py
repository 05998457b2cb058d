"""The funnel: how many records each stage of a version took in, dropped and why."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db import FUNNEL
from catalog.formats.lineage_tables import DROPPING_STAGES
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.store import Result
from corpus_assets.graph import Pipeline


@dataclass
class FunnelStep:
    """One stage of the funnel."""

    stage: str
    entered: int
    left: int
    reasons: Counter[str] = field(default_factory=Counter)


def funnel_steps(pipeline: Pipeline, snapshots: Sequence[str] | None = None) -> list[FunnelStep]:
    """Count records in and out of each stage over the given snapshots (all by default)."""
    outcomes: Counter[str] = Counter()
    for snapshot in snapshots or pipeline.recipe.snapshots:
        for result in pipeline.results("clean_text", snapshot):
            outcomes.update(result.notes["outcomes"])
    alive = sum(outcomes.values())
    steps: list[FunnelStep] = []
    for stage in DROPPING_STAGES:
        prefix = f"{stage}/"
        reasons = Counter(
            {key.removeprefix(prefix): n for key, n in outcomes.items() if key.startswith(prefix)}
        )
        steps.append(FunnelStep(stage, alive, alive - sum(reasons.values()), reasons))
        alive = steps[-1].left
    return steps


def funnel_lines(steps: Sequence[FunnelStep]) -> list[str]:
    """Say in a few words what each stage dropped and why."""
    lines = [f"{steps[0].entered:,} ingested"]
    for step in steps:
        if step.reasons:
            named = [f"{reason} {n:,}" for reason, n in step.reasons.most_common(3)]
            more = ["..."] if len(step.reasons) > 3 else []
            dropped = step.entered - step.left
            lines.append(f"{step.stage} dropped {dropped:,} ({', '.join([*named, *more])})")
    return lines


def funnel_bytes(pipeline: Pipeline) -> bytes:
    """Return the funnel as it is stored with a version."""
    steps = funnel_steps(pipeline)
    body = {
        "format": FUNNEL.format,
        "records": steps[0].entered,
        "dropped": {step.stage: dict(step.reasons) for step in steps},
    }
    return canonical_json(body)


def read_columns(pipeline: Pipeline, result: Result, name: str, names: list[str]) -> pa.Table:
    """Read some columns of a part's table."""
    return pq.read_table(pipeline.store.local(result.outputs[name].path), columns=names)
