"""Near-duplicates: signatures, clusters, and the one document of each that stays."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.dedup.clusters import REASONS
    from corpus_assets.dedup.export import WrittenSignatures, export_signatures, signed_documents
    from corpus_assets.dedup.oracle import compare_with_datasketch
    from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
    from corpus_assets.dedup.stage import (
        CLUSTER_EXCHANGE,
        CLUSTERS,
        SIGNATURES,
        SURVIVOR_CLUSTERS,
        SURVIVOR_EXCHANGE,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "CLUSTERS",
    "CLUSTER_EXCHANGE",
    "REASONS",
    "SIGNATURES",
    "SURVIVOR_CLUSTERS",
    "SURVIVOR_EXCHANGE",
    "ClusterSettings",
    "SignatureSettings",
    "WrittenSignatures",
    "compare_with_datasketch",
    "export_signatures",
    "signed_documents",
]
