"""From declarations to work: tasks, run, reuse, leases, checks."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.graph.checks import (
        TOKENIZER_CHECKS,
        CheckOutcome,
        check_asset,
        check_shares,
        check_version,
        tokenizer_checks,
    )
    from corpus_assets.graph.engine import Cleared, Engine, EngineChoice, PartsFailed, join_ray
    from corpus_assets.graph.finished import FinishedStages
    from corpus_assets.graph.leases import (
        building,
        collecting,
        lease_s,
        owner_name,
        publishing,
        renewing,
        takedown_run,
    )
    from corpus_assets.graph.pipeline import Pipeline
    from corpus_assets.graph.run import (
        AssetReport,
        StageIncomplete,
        content_hash,
        metric_rows,
        pin_snapshot,
        run_asset,
        run_stage,
        snapshots_of,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "TOKENIZER_CHECKS",
    "AssetReport",
    "CheckOutcome",
    "Cleared",
    "Engine",
    "EngineChoice",
    "FinishedStages",
    "PartsFailed",
    "Pipeline",
    "StageIncomplete",
    "building",
    "check_asset",
    "check_shares",
    "check_version",
    "collecting",
    "content_hash",
    "join_ray",
    "lease_s",
    "metric_rows",
    "owner_name",
    "pin_snapshot",
    "publishing",
    "renewing",
    "run_asset",
    "run_stage",
    "snapshots_of",
    "takedown_run",
    "tokenizer_checks",
]
