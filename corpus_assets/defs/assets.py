"""All assets of the graph, in its order."""

from corpus_assets.defs.calibration_assets import CALIBRATION_ASSETS
from corpus_assets.defs.snapshot_assets import SNAPSHOT_ASSETS
from corpus_assets.defs.version_assets import corpus_version_asset

ASSETS = [*SNAPSHOT_ASSETS, *CALIBRATION_ASSETS, corpus_version_asset]
