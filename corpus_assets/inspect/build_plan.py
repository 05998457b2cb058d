"""What a build would compute, asset by asset, and what would come of its mixture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from catalog.answers import Count, Named, Shown
from corpus_assets.inspect.plan import (
    CACHED,
    OTHER,
    RUNS,
    UNKNOWN,
    WAITS,
    fresh_calibrations,
    plan_build,
)
from corpus_assets.session import Session
from corpus_assets.shards import SHARDS
from corpus_assets.versions import Foreseen, foresee, named_calibrations

WORDS = {CACHED: "cached", RUNS: "compute", WAITS: "pending"}


@dataclass(frozen=True)
class PlannedCalibration:
    """A calibration that is reused: the lock it is from, and whether a fresh one would be the same
    (`same`, `other`, or `unknown` without computing it)."""

    from_: Annotated[str | None, Shown(key="from")]
    fresh: str


@dataclass(frozen=True)
class PlannedAsset:
    """One asset over all snapshots: parts that are cached, and parts to compute."""

    asset: str
    cached: Count
    to_run: int
    waiting: int  # snapshots whose inputs are not there yet: parts cannot be counted
    state: str
    fallbacks: Mapping[str, str] | None = None
    calibrations: Mapping[str, PlannedCalibration] | None = None
    mixture: Foreseen | None = None

    @property
    def todo(self) -> Annotated[str, Shown("state")]:
        is_pinned = self.state == CACHED and not self.cached
        return "nothing to do" if is_pinned else WORDS[self.state]

    @property
    def to_compute(self) -> str | None:
        return f"{self.to_run:,}{' or more' if self.waiting else ''}" if self.to_run else None


def planned_assets(session: Session, lock: str | None) -> Named[PlannedAsset]:
    """Ask the graph, part by part, without running anything."""
    pipeline, taken = session.pipeline, session.reused
    extended = f"version {session.extends.name}" if session.extends is not None else None
    lines = plan_build(pipeline, session.registry)
    fresh = fresh_calibrations(pipeline)
    foreseen = foresee(pipeline)
    pinned: dict[str, dict[str, PlannedCalibration]] = {}
    for name, would_be in fresh.items():
        asset = pipeline.graph.asset_of(name.partition("/")[0]).name
        origin = taken.origin.get(name, lock or extended)
        pinned.setdefault(asset, {})[name] = PlannedCalibration(origin, would_be)
    fallbacks = pipeline.recipe.fallbacks_in_use() if pipeline.recipe.use_fallbacks else None
    said = taken.lines()
    said += [session.extends.line(pipeline.recipe)] if session.extends is not None else []
    for kind, what in (
        (OTHER, "a fresh lock would change"),
        (UNKNOWN, "a fresh lock would recompute"),
    ):
        names = sorted(name for name, would_be in fresh.items() if would_be == kind)
        said += [f"{what}: {named_calibrations(names)}"] if names else []
    said += [line] if foreseen is not None and (line := foreseen.line()) else []
    return Named(
        {
            line.asset: PlannedAsset(
                **vars(line),
                state=line.state,
                fallbacks=fallbacks if line.asset == "signals" else None,
                calibrations=pinned.get(line.asset),
                mixture=foreseen if line.asset == SHARDS.name else None,
            )
            for line in lines
        },
        "asset",
        ("todo", "cached", "to_compute"),
        conclusion="\n".join([*said, *pipeline.recipe.caveats()]),
    )
