"""Published versions: manifest, report, statistics, collection of what none uses."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.versions.cluster_changes import ClusterChange
    from corpus_assets.versions.drift import DRIFT_CHECKS, drift_checks, drift_lines
    from corpus_assets.versions.extension import (
        Extended,
        check_unchanged,
        continued,
        extendable,
        find_extended,
        in_order_of,
    )
    from corpus_assets.versions.foreseen import Foreseen, foresee, warning_before_tokens
    from corpus_assets.versions.funnel import FunnelStep, funnel_steps
    from corpus_assets.versions.gates import (
        MODELS_GATE,
        PREVIOUS,
        previous_version,
        release_if_passed,
    )
    from corpus_assets.versions.gc import WEIGHTS_FOLDER, Collected, collect_garbage
    from corpus_assets.versions.growth import version_growth
    from corpus_assets.versions.panel import check_panels
    from corpus_assets.versions.pins import (
        ALL_CALIBRATIONS,
        ReusedCalibrations,
        lock_folder,
        named_calibrations,
        reuse_calibrations,
    )
    from corpus_assets.versions.publish import is_published, lineage_rows, publish_version
    from corpus_assets.versions.published import (
        check_artifact_rows,
        check_published,
        load_published_recipe,
        lock_pins,
        open_kept,
        published_files,
        published_lock,
        published_manifest,
        published_pins,
    )
    from corpus_assets.versions.removed import (
        Change,
        Removed,
        distinct_removed,
        forget_removed,
        load_removed,
        removed_by_requests,
    )
    from corpus_assets.versions.retention import FREED_STAGES
    from corpus_assets.versions.version import (
        Version,
        default_version_name,
        make_lock,
        make_version,
        models_from_outside,
        shard_groups,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "ALL_CALIBRATIONS",
    "DRIFT_CHECKS",
    "FREED_STAGES",
    "MODELS_GATE",
    "PREVIOUS",
    "WEIGHTS_FOLDER",
    "Change",
    "ClusterChange",
    "Collected",
    "Extended",
    "Foreseen",
    "FunnelStep",
    "Removed",
    "ReusedCalibrations",
    "Version",
    "check_artifact_rows",
    "check_panels",
    "check_published",
    "check_unchanged",
    "collect_garbage",
    "continued",
    "default_version_name",
    "distinct_removed",
    "drift_checks",
    "drift_lines",
    "extendable",
    "find_extended",
    "foresee",
    "forget_removed",
    "funnel_steps",
    "in_order_of",
    "is_published",
    "lineage_rows",
    "load_published_recipe",
    "load_removed",
    "lock_folder",
    "lock_pins",
    "make_lock",
    "make_version",
    "models_from_outside",
    "named_calibrations",
    "open_kept",
    "previous_version",
    "publish_version",
    "published_files",
    "published_lock",
    "published_manifest",
    "published_pins",
    "release_if_passed",
    "removed_by_requests",
    "reuse_calibrations",
    "shard_groups",
    "version_growth",
    "warning_before_tokens",
]
