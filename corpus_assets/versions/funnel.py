"""The funnel: how many records came in, what each stage dropped and why, what is left."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from corpus_assets.graph.pipeline import Pipeline

STAGES = ("documents", "selection", "clusters", "contamination", "clean_text")
"""The stages that can drop a document, in the order of the graph."""


@dataclass
class Step:
    """One stage of the funnel."""

    stage: str
    entered: int
    left: int
    reasons: Counter[str] = field(default_factory=Counter)


def funnel(pipeline: Pipeline, snapshots: Sequence[str] | None = None) -> list[Step]:
    """One step a stage over the given snapshots (all by default)."""
    fates: Counter[str] = Counter()
    for snapshot in snapshots or pipeline.recipe.snapshots:
        for result in pipeline.results("clean_text", snapshot):
            fates.update(result.notes["fates"])
    alive = sum(fates.values())
    steps: list[Step] = []
    for stage in STAGES:
        prefix = f"{stage}/"
        reasons = Counter(
            {key.removeprefix(prefix): n for key, n in fates.items() if key.startswith(prefix)}
        )
        steps.append(Step(stage, alive, alive - sum(reasons.values()), reasons))
        alive = steps[-1].left
    return steps
